#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| chatwire_fuzz::framing(data));
