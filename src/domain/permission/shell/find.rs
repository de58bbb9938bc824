//! What a `find` looks for, and what it does with what it finds.

use super::{Unknown, Word};

/// The tests and options of `find` that take no value, and those that take one. They only look.
const FLAGS: &[&str] = &[
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    "(",
    ")",
    ",",
    "-print",
    "-print0",
    "-ls",
    "-empty",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-true",
    "-false",
    "-daystart",
    "-follow",
    "-noleaf",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
];
const VALUES: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-newermt",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-regex",
    "-iregex",
    "-regextype",
    "-links",
    "-inum",
    "-lname",
    "-printf",
    "-samefile",
    "-fstype",
];

/// A `find`, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Where it starts to look.
    pub folders: Vec<Word>,
    /// The commands that it runs.
    pub starts: Vec<Vec<Word>>,
    /// The files that it writes its results to.
    pub writes: Vec<Word>,
    pub deletes: bool,
    /// Whether it takes what it finds by more than the folder.
    pub filtered: bool,
    /// Whether it does anything that is not known to only look.
    pub acts: bool,
}

impl Search {
    /// Reads the words after `find`.
    pub(crate) fn read(args: &[Word]) -> Self {
        let mut search = Self::default();
        let mut args = args.iter().peekable();
        while let Some(word) = args.next_if(|it| it.text.starts_with('-') && is_global(it)) {
            search.acts |= word.literal().is_none();
        }
        let starts_expression = |word: &Word| {
            word.text.starts_with('-') || matches!(word.text.as_str(), "!" | "(" | ",")
        };
        while let Some(folder) = args.next_if(|it| !starts_expression(it)) {
            search.folders.push(folder.clone());
        }
        if search.folders.is_empty() {
            search.folders.push(Word::plain("."));
        }
        while let Some(word) = args.next() {
            match word.literal().unwrap_or_default() {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let mut command = Vec::new();
                    for word in args.by_ref() {
                        let end = word.text == ";"
                            || (word.text == "+"
                                && command.last().is_some_and(|it: &Word| it.unknown.is_some()));
                        if end {
                            break;
                        }
                        command.push(if word.text.contains("{}") {
                            Word { raw: word.raw.clone(), ..Word::hole(Unknown::Input) }
                        } else {
                            word.clone()
                        });
                    }
                    search.acts = true;
                    let removes = command.first().is_some_and(|it| {
                        matches!(
                            it.text.rsplit('/').next(),
                            Some("rm" | "rmdir" | "unlink" | "shred" | "mv")
                        )
                    });
                    search.deletes |= removes;
                    if !command.is_empty() {
                        search.starts.push(command);
                    }
                }
                "-delete" => (search.acts, search.deletes) = (true, true),
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    search.acts = true;
                    search.writes.extend(args.next().cloned());
                }
                flag if FLAGS.contains(&flag) => {}
                value if VALUES.contains(&value) => {
                    search.filtered = true;
                    search.acts |= args.next().is_none_or(|it| it.unknown.is_some());
                }
                _ => search.acts = true,
            }
        }
        search
    }
}

fn is_global(word: &Word) -> bool {
    matches!(word.text.as_str(), "-H" | "-L" | "-P")
}
