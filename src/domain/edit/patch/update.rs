//! Applying the chunks of a patch to a file's bytes, without touching any other byte.

use std::ops::Range;

use super::{
    Chunk, Sign,
    locate::{Found, Likeness, Lines, Place},
};
use crate::domain::{
    edit::{
        flat::Flat,
        hint,
        indent::{Depths, Unit, Units},
        listed, splice,
    },
    text,
};

/// A file's content after all chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    pub content: Vec<u8>,
    /// The chunks, counted from 1, whose lines differed from the file's in white space or
    /// typographic characters.
    pub inexact: Vec<usize>,
}

/// Why a chunk, counted from 1, does not fit the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkError {
    pub chunk: usize,
    /// The line of the patch that it starts at.
    pub at: usize,
    pub why: String,
}

/// Lines that take the place of others.
struct Piece {
    range: Range<usize>,
    bytes: Vec<u8>,
}

/// Applies all chunks, or says of each what does not fit.
///
/// What a chunk keeps stays byte for byte; what it adds gets the line ends of its place, and where
/// the file has no newline at its end there is none afterwards.
pub fn update(content: &[u8], chunks: &[Chunk]) -> Result<Updated, Vec<ChunkError>> {
    let (bom, body) = text::split_bom(content);
    let lines = Lines::of(body);
    let is_utf8 = std::str::from_utf8(body).is_ok();
    let mut from = 0;
    let mut pieces = Vec::new();
    let mut inexact = Vec::new();
    let mut errors = Vec::new();
    for (number, chunk) in (1..).zip(chunks) {
        let mut wrong = |why: String| errors.push(ChunkError { chunk: number, at: chunk.at, why });
        let adds = chunk.lines.iter().filter(|line| line.sign == Sign::Add);
        if !is_utf8 && adds.clone().any(|line| !line.text.is_ascii()) {
            wrong(
                "The file is not UTF-8, and the new lines have characters beyond ASCII that would mix encodings. \
                 Use ASCII only."
                    .to_owned(),
            );
            continue;
        }
        match found(&lines, chunk, from) {
            Err(why) => wrong(why),
            Ok((place, chunk)) => {
                let (made, next) = Carving { lines: &lines, chunk: &chunk, place }.pieces();
                // What is only put at the end says nothing of where the next one is.
                let is_placed = chunk.old_lines().next().is_some() || !chunk.below.is_empty();
                from = if is_placed { next } else { from };
                inexact.extend((place.likeness != Likeness::Exact).then_some(number));
                pieces.extend(made);
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    pieces.sort_by_key(|piece: &Piece| piece.range.start);
    let pieces = pieces.into_iter().map(|piece| (piece.range, piece.bytes.into()));
    Ok(Updated { content: splice(bom, body, pieces), inexact })
}

/// Where a chunk belongs. A blank line at its end that the file does not have is left out.
fn found(lines: &Lines<'_>, chunk: &Chunk, from: usize) -> Result<(Place, Chunk), String> {
    let first = lines.find(chunk, from);
    if let Found::One(place) = first {
        return Ok((place, chunk.clone()));
    }
    let ends_blank =
        chunk.lines.last().is_some_and(|it| it.sign == Sign::Keep && it.text.is_empty());
    if matches!(first, Found::None) && ends_blank && chunk.old_lines().count() > 1 {
        let mut shorter = chunk.clone();
        shorter.lines.pop();
        if let Found::One(place) = lines.find(&shorter, from) {
            return Ok((place, shorter));
        }
    }
    Err(match first {
        Found::Many(places) => format!(
            "It matches {} places (at lines {}). Give more lines around it, or below @@ the line of the function or \
             class that it is in.",
            places.len(),
            listed(places.iter().copied()),
        ),
        Found::NoHeading(number) => {
            let heading = chunk.below.get(number).map_or("", String::as_str);
            let after = if from > 0 { format!(" after line {from}") } else { String::new() };
            format!(
                "The line `{}` that stands after its @@ is not in the file{after}. Give the whole line, or leave it \
                 out.",
                text::cut(heading, 200)
            )
        }
        Found::None | Found::One(_) => match lines.anywhere(chunk) {
            Some(line) => format!(
                "Its lines are in the file only at line {line}, before the place of the chunk above it or of its @@. \
                 Give the chunks in the order of the file."
            ),
            None => missing(lines, chunk),
        },
    })
}

fn missing(lines: &Lines<'_>, chunk: &Chunk) -> String {
    let joined = |lines: Vec<&str>| lines.join("\n");
    let (old, new) = (joined(chunk.old_lines().collect()), joined(chunk.new_lines().collect()));
    if old.split('\n').count() > lines.all.len() {
        let has = text::counted(lines.all.len(), "line");
        return format!(
            "Its old lines are more than the file has ({has}), so nothing was changed. Read the file again."
        );
    }
    let flat = Flat::of(lines.body);
    hint::not_found(flat.bytes(), &old, &new, &hint::OF_CHUNK)
}

/// A chunk whose place is known.
struct Carving<'a> {
    lines: &'a Lines<'a>,
    chunk: &'a Chunk,
    place: Place,
}

impl Carving<'_> {
    /// What takes the place of what, and from which line on the next chunk is looked for: lines
    /// that this one only keeps at its end may be the next one's first.
    fn pieces(&self) -> (Vec<Piece>, usize) {
        let depths = self.depths();
        let (mut at, mut next) = (self.place.start, self.place.start);
        let mut pieces = Vec::new();
        let mut rest = self.chunk.lines.as_slice();
        while let Some(line) = rest.first() {
            if line.sign == Sign::Keep {
                at += 1;
                rest = &rest[1..];
                continue;
            }
            let run = rest.iter().take_while(|line| line.sign != Sign::Keep).count();
            let removed = rest[..run].iter().filter(|line| line.sign == Sign::Remove).count();
            let added = rest[..run].iter().filter(|line| line.sign == Sign::Add);
            let added: Vec<Vec<u8>> = added
                .map(|line| match &depths {
                    Some((depths, units)) => depths.apply(line.text.as_bytes(), *units),
                    None => line.text.clone().into_bytes(),
                })
                .collect();
            pieces.push(self.piece(at..at + removed, &added));
            at += removed;
            next = at;
            rest = &rest[run..];
        }
        (pieces, next)
    }

    /// The file's own indentation, where the chunk's differs.
    fn depths(&self) -> Option<(Depths, Units)> {
        if self.place.likeness < Likeness::Trimmed {
            return None;
        }
        let start = self.place.start;
        let old = || self.chunk.old_lines().map(str::as_bytes).zip(start..);
        let depths = Depths::of(old().map(|(line, at)| (line, self.lines.text(at))))?;
        let given = Unit::of(self.chunk.lines.iter().map(|line| line.text.as_bytes()));
        let file = Unit::of((0..self.lines.all.len()).map(|at| self.lines.text(at)));
        Some((depths, Units { given, file }))
    }

    fn piece(&self, run: Range<usize>, added: &[Vec<u8>]) -> Piece {
        let lines = self.lines;
        let count = lines.all.len();
        let end_of = |at: usize| if at < count { lines.line_end(at) } else { b"" };
        let byte = |at: usize| match at.checked_sub(1) {
            Some(above) => lines.all.get(above).map_or(0, |line| line.end),
            None => 0,
        };
        let above = run.start.checked_sub(1).map_or(&b""[..], end_of);
        let usual = [above, end_of(run.start), end_of(run.end)]
            .into_iter()
            .find(|end| !end.is_empty())
            .or_else(|| run.start.checked_sub(2).map(end_of))
            .filter(|end| !end.is_empty())
            .unwrap_or(b"\n");
        // Whether the file ends here, without a newline.
        let unended = run.end == count && count > 0 && end_of(count - 1).is_empty();
        let mut bytes = Vec::new();
        if unended && run.is_empty() && !added.is_empty() {
            bytes.extend_from_slice(usual);
        }
        let mut last = usual;
        for (offset, line) in added.iter().enumerate() {
            if let Some(end) = run.clone().nth(offset).map(end_of).filter(|end| !end.is_empty()) {
                last = end;
            }
            bytes.extend_from_slice(line);
            if !(unended && offset + 1 == added.len()) {
                bytes.extend_from_slice(last);
            }
        }
        Piece { range: byte(run.start)..byte(run.end), bytes }
    }
}
