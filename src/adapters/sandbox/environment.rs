//! The environment of a command: a list of what is in it, never what the server has.

/// Where programs are looked for, unless the caller says otherwise.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every command gets, besides `HOME` and `TMPDIR` in its private folder.
///
/// It is told that nobody is there to page through output, to edit a text or to answer a
/// question: a program that waits for that would wait until its time is up.
const BASE: &[(&str, &str)] = &[
    ("PATH", PATH),
    ("LANG", "C.UTF-8"),
    ("TERM", "xterm-256color"),
    ("SHELL", "/bin/bash"),
    ("USER", "agent"),
    ("LOGNAME", "agent"),
    ("PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CI", "1"),
];

/// The environment with what a caller adds; the last of a name wins.
pub(super) fn with(added: Vec<(String, String)>) -> Vec<(String, String)> {
    let base = BASE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    base.chain(added).collect()
}
