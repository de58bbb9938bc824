//! Reading single objects out of Git's packs.
//!
//! The format is Git's `Documentation/gitformat-pack`, index version 2. Only files' contents are
//! looked for, which are blobs, or differences to blobs.

use std::{fs::File, io::Read, os::unix::fs::FileExt as _, path::Path};

use flate2::read::ZlibDecoder;

use super::{LARGEST, Oid, regular};

/// A pack with its index.
pub(super) struct Pack {
    index: File,
    pack: File,
    count: u64,
}

const HEADER: u64 = 8;
const FANOUT: u64 = 256 * 4;
/// Git makes chains of at most 50, and can be told to make longer ones.
const LONGEST_CHAIN: usize = 512;

const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const NAME_DELTA: u8 = 7;

impl Pack {
    /// The pack whose index is at a path; nothing where it is something else.
    pub fn open(path: &Path) -> Option<Self> {
        if path.extension()? != "idx" {
            return None;
        }
        let (index, pack) = (regular(path)?, regular(&path.with_extension("pack"))?);
        let mut header = [0; 8];
        index.read_exact_at(&mut header, 0).ok()?;
        if header != *b"\xfftOc\0\0\0\x02" {
            return None;
        }
        let mut found = Self { index, pack, count: 0 };
        found.count = u64::from(found.number(HEADER + FANOUT - 4)?);
        Some(found)
    }

    /// Where in the pack an object is.
    pub fn find(&self, name: Oid) -> Option<u64> {
        let first = u64::from(name[0]);
        let mut low = match first {
            0 => 0,
            _ => u64::from(self.number(HEADER + (first - 1) * 4)?),
        };
        let mut high = u64::from(self.number(HEADER + first * 4)?).min(self.count);
        let names = HEADER + FANOUT;
        while low < high {
            let middle = low.midpoint(high);
            let mut found: Oid = [0; 20];
            self.index.read_exact_at(&mut found, names + middle * 20).ok()?;
            match found.cmp(&name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle),
            }
        }
        None
    }

    fn offset(&self, position: u64) -> Option<u64> {
        let checksums = HEADER + FANOUT + self.count * 20;
        let offsets = checksums + self.count * 4;
        let offset = self.number(offsets + position * 4)?;
        if offset & 0x8000_0000 == 0 {
            return Some(u64::from(offset));
        }
        let large = offsets + self.count * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        let mut bytes = [0; 8];
        self.index.read_exact_at(&mut bytes, large).ok()?;
        Some(u64::from_be_bytes(bytes))
    }

    fn number(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.index.read_exact_at(&mut bytes, at).ok()?;
        Some(u32::from_be_bytes(bytes))
    }

    /// The content of the blob at a place.
    pub fn content(&self, at: u64, most: u64) -> Option<Vec<u8>> {
        let mut deltas = Vec::new();
        let mut at = at;
        let mut room = LARGEST;
        let mut content = loop {
            let mut reader = Reader { file: &self.pack, at, buffer: [0; 4096], range: 0..0 };
            let (kind, size) = reader.header()?;
            room = room.checked_sub(size)?;
            match kind {
                BLOB => break reader.inflate(size)?,
                OFFSET_DELTA => {
                    let back = reader.base_offset()?;
                    deltas.push(reader.inflate(size)?);
                    at = at.checked_sub(back).filter(|_| back > 0)?;
                }
                NAME_DELTA => {
                    let mut base: Oid = [0; 20];
                    reader.read_exact(&mut base).ok()?;
                    deltas.push(reader.inflate(size)?);
                    at = self.find(base)?;
                }
                _ => return None,
            }
            if deltas.len() > LONGEST_CHAIN {
                return None;
            }
        };
        while let Some(delta) = deltas.pop() {
            content = applied(&content, &delta)?;
        }
        (content.len() as u64 <= most).then_some(content)
    }
}

/// Reads on from a place in a file, without moving the place of anybody else.
struct Reader<'a> {
    file: &'a File,
    at: u64,
    buffer: [u8; 4096],
    range: std::ops::Range<usize>,
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.range.is_empty() {
            let count = self.file.read_at(&mut self.buffer, self.at)?;
            self.at += count as u64;
            self.range = 0..count;
        }
        let count = into.len().min(self.range.len());
        into[..count].copy_from_slice(&self.buffer[self.range.start..][..count]);
        self.range.start += count;
        Ok(count)
    }
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }

    /// What kind of object comes, and how large it is.
    fn header(&mut self) -> Option<(u8, u64)> {
        let mut byte = self.byte()?;
        let kind = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 57)?;
            shift += 7;
        }
        Some((kind, size))
    }

    /// How far before this object the one is that it differs from.
    fn base_offset(&mut self) -> Option<u64> {
        let mut byte = self.byte()?;
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            value = value.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
        }
        Some(value)
    }

    fn inflate(self, size: u64) -> Option<Vec<u8>> {
        if size > LARGEST {
            return None;
        }
        let mut content = Vec::with_capacity(usize::try_from(size).ok()?);
        ZlibDecoder::new(self).take(size + 1).read_to_end(&mut content).ok()?;
        (content.len() as u64 == size).then_some(content)
    }
}

/// Makes new content of old content and the difference between the two.
fn applied(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    let mut next = || {
        let (byte, after) = rest.split_first()?;
        rest = after;
        Some(*byte)
    };
    let mut size = || {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = next()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 57)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    let (old, new) = (size()?, size()?);
    if old != base.len() as u64 || new > LARGEST {
        return None;
    }
    let new = usize::try_from(new).ok()?;
    let mut content = Vec::with_capacity(new);
    while let Some((order, after)) = rest.split_first() {
        rest = after;
        let piece = if order & 0x80 == 0 {
            let (piece, after) =
                rest.split_at_checked(usize::from(*order)).filter(|_| *order > 0)?;
            rest = after;
            piece
        } else {
            let mut field = |bits: std::ops::Range<u8>| {
                let mut value = 0;
                for (place, bit) in bits.enumerate() {
                    if order & 1 << bit != 0 {
                        let (byte, after) = rest.split_first()?;
                        rest = after;
                        value |= usize::from(*byte) << (place * 8);
                    }
                }
                Some(value)
            };
            let (start, length) = (field(0..4)?, field(4..7)?);
            let length = if length == 0 { 0x10000 } else { length };
            base.get(start..start.checked_add(length)?)?
        };
        if content.len() + piece.len() > new {
            return None;
        }
        content.extend_from_slice(piece);
    }
    (content.len() == new).then_some(content)
}
