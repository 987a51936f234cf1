//! Counts what is allocated, while it is asked to: otherwise it costs one branch.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IS_ON: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// What was allocated meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Allocations {
    /// Allocations and reallocations.
    pub count: usize,
    pub peak_bytes: usize,
}

/// Counts what `run` allocates. What was allocated before must live on until it returns.
pub fn count<T>(run: impl FnOnce() -> T) -> (T, Allocations) {
    COUNT.store(0, Relaxed);
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    IS_ON.store(true, Relaxed);
    let result = run();
    IS_ON.store(false, Relaxed);
    let allocations = Allocations {
        count: COUNT.load(Relaxed),
        peak_bytes: PEAK.load(Relaxed),
    };
    (result, allocations)
}

/// What is allocated right now, of what was since `count` began.
pub fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

fn grew(bytes: usize) {
    COUNT.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_ON.load(Relaxed) {
            grew(layout.size());
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if IS_ON.load(Relaxed) {
            grew(layout.size());
        }
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if IS_ON.load(Relaxed) {
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if IS_ON.load(Relaxed) {
            LIVE.fetch_sub(layout.size(), Relaxed);
            grew(size);
        }
        unsafe { System.realloc(pointer, layout, size) }
    }
}
