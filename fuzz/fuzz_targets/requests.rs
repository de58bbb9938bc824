#![no_main]

use forge_fuzz::requests;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| requests(bytes));
