//! Replacing text in a file's bytes, without touching any other byte.
//!
//! What is given must stand in the file exactly and once. Only where it does not, a single place
//! that differs in nothing but white space is taken instead, and the caller is told. There is no
//! third way: a block whose middle differs is not the block that was meant.

mod flat;
mod hint;
mod indent;
mod loose;
pub mod patch;
mod several;

use std::{borrow::Cow, ops::Range};

use memchr::memmem;

use self::flat::Flat;
pub use self::several::{AllEdited, Change, SomeFailed, apply_all};
use super::text;

/// Whether every place that matches is replaced, or the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplaceAll {
    #[default]
    No,
    Yes,
}

/// A file's content after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub content: Vec<u8>,
    /// The place differed in white space, and the new text was indented to suit the file.
    pub inexact: bool,
    /// How many places were replaced.
    pub count: usize,
}

/// Why nothing was changed, in words for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(
        "old_string is empty. Give the text that is to be replaced, or use write for a whole file."
    )]
    Empty,
    #[error("old_string and new_string are the same, so there is nothing to change.")]
    Same,
    #[error(
        "old_string is in the file {count} times (at lines {lines}). Add lines around it until only one place \
         matches, or set replace_all."
    )]
    Ambiguous { count: usize, lines: String },
    #[error(
        "The file is not UTF-8, and new_string has characters beyond ASCII that would mix encodings. Use ASCII only."
    )]
    MixedEncoding,
    #[error("{0}")]
    NotFound(String),
}

/// Replaces `old` by `new`, literally.
///
/// Line ends count as equal however they are written: `old` given with `\n` matches a file with
/// CRLF, and the new text gets the line ends of the place it goes to. A byte order mark, a missing
/// final newline and bytes that are no UTF-8 stay as they are.
pub fn apply(content: &[u8], old: &str, new: &str, all: ReplaceAll) -> Result<Edited, EditError> {
    let (bom, body) = text::split_bom(content);
    let (old, new) = (without_bom(old), without_bom(new));
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::Same);
    }
    let foreign = |c: char| !c.is_ascii() && !old.contains(c);
    if new.contains(foreign) && std::str::from_utf8(body).is_err() {
        return Err(EditError::MixedEncoding);
    }
    let (needle, replacement) = (unix(old), unix(new));
    if needle == replacement {
        // Only the line ends are to change, so here they are compared byte by byte.
        let places = places(body, old.as_bytes(), all)?;
        if places.is_empty() {
            return Err(EditError::NotFound(
                "old_string is not in the file with these line ends.".to_owned(),
            ));
        }
        let count = places.len();
        let pieces = places.into_iter().map(|place| (place, Cow::Borrowed(new.as_bytes())));
        return Ok(Edited { content: splice(bom, body, pieces), inexact: false, count });
    }
    let flat = Flat::of(body);
    let places = places(flat.bytes(), needle.as_bytes(), all)?;
    if !places.is_empty() {
        let count = places.len();
        let kept = common(needle.as_bytes(), replacement.as_bytes());
        let middle = &replacement.as_bytes()[kept.start..replacement.len() - kept.end];
        let pieces = places.into_iter().map(|place| {
            let place = place.start + kept.start..place.end - kept.end;
            let bytes = flat.with_line_ends(middle, place.clone(), new.contains("\r\n"));
            (flat.origin(place), Cow::Owned(bytes))
        });
        return Ok(Edited { content: splice(bom, body, pieces), inexact: false, count });
    }
    match loose::find(&flat, &needle) {
        loose::Found::One(block) => {
            let (place, bytes) = block.replaced_by(body, &flat, &needle, &replacement);
            let edited = splice(bom, body, [(place, Cow::Owned(bytes))].into_iter());
            match edited == content {
                true => Err(EditError::Same),
                false => Ok(Edited { content: edited, inexact: true, count: 1 }),
            }
        }
        loose::Found::None => {
            let hint = hint::not_found(flat.bytes(), &needle, &replacement, &hint::OF_EDIT);
            Err(EditError::NotFound(hint))
        }
        loose::Found::Many(lines) => Err(EditError::NotFound(format!(
            "old_string is not in the file exactly, and with other white space it matches {} places (at lines {}). \
             Give it exactly as it stands in the file, with more lines around it.",
            lines.len(),
            listed(lines.into_iter()),
        ))),
    }
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

fn unix(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}

/// Where the needle stands. Without `all` two places, overlapping or not, are an error.
fn places(content: &[u8], needle: &[u8], all: ReplaceAll) -> Result<Vec<Range<usize>>, EditError> {
    let finder = memmem::Finder::new(needle);
    let Some(first) = finder.find(content) else { return Ok(Vec::new()) };
    if all == ReplaceAll::Yes {
        return Ok(finder.find_iter(content).map(|at| at..at + needle.len()).collect());
    }
    let Some(second) = finder.find(&content[first + 1..]) else {
        return Ok(std::iter::once(first..first + needle.len()).collect());
    };
    let mut starts: Vec<usize> = finder.find_iter(content).collect();
    if starts.len() == 1 {
        starts.push(first + 1 + second);
    }
    let line = |at: &usize| memchr::memchr_iter(b'\n', &content[..*at]).count() + 1;
    Err(EditError::Ambiguous {
        count: starts.len(),
        lines: listed(starts.iter().take(9).map(line)),
    })
}

/// Numbers for a sentence, at most eight of them.
fn listed(numbers: impl Iterator<Item = usize>) -> String {
    let mut words: Vec<String> = numbers.take(9).map(|it| it.to_string()).collect();
    if words.len() == 9 {
        words[8] = "…".to_owned();
    }
    words.join(", ")
}

/// How many bytes at the start and at the end both have in common: these are not touched.
fn common(old: &[u8], new: &[u8]) -> Range<usize> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    start..end
}

fn splice<'a>(
    bom: &[u8],
    body: &[u8],
    pieces: impl Iterator<Item = (Range<usize>, Cow<'a, [u8]>)>,
) -> Vec<u8> {
    let mut content = Vec::with_capacity(bom.len() + body.len());
    content.extend_from_slice(bom);
    let mut from = 0;
    for (place, bytes) in pieces {
        content.extend_from_slice(&body[from..place.start]);
        content.extend_from_slice(&bytes);
        from = place.end;
    }
    content.extend_from_slice(&body[from..]);
    content
}

#[cfg(test)]
mod tests;
