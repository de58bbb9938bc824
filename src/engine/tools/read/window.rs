//! The part of a file that is shown, gathered while the file passes by: whatever its size, no more
//! than that part is held in memory.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read as _},
};

use sha2::{Digest, Sha256};

use crate::{
    domain::text::{self, Kind},
    engine::tools::{disk::Trouble, files::Stamp},
};

/// How many bytes of output.
const BYTES: usize = 50 << 10;
/// How many characters of one line.
const LINE: usize = 2_000;
/// Up to this size a file is read to its end, to count its lines and to know its content. Of a
/// larger one only what is shown is read, and it cannot be changed with these tools.
const WHOLE: u64 = 256 << 20;
/// UTF-16 has to be converted in memory.
const LARGEST_UTF16: u64 = 16 << 20;

const LOSSY: &str = "(Not valid UTF-8: what cannot be shown stands as \u{FFFD}. edit leaves such bytes as they are.)";
const UTF16: &str = "(The file is UTF-16. It is shown converted; edit and write cannot change it.)";

/// The lines that are wanted, gathered while the file passes by.
pub(super) struct Window {
    first: usize,
    limit: usize,
    /// Complete lines so far.
    pub total: usize,
    pub shown: usize,
    pub output: String,
    /// The output takes no further line.
    full: bool,
    /// The start of the current line, as much of it as may be shown.
    line: Vec<u8>,
    /// All bytes of the current line.
    line_bytes: usize,
    /// What is to be said of the encoding.
    pub note: Option<&'static str>,
}

impl Window {
    pub fn new(first: usize, limit: usize) -> Self {
        Self {
            first,
            limit,
            total: 0,
            shown: 0,
            output: String::new(),
            full: false,
            line: Vec::new(),
            line_bytes: 0,
            note: None,
        }
    }

    /// Reads a file, to its end where it is not too large, and returns the hash of what was read.
    pub fn take(&mut self, file: File, size: u64) -> Result<Option<Stamp>, Trouble> {
        let mut reader = BufReader::with_capacity(64 << 10, file);
        match text::kind(reader.fill_buf()?) {
            Kind::Text => {}
            Kind::Binary(what) => return Err(Trouble::Special(what)),
            Kind::Utf16(_) if size > LARGEST_UTF16 => return Err(Trouble::Large(size)),
            Kind::Utf16(endian) => {
                let mut bytes = Vec::new();
                reader.take(LARGEST_UTF16).read_to_end(&mut bytes)?;
                self.feed(text::from_utf16(&bytes, endian).as_bytes());
                self.finish();
                self.note = Some(UTF16);
                return Ok(Some(Sha256::digest(&bytes).into()));
            }
        }
        let mut hash = Sha256::new();
        let mut start = true;
        loop {
            let chunk = reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            hash.update(chunk);
            self.feed(if start { text::split_bom(chunk).1 } else { chunk });
            start = false;
            let length = chunk.len();
            reader.consume(length);
            if size > WHOLE && self.is_over() {
                return Ok(None);
            }
        }
        self.finish();
        Ok(Some(hash.finalize().into()))
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', chunk) {
            self.push(&chunk[..at]);
            self.end_line();
            chunk = &chunk[at + 1..];
        }
        self.push(chunk);
    }

    /// A last line without a newline is a line too.
    fn finish(&mut self) {
        if self.line_bytes > 0 {
            self.end_line();
        }
    }

    fn is_wanted(&self) -> bool {
        self.total + 1 >= self.first && self.shown < self.limit && !self.full
    }

    fn is_over(&self) -> bool {
        self.full || self.shown == self.limit
    }

    fn push(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len();
        // No character has more than four bytes.
        let room = (LINE * 4).saturating_sub(self.line.len());
        if room > 0 && self.is_wanted() {
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            let whole = self.line.len() == self.line_bytes;
            let bytes = match self.line.strip_suffix(b"\r") {
                Some(bytes) if whole => bytes,
                _ => &self.line,
            };
            let shown = Shown::of(bytes, whole);
            let number = self.total + 1;
            let mut line = format!("{number}\t{}", shown.text);
            if shown.cut {
                line.push_str(&format!(
                    "… (line cut; it has {})",
                    text::size(self.line_bytes as u64)
                ));
            }
            line.push('\n');
            // The first line always fits, so that paging gets on.
            self.full = self.shown > 0 && self.output.len() + line.len() > BYTES;
            if !self.full {
                self.output.push_str(&line);
                self.shown += 1;
                if shown.lossy {
                    self.note = Some(LOSSY);
                }
            }
        }
        self.total += 1;
        self.line.clear();
        self.line_bytes = 0;
    }
}

/// A line as it can be shown.
struct Shown {
    text: String,
    cut: bool,
    lossy: bool,
}

impl Shown {
    /// `whole` says whether the bytes are the whole line; else they may end inside a character.
    fn of(bytes: &[u8], whole: bool) -> Self {
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(err) if !whole && err.error_len().is_none() => {
                std::str::from_utf8(&bytes[..err.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        let lossy = valid.is_none();
        let text = valid.map_or_else(|| String::from_utf8_lossy(bytes), Into::into);
        let end = text.char_indices().nth(LINE).map(|(at, _)| at);
        let cut = end.is_some() || !whole;
        // A NUL character is the one that a database column may refuse.
        let text = text[..end.unwrap_or(text.len())].replace('\0', "\u{FFFD}");
        Self { text, cut, lossy }
    }
}
