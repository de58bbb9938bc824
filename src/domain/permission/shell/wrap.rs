//! Commands that run another command, and which one that is.

mod scripts;

pub(super) use self::scripts::INPUT;
use super::{Unknown, Word, find};

/// What a command turns out to start.
pub(super) enum Unwrapped {
    /// Nothing that could be read off it.
    No,
    Commands {
        inner: Vec<Inner>,
        outer: Outer,
        process: Process,
    },
    Script {
        text: String,
        process: Process,
    },
    /// Something, but it cannot be said what.
    Unclear(&'static str),
}

pub(super) struct Inner {
    pub words: Vec<Word>,
    pub doubts: Vec<String>,
}

/// What the command itself is judged as.
pub(super) enum Outer {
    Judged,
    Transparent,
    Elevating,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Process {
    /// In the shell itself: a `cd` in it stays.
    Same,
    Own,
    /// In the shell, but some other time.
    Later,
}

/// How the options of a wrapper are written, as its manual says.
struct Spec {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with one.
    values: &'static str,
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
}

const fn spec(name: &'static str, flags: &'static str, values: &'static str) -> Spec {
    Spec { name, flags, values, long_flags: &[], long_values: &[], operands: 0 }
}

const SPECS: &[Spec] = &[
    spec("nohup", "", ""),
    spec("setsid", "cfw", ""),
    spec("time", "pv", ""),
    spec("command", "p", ""),
    spec("builtin", "", ""),
    spec("exec", "cl", "a"),
    spec("busybox", "", ""),
    spec("toybox", "", ""),
    spec("coproc", "", ""),
    spec("caffeinate", "dimsu", ""),
    spec("ionice", "t", "cn"),
    Spec { long_values: &["--adjustment"], ..spec("nice", "", "n") },
    Spec { long_values: &["--input", "--output", "--error"], ..spec("stdbuf", "", "ioe") },
    Spec {
        long_flags: &["--foreground", "--preserve-status", "--verbose"],
        long_values: &["--signal", "--kill-after"],
        operands: 1,
        ..spec("timeout", "vfp", "sk")
    },
    Spec {
        long_flags: &["--ignore-environment", "--null", "--debug"],
        long_values: &["--unset"],
        ..spec("env", "i0v", "u")
    },
    Spec {
        long_flags: &["--null", "--no-run-if-empty", "--verbose", "--interactive"],
        long_values: &["--max-args", "--max-procs", "--max-lines", "--delimiter", "--max-chars"],
        ..spec("xargs", "0rtpx", "nPLIdEs")
    },
    Spec {
        long_flags: &["--preserve-env", "--non-interactive", "--set-home"],
        long_values: &["--user", "--group"],
        ..spec("sudo", "nHEkSP", "ugpCTr")
    },
    spec("doas", "nL", "u"),
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "rbash"];

/// Looks through one wrapper.
pub(super) fn unwrap(words: &[Word]) -> Unwrapped {
    let Some((first, args)) = words.split_first() else { return Unwrapped::No };
    let Some(name) = first.literal() else {
        return Unwrapped::Unclear("runs a command whose name is not known");
    };
    let name = name.rsplit('/').next().unwrap_or(name);
    match name {
        "command" if matches!(args.first().map(|it| it.text.as_str()), Some("-v" | "-V")) => {
            Unwrapped::No
        }
        "find" => match find::Search::read(args).starts {
            inner if inner.is_empty() => Unwrapped::No,
            inner => Unwrapped::Commands {
                inner: inner.into_iter().map(|words| Inner { words, doubts: Vec::new() }).collect(),
                outer: Outer::Judged,
                process: Process::Own,
            },
        },
        "eval" => scripts::eval(args),
        "trap" => scripts::trap(args),
        name if SHELLS.contains(&name) => scripts::shell(args),
        name => match SPECS.iter().find(|it| it.name == name) {
            Some(spec) => wrapper(spec, args),
            None => Unwrapped::No,
        },
    }
}

fn wrapper(spec: &Spec, args: &[Word]) -> Unwrapped {
    const UNCLEAR: &str = "starts a command in a way that is not understood";
    let mut placeholder = None;
    let Some(mut rest) = skip_options(spec, args, &mut placeholder) else {
        return Unwrapped::Unclear(UNCLEAR);
    };
    for _ in 0..spec.operands {
        match rest.split_first() {
            Some((word, others)) if word.literal().is_some() => rest = others,
            Some(_) => return Unwrapped::Unclear(UNCLEAR),
            None => return Unwrapped::No,
        }
    }
    let mut doubts = Vec::new();
    if matches!(spec.name, "env" | "sudo" | "doas" | "time" | "coproc") {
        while let Some((word, others)) = rest.split_first()
            && word.text.contains('=')
        {
            let (name, value) = word.text.split_once('=').unwrap_or_default();
            let value = word.literal().map(|_| value);
            doubts.extend(super::walk::program_assignment(name, value));
            rest = others;
        }
    }
    let mut words = rest.to_vec();
    if spec.name == "xargs" {
        for word in &mut words {
            if placeholder.as_ref().is_some_and(|it| word.text.contains(it)) {
                *word = Word { raw: word.raw.clone(), ..Word::hole(Unknown::Input) };
            }
        }
        if !words.is_empty() {
            words.push(Word::hole(Unknown::Input));
        }
    }
    if words.is_empty() {
        return Unwrapped::No;
    }
    Unwrapped::Commands {
        inner: vec![Inner { words, doubts }],
        outer: if matches!(spec.name, "sudo" | "doas" | "coproc") {
            Outer::Elevating
        } else {
            Outer::Transparent
        },
        process: if matches!(spec.name, "command" | "builtin") {
            Process::Same
        } else {
            Process::Own
        },
    }
}

/// The words after the options, or nothing where an option is not known.
fn skip_options<'w>(
    spec: &Spec,
    mut args: &'w [Word],
    placeholder: &mut Option<String>,
) -> Option<&'w [Word]> {
    while let Some((word, rest)) = args.split_first() {
        if !word.text.starts_with('-') || word.text == "-" {
            break;
        }
        let text = word.literal()?;
        args = rest;
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name =
                long.split_once('=').map_or(text, |it| text.get(..it.0.len() + 2).unwrap_or(text));
            if spec.long_flags.contains(&text) {
                continue;
            }
            if !spec.long_values.contains(&name) {
                return None;
            }
            if name == text {
                args = args.get(1..)?;
            }
            continue;
        }
        let number =
            spec.name == "nice" && text.get(1..).is_some_and(|it| it.parse::<u8>().is_ok());
        if number {
            continue;
        }
        let letters = text.char_indices().skip(1);
        for (at, letter) in letters {
            if spec.flags.contains(letter) {
                continue;
            }
            if !spec.values.contains(letter) {
                return None;
            }
            let mut value = text.get(at + letter.len_utf8()..)?;
            if value.is_empty() {
                let (next, rest) = args.split_first()?;
                value = next.literal()?;
                args = rest;
            }
            if letter == 'I' {
                *placeholder = Some(value.to_owned());
            }
            break;
        }
    }
    Some(args)
}
