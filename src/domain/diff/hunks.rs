//! Draws the operations of a difference as hunks, within bounds.

use std::ops::Range;

use similar::DiffOp;

use super::{Bounds, Hunk, Line, LineKind, number, words};
use crate::domain::text;

/// Hunks in the making.
pub(super) struct Drawing<'a> {
    pub old: &'a [&'a [u8]],
    pub new: &'a [&'a [u8]],
    pub bounds: Bounds,
    pub hunks: Vec<Hunk>,
    /// Bytes that may still be kept.
    pub room: usize,
    /// Added and removed lines that are in the hunks.
    pub changed: usize,
    /// A line was cut.
    pub cut: bool,
}

impl Drawing<'_> {
    /// Adds the hunk of some operations and returns how many lines there is room for after it.
    pub fn hunk(&mut self, ops: &[DiffOp], mut left: usize) -> usize {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return left };
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let start = |at: usize, end: usize| if at == end { number(at) } else { number(at + 1) };
        let mut hunk = Hunk {
            old_start: start(old_start, last.old_range().end),
            new_start: start(new_start, last.new_range().end),
            heading: self.heading(old_start),
            lines: Vec::new(),
        };
        for op in ops {
            for mut line in self.lines(op, left) {
                if left == 0 || self.room == 0 {
                    break;
                }
                self.bound(&mut line);
                self.changed += usize::from(line.kind != LineKind::Context);
                hunk.lines.push(line);
                left -= 1;
            }
        }
        self.hunks.push(hunk);
        left
    }

    /// The lines of an operation, of which at most `most` are wanted.
    fn lines(&self, op: &DiffOp, most: usize) -> Vec<Line> {
        let (old, new) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            return old
                .zip(new)
                .take(most)
                .map(|(a, b)| line(LineKind::Context, self.old[a], Some(a), Some(b)))
                .collect();
        }
        let shown = |range: Range<usize>, most| range.start..range.end.min(range.start + most);
        let mut removed: Vec<Line> =
            shown(old, most).map(|at| line(LineKind::Del, self.old[at], Some(at), None)).collect();
        let mut added: Vec<Line> = shown(new, most - removed.len())
            .map(|at| line(LineKind::Add, self.new[at], None, Some(at)))
            .collect();
        for (old, new) in removed.iter_mut().zip(&mut added) {
            words::emphasise(old, new);
        }
        removed.append(&mut added);
        removed
    }

    /// Cuts a line to what may be kept of it.
    fn bound(&mut self, line: &mut Line) {
        let mut left = self.bounds.line_bytes.min(self.room);
        let mut kept = Vec::with_capacity(line.spans.len());
        for (emphasised, text) in line.spans.drain(..) {
            if text.len() > left {
                self.cut = true;
                kept.push((emphasised, format!("{}…", text::cut(&text, left))));
                break;
            }
            left -= text.len();
            kept.push((emphasised, text));
        }
        self.room = self.room.saturating_sub(kept.iter().map(|(_, text)| text.len()).sum());
        line.spans = kept;
    }

    /// The nearest line above that starts with a letter, as Git picks it too.
    fn heading(&self, old_start: usize) -> String {
        let names = |line: &&&[u8]| {
            line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_$".contains(byte))
        };
        let above = self.old[old_start.saturating_sub(2_000)..old_start].iter().rev().find(names);
        above.map_or_else(String::new, |line| {
            text::cut(String::from_utf8_lossy(line).trim_end(), 80).to_owned()
        })
    }
}

fn line(kind: LineKind, bytes: &[u8], old: Option<usize>, new: Option<usize>) -> Line {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    Line {
        kind,
        old_no: old.map(|at| number(at + 1)),
        new_no: new.map(|at| number(at + 1)),
        // NUL is the one character that a database column may refuse.
        spans: vec![(false, String::from_utf8_lossy(text).replace('\0', "\u{FFFD}"))],
        unterminated: text.len() == bytes.len(),
    }
}
