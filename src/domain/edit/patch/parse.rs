//! Reading a patch. This is the only place that does, so nobody can read it differently.

use super::{Chunk, ChunkLine, FilePatch, Patch, Sign, What};

/// So many files are taken in one patch.
const MOST_FILES: usize = 100;

/// Why a text is no patch, in words for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error(
        "The patch must start with *** Begin Patch. Then for each file *** Add File: path, *** Update File: path or \
         *** Delete File: path, and at the end *** End Patch."
    )]
    NoBegin,
    #[error(
        "The patch does not end with *** End Patch, so it may have been cut off, and nothing was done. Send it whole; \
         if it was long, in several patches."
    )]
    NoEnd,
    #[error("The patch changes no file.")]
    Nothing,
    #[error("The patch names more than {MOST_FILES} files. Send it in several patches.")]
    TooMany,
    /// What is wrong with one line of the patch.
    #[error("Line {line} of the patch: {why}")]
    Line { line: usize, why: String },
}

/// A line that starts with three stars.
enum Marker<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

impl<'a> Marker<'a> {
    /// Reads a line such as `*** Update File: path`; the space after the stars may be missing.
    fn of(line: &'a str) -> Option<Self> {
        let rest = line.trim_end().strip_prefix("***")?.trim_start();
        let path = |name: &str| rest.strip_prefix(name).map(str::trim);
        Some(match rest {
            "Begin Patch" => Self::Begin,
            "End Patch" => Self::End,
            "End of File" => Self::EndOfFile,
            _ => path("Add File:")
                .map(Self::Add)
                .or_else(|| path("Update File:").map(Self::Update))
                .or_else(|| path("Delete File:").map(Self::Delete))
                .or_else(|| path("Move to:").map(Self::MoveTo))?,
        })
    }
}

/// Reads a patch.
///
/// A here-document or a fence around it is taken off. Where the first line ends with CRLF, so do
/// the others, and it is no part of them.
pub fn parse(text: &str) -> Result<Patch, PatchError> {
    let lines: Vec<&str> = text.strip_prefix('\u{FEFF}').unwrap_or(text).split('\n').collect();
    let is = |line: &str, marker: fn(&Marker<'_>) -> bool| {
        Marker::of(line.trim_start()).is_some_and(|it| marker(&it))
    };
    let begin = lines
        .iter()
        .position(|line| is(line, |it| matches!(it, Marker::Begin)))
        .filter(|at| lines[..*at].iter().all(|line| is_wrapping(line)))
        .ok_or(PatchError::NoBegin)?;
    let end = lines
        .iter()
        .rposition(|line| is(line, |it| matches!(it, Marker::End)))
        .filter(|at| *at > begin)
        .ok_or(PatchError::NoEnd)?;
    if let Some(rest) = lines[end + 1..].iter().position(|line| !is_wrapping(line)) {
        let why = "there is text after *** End Patch. Take it out.".to_owned();
        return Err(PatchError::Line { line: end + 2 + rest, why });
    }
    let crlf = lines[begin].ends_with('\r');
    let mut reader = Reader { files: Vec::new(), fresh: false, blank: 0 };
    for (number, line) in (begin + 2..).zip(&lines[begin + 1..end]) {
        let line = line.strip_suffix('\r').filter(|_| crlf).unwrap_or(line);
        reader.line(number, line).map_err(|why| PatchError::Line { line: number, why })?;
        if reader.files.len() > MOST_FILES {
            return Err(PatchError::TooMany);
        }
    }
    reader.finish(end + 1)
}

/// Whether a line outside of the patch is only how it was pasted: the start or end of a
/// here-document, or a fence.
fn is_wrapping(line: &str) -> bool {
    let line = line.trim();
    let quoted = line.trim_matches(['\'', '"']);
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let opens = || {
        let rest = line.strip_prefix("apply_patch").or_else(|| line.strip_prefix("applypatch"));
        let heredoc = rest.unwrap_or(line).trim_start().strip_prefix("<<")?;
        let word = heredoc.trim_start_matches('-').trim().trim_matches(['\'', '"']);
        Some(is_word(word))
    };
    line.is_empty()
        || line.strip_prefix("```").is_some_and(|rest| rest.is_empty() || is_word(rest))
        || matches!(quoted, "" | "EOF" | "PATCH" | "END" | "EOT")
        || opens().unwrap_or(false)
}

const NOT_BELOW_A_CHUNK: &str = "*** End of File stands below the lines of a chunk.";

/// The files so far.
struct Reader {
    files: Vec<FilePatch>,
    /// The last file was just named: what comes next may say where it moves.
    fresh: bool,
    /// Blank lines without a sign: they belong to the file if something of it follows, else they
    /// only part it from the next one.
    blank: usize,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let fresh = std::mem::take(&mut self.fresh);
        if line.starts_with("***") {
            return match Marker::of(line) {
                Some(marker) => self.marker(marker, fresh),
                None => Err(
                    "this is no line that a patch can have. A line of a file needs a space, + or - in front.".to_owned(),
                ),
            };
        }
        if line.trim_end_matches('\r').is_empty() {
            self.blank += 1;
            return Ok(());
        }
        match self.files.last_mut() {
            None => Err("a file has to be named first, with *** Update File: path.".to_owned()),
            Some(FilePatch { what: What::Delete, .. }) => {
                Err("nothing can follow *** Delete File.".to_owned())
            }
            Some(FilePatch { what: What::Add(content), .. }) => {
                let text = line.strip_prefix('+').ok_or(
                    "each line of a new file needs a + in front; to change a file that is there, use *** Update File.",
                )?;
                content.push_str(&"\n".repeat(std::mem::take(&mut self.blank)));
                content.push_str(text);
                content.push('\n');
                Ok(())
            }
            Some(FilePatch { path, what: What::Update { chunks, .. } }) => {
                let blank = std::mem::take(&mut self.blank);
                changed(path, chunks, number, blank, line)
            }
        }
    }

    fn marker(&mut self, marker: Marker<'_>, fresh: bool) -> Result<(), String> {
        let blank = std::mem::take(&mut self.blank);
        let last = self.files.last_mut().map(|file| &mut file.what);
        let (path, what) = match marker {
            Marker::Add(path) => (path, What::Add(String::new())),
            Marker::Delete(path) => (path, What::Delete),
            Marker::Update(path) => (path, What::Update { to: None, chunks: Vec::new() }),
            Marker::MoveTo("") => return Err("the path is missing.".to_owned()),
            Marker::MoveTo(path) => match last {
                Some(What::Update { to, .. }) if fresh => {
                    *to = Some(path.to_owned());
                    return Ok(());
                }
                _ => return Err("*** Move to: stands right below *** Update File:.".to_owned()),
            },
            Marker::EndOfFile => match last {
                // Some end a new file with it.
                Some(What::Add(_)) => return Ok(()),
                Some(What::Update { chunks, .. }) => match chunks.last_mut() {
                    Some(chunk) if chunk.has_lines() => {
                        chunk.keep_blank(blank);
                        chunk.at_end = true;
                        return Ok(());
                    }
                    _ => return Err(NOT_BELOW_A_CHUNK.to_owned()),
                },
                _ => return Err(NOT_BELOW_A_CHUNK.to_owned()),
            },
            Marker::Begin | Marker::End => {
                return Err(
                    "there is another patch in this one. Send one patch at a time.".to_owned()
                );
            }
        };
        if path.is_empty() {
            return Err("the path is missing.".to_owned());
        }
        self.files.push(FilePatch { path: path.to_owned(), what });
        self.fresh = true;
        Ok(())
    }

    /// What was read, if it is whole.
    fn finish(self, end: usize) -> Result<Patch, PatchError> {
        if self.files.is_empty() {
            return Err(PatchError::Nothing);
        }
        for FilePatch { path, what } in &self.files {
            let What::Update { to, chunks } = what else { continue };
            if let Some(chunk) = chunks.iter().find(|chunk| !chunk.has_lines()) {
                let why = "no lines follow this @@.".to_owned();
                return Err(PatchError::Line { line: chunk.at, why });
            }
            if chunks.is_empty() && to.is_none() {
                let why = format!("nothing is said of what to change in {path}.");
                return Err(PatchError::Line { line: end, why });
            }
        }
        Ok(Patch { files: self.files })
    }
}

impl Chunk {
    fn new_at(at: usize) -> Self {
        Self { at, below: Vec::new(), lines: Vec::new(), at_end: false }
    }

    fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    fn keep_blank(&mut self, count: usize) {
        let blank = || ChunkLine { sign: Sign::Keep, text: String::new() };
        self.lines.extend(std::iter::repeat_with(blank).take(count));
    }
}

/// Reads a line of a file that is changed. `blank` lines without a sign stood before it.
fn changed(
    path: &str,
    chunks: &mut Vec<Chunk>,
    number: usize,
    blank: usize,
    line: &str,
) -> Result<(), String> {
    if let Some(heading) = line.strip_prefix("@@") {
        // Several of them in a row lead from the outer to the inner.
        if chunks.last().is_none_or(Chunk::has_lines) {
            chunks.push(Chunk::new_at(number));
        }
        if let (Some(chunk), Some(below)) = (chunks.last_mut(), below(heading)) {
            chunk.below.push(below.to_owned());
        }
        return Ok(());
    }
    if line.starts_with("\\ No newline at end of file") {
        return Ok(());
    }
    if chunks.is_empty() {
        // The head of a unified diff says nothing that is not known.
        let names = |it: &str| {
            it.strip_prefix(['a', 'b']).and_then(|it| it.strip_prefix('/')) == Some(path)
                || it == path
        };
        if ["--- ", "+++ "]
            .iter()
            .any(|head| line.strip_prefix(head).is_some_and(|it| names(it.trim_end())))
        {
            return Ok(());
        }
        chunks.push(Chunk::new_at(number));
    }
    let mut rest = line.chars();
    let sign = match rest.next() {
        Some(' ') => Sign::Keep,
        Some('-') => Sign::Remove,
        Some('+') => Sign::Add,
        _ => {
            return Err(
                "each line of a chunk needs a space (it stays), - (it goes) or + (it is new) in front.".to_owned(),
            );
        }
    };
    if let Some(chunk) = chunks.last_mut() {
        if chunk.has_lines() {
            chunk.keep_blank(blank);
        }
        // A file's own line ends decide, so none is part of a line here.
        let text = rest.as_str().strip_suffix('\r').unwrap_or(rest.as_str());
        chunk.lines.push(ChunkLine { sign, text: text.to_owned() });
    }
    Ok(())
}

/// The line that a chunk lies below, from what follows its `@@`.
fn below(heading: &str) -> Option<&str> {
    let text = heading.strip_prefix(' ').unwrap_or(heading).trim_end();
    // As in `@@ -1,7 +1,9 @@ fn main() {`: numbers are not trusted, and the rest may be cut.
    if text.starts_with('-') && text.contains(" @@") {
        return None;
    }
    let text = text.strip_suffix("@@").map_or(text, str::trim_end);
    (!text.is_empty()).then_some(text)
}
