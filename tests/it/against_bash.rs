//! What the gate allows, run by Bash itself: nothing may run that the gate did not see.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use forge::domain::permission::{About, Action, Call, Place, Rule, RuleSet, Trust, judge};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};

/// The pieces that quoting, expansion and the ends of commands are made of.
const PIECES: &[&str] = &[
    "mark x",
    "mark",
    "echo ",
    "echo a",
    "true",
    ": ",
    "a",
    " ",
    " ",
    ";",
    "; ",
    "\n",
    "\n",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\\",
    "\\'",
    "\\\"",
    "$'",
    "$\"",
    "`",
    "`",
    "$(",
    ")",
    ")",
    "(",
    "${x:-",
    "${x#",
    "}",
    "{ ",
    "; }",
    "$((1",
    "))",
    "[[ a == ",
    " ]]",
    "[ a ",
    "]",
    "=",
    "x=",
    "x+=",
    "a=(",
    "#",
    " #",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "\tE\n",
    "<<<",
    "<(",
    ">(",
    "&&",
    "||",
    "|",
    "|&",
    "!",
    "! ",
    "if true; then ",
    "; fi",
    "else ",
    "for i in ",
    "; do ",
    "; done",
    "case a in a) ",
    "(a) ",
    ";; esac",
    ";;",
    "esac",
    "-",
    "$",
    "$x",
    "$$",
    "$#",
    "${#",
    "~",
    ",",
    "{a,",
    "*",
    "?",
    "\t",
    "2>&1",
    ">/dev/null",
    "</dev/null",
    "export ",
    "test ",
    "printf ",
    "eval ",
    "eval '",
    "trap '",
    "' EXIT",
    "sh -c '",
    "bash -c \"",
    "\\\n",
    "[",
    "@(",
    "+(",
    "&",
    ">&",
    "&>/dev/null ",
    "time ",
    "coproc ",
    "command ",
    "exec ",
    "builtin ",
    "$[",
    "((1",
    "é",
    "\u{a0}",
    "${x/",
    "/",
    ":",
    "=~ ",
    "<",
    "in ",
    "declare ",
    "local ",
    "unset ",
    "select i in a",
    "-c ",
    "-p ",
    "let ",
    "read ",
    "test -v ",
    "'a[$(mark x)]'",
    "mapfile -C 'mark x' ",
    "$!",
    "==",
    " == ",
    " =~ ",
    "$@",
    "$*",
    "env ",
    "set -- ",
    "1",
    "E",
    "E\n",
    "''",
    "\"\"",
    "function ",
    "f() ",
];

/// Scripts with much between quotes, so that a quote which ends elsewhere shows.
fn script() -> impl Strategy<Value = String> {
    let pieces = || prop::collection::vec(prop::sample::select(PIECES), 2..14);
    let quoted = prop_oneof![
        Just(("'", "'")),
        Just(("\"", "\"")),
        Just(("$'", "'")),
        Just(("`", "`")),
        Just(("$(", ")")),
        Just(("<<E\n", "\nE\n")),
        Just(("<<'E'\n", "\nE\n")),
        Just(("${x:-", "}")),
        Just(("[[ a == ", " ]]")),
        Just(("#", "\n")),
    ];
    let bracket = (quoted, prop::collection::vec(prop::sample::select(PIECES), 0..5))
        .prop_map(|((open, close), inner)| format!("{open}{}{close}", inner.concat()));
    prop_oneof![
        pieces().prop_map(|it| it.concat()),
        prop::collection::vec(
            prop_oneof![3 => prop::sample::select(PIECES).prop_map(str::to_owned), 2 => bracket],
            2..8
        )
        .prop_map(|it| format!("echo {}", it.concat())),
    ]
}

fn rules() -> RuleSet {
    let rule = |tool: &str, pattern: &str, action| Rule::parse(tool, pattern, action).unwrap();
    RuleSet {
        trusted: Trust::Trusted,
        global: vec![rule("bash", "mark *", Action::Deny)],
        project: vec![rule("bash", "*", Action::Allow)],
        ..RuleSet::default()
    }
}

fn allows(rules: &RuleSet, text: &str) -> bool {
    let place = Place { root: "/home/ada/app", home: "/home/ada", data_dir: "/var/lib/forge" };
    let about = About::Command { text, cwd: "" };
    judge(rules, &Call { tool: "bash", about, place }).action == Action::Allow
}

/// Whether Bash ran the command `mark`, which is the only one that there is.
fn marks(folder: &Path, text: &str) -> bool {
    let hit = folder.join("hit");
    let _ = fs::remove_file(&hit);
    let ran = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "5", "/bin/bash", "-c", text])
        .current_dir(folder.join("app"))
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("HIT", &hit)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ran.unwrap();
    hit.exists()
}

#[test]
fn bash_runs_nothing_in_an_allowed_script_that_is_denied() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    fs::create_dir(folder.join("app")).unwrap();
    fs::create_dir(folder.join("bin")).unwrap();
    let mark = folder.join("bin/mark");
    fs::write(&mark, "#!/bin/bash\n: > \"$HIT\"\n").unwrap();
    fs::set_permissions(&mark, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(marks(folder, "echo a; mark x"));
    assert!(!marks(folder, "echo 'a; mark x'"));

    let rules = rules();
    let (strategy, mut runner) = (script(), TestRunner::default());
    let most: usize = std::env::var("SCRIPTS").map_or(20_000, |it| it.parse().unwrap());
    let (mut ran, mut wrong) = (0, Vec::new());
    for _ in 0..most {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        if !text.contains("mark") || text.contains('\0') || !allows(&rules, &text) {
            continue;
        }
        ran += 1;
        if marks(folder, &text) {
            wrong.push(text);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {ran}: {:#?}",
        wrong.len(),
        wrong.iter().take(40).collect::<Vec<_>>()
    );
    assert!(ran > most / 500, "only {ran} of {most} scripts were allowed");
}
