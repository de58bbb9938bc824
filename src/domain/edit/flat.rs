//! A file's bytes with every CRLF read as LF, and the way back to the bytes themselves.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

pub(super) struct Flat {
    bytes: Vec<u8>,
    /// Where in `bytes` the newlines stand that are CRLF in the file.
    crlf: Vec<usize>,
}

impl Flat {
    pub fn of(body: &[u8]) -> Self {
        let mut flat = Self { bytes: Vec::with_capacity(body.len()), crlf: Vec::new() };
        let mut from = 0;
        for at in memchr_iter(b'\n', body) {
            if at > 0 && body[at - 1] == b'\r' {
                flat.bytes.extend_from_slice(&body[from..at - 1]);
                flat.crlf.push(flat.bytes.len());
                from = at;
            }
        }
        flat.bytes.extend_from_slice(&body[from..]);
        flat
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same range in the file.
    pub fn origin(&self, range: Range<usize>) -> Range<usize> {
        let origin = |at: usize| at + self.crlf.partition_point(|crlf| *crlf < at);
        origin(range.start)..origin(range.end)
    }

    /// The text with the line ends of the place it is to replace, line by line; further lines get
    /// the last of these, or where the place has none those of its neighbours.
    pub fn with_line_ends(&self, text: &[u8], place: Range<usize>, crlf_given: bool) -> Vec<u8> {
        let mut inside =
            memchr_iter(b'\n', &self.bytes[place.clone()]).map(|at| self.is_crlf(place.start + at));
        let above = memrchr(b'\n', &self.bytes[..place.start]);
        let below = memchr(b'\n', &self.bytes[place.end..]).map(|at| place.end + at);
        let starts_line = above.is_some_and(|at| at + 1 == place.start);
        let neighbour = if starts_line { above } else { below.or(above) };
        let mut last = neighbour.map_or(crlf_given, |at| self.is_crlf(at));
        let mut result = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                result.extend_from_slice(line);
                break;
            };
            last = inside.next().unwrap_or(last);
            result.extend_from_slice(line);
            result.extend_from_slice(if last { b"\r\n" } else { b"\n" });
        }
        result
    }

    fn is_crlf(&self, newline: usize) -> bool {
        self.crlf.binary_search(&newline).is_ok()
    }
}
