//! What tools may do with paths, hosts and names.

use super::{PLACE, rules};
use crate::domain::permission::{About, Action, Call, Judgement, RuleSet, Trust, judge, may_show};

fn path(rules: &RuleSet, tool: &str, inside: &str) -> Judgement {
    judge(rules, &Call { tool, about: About::Path { inside }, place: PLACE })
}

fn external(rules: &RuleSet, tool: &str, path: &str) -> Judgement {
    judge(rules, &Call { tool, about: About::External { path }, place: PLACE })
}

fn plain(rules: &RuleSet, tool: &str) -> Action {
    judge(rules, &Call { tool, about: About::Plain, place: PLACE }).action
}

#[test]
fn a_trusted_project_is_worked_in_without_asking() {
    let rules = rules("");
    for (tool, inside, action) in [
        ("read", "src/a.rs", Action::Allow),
        ("read", ".env", Action::Ask),
        ("grep", "a/.env.local", Action::Ask),
        ("list", ".", Action::Allow),
        ("glob", ".", Action::Allow),
        ("write", "src/a.rs", Action::Allow),
        ("edit", "src/a.rs", Action::Allow),
        ("multi_edit", "a", Action::Allow),
        ("apply_patch", "a", Action::Allow),
        ("write", ".git/hooks/pre-commit", Action::Deny),
        ("edit", ".git/config", Action::Deny),
        ("apply_patch", "sub/.git/config", Action::Deny),
        ("write", ".git/info/exclude", Action::Ask),
        ("write", ".claude/agents/x.md", Action::Ask),
        ("write", "../x", Action::Ask),
        ("write", "/etc/x", Action::Ask),
        ("read", "../../../var/lib/forge/db", Action::Deny),
        ("unknown", "a", Action::Ask),
    ] {
        assert_eq!(path(&rules, tool, inside).action, action, "{tool} {inside}");
    }
    for tool in ["todo_write", "question", "skill", "task", "bash_output", "bash_kill"] {
        assert_eq!(plain(&rules, tool), Action::Allow, "{tool}");
    }
    for tool in ["web_fetch", "web_search", "mcp__x__y", "whatever", "memory_remember"] {
        assert_eq!(plain(&rules, tool), Action::Ask, "{tool}");
    }
}

#[test]
fn an_untrusted_project_is_only_read() {
    let mut rules = rules("project allow write **\nproject allow * *");
    rules.trusted = Trust::Untrusted;
    assert_eq!(path(&rules, "read", "a").action, Action::Allow);
    assert_eq!(plain(&rules, "todo_write"), Action::Allow);
    for tool in ["write", "edit", "apply_patch"] {
        let judged = path(&rules, tool, "a");
        assert_eq!((judged.action, judged.always), (Action::Ask, None), "{tool}");
        assert!(judged.because.contains("not trusted"));
    }
    assert_eq!(plain(&rules, "web_fetch"), Action::Ask);
}

#[test]
fn a_rule_for_reading_or_changing_holds_in_every_tool_of_that_kind() {
    let rules = rules("global deny read **/.env\nproject deny edit gen/**\nproject allow grep **");
    for tool in ["read", "grep", "list", "glob"] {
        assert_eq!(path(&rules, tool, "a/.env").action, Action::Deny, "{tool}");
    }
    for tool in ["write", "edit", "multi_edit", "apply_patch"] {
        assert_eq!(path(&rules, tool, "gen/a").action, Action::Deny, "{tool}");
    }
    assert!(may_show(&rules, PLACE, "src/a.rs"));
    assert!(!may_show(&rules, PLACE, "src/.env"));
    assert!(!may_show(&rules, PLACE, "server.pem"));
    assert!(!may_show(&rules, PLACE, "../x"));
}

#[test]
fn leaving_the_project_is_a_question_of_its_own() {
    let none = rules("project allow * *\nproject allow read **");
    let judged = external(&none, "read", "/opt/lib/a.h");
    assert_eq!(judged.action, Action::Ask);
    assert_eq!(judged.reasons, ["/opt/lib/a.h is outside the project"]);

    let some = rules("project allow external_directory /opt/**\nglobal deny read **/.env");
    assert_eq!(external(&some, "read", "/opt/lib/a.h").action, Action::Allow);
    assert_eq!(external(&some, "write", "/opt/lib/a.h").action, Action::Allow);
    assert_eq!(external(&some, "read", "/opt/x/.env").action, Action::Deny);
    assert_eq!(external(&some, "read", "/opt/x/key.pem").action, Action::Ask);
    assert_eq!(external(&some, "read", "/etc/passwd").action, Action::Ask);
    assert_eq!(external(&some, "read", "/opt/../var/lib/forge/db").action, Action::Deny);

    let deny = rules("global deny * /etc/**\nproject allow external_directory **");
    assert_eq!(external(&deny, "read", "/etc/passwd").action, Action::Deny);
    assert_eq!(external(&deny, "write", "/var/lib/forge/x").action, Action::Deny);
}

#[test]
fn a_global_deny_wins_over_all_and_else_the_last_of_the_nearest_list() {
    let rules = rules(
        "global deny write locked/**
         global allow write locked/open/**
         global ask write docs/**
         project allow write locked/**
         project deny write docs/**
         project allow write docs/a.md
         agent deny write **",
    );
    for (inside, action, because) in [
        ("locked/open/a", Action::Deny, "global rule: write `locked/**` → deny"),
        ("docs/b.md", Action::Deny, "project rule: write `docs/**` → deny"),
        ("docs/a.md", Action::Allow, "project rule: write `docs/a.md` → allow"),
        ("src/a", Action::Deny, "agent rule: write `**` → deny"),
    ] {
        let judged = path(&rules, "edit", inside);
        assert_eq!((judged.action, judged.because.as_str()), (action, because), "{inside}");
    }
}

#[test]
fn hosts_and_names_are_matched_as_texts() {
    let rules = rules(
        "global deny web_fetch *.evil.example
         project allow web_fetch docs.rs
         project allow mcp__github__* *
         project deny task review",
    );
    let host = |host| {
        judge(&rules, &Call { tool: "web_fetch", about: About::Host { host }, place: PLACE })
    };
    assert_eq!(host("docs.rs").action, Action::Allow);
    assert_eq!(host("a.evil.example").action, Action::Deny);
    assert_eq!(host("crates.io").action, Action::Ask);
    assert_eq!(plain(&rules, "mcp__github__list"), Action::Allow);
    assert_eq!(plain(&rules, "mcp__gitlab__list"), Action::Ask);
    let task =
        |name| judge(&rules, &Call { tool: "task", about: About::Name { name }, place: PLACE });
    assert_eq!(task("review").action, Action::Deny);
    assert_eq!(task("explore").action, Action::Allow);
}
