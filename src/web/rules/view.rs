//! What the pages of rules show.

use std::collections::HashMap;

use askama::Template;

use crate::{
    domain::{
        ids::{ProjectId, RuleId, UserId},
        permission::{Action, Judgement, TOOLS},
    },
    engine::{refused::Fields, rules::Entered},
    store::entity::permission_rule::Model as Rule,
    web::page::Frame,
};

/// What can be tried: tools whose calls are about a text.
pub(super) const TRIED: &[&str] = &[
    "bash",
    "network",
    "read",
    "edit",
    "write",
    "multi_edit",
    "apply_patch",
    "list",
    "glob",
    "grep",
    "web_fetch",
    "task",
    "skill",
];

#[derive(Template)]
#[template(path = "rules/of_project.html")]
pub(super) struct ProjectPage {
    pub frame: Frame,
    /// Which of the project's tabs it is.
    pub tab: &'static str,
    pub project: ProjectName,
    pub path: String,
    pub list: ListPanel,
    pub global: Option<ListPanel>,
    pub verdict: VerdictPanel,
    pub tools: &'static [&'static str],
    pub tool: String,
    pub input: String,
}

#[derive(Template)]
#[template(path = "rules/global.html")]
pub(super) struct GlobalPage {
    pub frame: Frame,
    pub path: String,
    pub list: ListPanel,
    pub global: Option<ListPanel>,
    pub verdict: VerdictPanel,
    pub tools: &'static [&'static str],
    pub tool: String,
    pub input: String,
}

pub(super) struct ProjectName {
    pub id: ProjectId,
    pub name: String,
}

#[derive(Template)]
#[template(path = "rules/list.html")]
pub(super) struct ListPanel {
    frame: Frame,
    id: &'static str,
    title: &'static str,
    path: String,
    editable: bool,
    rows: Vec<Row>,
    tools: Vec<&'static str>,
    pub entered: Entered,
    pub errors: Fields,
}

struct Row {
    id: RuleId,
    number: usize,
    tool: String,
    pattern: String,
    action: &'static str,
    verdict: &'static str,
    icon: &'static str,
    /// Who made it, and when.
    from: String,
    first: bool,
    last: bool,
}

#[derive(Template)]
#[template(path = "rules/verdict.html")]
pub(super) struct VerdictPanel {
    frame: Frame,
    tried: Option<Told>,
    pub wrong: Option<String>,
}

struct Told {
    title: &'static str,
    action: &'static str,
    verdict: &'static str,
    icon: &'static str,
    because: String,
    parts: Vec<Part>,
    reasons: Vec<String>,
}

struct Part {
    text: String,
    action: &'static str,
    verdict: &'static str,
    icon: &'static str,
    because: String,
    decides: bool,
}

impl ListPanel {
    /// A project's own list.
    pub fn of(frame: Frame, path: String, rules: &[Rule], names: &HashMap<UserId, String>) -> Self {
        let count = rules.len();
        let rows = (1..).zip(rules).map(|(number, rule)| Row::of(rule, (number, count), names));
        let tools = ["bash", "edit", "read", "network", "web_fetch", "external_directory"];
        let others = TOOLS.iter().copied().filter(|it| !tools.contains(it));
        Self {
            frame,
            id: "rules",
            title: "This project",
            path,
            editable: true,
            rows: rows.collect(),
            tools: tools.into_iter().chain(others).chain(["*"]).collect(),
            entered: Entered { tool: "bash".into(), action: "ask".into(), pattern: String::new() },
            errors: Fields::new(),
        }
    }

    pub fn for_everybody(self) -> Self {
        Self { title: "Everyone", id: "global-rules", ..self }
    }

    pub fn read_only(self) -> Self {
        Self { editable: false, ..self.for_everybody() }
    }
}

impl Row {
    fn of(rule: &Rule, (number, count): (usize, usize), names: &HashMap<UserId, String>) -> Self {
        let day = rule.created_at.format("%-d %b %Y");
        let from = match rule.created_by.and_then(|it| names.get(&it)) {
            Some(name) => format!("{name}, {day}"),
            None => day.to_string(),
        };
        let (action, verdict, icon) = signs(rule.action.parse().unwrap_or(Action::Deny));
        Self {
            id: rule.id,
            number,
            tool: rule.tool.clone(),
            pattern: rule.pattern.clone(),
            action,
            verdict,
            icon,
            from,
            first: number == 1,
            last: number == count,
        }
    }
}

impl VerdictPanel {
    pub fn new(frame: Frame) -> Self {
        Self { frame, tried: None, wrong: None }
    }

    pub fn judged(self, judgement: Judgement) -> Self {
        let (action, verdict, icon) = signs(judgement.action);
        let mut decided = false;
        let parts = judgement.parts.into_iter().map(|part| {
            let decides = !decided && part.action == judgement.action;
            decided |= decides;
            let (action, verdict, icon) = signs(part.action);
            Part { text: part.text, action, verdict, icon, because: part.because, decides }
        });
        let told = Told {
            title: match judgement.action {
                Action::Allow => "Would be allowed",
                Action::Ask => "Would be asked about",
                Action::Deny => "Would be denied",
            },
            action,
            verdict,
            icon,
            parts: parts.collect(),
            because: judgement.because,
            reasons: judgement.reasons,
        };
        Self { tried: Some(told), ..self }
    }
}

/// The word for the markup, the word for people, and the symbol.
fn signs(action: Action) -> (&'static str, &'static str, &'static str) {
    match action {
        Action::Allow => ("allow", "Allow", "check"),
        Action::Ask => ("ask", "Ask", "hand"),
        Action::Deny => ("deny", "Deny", "x"),
    }
}
