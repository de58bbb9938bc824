#![no_main]

use forge_fuzz::event_lines;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| event_lines(body));
