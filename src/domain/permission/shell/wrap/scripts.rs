//! Shells, `eval` and `trap`: commands that are given a script.

use super::{super::Word, Process, Unwrapped};

/// A shell without a script reads one from its input.
pub(in super::super) const INPUT: &str = "runs what it is given as input";

const UNKNOWN: &str = "runs a script that is not known";

/// `sh -c 'script'`, with the options that only change how it reports.
pub(super) fn shell(args: &[Word]) -> Unwrapped {
    const UNCLEAR: &str = "starts a shell in a way that is not understood";
    let mut given = false;
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let Some(text) = word.literal() else {
            return Unwrapped::Unclear(UNKNOWN);
        };
        match text {
            "--" => break,
            "--norc" | "--noprofile" | "--posix" | "--login" => {}
            _ if text.starts_with("--") => return Unwrapped::Unclear(UNCLEAR),
            "-o" | "+o" => {
                let harmless =
                    |it: &Word| matches!(it.text.as_str(), "pipefail" | "errexit" | "nounset");
                if !args.next().is_some_and(harmless) {
                    return Unwrapped::Unclear(UNCLEAR);
                }
            }
            _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                if !text.chars().skip(1).all(|it| "ceuxlnvo".contains(it)) {
                    return Unwrapped::Unclear(UNCLEAR);
                }
                given |= text.contains('c');
                if text.contains('o') && args.next().is_none_or(|it| it.text != "pipefail") {
                    return Unwrapped::Unclear(UNCLEAR);
                }
            }
            script if given => {
                return Unwrapped::Script { text: script.to_owned(), process: Process::Own };
            }
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => {
                return Unwrapped::Unclear(INPUT);
            }
            _ => return Unwrapped::No,
        }
    }
    match args.next() {
        Some(word) if given => match word.literal() {
            Some(script) => Unwrapped::Script { text: script.to_owned(), process: Process::Own },
            None => Unwrapped::Unclear(UNKNOWN),
        },
        _ if given => Unwrapped::Unclear(UNCLEAR),
        Some(_) => Unwrapped::No,
        None => Unwrapped::Unclear(INPUT),
    }
}

/// `eval words…`, which are joined to a script.
pub(super) fn eval(args: &[Word]) -> Unwrapped {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    match words {
        Some(words) => Unwrapped::Script { text: words.join(" "), process: Process::Same },
        None => Unwrapped::Unclear(UNKNOWN),
    }
}

/// `trap 'script' SIGNAL`, which runs whenever the signal comes.
pub(super) fn trap(args: &[Word]) -> Unwrapped {
    let Some(action) = args.first() else { return Unwrapped::No };
    match action.literal() {
        Some("-" | "" | "-p" | "-l") => Unwrapped::No,
        Some(text) if !text.starts_with('-') => {
            Unwrapped::Script { text: text.to_owned(), process: Process::Later }
        }
        _ => Unwrapped::Unclear(UNKNOWN),
    }
}
