//! Server-sent events, from bytes that are cut anywhere.
//!
//! The format is that of the HTML standard, section 9.2, read the way that servers really write it:
//! with CRLF or LF, without the space after the colon, with comments to keep a connection awake,
//! without the empty line at the end.

/// The longest line, and the most bytes that are kept of a body that is no stream.
pub(super) const MAX_LINE: usize = 4 * 1_024 * 1_024;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The end of an event.
    Blank,
    Data(&'a [u8]),
    Event(&'a [u8]),
    /// A comment, an id, a pause before reconnecting.
    Ignored,
    /// No line of this format: the body is something else.
    Foreign(&'a [u8]),
}

/// A line is longer than [`MAX_LINE`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Cuts bytes into lines.
#[derive(Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    started: bool,
    /// The last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
}

impl Lines {
    /// Hands each line that these bytes complete to `each`, until that says to stop.
    pub fn push<E: From<TooLong>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = bytes;
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.keep(bytes)?;
                break;
            };
            self.after_return = bytes[end] == b'\r';
            if self.rest.is_empty() && self.started {
                each(read(&bytes[..end]))?;
            } else {
                self.keep(&bytes[..end])?;
                each(read(self.first_line()))?;
                self.rest.clear();
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The line that no line end followed, at the end of the body.
    pub fn last(&mut self) -> Option<Line<'_>> {
        (!self.rest.is_empty()).then(|| read(self.first_line()))
    }

    /// The kept line; the first of a body may begin with a byte order mark.
    fn first_line(&mut self) -> &[u8] {
        let first = !std::mem::replace(&mut self.started, true);
        let line = self.rest.as_slice();
        if first { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.rest.len() + bytes.len() > MAX_LINE {
            return Err(TooLong);
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }
}

fn read(line: &[u8]) -> Line<'_> {
    let (field, value) = match line.iter().position(|it| *it == b':') {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, &[][..]),
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match field {
        b"" if line.is_empty() => Line::Blank,
        b"data" => Line::Data(value),
        b"event" => Line::Event(value),
        b"" | b"id" | b"retry" => Line::Ignored,
        _ => Line::Foreign(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_however_it_is_ended_and_cut() {
        let expected = ["D a", "B", "E x", "D b", "I", "B", "F {"];
        for end in ["\n", "\r\n", "\r"] {
            let body = ["\u{feff}data: a", "", "event:x", "data:b", ": ping", "", "{"].join(end);
            for size in 1..body.len() {
                assert_eq!(all(body.as_bytes(), size), expected, "{end:?} {size}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut lines = Lines::default();
        let half = vec![b'x'; MAX_LINE / 2 + 1];
        assert_eq!(lines.push(&half, |_| Ok::<(), TooLong>(())), Ok(()));
        assert_eq!(lines.push(&half, |_| Ok(())), Err(TooLong));
    }

    fn all(body: &[u8], size: usize) -> Vec<String> {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in body.chunks(size) {
            lines
                .push(piece, |line| {
                    all.push(word(&line));
                    Ok::<(), TooLong>(())
                })
                .unwrap();
        }
        all.extend(lines.last().map(|line| word(&line)));
        all
    }

    fn word(line: &Line<'_>) -> String {
        let (letter, text) = match line {
            Line::Blank => ('B', &[][..]),
            Line::Data(text) => ('D', *text),
            Line::Event(text) => ('E', *text),
            Line::Ignored => ('I', &[][..]),
            Line::Foreign(text) => ('F', *text),
        };
        format!("{letter} {}", String::from_utf8_lossy(text)).trim_end().to_owned()
    }
}
