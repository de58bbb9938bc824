//! The tool that creates a file or replaces a whole one.

use serde_json::{Value, json};

use super::{
    FileContext, Outcome,
    change::{Made, change},
    input::{self, parse},
};
use crate::domain::text::{self, Kind};

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Write = match parse("write", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let target = match context.target(&input.path) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(input.path, error),
    };
    let title = target.shown();
    if input.path.ends_with('/') {
        return Outcome::failed(
            title,
            "path ends with /, which names a folder. Give the path of a file.".to_owned(),
        );
    }
    let path = title.clone();
    let changed = change(context, &target, move |before| made(&path, before, input.content)).await;
    let result = changed.map(|changed| {
        let what = match (changed.created, changed.diff.additions + changed.diff.deletions) {
            (true, _) => {
                let lines = text::counted(changed.diff.additions as usize, "line");
                format!("Created {title} ({lines}).")
            }
            (false, 0) if !changed.diff.binary => format!("{title} has this content already."),
            (false, _) => format!("Overwrote {title} ({}).", changed.counts()),
        };
        let metadata =
            json!({"path": title, "diff": changed.diff, "inexact": false, "created": changed.created});
        (what + &changed.made.note, metadata)
    });
    Outcome::of(title, result)
}

/// The content with what the file had and a model cannot see: its byte order mark and its line
/// ends.
fn made(path: &str, before: Option<&[u8]>, content: String) -> Result<Made, String> {
    let before = before.unwrap_or_default();
    if let Kind::Utf16(_) = text::kind(before) {
        return Err(format!(
            "{path} is UTF-16, and would become UTF-8. Delete it first if that is meant."
        ));
    }
    if content.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(before).is_err() {
        return Err(format!(
            "{path} is not UTF-8: what was shown as {} are bytes that would be lost. Use edit, which keeps them.",
            char::REPLACEMENT_CHARACTER
        ));
    }
    let mut note = String::new();
    let mut bytes = content.into_bytes();
    if text::is_crlf(before) && bytes.contains(&b'\n') && !bytes.contains(&b'\r') {
        note.push_str(" Its CRLF line ends were kept.");
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        bytes = lines.join(&b"\r\n"[..]);
    }
    if before.starts_with(text::BOM) && !bytes.starts_with(text::BOM) {
        note.push_str(" Its byte order mark was kept.");
        bytes.splice(0..0, text::BOM.iter().copied());
    }
    Ok(Made { content: bytes, inexact: false, count: 1, note })
}
