//! What the whole test program logs, at the finest level.

use std::{
    io,
    sync::{Mutex, OnceLock},
};

/// All that this program logs from now on, at the finest level.
pub fn captured() -> &'static Mutex<Vec<u8>> {
    static LOG: OnceLock<Mutex<Vec<u8>>> = OnceLock::new();
    struct Sink;
    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            LOG.get_or_init(Mutex::default).lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let _ = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(|| Sink)
        .try_init();
    LOG.get_or_init(Mutex::default)
}
