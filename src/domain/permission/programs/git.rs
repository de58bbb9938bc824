//! Git: what only looks, which files a command names, and what can run another program.

use super::{Access, Effect, Folder};
use crate::domain::permission::shell::Word;

/// Options of `status`, `log`, `diff` and `show` that neither write a file nor start a program.
/// Only these are known to be harmless: an abbreviation or an unknown one is asked about.
const FLAGS: &[&str] = &[
    "-s",
    "--short",
    "-b",
    "--branch",
    "--porcelain",
    "--porcelain=v1",
    "--porcelain=v2",
    "--long",
    "-z",
    "--untracked-files",
    "--untracked-files=all",
    "--untracked-files=no",
    "-u",
    "-uall",
    "-uno",
    "--ignored",
    "--show-stash",
    "--ahead-behind",
    "--oneline",
    "--stat",
    "--shortstat",
    "--numstat",
    "--dirstat",
    "--summary",
    "--name-only",
    "--name-status",
    "--graph",
    "--decorate",
    "--all",
    "--branches",
    "--tags",
    "--remotes",
    "-p",
    "--patch",
    "--no-patch",
    "--cached",
    "--staged",
    "--no-color",
    "--reverse",
    "--merges",
    "--no-merges",
    "--first-parent",
    "--follow",
    "-w",
    "--ignore-all-space",
    "--ignore-space-change",
    "--ignore-blank-lines",
    "--word-diff",
    "--abbrev-commit",
    "--no-ext-diff",
    "--no-textconv",
    "--full-index",
    "--raw",
    "--merge-base",
    "--topo-order",
    "--date-order",
    "--quiet",
    "--exit-code",
    "--check",
    "--minimal",
    "--patience",
    "--histogram",
    "-i",
    "--no-renames",
    "-M",
    "-R",
    "--text",
    "-a",
    "--relative",
    "--",
];
const PREFIXES: &[&str] = &[
    "--max-count=",
    "--skip=",
    "--author=",
    "--committer=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--grep=",
    "--unified=",
    "--color=never",
    "--format=",
    "--pretty=",
    "--date=",
    "--diff-filter=",
    "--stat=",
    "--find-renames=",
    "--abbrev=",
    "--decorate=",
    "--word-diff=plain",
    "-U",
    "-n",
    "-S",
    "-G",
];

/// Whether a git command only looks. A folder below the project could pose as a repository whose
/// configuration names programs, so it must run in the project's own folder.
pub(super) fn only_looks(args: &[&str], folder: Folder) -> bool {
    let mut args = args;
    while let [first, rest @ ..] = args
        && matches!(*first, "--no-pager" | "--no-optional-locks")
    {
        args = rest;
    }
    let [command, rest @ ..] = args else { return false };
    let only = |known: &[&str]| rest.iter().all(|it| known.contains(it));
    folder == Folder::Project
        && match *command {
            "status" | "log" | "diff" | "show" => rest.iter().all(|it| is_harmless(it)),
            "branch" => only(&["-a", "-r", "-v", "-vv", "--list", "--all", "--show-current"]),
            "tag" => only(&["-l", "--list"]),
            "remote" => only(&["-v"]),
            "rev-parse" => rest.iter().all(|it| {
                matches!(
                    *it,
                    "--abbrev-ref"
                        | "--short"
                        | "--show-toplevel"
                        | "--git-dir"
                        | "--is-inside-work-tree"
                        | "--verify"
                        | "--show-prefix"
                ) || !it.starts_with('-')
            }),
            "ls-files" => only(&[
                "-m",
                "-o",
                "-d",
                "-c",
                "-s",
                "--modified",
                "--others",
                "--deleted",
                "--exclude-standard",
                "--cached",
            ]),
            _ => false,
        }
}

fn is_harmless(arg: &str) -> bool {
    !arg.starts_with('-')
        || FLAGS.contains(&arg)
        || PREFIXES.iter().any(|it| arg.starts_with(it))
        || arg.get(1..).is_some_and(|it| it.parse::<u32>().is_ok())
}

/// The subcommand and what follows it, past git's own options.
pub(super) fn subcommand(args: &[Word]) -> Option<(&str, &[Word])> {
    let mut args = args;
    loop {
        let (first, rest) = args.split_first()?;
        match first.literal()? {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
            | "--exec-path" => {
                args = rest.get(1..)?;
            }
            option if option.starts_with('-') => args = rest,
            name => return Some((name, rest)),
        }
    }
}

/// The files that a git command names. A branch of that name is taken for the file.
pub(super) fn effects(args: &[Word]) -> Vec<Effect> {
    let Some((command, rest)) = subcommand(args) else { return Vec::new() };
    let access = match command {
        "rm" | "mv" | "restore" | "checkout" | "clean" | "worktree" => Access::Write,
        "diff" | "show" | "log" | "blame" | "annotate" | "cat-file" | "add" | "stage"
        | "hash-object" | "apply" | "am" | "difftool" | "archive" => Access::Read,
        "grep" => Access::ReadTree,
        "init" | "clone" => Access::WriteTree,
        _ => return Vec::new(),
    };
    let mut effects = Vec::new();
    let paths = rest.iter().filter(|it| !it.text.starts_with('-'));
    for word in paths.skip(usize::from(command == "clone")) {
        // `HEAD:path` is that file as it was.
        let path = word.text.split_once(':').map_or(word.text.as_str(), |it| it.1);
        // `:(magic)path` and `:!path` pick files in ways of their own.
        let magic = word.text.starts_with(':') && path.starts_with(['(', '!', '^', '/']);
        if path.is_empty() {
            continue;
        }
        let text = if magic { super::super::shell::HOLE.to_string() } else { path.to_owned() };
        // Git reads wildcards itself, also those that the shell was kept from.
        let glob = word.glob || (command != "grep" && path.contains(['*', '?', '[']));
        effects.push(Effect { access, path: Word { text, glob, ..word.clone() } });
    }
    effects
}

/// Why a git command has to be looked at even where a rule allows it.
pub(super) fn risk(args: &[Word]) -> Option<String> {
    const ANYWHERE: &[&str] = &[
        "--config-env",
        "--exec-path",
        "--paginate",
        "--ext-diff",
        "--textconv",
        "--output",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--open-files-in-pager",
        "--template",
        "--config",
        "--output-directory",
        "--git-dir",
        "--work-tree",
        "--extcmd",
        "--command",
    ];
    let (command, _) = subcommand(args).unwrap_or_default();
    let own = args.iter().take_while(|it| it.text.starts_with('-'));
    for word in own {
        if matches!(word.text.as_str(), "-c" | "-p" | "-C") || word.text.starts_with("-c") {
            return Some(format!("changes how git works with {}", word.text));
        }
    }
    for word in args {
        let option = word.text.split('=').next().unwrap_or_default();
        let long = option.len() > 3
            && option.starts_with("--")
            && ANYWHERE.iter().any(|it| it.starts_with(option))
            // A whole option that only looks like the beginning of a risky one.
            && option != "--text";
        let short = matches!(
            (command, option),
            ("rebase", "-x") | ("grep", "-O") | ("clone", "-c" | "-u") | ("difftool", "-x")
        );
        if long || short {
            return Some(format!("{option} can run a program or write a file"));
        }
    }
    match command {
        "config" => Some("git config can name programs to run".into()),
        "filter-branch" | "bisect" | "submodule" | "mergetool" | "difftool" | "instaweb"
        | "daemon" | "send-email" => Some(format!("git {command} can run other programs")),
        _ => None,
    }
}
