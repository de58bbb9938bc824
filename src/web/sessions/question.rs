//! What an agent asks, with what an answer needs to know.

use super::{
    diffs,
    view::{Always, AskView, DiffView},
    words::Moment,
};
use crate::{
    domain::{
        ask::Question,
        diff::{self, Bounds},
        text::cut,
    },
    store::entity::ask::Model as Ask,
};

/// Bytes of a subject or of a new file that an ask shows.
const SUBJECT: usize = 8 << 10;

/// Draws an ask. `project` is where a rule is saved.
pub fn view(ask: &Ask, project: &str) -> AskView {
    let question: Question = serde_json::from_value(ask.data.clone()).unwrap_or(Question {
        version: 1,
        tool: String::new(),
        subject: String::new(),
        folder: None,
        input: serde_json::Value::Null,
        reasons: Vec::new(),
        always: Vec::new(),
        because: String::new(),
        repeated: false,
    });
    let (title, what, label) = match question.tool.as_str() {
        "bash" => ("Run this command?", "Command", "Commands that match"),
        "write" | "edit" => ("Change this file?", "Path", "Paths that match"),
        "read" => ("Read this file?", "Path", "Paths that match"),
        "list" | "glob" | "grep" => ("Look into this folder?", "Path", "Paths that match"),
        _ => ("Allow this call?", "Call", "Calls that match"),
    };
    let change = change(&question);
    let mut rules = question.always.into_iter();
    let always = rules.next().map(|first| Always {
        label,
        project: project.to_owned(),
        pattern: first.pattern,
        also: rules.map(|rule| format!("{} {}", rule.tool, rule.pattern)).collect(),
    });
    let folder = question.folder.map(|folder| format!("It starts in {folder}."));
    let because = match question.because.is_empty() {
        true => "No rule allows it.".to_owned(),
        false => question.because,
    };
    AskView {
        id: ask.id.to_string(),
        title,
        what,
        subject: cut(&question.subject, SUBJECT).to_owned(),
        at: Moment::of(ask.created_at),
        because,
        reasons: folder.into_iter().chain(question.reasons).collect(),
        change,
        always,
    }
}

/// What an edit that is asked about would change.
fn change(question: &Question) -> Option<DiffView> {
    let text = |name: &str| question.input[name].as_str().map(|text| cut(text, SUBJECT));
    let (before, after) = match question.tool.as_str() {
        "edit" => (text("old_string")?, text("new_string")?),
        "write" => ("", text("content")?),
        _ => return None,
    };
    let diff = diff::lines(before.as_bytes(), after.as_bytes(), Bounds::default());
    Some(diffs::view(&question.subject, diff, diffs::IN_TIMELINE))
}
