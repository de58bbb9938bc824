//! Tests of the gate as a whole.

mod bypasses;
mod commands;
mod network;
mod offers;
mod paths;
mod properties;

use super::{About, Action, Call, Judgement, Place, Rule, RuleSet, Trust, judge};

const PLACE: Place<'_> =
    Place { root: "/home/ada/app", home: "/home/ada", data_dir: "/var/lib/forge" };

/// Reads rules the way one would write them on paper: a list, an action, a tool, a pattern.
fn rules(text: &str) -> RuleSet {
    let mut rules = RuleSet { trusted: Trust::Trusted, ..RuleSet::default() };
    for line in text.lines().map(str::trim).filter(|it| !it.is_empty()) {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut words = line.splitn(4, ' ');
        let mut next = || words.next().expect("a rule has four words");
        let (list, action, tool, pattern) = (next(), next(), next(), next());
        let action: Action = action.parse().expect("an action");
        let rule = Rule::parse(tool, pattern, action).expect("a rule");
        match list {
            "global" => rules.global.push(rule),
            "project" => rules.project.push(rule),
            "agent" => rules.agent.push(rule),
            other => panic!("no list is called {other}"),
        }
    }
    rules
}

fn bash(rules: &RuleSet, text: &str) -> Judgement {
    let about = About::Command { text, cwd: "" };
    judge(rules, &Call { tool: "bash", about, place: PLACE })
}

/// Judges a table of commands, each line an action and a command, `⏎` for a line break.
#[track_caller]
fn table(rules: &RuleSet, text: &str) -> usize {
    let mut wrong = Vec::new();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    for line in &lines {
        let (action, command) = line.split_once(' ').expect("an action and a command");
        let command = command.trim().replace('⏎', "\n");
        let expected: Action = action.parse().expect("an action");
        let judged = bash(rules, &command);
        if judged.action != expected {
            wrong.push(format!(
                "{line}\n    is {}: {} {:?}",
                judged.action, judged.because, judged.reasons
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    lines.len()
}
