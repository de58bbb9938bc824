//! What is told of a command that ran.

use serde_json::json;

use super::super::Outcome;
use crate::adapters::sandbox::{Bound, Captured, Ending, Exit, Spill};

/// What the model and the page are told of a command that ran.
pub(super) fn told(captured: &Captured, spill: &Spill, timeout: u64) -> Outcome {
    let Captured { exit: Exit { ending, protected_restored, protected_lost }, transcript, .. } =
        captured;
    let whole = spill.path().to_string_lossy();
    let cut = transcript.is_cut();
    let mut output = transcript.text(cut.then_some(&*whole));
    let mut say = |line: String| {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&line);
    };
    let (code, error) = how(*ending, timeout);
    if let Some(code) = code.filter(|code| *code != 0) {
        say(format!("(exit code {code})"));
    }
    for path in protected_restored {
        say(format!("{} must not be changed by commands; it was put back.", path.display()));
    }
    for path in protected_lost {
        say(format!(
            "{} must not be changed by commands and could not be put back.",
            path.display()
        ));
    }
    let error =
        error.map(|error| if output.is_empty() { error } else { format!("{error}\n{output}") });
    let metadata = json!({
        "exit_code": code,
        "lines": transcript.lines(),
        "bytes": transcript.bytes(),
        "cut": cut,
        "protected_restored": protected_restored,
    });
    Outcome { output, error, title: String::new(), metadata }
}

/// How a command ended: its exit code, or why it has none.
pub(super) fn how(ending: Ending, timeout: u64) -> (Option<i32>, Option<String>) {
    let why = match ending {
        Ending::Code(code) => return (Some(code), None),
        Ending::Signal(signal) => format!("The command was ended by signal {signal}."),
        Ending::TimedOut => format!("The command took longer than {timeout} ms and was ended."),
        Ending::Killed => "The command was stopped.".to_owned(),
        Ending::TooMuch(bound) => too_much(bound).to_owned(),
    };
    (None, Some(why))
}

fn too_much(bound: Bound) -> &'static str {
    match bound {
        Bound::Processes => "The command was ended: it had too many processes at once.",
        Bound::Memory => "The command was ended: it used too much memory.",
        Bound::Disk => {
            "The command was ended: it had nearly filled the disk. What it wrote is still there; \
             remove what is not needed."
        }
    }
}
