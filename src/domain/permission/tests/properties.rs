//! What holds for every command.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{bash, rules};
use crate::domain::permission::Action;

/// Commands that a rule allows or that only look.
const ALLOWED: &[&str] =
    &["ls", "pwd", "git status", "cargo test", "echo 'a b'", "cat a.txt", "true", "head -n 3 x"];
/// Spellings of a denied command.
const DENIED: &[&str] = &[
    "rm x",
    "r\\m x",
    "'rm' x",
    "\"rm\" x",
    "/bin/rm x",
    "env rm x",
    "sh -c 'rm x'",
    "nohup rm x",
    "command rm x",
    "xargs rm",
    "sudo rm x",
    "$'rm' x",
    "eval 'rm x'",
    "find . -exec rm {} +",
];

/// A script of allowed commands with a hole for a denied one.
fn script() -> impl Strategy<Value = String> {
    let allowed = || prop::sample::select(ALLOWED).prop_map(str::to_owned);
    let leaf = prop_oneof![3 => prop::sample::select(DENIED).prop_map(str::to_owned)];
    leaf.prop_recursive(4, 24, 2, move |inner| {
        let with = |join: fn(&str, &str) -> String| {
            (inner.clone(), allowed()).prop_map(move |(hole, other)| join(&hole, &other)).boxed()
        };
        prop_oneof![
            with(|hole, other| format!("{other}; {hole}")),
            with(|hole, other| format!("{hole}; {other}")),
            with(|hole, other| format!("{other} && {hole}")),
            with(|hole, other| format!("{other} || {hole}")),
            with(|hole, other| format!("{other} | {hole}")),
            with(|hole, other| format!("{other} & {hole}")),
            with(|hole, other| format!("{other}\n{hole}\n{other}")),
            with(|hole, _| format!("( {hole} )")),
            with(|hole, _| format!("{{ {hole}\n}}")),
            with(|hole, _| format!("echo $({hole})")),
            with(|hole, _| format!("echo \"a $({hole}) b\"")),
            with(|hole, _| format!("echo `{hole}`")),
            with(|hole, _| format!("cat <({hole})")),
            with(|hole, _| format!("echo a > >({hole})")),
            with(|hole, _| format!("cat <<EOF\na $({hole}) b\nEOF")),
            with(|hole, other| format!("if {other}; then {hole}\nfi")),
            with(|hole, other| format!("if {hole}\nthen {other}; else {other}; fi")),
            with(|hole, _| format!("for i in a b; do {hole}\ndone")),
            with(|hole, other| format!("while {other}; do {hole}\ndone")),
            with(|hole, _| format!("case a in b) {hole}\n;; esac")),
            with(|hole, _| format!("f() {{ {hole}\n}}; f")),
            with(|hole, _| format!("! {hole}")),
            with(|hole, _| format!("x=$({hole}) ls")),
            with(|hole, _| format!("[ -n \"$({hole})\" ]")),
            with(|hole, _| format!("echo ${{y:-$({hole})}}")),
            with(|hole, _| format!("bash -c '{}'", hole.replace('\'', r"'\''"))),
            with(|hole, other| format!("{other} > out\n{hole} 2>&1")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_script_with_a_denied_command_anywhere_is_never_allowed(script in script()) {
        let rules = rules("global deny bash rm *\nproject allow bash *\nproject allow external_directory **");
        let judged = bash(&rules, &script);
        prop_assert_ne!(judged.action, Action::Allow, "{}", script);
        prop_assert_eq!(judged.always, None);
    }

    #[test]
    fn no_text_makes_the_gate_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        bash(&rules("project allow bash *"), &text);
    }

    #[test]
    fn no_text_that_looks_like_a_script_makes_the_gate_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
    ) {
        let text = pieces.concat();
        bash(&rules("project allow bash *\nglobal deny read **/.env"), &text);
    }
}

const PIECES: &[&str] = &[
    "rm", " ", "-rf", "/", "~", "$HOME", "$(", ")", "`", "\"", "'", "\\", "\n", ";", "&", "|",
    "<<EOF\n", "EOF\n", "<", ">", ">&", "<(", "{", "}", "if ", "then ", "fi", "for ", "in ", "do ",
    "done", "case ", "esac", "((", "))", "[[", "]]", "$((", "${", "x", "=", "*", "[", "]", "é",
    "🦀", "#", "$'", "\\x", "\t", "find ", "-exec ", "{} ", "xargs ", "env ", "sh -c ", "cd ",
    "..", ".env", "git ", "--", ":", "!",
];

#[test]
fn a_text_made_to_be_slow_is_answered_all_the_same() {
    let rules = rules("project allow bash *\nglobal deny read **/.env");
    for piece in [
        "(",
        "$(",
        "{ ",
        "\"",
        "`",
        "<<A\n",
        "a && ",
        "if ",
        "[[ ",
        "$((",
        "${a:-",
        "case a in ",
        "a|",
        "<(",
        "\\",
        "'",
        "a=(",
        "x;",
        "nice ",
        "sh -c '",
        "cd a;",
        "! ",
        "(a)",
        "a@(",
        "a | ",
        "${a[",
        "a[$(",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let start = Instant::now();
        bash(&rules, &text);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{piece:?} took {took:?}");
    }
}
