//! What changed between two versions of a file: bounded in time and in size, so that it can be
//! stored with a tool call and drawn without a second thought.

mod hunks;
mod unified;
mod words;

use std::{collections::HashMap, fmt, time::Instant};

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use self::hunks::Drawing;
pub use self::unified::unified;
use super::text::{self, Kind};

/// What a diff may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// When to stop looking for the smallest difference. What was not looked at by then counts as
    /// replaced, which is right, but longer than it needs to be.
    pub deadline: Option<Instant>,
    /// How many lines of hunks are kept.
    pub lines: usize,
    /// How many bytes of text these may have together.
    pub bytes: usize,
    /// How many bytes of one line are kept.
    pub line_bytes: usize,
    /// Unchanged lines around each change.
    pub context: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { deadline: None, lines: 400, bytes: 48 << 10, line_bytes: 600, context: 3 }
    }
}

/// The difference between two versions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// All added lines, those that are left out of the hunks included.
    pub additions: u32,
    pub deletions: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// What the hunks do not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// One of the versions is no text: there are no hunks and no counts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub binary: bool,
}

/// Why the hunks are not the whole difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Omitted {
    /// So many further added and removed lines are left out.
    Lines { count: u32 },
    /// Every change is there, but long lines are cut.
    LongLines,
}

/// Changes that are close together, with the lines around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The first line in each version, counted from 1; 0 where that version has no line here.
    pub old_start: u32,
    pub new_start: u32,
    /// The line above that names what this is in, such as the head of a function. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub kind: LineKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_no: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_no: Option<u32>,
    /// The text without its newline, in pieces: whether a piece is what changed in the line, and
    /// the piece.
    pub spans: Vec<(bool, String)>,
    /// The line is the file's last and has no newline.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unterminated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Add,
    Del,
}

impl Line {
    pub fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { count } => {
                write!(f, "{} not shown", text::counted(*count as usize, "further changed line"))
            }
            Self::LongLines => f.write_str("Long lines are cut"),
        }
    }
}

/// Compares two versions line by line.
pub fn lines(before: &[u8], after: &[u8], bounds: Bounds) -> Diff {
    if [before, after].iter().any(|it| matches!(text::kind(it), Kind::Binary(_) | Kind::Utf16(_))) {
        return Diff { binary: true, ..Diff::default() };
    }
    let old: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
    let ops = operations(&old, &new, bounds.deadline);
    let (mut additions, mut deletions) = (0, 0);
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        additions += op.new_range().len();
        deletions += op.old_range().len();
    }
    let mut drawing = Drawing {
        old: &old,
        new: &new,
        bounds,
        hunks: Vec::new(),
        room: bounds.bytes,
        changed: 0,
        cut: false,
    };
    let mut left = bounds.lines;
    for group in group_diff_ops(ops, bounds.context) {
        if left == 0 || drawing.room == 0 {
            break;
        }
        left = drawing.hunk(&group, left);
    }
    let omitted = match additions + deletions - drawing.changed {
        0 => drawing.cut.then_some(Omitted::LongLines),
        count => Some(Omitted::Lines { count: number(count) }),
    };
    Diff {
        additions: number(additions),
        deletions: number(deletions),
        hunks: drawing.hunks,
        omitted,
        binary: false,
    }
}

/// The operations that make the new lines of the old ones, in order and without gaps.
fn operations<'a>(old: &[&'a [u8]], new: &[&'a [u8]], deadline: Option<Instant>) -> Vec<DiffOp> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    // Each distinct line gets a number, so that comparing two lines costs one instruction.
    let mut ids: HashMap<&[u8], u32> = HashMap::new();
    let mut numbered = |lines: &[&'a [u8]]| -> Vec<u32> {
        lines
            .iter()
            .map(|line| {
                let next = number(ids.len());
                *ids.entry(line).or_insert(next)
            })
            .collect()
    };
    let old_ids = numbered(&old_rest[..old_rest.len() - end]);
    let new_ids = numbered(&new_rest[..new_rest.len() - end]);
    let middle = capture_diff_slices_deadline(Algorithm::Myers, &old_ids, &new_ids, deadline);

    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let mut ops = Vec::with_capacity(middle.len() + 2);
    ops.extend((start > 0).then(|| equal(0, 0, start)));
    ops.extend(middle.into_iter().map(|op| shifted(op, start)));
    ops.extend((end > 0).then(|| equal(old.len() - end, new.len() - end, end)));
    ops
}

fn shifted(op: DiffOp, by: usize) -> DiffOp {
    let (tag, old, new) = op.as_tag_tuple();
    let (old_index, new_index) = (old.start + by, new.start + by);
    match tag {
        similar::DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old.len() },
        similar::DiffTag::Delete => DiffOp::Delete { old_index, old_len: old.len(), new_index },
        similar::DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len: new.len() },
        similar::DiffTag::Replace => {
            DiffOp::Replace { old_index, old_len: old.len(), new_index, new_len: new.len() }
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
