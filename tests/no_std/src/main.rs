//! Reads a stream without `std`. If any dependency had it, there would be two panic handlers, and this would not build.
#![no_std]
#![no_main]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use chatwire::{Event, Parser};

const STREAM: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi \\ud83d\\ude00\",\"tool_calls\":[{\"index\":0,\
    \"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"[1.5]\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

/// Whether the stream was read right, a few bytes at a time.
fn is_read() -> bool {
    let mut parser = Parser::new();
    let (mut calls, mut is_done) = (0, false);
    for piece in STREAM.chunks(7) {
        parser.feed(piece);
        while let Some(event) = parser.next_event() {
            match event {
                Ok(Event::ToolCallComplete { call, .. }) if call.arguments() == "[1.5]" => {
                    calls += 1
                }
                Ok(Event::Done(done)) => is_done = done.marker(),
                _ => {}
            }
        }
    }
    is_done && calls == 1 && parser.completion().text() == "Hi \u{1f600}"
}

/// Hands out memory once, and takes none back.
struct Bump {
    memory: core::cell::UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

const SIZE: usize = 64 << 10;

// SAFETY: each byte is handed out once, by an atomic step.
unsafe impl Sync for Bump {}

// SAFETY: what is handed out is aligned, in `memory`, and not handed out again.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // So much is enough for any alignment.
        let used = self
            .used
            .fetch_add(layout.size() + layout.align(), Ordering::Relaxed);
        if used + layout.size() + layout.align() > SIZE {
            return null_mut();
        }
        let start = self.memory.get().cast::<u8>().wrapping_add(used);
        start.wrapping_add(start.align_offset(layout.align()))
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Bump = Bump {
    memory: core::cell::UnsafeCell::new([0; SIZE]),
    used: AtomicUsize::new(0),
};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The C library calls this one.
#[cfg(not(target_os = "none"))]
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    i32::from(!is_read())
}

/// What is linked beside `alloc` for this machine: `alloc` was built for unwinding, which never happens here.
#[cfg(not(target_os = "none"))]
mod hosted {
    #[link(name = "c")]
    unsafe extern "C" {}

    #[unsafe(no_mangle)]
    extern "C" fn _Unwind_Resume() -> ! {
        unreachable!()
    }

    #[unsafe(no_mangle)]
    extern "C" fn rust_eh_personality() {}
}

/// The processor begins here.
#[cfg(target_os = "none")]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    assert!(is_read());
    loop {}
}
