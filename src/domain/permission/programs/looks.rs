//! The commands that only look, and the options with which they still only look.
//!
//! The list is short on purpose, and an option that is not on it is asked about: many programs
//! that seem to only look can write a file or start another program with one of theirs. Whether a
//! command may see the files that it names is another question, and judged on its own.

use super::{
    super::shell::{Search, Word},
    git, name,
};

/// How a command that only looks may be called.
struct Looks {
    name: &'static str,
    /// Short options without a value, in any cluster.
    flags: &'static str,
    /// Short options with a value, glued or as the next word.
    values: &'static str,
    /// Long options, with or without a value after `=`.
    long: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy)]
enum Operands {
    Any,
    /// A second one would be a file to write, or something to set.
    AtMost(usize),
}

const fn looks(name: &'static str, flags: &'static str, values: &'static str) -> Looks {
    Looks { name, flags, values, long: &[], operands: Operands::Any }
}

const fn bare(name: &'static str, flags: &'static str) -> Looks {
    Looks { name, flags, values: "", long: &[], operands: Operands::AtMost(0) }
}

const GREP: &[&str] = &[
    "--ignore-case",
    "--line-number",
    "--count",
    "--files-with-matches",
    "--only-matching",
    "--invert-match",
    "--word-regexp",
    "--fixed-strings",
    "--extended-regexp",
    "--context",
    "--after-context",
    "--before-context",
    "--max-count",
    "--color",
    "--quiet",
    "--with-filename",
    "--no-filename",
    "--no-messages",
    "--regexp",
    "--text",
];

const COMMANDS: &[Looks] = &[
    bare("pwd", "LP"),
    bare("whoami", ""),
    bare("uname", "asnrvmpio"),
    bare("arch", ""),
    bare("uptime", "ps"),
    // With an operand, or with -F, it sets the name.
    bare("hostname", ""),
    bare("wait", ""),
    bare("jobs", "lp"),
    Looks { long: &["--all"], ..bare("nproc", "") },
    Looks { operands: Operands::AtMost(1), ..bare("exit", "") },
    Looks { operands: Operands::AtMost(1), ..bare("return", "") },
    Looks { operands: Operands::AtMost(1), ..bare("break", "") },
    Looks { operands: Operands::AtMost(1), ..bare("continue", "") },
    Looks { operands: Operands::AtMost(1), ..bare("shift", "") },
    looks("id", "ugnGr", ""),
    looks("sleep", "", ""),
    looks("seq", "w", "fs"),
    looks("which", "a", ""),
    looks("type", "atpP", ""),
    looks("cd", "LPe", ""),
    looks("basename", "az", "s"),
    looks("dirname", "z", ""),
    looks("realpath", "emsqzLP", ""),
    looks("readlink", "fenmqsvz", ""),
    Looks {
        long: &[
            "--all",
            "--almost-all",
            "--human-readable",
            "--recursive",
            "--reverse",
            "--size",
            "--color",
            "--sort",
            "--time",
            "--directory",
            "--classify",
            "--full-time",
            "--time-style",
            "--group-directories-first",
            "--inode",
            "--ignore",
            "--hide",
            "--format",
        ],
        ..looks("ls", "aAlhRrtSd1FGgoinspQcukBCmxXUvLHZ", "Iw")
    },
    looks("tree", "adfpshugDrtCniF", "LIP"),
    looks("stat", "Ltf", "c"),
    looks("file", "bLiIhkz0", ""),
    Looks {
        long: &["--summarize", "--human-readable", "--max-depth", "--all"],
        ..looks("du", "hsacmkbSx", "d")
    },
    looks("df", "hTaikl", ""),
    Looks {
        long: &["--number", "--show-all", "--show-ends", "--show-tabs"],
        ..looks("cat", "AbeEnstTuv", "")
    },
    looks("tac", "", ""),
    looks("nl", "", "bw"),
    looks("rev", "", ""),
    Looks { long: &["--lines", "--bytes", "--quiet", "--verbose"], ..looks("head", "qvz", "nc") },
    Looks { long: &["--lines", "--bytes", "--quiet", "--verbose"], ..looks("tail", "qvz", "nc") },
    Looks { long: &["--lines", "--words", "--bytes", "--chars"], ..looks("wc", "clmwL", "") },
    Looks { long: GREP, ..looks("grep", "invclLoHhwxEFPqsabzyT", "ABCme") },
    Looks { long: GREP, ..looks("egrep", "invclLoHhwxqsabz", "ABCme") },
    Looks { long: GREP, ..looks("fgrep", "invclLoHhwxqsabz", "ABCme") },
    Looks {
        long: &["--delimiter", "--fields", "--characters", "--output-delimiter"],
        ..looks("cut", "snz", "dfbc")
    },
    looks("tr", "cdst", ""),
    // The second operand of uniq is a file that it writes.
    Looks { operands: Operands::AtMost(1), ..looks("uniq", "cdiuz", "fsw") },
    // -o writes; --compress-program and -T start programs and write elsewhere.
    Looks {
        long: &["--numeric-sort", "--reverse", "--unique", "--key", "--field-separator"],
        ..looks("sort", "bdfghiMnRrVuszcC", "tk")
    },
    looks("comm", "123iz", ""),
    looks("cmp", "bls", ""),
    Looks {
        long: &["--brief", "--unified", "--color", "--side-by-side", "--ignore-all-space"],
        ..looks("diff", "uNqwbBiyact", "UC")
    },
    looks("md5sum", "btz", ""),
    looks("sha1sum", "btz", ""),
    looks("sha256sum", "btz", ""),
    looks("sha512sum", "btz", ""),
    looks("cksum", "", ""),
];

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// In the project's own folder, for certain.
    Project,
    Elsewhere,
}

/// Whether a command only looks.
pub(crate) fn only_looks(words: &[Word], folder: Folder) -> bool {
    let Some(program) = name(words) else { return false };
    // By its bare name: `./ls` is another program.
    if words.first().is_none_or(|it| it.text != program) {
        return false;
    }
    let args = words.get(1..).unwrap_or_default();
    match program {
        // They print or compare what they are given, whatever it is.
        "echo" | "true" | "false" | ":" => return true,
        "printf" => {
            return args
                .first()
                .is_some_and(|it| it.literal().is_some_and(|it| !it.starts_with('-')));
        }
        "test" => {
            return args
                .iter()
                .all(|it| it.text != "-v" && it.text != "-R" && it.unknown.is_none());
        }
        "find" => {
            let search = Search::read(args);
            return !search.acts && args.iter().all(|it| it.literal().is_some());
        }
        _ => {}
    }
    // Names are all that ls shows, so it may be given any.
    let known = |it: &Word| it.unknown.is_none() && (!it.glob || program == "ls");
    if !args.iter().all(known) {
        return false;
    }
    let args: Vec<&str> = args.iter().map(|it| it.text.as_str()).collect();
    match program {
        "git" => git::only_looks(&args, folder),
        "command" => matches!(args.as_slice(), ["-v" | "-V", rest @ ..] if rest.len() == 1),
        // Any other operand sets the clock, and so does -s in any cluster.
        "date" => args.iter().all(|it| {
            it.starts_with('+')
                || matches!(
                    *it,
                    "-u" | "-I"
                        | "-R"
                        | "--utc"
                        | "-Iseconds"
                        | "--iso-8601"
                        | "--rfc-3339=seconds"
                )
        }),
        "set" => args.iter().all(|it| {
            matches!(
                *it,
                "-e" | "-u"
                    | "-x"
                    | "+e"
                    | "+u"
                    | "+x"
                    | "-eu"
                    | "-ex"
                    | "-eux"
                    | "-o"
                    | "pipefail"
                    | "-euo"
                    | "-euxo"
                    | "-eo"
                    | "errexit"
                    | "nounset"
            )
        }),
        _ => COMMANDS.iter().find(|it| it.name == program).is_some_and(|it| it.allows(&args)),
    }
}

impl Looks {
    fn allows(&self, args: &[&str]) -> bool {
        let mut operands = 0;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if *arg == "--" {
                operands += args.by_ref().count();
            } else if let Some(long) = arg.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or_default();
                if !self.long.iter().any(|it| it.strip_prefix("--") == Some(name)) {
                    return false;
                }
            } else if let Some(letters) = arg.strip_prefix('-').filter(|it| !it.is_empty()) {
                // `head -5`, `grep -3`.
                if letters.parse::<u32>().is_ok() && matches!(self.name, "head" | "tail" | "grep") {
                    continue;
                }
                let value = letters.find(|it| !self.flags.contains(it));
                let Some(at) = value else { continue };
                let rest = letters.get(at..).unwrap_or_default();
                if !rest.starts_with(|it| self.values.contains(it)) {
                    return false;
                }
                if rest.chars().count() == 1 && args.next().is_none() {
                    return false;
                }
            } else {
                operands += 1;
            }
        }
        match self.operands {
            Operands::Any => true,
            Operands::AtMost(most) => operands <= most,
        }
    }
}
