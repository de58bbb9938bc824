//! The files of a project's folder, reached without ever following a symbolic link.
//!
//! Paths are bytes relative to the folder. Each way goes from the open folder down and refuses
//! links, so nothing outside is read or changed, whatever a process does at the same time.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _, unix::fs::MetadataExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    adapters::blobs::{self, Blobs},
    domain::undo::{Content, FileState},
};

/// Larger files are recorded, but their content is not kept.
pub const LARGEST_KEPT: u64 = 2 << 20;
/// Larger files are not even read to recognise them.
const LARGEST_SEEN: u64 = 64 << 20;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    pub inode: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, u32),
    pub changed: (i64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    File,
    Symlink,
    Folder,
    /// A folder that is not looked into.
    Tree,
    Special,
}

impl Stat {
    pub fn of(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Directory => Kind::Folder,
            _ => Kind::Special,
        };
        Self {
            kind,
            mode: stat.st_mode & 0o7777,
            size: stat.st_size as u64,
            inode: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec as u32),
            changed: (stat.st_ctime, stat.st_ctime_nsec as u32),
        }
    }

    fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }
}

/// A project's folder, open.
pub(super) struct Tree {
    root: OwnedFd,
}

pub(super) const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Tree {
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = rustix::fs::openat(CWD, root, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { root })
    }

    /// Opens what lies at the end of a way without links.
    pub fn reach(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
            // An old kernel, or a container that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.step(path, flags),
            opened => opened,
        }
    }

    /// The same, one folder after the other.
    fn step(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut names: Vec<&[u8]> =
            path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
        if names.contains(&b"..".as_slice()) {
            return Err(Errno::XDEV);
        }
        let last = names.pop().unwrap_or(b".");
        let mut folder = rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty())?;
        for name in names {
            folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        rustix::fs::openat(&folder, last, flags, Mode::empty())
    }

    /// The folder that a path lies in, open, and its name there.
    pub fn parent<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (b"".as_slice(), path),
        };
        if matches!(name, b"" | b"." | b"..") {
            return Err(Errno::INVAL);
        }
        Ok((self.reach(above, FOLDER)?, OsStr::from_bytes(name)))
    }

    /// The folder itself.
    pub fn top(&self) -> io::Result<Stat> {
        Ok(Stat::of(&rustix::fs::fstat(&self.root)?))
    }

    /// What is at a path; nothing where the way there does not exist or passes a link.
    pub fn stat(&self, path: &[u8]) -> io::Result<Option<Stat>> {
        let found = self
            .parent(path)
            .and_then(|(parent, name)| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW));
        match found {
            Ok(stat) => Ok(Some(Stat::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// Opens a regular file to read it.
    pub fn file(&self, path: &[u8]) -> io::Result<(File, Stat)> {
        let file =
            File::from(self.reach(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?);
        let stat = Stat::of_file(&file)?;
        match stat.kind {
            Kind::File => Ok((file, stat)),
            _ => Err(io::Error::other("not a regular file")),
        }
    }

    /// Reads a file of at most [`LARGEST_KEPT`] bytes. The state is that after reading.
    pub fn read(&self, path: &[u8]) -> io::Result<Option<(Vec<u8>, Stat)>> {
        let (file, stat) = self.file(path)?;
        if stat.size > LARGEST_KEPT {
            return Ok(None);
        }
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default());
        (&file).take(LARGEST_KEPT + 1).read_to_end(&mut content)?;
        let whole = content.len() as u64 <= LARGEST_KEPT;
        Ok(whole.then_some((content, Stat::of_file(&file)?)))
    }

    /// The target of a symbolic link.
    pub fn link(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes())
    }

    /// What is at a path now, with its content kept.
    pub fn state(&self, path: &[u8], blobs: &Blobs) -> io::Result<FileState> {
        let Some(stat) = self.stat(path)? else { return Ok(FileState::Absent) };
        match stat.kind {
            Kind::Folder | Kind::Tree => Ok(FileState::Folder { mode: stat.mode }),
            Kind::Special => Ok(FileState::Special),
            Kind::Symlink => match self.link(path) {
                Ok(target) => Ok(FileState::Symlink { target: blobs.put(&target)? }),
                Err(err) if vanished(&err) => Ok(FileState::Absent),
                Err(err) => Err(err),
            },
            Kind::File => {
                let file = |size, content| FileState::File { mode: stat.mode, size, content };
                match self.read(path) {
                    Ok(Some((bytes, _))) => {
                        let hash = blobs.put(&bytes)?;
                        Ok(file(bytes.len() as u64, Content::Kept(hash)))
                    }
                    Ok(None) if stat.size > LARGEST_SEEN => Ok(file(stat.size, Content::Unknown)),
                    Ok(None) => {
                        let (open, stat) = self.file(path)?;
                        let hash = blobs::hash_all(open.take(LARGEST_SEEN))?;
                        Ok(file(stat.size, Content::Seen(hash)))
                    }
                    Err(err) if vanished(&err) => Ok(FileState::Absent),
                    Err(err) if err.kind() == io::ErrorKind::PermissionDenied => {
                        Ok(file(stat.size, Content::Unknown))
                    }
                    Err(err) => Err(err),
                }
            }
        }
    }

    /// What lies in a folder.
    pub fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let folder = self.reach(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    /// The user and group that a file belongs to.
    pub fn owner(&self, path: &[u8]) -> Option<(u32, u32)> {
        let file = File::from(self.reach(path, OFlags::PATH).ok()?);
        let meta = file.metadata().ok()?;
        Some((meta.uid(), meta.gid()))
    }
}

/// Whether an error says that the file has just gone.
fn vanished(err: &io::Error) -> bool {
    let code = err.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}
