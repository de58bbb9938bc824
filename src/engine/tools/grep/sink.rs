//! Gathers the matching lines of one file, bounded.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::domain::text;

/// How many lines of a file are kept.
const LINES: usize = 300;
/// How many bytes of a line.
const LINE: usize = 400;
/// How many bytes are kept in front of a match where the line is longer.
const LEAD: usize = 80;
/// How many places are marked in a line.
const RANGES: usize = 20;

/// What was found in one file.
pub(super) struct FileHits {
    pub path: String,
    /// All matching lines.
    pub count: usize,
    pub lines: Vec<Hit>,
}

/// A line that matches or stands beside one.
pub(super) struct Hit {
    pub kind: HitKind,
    pub number: u64,
    pub text: String,
    /// Where in `text` the pattern matches, in bytes.
    pub ranges: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HitKind {
    Match,
    Context,
    /// Lines between two groups are left out; it has no text.
    Gap,
}

pub(super) struct Gather<'a> {
    matcher: &'a RegexMatcher,
    /// Bytes that may still be kept, over all files.
    room: &'a AtomicUsize,
    count: usize,
    lines: Vec<Hit>,
    /// The file turned out to be binary.
    binary: bool,
}

impl<'a> Gather<'a> {
    pub fn new(matcher: &'a RegexMatcher, room: &'a AtomicUsize) -> Self {
        Self { matcher, room, count: 0, lines: Vec::new(), binary: false }
    }

    /// Nothing where nothing matches, or where the file is binary.
    pub fn hits(self, path: String) -> Option<FileHits> {
        (self.count > 0 && !self.binary).then_some(FileHits {
            path,
            count: self.count,
            lines: self.lines,
        })
    }

    fn keep(&mut self, kind: HitKind, number: u64, line: &[u8]) {
        if self.lines.len() >= LINES {
            return;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut places = Vec::new();
        if kind == HitKind::Match {
            // This matcher never fails.
            let _ = self.matcher.find_iter(line, |found| {
                places.push((found.start(), found.end()));
                places.len() < RANGES
            });
        }
        let (text, ranges) = clipped(line, &places);
        let size = text.len() + 64;
        let taken = self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(size));
        if taken.is_ok() {
            self.lines.push(Hit { kind, number, text, ranges });
        }
    }
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (line, number) in found.lines().zip(first..) {
            self.count += 1;
            self.keep(HitKind::Match, number, line);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.keep(HitKind::Context, context.line_number().unwrap_or_default(), context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.keep(HitKind::Gap, 0, b"");
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// The part of a line around its first match, and where the matches are in it.
fn clipped(line: &[u8], places: &[(usize, usize)]) -> (String, Vec<(usize, usize)>) {
    let Ok(whole) = std::str::from_utf8(line) else {
        // Offsets do not survive the conversion, so nothing is marked.
        let first = places.first().map_or(0, |place| place.0);
        let start = if line.len() <= LINE { 0 } else { first.saturating_sub(LEAD) };
        let part = String::from_utf8_lossy(&line[start..line.len().min(start + LINE)]).into_owned();
        return (part, Vec::new());
    };
    if whole.len() <= LINE {
        return (whole.replace('\0', "\u{FFFD}"), places.to_vec());
    }
    let first = places.first().map_or(0, |place| place.0);
    let start = whole.floor_char_boundary(if first < LINE / 2 { 0 } else { first - LEAD });
    let lead = if start > 0 { "…" } else { "" };
    let part = text::cut(&whole[start..], LINE);
    let end = start + part.len();
    let tail = if end < whole.len() { "…" } else { "" };
    let moved = |at: usize| at.min(end) - start + lead.len();
    let ranges = places
        .iter()
        .filter(|(from, _)| *from < end)
        .map(|(from, to)| (moved(*from), moved(*to)))
        .collect();
    (format!("{lead}{part}{tail}"), ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_its_match_and_cut_between_characters() {
        let line = format!("{}needle{}", "✓".repeat(500), "✓".repeat(500));
        let (text, ranges) = clipped(line.as_bytes(), &[(1_500, 1_506)]);
        assert!(text.starts_with("…✓") && text.ends_with("✓…") && text.len() < 500);
        assert_eq!(&text[ranges[0].0..ranges[0].1], "needle");
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_shown_as_far_as_they_can_be() {
        assert_eq!(clipped(b"caf\xE9 x", &[(5, 6)]), ("caf\u{FFFD} x".to_owned(), Vec::new()));
    }
}
