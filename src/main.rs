//! The command line of Forge: see [`forge::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    forge::cli::main()
}
