//! The tool that shows a text file, page by page.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read as _},
    path::Path,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    FileContext, Outcome, Target, Veil, blocking,
    disk::{Base, Trouble},
    files::Stamp,
    input::{self, parse},
    resolve, walk,
};
use crate::domain::text::{self, Kind};

/// How many lines are shown at once.
const LINES: usize = 2_000;
/// How many bytes of output.
const BYTES: usize = 50 << 10;
/// How many characters of one line.
const LINE: usize = 2_000;
/// Up to this size a file is read to its end, to count its lines and to know its content. Of a
/// larger one only what is shown is read, and it cannot be changed with these tools.
const WHOLE: u64 = 256 << 20;
/// UTF-16 has to be converted in memory.
const LARGEST_UTF16: u64 = 16 << 20;

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Read = match parse("read", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let spilled =
        resolve(context.root, &input.path).ok().filter(|target| target.is_below(context.readable));
    let target = match spilled.map_or_else(|| context.target(&input.path), Ok) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(input.path, error),
    };
    let title = target.shown();
    let (root, aim, veil) = (context.root.to_owned(), target.clone(), context.veil.clone());
    let page = blocking(move || page(&root, &aim, &input, &veil)).await;
    let result = page.map(|page| {
        if let Some(stamp) = page.stamp {
            context.files.see(context.session, &target.real, stamp);
        }
        (page.output, page.metadata)
    });
    Outcome::of(title, result)
}

struct Page {
    output: String,
    metadata: Value,
    /// Absent where the file was not read to its end.
    stamp: Option<Stamp>,
}

fn page(root: &Path, target: &Target, input: &input::Read, veil: &Veil) -> Result<Page, String> {
    let (base, way) = Base::of(root, target).map_err(|trouble| trouble.about(target))?;
    let (file, meta) = base.open(&way).map_err(|trouble| match trouble {
        Trouble::Folder => {
            format!("{} is a folder. Use list to see what is in it.", target.shown())
        }
        Trouble::Missing => missing(root, target, veil),
        trouble => trouble.about(target),
    })?;
    let first = input.offset.unwrap_or(1);
    let mut window = Window::new(first, input.limit.unwrap_or(LINES).min(LINES));
    let stamp = window.take(file, meta.len()).map_err(|trouble| match trouble {
        Trouble::Special(what) => format!(
            "{} is {what} ({}), which cannot be shown as text.",
            target.shown(),
            text::size(meta.len())
        ),
        trouble => trouble.about(target),
    })?;
    if window.total == 0 && stamp.is_some() {
        let metadata = json!({"lines_from": 0, "lines_to": 0, "lines_total": 0});
        return Ok(Page { output: "The file is empty.".to_owned(), metadata, stamp });
    }
    if window.shown == 0 {
        let lines = text::counted(window.total, "line");
        return Err(format!("offset {first} is past the end: {} has {lines}.", target.shown()));
    }
    let last = first + window.shown - 1;
    let total = stamp.map(|_| window.total);
    let mut output = window.output;
    if window.lossy {
        output.push_str("(Not valid UTF-8: what cannot be shown stands as \u{FFFD}. edit leaves such bytes as they are.)\n");
    }
    match total {
        Some(total) if last == total && first == 1 => {}
        Some(total) if last == total => {
            output.push_str(&format!("(Lines {first}-{last} of {total}, to the end.)\n"))
        }
        Some(total) => {
            output.push_str(&format!(
                "(Lines {first}-{last} of {total}. Go on with offset {}.)\n",
                last + 1
            ));
        }
        None => output.push_str(&format!(
            "(Lines {first}-{last} of a file of {}. Go on with offset {}.)\n",
            text::size(meta.len()),
            last + 1
        )),
    }
    let metadata = json!({"lines_from": first, "lines_to": last, "lines_total": total});
    Ok(Page { output, metadata, stamp })
}

/// The lines that are wanted, gathered while the file passes by.
struct Window {
    first: usize,
    limit: usize,
    /// Complete lines so far.
    total: usize,
    shown: usize,
    output: String,
    /// The output takes no further line.
    full: bool,
    /// The start of the current line, as much of it as may be shown.
    line: Vec<u8>,
    /// All bytes of the current line.
    line_bytes: usize,
    lossy: bool,
}

impl Window {
    fn new(first: usize, limit: usize) -> Self {
        Self {
            first,
            limit,
            total: 0,
            shown: 0,
            output: String::new(),
            full: false,
            line: Vec::new(),
            line_bytes: 0,
            lossy: false,
        }
    }

    /// Reads a file, to its end where it is not too large, and returns the hash of what was read.
    fn take(&mut self, file: File, size: u64) -> Result<Option<Stamp>, Trouble> {
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
                self.lossy = true;
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
                self.lossy |= shown.lossy;
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

/// What to say of a file that is not there: the names that may have been meant.
fn missing(root: &Path, target: &Target, veil: &Veil) -> String {
    let mut message = Trouble::Missing.about(target);
    let (Some(name), Some(folder)) =
        (target.real.file_name().and_then(|it| it.to_str()), target.real.parent())
    else {
        return message;
    };
    let shown =
        |path: &Path| match path.strip_prefix(fs::canonicalize(root).as_deref().unwrap_or(root)) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        };
    let beside: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(2_000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let names: Vec<&str> = beside.iter().map(String::as_str).collect();
    let mut meant: Vec<String> = similar::get_close_matches(name, &names, 3, 0.6)
        .into_iter()
        .map(|name| shown(&folder.join(name)))
        .collect();
    if target.inside.is_some() {
        let named = walk::walker(root, root).build().take(20_000).flatten();
        meant.extend(named.filter(|entry| entry.file_name() == name).take(3).map(|entry| {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            path.to_string_lossy().into_owned()
        }));
    }
    meant.retain(|path| !veil.hides(path));
    meant.dedup();
    if !meant.is_empty() {
        let meant: Vec<_> =
            meant.iter().take(4).map(|path| text::printable(path.as_bytes())).collect();
        message.push_str(&format!(" Did you mean {}?", meant.join(" or ")));
    }
    message
}
