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
    let (path, all) = (title.clone(), replace_all(input.replace_all));
    let changed = change(context, &target, move |before| {
        let before = must_be_text(&path, before, "edit")?;
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

pub(super) fn replace_all(given: bool) -> ReplaceAll {
    if given { ReplaceAll::Yes } else { ReplaceAll::No }
}

/// The content of a file in which text can be replaced.
pub(super) fn must_be_text<'a>(
    path: &str,
    content: Option<&'a [u8]>,
    tool: &str,
) -> Result<&'a [u8], String> {
    let content =
        content.ok_or_else(|| format!("{path} does not exist. Use write to create it."))?;
    match text::kind(content) {
        Kind::Utf16(_) => Err(format!(
            "{path} is UTF-16, which {tool} cannot change. Use a command, such as iconv."
        )),
        Kind::Text | Kind::Binary(_) => Ok(content),
    }
}
