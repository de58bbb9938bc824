//! Differences between two versions of a file, as rows of a table.

use super::{
    view::{DiffView, HunkView, RowView},
    words::anchor,
};
use crate::domain::diff::{Diff, LineKind};

/// Rows that a diff in the timeline shows.
pub const IN_TIMELINE: usize = 60;

/// Draws a diff, up to so many rows.
pub fn view(path: &str, diff: Diff, most: usize) -> DiffView {
    let mut left = most;
    let mut hidden = 0;
    let mut hunks = Vec::new();
    for hunk in diff.hunks {
        let all = hunk.lines.len();
        let shown = all.min(left);
        left -= shown;
        hidden += all - shown;
        if shown == 0 {
            continue;
        }
        let line = format!("line {}", hunk.new_start.max(1));
        let heading = hunk.heading.trim();
        let head = if heading.is_empty() { line } else { format!("{heading} · {line}") };
        let rows = hunk.lines.into_iter().take(shown).map(|line| RowView {
            class: match line.kind {
                LineKind::Context => "",
                LineKind::Add => "add",
                LineKind::Del => "del",
            },
            old: line.old_no,
            new: line.new_no,
            pieces: line.spans,
        });
        hunks.push(HunkView { head, rows: rows.collect() });
    }
    let omitted = match (hidden, diff.omitted) {
        (0, omitted) => omitted.map(|omitted| format!("{omitted}.")),
        (1, None) => Some("1 further line.".to_owned()),
        (hidden, None) => Some(format!("{hidden} further lines.")),
        (hidden, Some(omitted)) => Some(format!("{hidden} further lines. {omitted}.")),
    };
    DiffView { path: path.to_owned(), anchor: anchor(path), hunks, omitted, binary: diff.binary }
}
