//! The tool that replaces text in a file.

use serde_json::{Value, json};

use super::{
    FileContext, Outcome,
    change::{Made, change},
    input::{self, parse},
};
use crate::domain::{
    edit::{ReplaceAll, apply},
    text::{self, Kind},
};

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Edit = match parse("edit", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let target = match context.target(&input.path) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(input.path, error),
    };
    let title = target.shown();
    let (path, all) =
        (title.clone(), if input.replace_all { ReplaceAll::Yes } else { ReplaceAll::No });
    let changed = change(context, &target, move |before| {
        let before = before.ok_or_else(|| format!("{path} does not exist. Use write to create it."))?;
        if let Kind::Utf16(_) = text::kind(before) {
            return Err(format!("{path} is UTF-16, which edit cannot change. Use a command, such as iconv."));
        }
        let edited = apply(before, &input.old_string, &input.new_string, all)
            .map_err(|err| format!("{path} was not changed: {err}"))?;
        let note = match edited.inexact {
            true => " old_string matched only after ignoring differences in white space; new_string was indented as \
                     the file is. Check the place if that matters.",
            false => "",
        };
        Ok(Made { content: edited.content, inexact: edited.inexact, count: edited.count, note: note.to_owned() })
    })
    .await;
    let result = changed.map(|changed| {
        let places = match changed.made.count {
            1 => String::new(),
            count => format!(" in {count} places"),
        };
        let output = format!("Edited {title}{places} ({}).{}", changed.counts(), changed.made.note);
        let metadata =
            json!({"path": title, "diff": changed.diff, "inexact": changed.made.inexact, "created": false});
        (output, metadata)
    });
    Outcome::of(title, result)
}
