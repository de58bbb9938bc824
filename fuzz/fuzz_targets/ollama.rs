#![no_main]

use forge_fuzz::{Kind, stream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| stream(Kind::Ollama, body));
