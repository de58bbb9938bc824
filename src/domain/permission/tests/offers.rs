//! What "always" proposes.

use super::{PLACE, bash, rules};
use crate::domain::permission::{About, Action, Call, RuleSet, judge};

/// The proposed rules on one line, or `-`.
fn offer(rules: &RuleSet, text: &str) -> String {
    let always = bash(rules, text).always;
    always.map_or("-".into(), |all| {
        all.iter().map(|it| format!("{}: {}", it.tool, it.pattern)).collect::<Vec<_>>().join(", ")
    })
}

#[test]
fn a_command_is_offered_by_the_words_that_say_what_it_does() {
    let rules = rules("");
    for (text, expected) in [
        ("git commit -m 'fix it'", "bash: git commit *"),
        ("git commit -m 'two\nlines'", "bash: git commit *"),
        ("git stash pop", "bash: git stash pop *"),
        ("cargo test foo", "bash: cargo test *"),
        ("cargo test", "bash: cargo test *"),
        ("cargo nextest run -E x", "bash: cargo nextest run *"),
        ("npm run build", "bash: npm run build"),
        ("npm test", "bash: npm test"),
        ("make check", "bash: make check"),
        ("./scripts/check.sh --all", "bash: ./scripts/check.sh --all"),
        ("foo 'a b' '*'", r"bash: foo 'a b' '\*'"),
        ("go test ./...", "bash: go test *"),
        ("pytest -q tests", "bash: pytest *"),
        ("mkdir -p a/b", "bash: mkdir *"),
        ("rm a.txt", "bash: rm a.txt"),
        ("cargo test && cargo clippy", "bash: cargo test *, bash: cargo clippy *"),
        ("cargo test && cargo test x", "bash: cargo test *"),
        ("timeout 5 cargo test", "bash: cargo test *"),
        ("bash -c 'cargo test'", "bash: cargo test *"),
        ("cargo test > out.txt", "bash: cargo test *"),
        ("cat /opt/x/a.h", "external_directory: /opt/x/**"),
        ("cat /etc/hosts", "external_directory: /etc/hosts"),
        ("cp a /opt/x/b", "bash: cp *, external_directory: /opt/x/**"),
        ("cat .env", "read: .env"),
        ("git branch -D x", "bash: git branch -D x"),
    ] {
        assert_eq!(offer(&rules, text), expected, "{text}");
    }
}

#[test]
fn case_38_nothing_is_offered_for_what_nobody_could_oversee() {
    let rules = rules("");
    for text in [
        "python x.py",
        "python3.12 -m pytest",
        "node x.js",
        "perl -e 1",
        "ruby x",
        "bash x.sh",
        "sh",
        "awk 1 a",
        "sed -i s/a/b/ a",
        "env",
        "env FOO=1 cargo test",
        "sudo ls",
        "xargs ls",
        "npx x",
        "uvx x",
        "bunx x",
        "pnpm dlx x",
        "npm exec x",
        "uv run x",
        "cargo run",
        "cargo install x",
        "go run .",
        "pip install x",
        "npm install x",
        "docker run x",
        "ssh host",
        "curl u",
        "wget u",
        "rm -rf target",
        "rm -r a",
        "find . -delete",
        "find . -exec cargo fmt {} +",
        "eval ls $x",
        "source x",
        ". x",
        "git -c a=b commit",
        "git config a b",
        "git rebase -x ls",
        "git clean -fd",
        "cargo test $(ls)",
        "cargo test $x",
        "cargo test *",
        "FOO=1 cargo test",
        "cargo test > /etc/x $y",
        "git diff --output=x",
        "rg --pre x y",
        "echo x > .git/info/exclude",
        "strace cargo test",
        "ls \"",
        "kill 1",
        "chmod +x a",
        "cat > /home/ada/x <<EOF\n`ls`\nEOF",
        "cargo test; python x",
        "make -j\u{200b}",
        "coproc cargo test",
        "trap 'python x' EXIT",
        "alias x=y",
    ] {
        assert_eq!(offer(&rules, text), "-", "{text}");
    }
}

#[test]
fn what_is_offered_settles_the_question() {
    let rules = rules("");
    for text in ["cargo test x", "git commit -m 'a b'", "cat /opt/x/a", "foo '*' \\\\", "cat .env"]
    {
        let judged = bash(&rules, text);
        let mut with = rules.clone();
        for it in judged.always.expect(text) {
            let rule = crate::domain::permission::Rule::parse(&it.tool, &it.pattern, Action::Allow);
            with.project.push(rule.unwrap());
        }
        assert_eq!(bash(&with, text).action, Action::Allow, "{text}");
    }
}

#[test]
fn nothing_is_offered_where_a_verdict_needs_no_answer() {
    assert_eq!(bash(&rules(""), "ls").always, None);
    assert_eq!(bash(&rules("global deny bash ls *"), "ls").always, None);
    // A project's rule cannot help against a global deny of another part, and none is needed.
    assert_eq!(bash(&rules("global deny bash rm *"), "cargo test; rm x").always, None);
}

#[test]
fn paths_hosts_and_tools_are_offered_narrowly() {
    let rules = rules("");
    let offer = |tool, about| {
        let always = judge(&rules, &Call { tool, about, place: PLACE }).always;
        always.map(|it| {
            it.into_iter().map(|it| format!("{}: {}", it.tool, it.pattern)).collect::<Vec<_>>()
        })
    };
    let path = |inside| About::Path { inside };
    let external = |path| About::External { path };
    assert_eq!(offer("read", path(".env")).unwrap(), ["read: .env"]);
    assert_eq!(offer("write", path(".git/x")), None);
    assert_eq!(
        offer("read", external("/opt/lib/a.h")).unwrap(),
        ["external_directory: /opt/lib/**"]
    );
    assert_eq!(
        offer("read", external("/home/ada/x")).unwrap(),
        ["external_directory: /home/ada/x"]
    );
    assert_eq!(offer("read", external("/etc/ssl/x")).unwrap(), ["external_directory: /etc/ssl/x"]);
    assert_eq!(
        offer("read", external("/home/ada/.ssh/id_rsa")).unwrap(),
        ["external_directory: /home/ada/.ssh/id_rsa", "read: /home/ada/.ssh/id_rsa"]
    );
    assert_eq!(
        offer("web_fetch", About::Host { host: "docs.rs" }).unwrap(),
        ["web_fetch: docs.rs"]
    );
    assert_eq!(offer("mcp__a__b", About::Plain).unwrap(), ["mcp__a__b: *"]);
    assert_eq!(offer("whatever", About::Plain), None);
}
