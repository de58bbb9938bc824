//! Finding the place of a chunk in a file.
//!
//! Lines are compared exactly; where that finds nothing, without white space at their end; then
//! without any around them; then with typographic dashes, quotes and spaces read as plain ones.
//! The first of these that finds anything decides, and must find one place.

use std::{
    borrow::Cow,
    cell::OnceCell,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

use super::Chunk;

/// How two lines are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    Exact,
    RightTrimmed,
    Trimmed,
    Folded,
}

const ALL: [Likeness; 4] =
    [Likeness::Exact, Likeness::RightTrimmed, Likeness::Trimmed, Likeness::Folded];

impl Likeness {
    /// What of a line is compared.
    fn key(self, line: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::RightTrimmed => Cow::Borrowed(line.trim_ascii_end()),
            Self::Trimmed => Cow::Borrowed(line.trim_ascii()),
            Self::Folded => {
                let text = String::from_utf8_lossy(line);
                let folded: String = text.chars().map(folded).collect();
                Cow::Owned(folded.trim().as_bytes().to_vec())
            }
        }
    }
}

/// A typographic character as the one on a keyboard.
fn folded(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        c => c,
    }
}

/// A line of a file.
#[derive(Clone, Debug)]
pub(super) struct FileLine {
    /// Without its line end.
    pub text: Range<usize>,
    /// Where its line end is over.
    pub end: usize,
}

/// A file's lines, and what of them is compared.
pub(super) struct Lines<'a> {
    pub body: &'a [u8],
    pub all: Vec<FileLine>,
    keys: [OnceCell<Vec<u64>>; 4],
}

/// Where a chunk belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The first of the lines that it replaces, or where lines are put in.
    pub start: usize,
    pub likeness: Likeness,
}

pub(super) enum Found {
    One(Place),
    /// The first lines of all places, counted from 1.
    Many(Vec<usize>),
    /// A line that it is to lie below is missing.
    NoHeading(usize),
    None,
}

impl<'a> Lines<'a> {
    pub fn of(body: &'a [u8]) -> Self {
        let mut all = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', body) {
            let text = match at > start && body[at - 1] == b'\r' {
                true => start..at - 1,
                false => start..at,
            };
            all.push(FileLine { text, end: at + 1 });
            start = at + 1;
        }
        if start < body.len() {
            all.push(FileLine { text: start..body.len(), end: body.len() });
        }
        Self { body, all, keys: Default::default() }
    }

    pub fn text(&self, at: usize) -> &'a [u8] {
        &self.body[self.all[at].text.clone()]
    }

    /// The bytes that end a line: CRLF, LF, or none at the end of the file.
    pub fn line_end(&self, at: usize) -> &'a [u8] {
        &self.body[self.all[at].text.end..self.all[at].end]
    }

    /// Finds a chunk at or below a line.
    pub fn find(&self, chunk: &Chunk, from: usize) -> Found {
        let old: Vec<&[u8]> = chunk.old_lines().map(str::as_bytes).collect();
        if chunk.at_end
            && let Some(start) = self.all.len().checked_sub(old.len()).filter(|it| *it >= from)
            && let Some(likeness) = ALL.into_iter().find(|it| self.stands(&old, start, *it))
        {
            return Found::One(Place { start, likeness });
        }
        let mut headings = vec![from];
        for (number, below) in chunk.below.iter().enumerate() {
            headings = self.below(below.as_bytes(), &headings, number == 0);
            if headings.is_empty() {
                return Found::NoHeading(number);
            }
        }
        let headed = !chunk.below.is_empty();
        for likeness in ALL {
            let starts = match (old.is_empty(), headed) {
                (true, false) => vec![self.all.len()],
                (true, true) => headings.iter().map(|heading| heading + 1).collect(),
                (false, false) => self.places(&old, from, likeness).collect(),
                (false, true) => {
                    let mut starts: Vec<usize> = headings
                        .iter()
                        .filter_map(|heading| self.under(&old, *heading, likeness))
                        .collect();
                    starts.dedup();
                    starts
                }
            };
            match starts.as_slice() {
                [] => {}
                [start] => return Found::One(Place { start: *start, likeness }),
                starts => return Found::Many(starts.iter().map(|start| start + 1).collect()),
            }
        }
        Found::None
    }

    /// Whether a chunk stands anywhere in the file, for a hint; counted from 1.
    pub fn anywhere(&self, chunk: &Chunk) -> Option<usize> {
        let old: Vec<&[u8]> = chunk.old_lines().map(str::as_bytes).collect();
        if old.is_empty() {
            return None;
        }
        ALL.into_iter().find_map(|likeness| self.places(&old, 0, likeness).next()).map(|it| it + 1)
    }

    /// The lines like a heading: all below the start, or the first below each outer heading.
    fn below(&self, heading: &[u8], outer: &[usize], is_first: bool) -> Vec<usize> {
        ALL.into_iter()
            .map(|likeness| {
                let wanted = [heading];
                let mut found: Vec<usize> = match is_first {
                    true => outer
                        .iter()
                        .flat_map(|from| self.places(&wanted, *from, likeness))
                        .collect(),
                    false => {
                        let next = |from: &usize| self.places(&wanted, from + 1, likeness).next();
                        outer.iter().filter_map(next).collect()
                    }
                };
                found.dedup();
                found
            })
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// The first place below a heading. The heading itself may be repeated as the first line.
    fn under(&self, old: &[&[u8]], heading: usize, likeness: Likeness) -> Option<usize> {
        match old.len() > 1 && self.stands(old, heading, likeness) {
            true => Some(heading),
            false => self.places(old, heading + 1, likeness).next(),
        }
    }

    /// All places from a line on.
    fn places<'b>(
        &'b self,
        wanted: &'b [&'b [u8]],
        from: usize,
        likeness: Likeness,
    ) -> impl Iterator<Item = usize> + 'b {
        let keys = self.keys(likeness);
        let first = wanted.first().map(|line| hashed(&likeness.key(line)));
        let last = (keys.len() + 1).saturating_sub(wanted.len().max(1));
        (from..last.max(from)).filter(move |at| {
            first.is_some_and(|first| keys[*at] == first) && self.stands(wanted, *at, likeness)
        })
    }

    fn stands(&self, wanted: &[&[u8]], at: usize, likeness: Likeness) -> bool {
        at + wanted.len() <= self.all.len()
            && wanted
                .iter()
                .enumerate()
                .all(|(offset, line)| likeness.key(line) == likeness.key(self.text(at + offset)))
    }

    fn keys(&self, likeness: Likeness) -> &[u64] {
        self.keys[likeness as usize].get_or_init(|| {
            (0..self.all.len()).map(|at| hashed(&likeness.key(self.text(at)))).collect()
        })
    }
}

fn hashed(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
