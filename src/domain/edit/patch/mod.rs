//! Patches over several files, as models write them: parsed once, then judged and applied as that.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: docs/new.md
//! +A line of the new file
//! *** Update File: src/main.rs
//! *** Move to: src/app.rs
//! @@ fn main() {
//!      let port = 80;
//! -    run(port);
//! +    run(port)?;
//! *** Delete File: old.txt
//! *** End Patch
//! ```
//!
//! The format is that of codex's `apply_patch`. A chunk is found by its context and old lines, from
//! where the chunk before it ended; line numbers play no part.

mod locate;
mod parse;
mod update;

pub use self::{
    parse::{PatchError, parse},
    update::{ChunkError, Updated, update},
};

/// All that a patch does, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub files: Vec<FilePatch>,
}

/// What a patch does with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Creates the file with this content.
    Add(String),
    Delete,
    /// Changes the file, and moves it where `to` is given. Without chunks it is only moved.
    Update {
        to: Option<String>,
        chunks: Vec<Chunk>,
    },
}

/// A place in a file, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The line of the patch that it starts at, counted from 1.
    pub at: usize,
    /// Lines of the file that it lies below, each below the one before: what stood after `@@`.
    pub below: Vec<String>,
    pub lines: Vec<ChunkLine>,
    /// It is meant for the end of the file.
    pub at_end: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLine {
    pub sign: Sign,
    /// Without its line end.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Keep,
    Remove,
    Add,
}

impl Patch {
    /// Every path that is read, written, created or deleted, in order: there is no other.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(FilePatch::paths)
    }
}

impl FilePatch {
    /// The file itself, and where it is moved to.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let to = match &self.what {
            What::Update { to, .. } => to.as_deref(),
            What::Add(_) | What::Delete => None,
        };
        std::iter::once(self.path.as_str()).chain(to)
    }
}

impl Chunk {
    /// The lines that are to be in the file.
    pub fn old_lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.iter().filter(|line| line.sign != Sign::Add).map(|line| line.text.as_str())
    }

    /// What it makes of them.
    pub fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|line| line.sign != Sign::Remove).map(|line| line.text.as_str())
    }
}

#[cfg(test)]
mod tests;
