//! The one fallback: whole lines that differ in nothing but white space.
//!
//! Two lines are alike when their words are the same. Two blocks are alike when their lines are,
//! and when the indentation of one follows from that of the other: what is deeper here is deeper
//! there. So the new text can be brought to the file's own indentation.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{
    flat::Flat,
    indent::{Depths, Unit, Units, is_space},
};

/// More lines than this are never searched for loosely.
const LONGEST: usize = 500;

pub(super) enum Found {
    None,
    One(Block),
    /// The first lines of all blocks that are alike, counted from 1.
    Many(Vec<usize>),
}

/// Lines of a file that are alike to those searched for.
pub(super) struct Block {
    /// The lines in the flat bytes, without their newlines.
    lines: Vec<Range<usize>>,
    indents: Depths,
    unit: Unit,
}

pub(super) fn find(flat: &Flat, needle: &str) -> Found {
    let wanted: Vec<&[u8]> = lines_of(needle).map(str::as_bytes).collect();
    if wanted.len() > LONGEST || wanted.iter().all(|line| is_blank(line)) {
        return Found::None;
    }
    let lines = ranges(flat.bytes());
    let line = |at: usize| &flat.bytes()[lines[at].clone()];
    let hashes: Vec<u64> = (0..lines.len()).map(|at| hash(line(at))).collect();
    let wanted_hashes: Vec<u64> = wanted.iter().map(|line| hash(line)).collect();
    let mut found = Vec::new();
    for (start, window) in hashes.windows(wanted.len()).enumerate() {
        if window != wanted_hashes.as_slice() {
            continue;
        }
        let pairs = || wanted.iter().enumerate().map(|(at, wanted)| (*wanted, line(start + at)));
        if pairs().all(|(a, b)| words(a).eq(words(b)))
            && let Some(indents) = Depths::of(pairs())
        {
            found.push((start, indents));
        }
    }
    match (found.len(), found.pop()) {
        (1, Some((start, indents))) => Found::One(Block {
            lines: lines[start..start + wanted.len()].to_vec(),
            indents,
            unit: Unit::of((0..lines.len()).map(line)),
        }),
        (_, None) => Found::None,
        (_, Some(last)) => {
            found.push(last);
            Found::Many(found.into_iter().map(|(start, _)| start + 1).collect())
        }
    }
}

impl Block {
    /// The place in the file and its new bytes. Lines that the new text leaves as they were keep
    /// the file's bytes.
    pub fn replaced_by(
        self,
        body: &[u8],
        flat: &Flat,
        needle: &str,
        replacement: &str,
    ) -> (Range<usize>, Vec<u8>) {
        let old: Vec<&str> = lines_of(needle).collect();
        let new: Vec<&str> = match needle.ends_with('\n') {
            true => lines_of(replacement).collect(),
            false => replacement.split('\n').collect(),
        };
        let origin = |at: usize| flat.origin(self.lines[at].clone());
        let end_of = |at: usize| {
            let rest = &body[origin(at).end..];
            [&b"\r\n"[..], b"\n"].into_iter().find(|end| rest.starts_with(end)).unwrap_or_default()
        };
        let (start, last) = (origin(0).start, self.lines.len() - 1);
        let last_end = end_of(last);
        let usual_end =
            [end_of(0), last_end].into_iter().find(|end| !end.is_empty()).unwrap_or(b"\n");
        let place = start..origin(last).end + last_end.len();
        let given = Unit::of(old.iter().chain(&new).map(|line| line.as_bytes()));
        let units = Units { given, file: self.unit };

        let mut lines: Vec<(Vec<u8>, &[u8])> = Vec::new();
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            if let DiffOp::Equal { old_index, len, .. } = op {
                let kept = old_index..old_index + len;
                lines.extend(kept.map(|at| (body[origin(at)].to_vec(), end_of(at))));
            } else {
                let added = new[op.new_range()].iter();
                lines.extend(
                    added.map(|line| (self.indents.apply(line.as_bytes(), units), usual_end)),
                );
            }
        }
        let mut bytes = Vec::new();
        let count = lines.len();
        for (at, (line, end)) in lines.into_iter().enumerate() {
            bytes.extend_from_slice(&line);
            bytes.extend_from_slice(match at + 1 == count {
                true => last_end,
                false if end.is_empty() => usual_end,
                false => end,
            });
        }
        (place, bytes)
    }
}

/// The lines of a text, without the empty one after a final newline.
pub(super) fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line))
}

/// The lines of a file as ranges, without their newlines.
pub(super) fn ranges(flat: &[u8]) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut lines: Vec<_> = memchr::memchr_iter(b'\n', flat)
        .map(|at| std::mem::replace(&mut from, at + 1)..at)
        .collect();
    if from < flat.len() {
        lines.push(from..flat.len());
    }
    lines
}

pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| is_space(*byte)).filter(|word| !word.is_empty())
}

pub(super) fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words(line).for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_space(*byte))
}
