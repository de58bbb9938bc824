//! What an agent asks, with what an answer needs to know.

use serde_json::Value;

use super::{
    diffs, patched,
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
        "write" | "edit" | "multi_edit" => ("Change this file?", "Path", "Paths that match"),
        "apply_patch" => ("Apply this patch?", "Paths", "Paths that match"),
        "read" => ("Read this file?", "Path", "Paths that match"),
        "list" | "glob" | "grep" => ("Look into this folder?", "Path", "Paths that match"),
        _ => ("Allow this call?", "Call", "Calls that match"),
    };
    let (words, changes) = changes(&question);
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
        reasons: folder.into_iter().chain(words).chain(question.reasons).collect(),
        changes,
        always,
    }
}

/// What a call that is asked about would change: in words, and in lines.
fn changes(question: &Question) -> (Vec<String>, Vec<DiffView>) {
    let text =
        |value: &Value, name: &str| value[name].as_str().map(|it| cut(it, SUBJECT).to_owned());
    let input = &question.input;
    let sides = match question.tool.as_str() {
        "edit" => text(input, "old_string").zip(text(input, "new_string")),
        "multi_edit" => {
            let edits = input["edits"].as_array().map_or(&[][..], Vec::as_slice);
            let side = |name: &str| {
                let texts = edits.iter().filter_map(|edit| text(edit, name));
                cut(&texts.collect::<Vec<_>>().join("\n"), SUBJECT).to_owned()
            };
            Some((side("old_string"), side("new_string")))
        }
        "write" => text(input, "content").map(|after| (String::new(), after)),
        "apply_patch" => return patched::asked(input),
        _ => None,
    };
    let drawn = sides.map(|(before, after)| {
        let diff = diff::lines(before.as_bytes(), after.as_bytes(), Bounds::default());
        diffs::view(&question.subject, diff, diffs::IN_TIMELINE)
    });
    (Vec::new(), drawn.into_iter().collect())
}
