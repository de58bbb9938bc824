//! Git's index: the files that are added, with the content and the state each had at that time.
//!
//! The format is Git's `Documentation/gitformat-index`, versions 2 to 4.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use super::{Oid, regular};

/// Larger ones are not read: that is more than a million files.
const LARGEST: u64 = 256 << 20;

/// How a file was when Git last looked at it. All numbers are cut to 32 bits, as Git stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub changed: (u32, u32),
    pub modified: (u32, u32),
    pub inode: u32,
    pub size: u32,
    pub oid: Oid,
}

/// The regular files of an index, by their path below the top of the repository.
#[derive(Default)]
pub struct Index {
    files: HashMap<Box<[u8]>, Entry>,
    /// When the index was written: a file that was modified then or later may have changed
    /// without a trace.
    written: (u32, u32),
}

impl Index {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let Some(file) = regular(path) else { return Ok(Self::default()) };
        let meta = file.metadata()?;
        if meta.len() > LARGEST {
            return Err(io::Error::other("the index is too large"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
        file.take(LARGEST).read_to_end(&mut bytes)?;
        let files = parse(&bytes).ok_or_else(|| io::Error::other("the index cannot be read"))?;
        Ok(Self { files, written: written(&meta) })
    }

    /// The entry of a file.
    pub fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.files.get(path)
    }

    /// Whether an entry's content is surely that of a file whose state equals the entry's.
    pub fn is_settled(&self, entry: &Entry) -> bool {
        entry.modified < self.written
    }

    /// All folders that files of the index are in.
    pub fn folders(&self) -> HashSet<Box<[u8]>> {
        let mut folders = HashSet::new();
        for path in self.files.keys() {
            let mut rest = &**path;
            while let Some(end) = rest.iter().rposition(|byte| *byte == b'/') {
                rest = &rest[..end];
                if folders.contains(rest) {
                    break;
                }
                folders.insert(rest.into());
            }
        }
        folders
    }
}

fn written(meta: &fs::Metadata) -> (u32, u32) {
    (meta.mtime() as u32, meta.mtime_nsec() as u32)
}

/// What is left of the bytes to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Up to a zero byte, which is taken too.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// The variable-length number that version 4 uses.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = (value.checked_add(1)? << 7) | usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

const REGULAR: u32 = 0o100_000;
const STAGE: u16 = 0x3000;
const EXTENDED: u16 = 0x4000;
/// Added in name only, without content.
const INTENT_TO_ADD: u16 = 0x2000;

fn parse(bytes: &[u8]) -> Option<HashMap<Box<[u8]>, Entry>> {
    let mut rest = Rest(bytes);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = rest.number()?;
    let mut files = HashMap::with_capacity(count.min(1 << 20) as usize);
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let before = rest.0.len();
        let changed = (rest.number()?, rest.number()?);
        let modified = (rest.number()?, rest.number()?);
        let (_device, inode, mode) = (rest.number()?, rest.number()?, rest.number()?);
        let (_user, _group, size) = (rest.number()?, rest.number()?, rest.number()?);
        let oid: Oid = rest.take(20)?.try_into().ok()?;
        let flags = rest.short()?;
        let extended = if flags & EXTENDED == 0 { 0 } else { rest.short()? };
        if version == 4 {
            let removed = rest.offset()?;
            path.truncate(path.len().checked_sub(removed)?);
            path.extend_from_slice(rest.text()?);
        } else {
            path.clear();
            path.extend_from_slice(rest.text()?);
            // One to eight zero bytes end an entry, so that its length is a multiple of eight.
            let length = before - rest.0.len();
            rest.take(length.next_multiple_of(8) - length)?;
        }
        let plain = flags & STAGE == 0 && extended & INTENT_TO_ADD == 0;
        if plain && mode & 0o170_000 == REGULAR {
            files.insert(path.as_slice().into(), Entry { changed, modified, inode, size, oid });
        }
    }
    // A split index has most of its entries in another file.
    while rest.0.len() > 20 {
        let (name, length) = (rest.take(4)?, rest.number()?);
        rest.take(length as usize)?;
        if name == b"link" {
            return None;
        }
    }
    Some(files)
}
