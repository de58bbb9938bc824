//! The files and folders that a command names, and what it does to them.

use super::{
    super::shell::{HOLE, Search, Word},
    name,
};

/// What is done to a path, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only names are seen.
    List,
    Read,
    /// A folder with all that is in it.
    ReadTree,
    Write,
    WriteTree,
    /// Some of what is in a folder goes, chosen by more than the folder.
    RemoveSome,
    /// It goes, and a folder with all that is in it.
    RemoveTree,
}

/// One path and what happens to it.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub access: Access,
    pub path: Word,
}

/// What the words of a command say which are not options.
#[derive(Debug, Default)]
struct Args<'w> {
    options: Vec<&'w Word>,
    operands: Vec<&'w Word>,
    /// Values glued to an option: `--output=x`, `-o/x`.
    glued: Vec<Word>,
}

impl<'w> Args<'w> {
    fn read(program: &str, words: &'w [Word]) -> Self {
        let splits = matches!(program, "cut" | "sort" | "paste" | "column" | "awk" | "join");
        let mut args = Self::default();
        let mut words = words.iter();
        for word in words.by_ref() {
            if word.text == "--" {
                break;
            }
            if !word.text.starts_with('-') || word.text == "-" {
                args.operands.push(word);
                continue;
            }
            args.options.push(word);
            let value = match word.text.split_once('=') {
                Some((_, value)) => Some(value),
                None if word.text.starts_with("--") => None,
                None => word.text.find(['/', '.', '~', HOLE]).and_then(|at| word.text.get(at..)),
            };
            // A lone character is a delimiter rather than a folder: `cut -d/`.
            if let Some(value) = value.filter(|it| !it.is_empty() && (*it != "/" || !splits)) {
                args.glued.push(Word { text: value.to_owned(), ..word.clone() });
            }
        }
        args.operands.extend(words);
        args
    }

    /// Whether one of these letters is in a cluster, or an option begins like this long one, as
    /// GNU's abbreviations do.
    fn has(&self, letters: &str, long: &str) -> bool {
        self.options.iter().any(|it| match it.text.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or_default();
                !name.is_empty() && !long.is_empty() && long.starts_with(name)
            }
            None => it.text.chars().skip(1).any(|char| letters.contains(char)),
        })
    }
}

/// Which programs take paths, and how.
enum Kind {
    /// Each operand in the same way.
    All(Access),
    /// The first operand is no path, unless an option gives it.
    AfterFirst(Access),
    Copy,
    Link,
    Remove,
    Find,
    Assigned,
    Archive,
    Fetch,
    Git,
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "ls" | "dir" | "vdir" | "tree" | "stat" | "du" | "df" | "realpath" | "readlink" | "cd"
        | "pushd" | "test" => Kind::All(Access::List),
        "cat" | "tac" | "head" | "tail" | "wc" | "nl" | "less" | "more" | "most" | "bat"
        | "batcat" | "od" | "xxd" | "hexdump" | "hd" | "strings" | "sort" | "cut" | "paste"
        | "join" | "comm" | "diff" | "sdiff" | "cmp" | "md5sum" | "sha1sum" | "sha224sum"
        | "sha256sum" | "sha384sum" | "sha512sum" | "b2sum" | "cksum" | "sum" | "base64"
        | "base32" | "basenc" | "file" | "zcat" | "bzcat" | "xzcat" | "zless" | "column"
        | "fold" | "fmt" | "pr" | "expand" | "unexpand" | "iconv" | "rev" | "shuf" | "source"
        | "." | "view" | "pg" | "split" | "csplit" | "look" | "tsort" | "ptx" => {
            Kind::All(Access::Read)
        }
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "awk" | "gawk" | "mawk"
        | "nawk" | "sed" | "jq" | "yq" => Kind::AfterFirst(Access::Read),
        "tee" | "touch" | "mkdir" | "rmdir" | "truncate" | "mkfifo" | "mknod" | "install"
        | "vi" | "vim" | "nano" | "ed" | "ex" | "emacs" | "patch" | "gzip" | "gunzip" | "bzip2"
        | "xz" | "unxz" | "zstd" | "uniq" | "sponge" => Kind::All(Access::Write),
        "chmod" | "chown" | "chgrp" | "setfacl" => Kind::AfterFirst(Access::Write),
        "cp" | "rsync" | "scp" => Kind::Copy,
        "ln" => Kind::Link,
        "rm" | "mv" | "unlink" | "shred" | "srm" | "trash" => Kind::Remove,
        "find" => Kind::Find,
        "dd" => Kind::Assigned,
        "tar" | "zip" | "unzip" | "7z" | "cpio" | "bsdtar" => Kind::Archive,
        "curl" | "wget" => Kind::Fetch,
        "git" => Kind::Git,
        _ => return None,
    })
}

/// The paths that a command is known to touch.
pub(crate) fn effects(words: &[Word]) -> Vec<Effect> {
    let Some((program, rest)) = name(words).zip(words.get(1..)) else { return Vec::new() };
    let Some(kind) = kind(program) else { return Vec::new() };
    let args = Args::read(program, rest);
    let of = |access: Access, path: &Word| Effect { access, path: path.clone() };
    let mut effects: Vec<Effect> = Vec::new();
    match kind {
        Kind::All(access) => {
            let access = if program == "diff" && args.has("r", "recursive") {
                Access::ReadTree
            } else {
                access
            };
            effects.extend(args.operands.iter().map(|it| of(access, it)));
            effects.extend(args.glued.iter().map(|it| of(access, it)));
            // These read too, or write where an option says so.
            if matches!(program, "sort" | "uniq" | "tree") && args.has("o", "output") {
                effects.extend(
                    args.operands
                        .iter()
                        .chain(&args.glued.iter().collect::<Vec<_>>())
                        .map(|it| of(Access::Write, it)),
                );
            }
            if matches!(program, "uniq" | "install" | "gzip" | "xz" | "zstd" | "bzip2") {
                effects.extend(args.operands.iter().map(|it| of(Access::Read, it)));
            }
        }
        Kind::AfterFirst(access) => {
            let in_place =
                program == "sed" && (args.has("i", "in-place") || args.has("s", "separate"));
            let tree = match program {
                "grep" | "egrep" | "fgrep" | "zgrep" => {
                    args.has("rR", "recursive") || args.has("", "dereference-recursive")
                }
                "rg" | "ag" | "ack" => true,
                _ => args.has("R", "recursive"),
            };
            let access = match access {
                _ if in_place => Access::Write,
                Access::Read if tree => Access::ReadTree,
                Access::Write if tree => Access::WriteTree,
                access => access,
            };
            let given = args.has("ef", "regexp")
                || args.has("", "file")
                || args.has("", "expression")
                || args.has("", "reference");
            let operands = args.operands.iter().skip(usize::from(!given));
            effects.extend(operands.map(|it| of(access, it)));
            effects.extend(args.glued.iter().filter(|_| !tree).map(|it| of(access, it)));
            if tree && effects.is_empty() {
                effects.push(of(access, &Word::plain(".")));
            }
        }
        Kind::Copy => {
            let read = if args.has("rRa", "recursive") || args.has("", "archive") {
                Access::ReadTree
            } else {
                Access::Read
            };
            let targeted = args.has("t", "target-directory");
            let last = args.operands.len().saturating_sub(1);
            for (at, path) in args.operands.iter().enumerate() {
                if targeted || at == last {
                    effects.push(of(Access::Write, path));
                }
                if targeted || at != last {
                    effects.push(of(read, path));
                }
            }
            effects.extend(args.glued.iter().map(|it| of(Access::Write, it)));
        }
        // What a link leads to can be read and written through it.
        Kind::Link => {
            for path in args.operands.iter().copied().chain(&args.glued) {
                effects.push(of(Access::Read, path));
                effects.push(of(Access::Write, path));
            }
        }
        Kind::Remove => {
            let tree = program == "mv" || args.has("rR", "recursive");
            let access = if tree { Access::RemoveTree } else { Access::Write };
            let last = args.operands.len().saturating_sub(1);
            for (at, path) in args.operands.iter().enumerate() {
                let target = program == "mv" && at == last && last > 0;
                effects.push(of(if target { Access::Write } else { access }, path));
            }
            effects.extend(args.glued.iter().map(|it| of(Access::Write, it)));
        }
        Kind::Find => {
            let search = Search::read(rest);
            let access = match (search.deletes, search.filtered) {
                (false, _) => Access::List,
                (true, true) => Access::RemoveSome,
                (true, false) => Access::RemoveTree,
            };
            effects.extend(search.folders.iter().map(|it| of(access, it)));
            effects.extend(search.writes.iter().map(|it| of(Access::Write, it)));
        }
        Kind::Assigned => {
            for word in rest {
                let (name, value) = word.text.split_once('=').unwrap_or(("", &word.text));
                let access = if name == "if" { Access::Read } else { Access::Write };
                if matches!(name, "if" | "of" | "") {
                    effects.push(of(access, &Word { text: value.to_owned(), ..word.clone() }));
                }
            }
        }
        Kind::Archive => {
            for path in args.operands.iter().copied().chain(&args.glued) {
                effects.push(of(Access::ReadTree, path));
                effects.push(of(Access::WriteTree, path));
            }
        }
        Kind::Fetch => {
            let mut previous = "";
            for word in rest {
                let file = match previous {
                    "-o" | "-O" | "--output" | "--output-document" | "-D" | "-c" | "-P"
                    | "--output-dir" => Some(Access::Write),
                    "-T" | "--upload-file" | "-K" | "--config" | "-E" | "--cert" | "-i" => {
                        Some(Access::Read)
                    }
                    _ => None,
                };
                if let Some(access) = file {
                    effects.push(of(access, word));
                } else if let Some((_, path)) = word.text.split_once('@')
                    && (word.text.starts_with('-')
                        || matches!(
                            previous,
                            "-d" | "--data" | "--data-binary" | "-F" | "--form" | "--data-raw"
                        ))
                {
                    let named = Word { text: path.to_owned(), ..word.clone() };
                    effects.push(of(Access::Read, &named));
                }
                previous = &word.text;
            }
            effects.extend(args.glued.iter().map(|it| of(Access::Write, it)));
        }
        Kind::Git => effects.extend(super::git::effects(rest)),
    }
    effects
}
