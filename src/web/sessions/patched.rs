//! What a patch changed, or would change, file by file.

use serde::Deserialize;
use serde_json::Value;

use super::{
    diffs,
    view::{ChangedFile, Content, DiffView, ToolView},
};
use crate::domain::{
    diff::{self, Bounds, Diff},
    edit::patch::{self, FilePatch, What},
    text::{counted, cut, printable},
};

/// Rows of all differences of one patch together, and of one file at least.
const ROWS: usize = 120;
const LEAST: usize = 6;
/// Files that are drawn.
const FILES: usize = 40;
/// Bytes of one side of a file that an ask shows.
const SIDE: usize = 8 << 10;

/// A file as the call has stored it.
#[derive(Deserialize)]
struct File {
    path: String,
    #[serde(default)]
    from: Option<String>,
    change: String,
    diff: Diff,
}

/// Draws what a call has changed.
pub fn draw(view: &mut ToolView, meta: &Value) {
    let all = Vec::<File>::deserialize(&meta["files"]).unwrap_or_default();
    if all.is_empty() {
        return;
    }
    if meta["inexact"] == true {
        view.notes.push("Some lines were found only when spaces were not counted.".to_owned());
    }
    if all.len() > FILES {
        view.notes.push(format!("{} not shown.", counted(all.len() - FILES, "further file")));
    }
    view.meta = (all.len() > 1).then(|| counted(all.len(), "file"));
    view.delta = Some(all.iter().fold((0, 0), |(additions, deletions), file| {
        (additions + file.diff.additions, deletions + file.diff.deletions)
    }));
    view.open = true;
    let rows = (ROWS / all.len()).clamp(LEAST, diffs::IN_TIMELINE);
    let drawn = all.into_iter().take(FILES).map(|file| ChangedFile {
        verb: match file.change.as_str() {
            "created" => "Created",
            "deleted" => "Deleted",
            "moved" => "Moved",
            _ => "Edited",
        },
        delta: (file.diff.additions, file.diff.deletions),
        diff: diffs::view(&file.path, file.diff, rows),
        path: file.path,
        from: file.from,
    });
    view.content = Content::Files(drawn.collect());
}

/// What a patch that is asked about would do: in words for each file, and in lines.
pub fn asked(input: &Value) -> (Vec<String>, Vec<DiffView>) {
    let text = input["patch"].as_str().unwrap_or_default();
    let Ok(patch) = patch::parse(text) else { return Default::default() };
    let words = patch.files.iter().take(FILES).map(in_words).collect();
    let rows = (ROWS / patch.files.len().max(1)).clamp(LEAST, diffs::IN_TIMELINE);
    let drawn = patch.files.iter().take(FILES).filter_map(|file| {
        let (before, after) = match &file.what {
            What::Add(content) => (String::new(), content.clone()),
            What::Delete => return None,
            What::Update { chunks, .. } if chunks.is_empty() => return None,
            What::Update { chunks, .. } => {
                let joined = |lines: &mut dyn Iterator<Item = &str>| {
                    lines.map(|line| format!("{line}\n")).collect::<String>()
                };
                (
                    joined(&mut chunks.iter().flat_map(|chunk| chunk.old_lines())),
                    joined(&mut chunks.iter().flat_map(|chunk| chunk.new_lines())),
                )
            }
        };
        let (before, after) = (cut(&before, SIDE), cut(&after, SIDE));
        let diff = diff::lines(before.as_bytes(), after.as_bytes(), Bounds::default());
        Some(diffs::view(&file.path, diff, rows))
    });
    (words, drawn.collect())
}

fn in_words(file: &FilePatch) -> String {
    let path = printable(file.path.as_bytes());
    match &file.what {
        What::Add(_) => format!("creates {path}"),
        What::Delete => format!("deletes {path}"),
        What::Update { to: None, .. } => format!("changes {path}"),
        What::Update { to: Some(to), .. } => {
            format!("moves {path} to {}", printable(to.as_bytes()))
        }
    }
}
