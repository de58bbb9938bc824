//! The tool that makes several replacements in one file, all or none.

use serde_json::{Value, json};

use super::{
    FileContext, Outcome,
    change::{Made, change},
    edit::{must_be_text, replace_all},
    input::{self, OneEdit, parse},
};
use crate::domain::{
    edit::{Change, SomeFailed, apply_all},
    text,
};

/// So many edits are explained in full; of the others only the first line is told.
const EXPLAINED: usize = 4;

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::MultiEdit = match parse("multi_edit", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let target = match context.target(&input.path) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(input.path, error),
    };
    let (title, edits) = (target.shown(), input.edits);
    let count = edits.len();
    if edits.is_empty() {
        return Outcome::failed(title, "edits is empty. Give at least one edit.".to_owned());
    }
    let path = title.clone();
    let changed = change(context, &target, move |before| {
        let before = must_be_text(&path, before, "multi_edit")?;
        let changes: Vec<Change<'_>> = edits.iter().map(OneEdit::as_change).collect();
        let edited =
            apply_all(before, &changes).map_err(|trouble| told(&path, count, &trouble))?;
        let note = match edited.inexact.as_slice() {
            [] => String::new(),
            inexact => format!(
                " {} matched only after ignoring differences in white space; the new text was indented as the file \
                 is. Check these places if that matters.",
                numbered("Edit", inexact)
            ),
        };
        let inexact = !edited.inexact.is_empty();
        Ok(Made { content: edited.content, inexact, count: edited.count, note })
    })
    .await;
    let result = changed.map(|changed| {
        let edits = text::counted(count, "edit");
        let output = format!("Edited {title}: {edits} ({}).{}", changed.counts(), changed.made.note);
        let metadata = json!({
            "path": title, "diff": changed.diff, "inexact": changed.made.inexact, "created": false, "edits": count,
        });
        (output, metadata)
    });
    Outcome::of(title, result)
}

impl OneEdit {
    fn as_change(&self) -> Change<'_> {
        Change { old: &self.old_string, new: &self.new_string, all: replace_all(self.replace_all) }
    }
}

/// Which edits failed and why, and which would have been made.
fn told(path: &str, count: usize, trouble: &SomeFailed) -> String {
    let SomeFailed { failed, fine } = trouble;
    let edits = text::counted(count, "edit");
    let mut message = format!("{path} was not changed: {} of {edits} failed.", failed.len());
    if !fine.is_empty() {
        message.push_str(&format!(" {} would have succeeded.", numbered("Edit", fine)));
    }
    for (at, (number, why)) in failed.iter().enumerate() {
        let why = if at < EXPLAINED { why } else { why.lines().next().unwrap_or_default() };
        message.push_str(&format!("\nEdit {number}: {why}"));
    }
    message.push_str("\nCorrect what failed, then send all edits again.");
    message
}

/// `Edit 2`, `Edits 1, 3 and 4`.
pub(super) fn numbered(noun: &str, numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => format!("{noun} {one}"),
        [first @ .., last] => format!("{noun}s {} and {last}", first.join(", ")),
    }
}
