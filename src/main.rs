//! Starts Forge, or the helper that confines one command.

use std::process::ExitCode;

use forge::{adapters::sandbox, cli};

fn main() -> ExitCode {
    // Before anything else: the helper must still be a single thread.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == sandbox::HELPER_ARGUMENT) {
        return sandbox::helper_main();
    }
    cli::main()
}
