//! Comparing protected paths after a command, where the kernel could not keep them as they were.
//!
//! With namespaces this is needed only for what cannot be mounted read-only: a path that did not
//! exist, or a link. Without them it is all there is.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File, Metadata, Permissions},
    io::{self, Read},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode as FileMode, OFlags};
use serde::{Deserialize, Serialize};

use super::{Mode, policy::Policy};

/// How much is kept in memory of all protected paths together.
const MOST_BYTES: u64 = 16 << 20;
const MOST_FILES: u64 = 8_000;

/// Protected paths as they were before a command.
pub(super) struct Guard {
    pinned: Vec<Pin>,
    kept: Vec<(PathBuf, Kept)>,
}

/// What became of the protected paths that were changed.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restored {
    pub restored: Vec<PathBuf>,
    pub lost: Vec<PathBuf>,
}

/// A folder that must stay where it is. The handle leads to it wherever it goes.
struct Pin {
    path: PathBuf,
    handle: OwnedFd,
    identity: (u64, u64),
}

/// What was found at a path.
#[derive(Debug, PartialEq, Eq)]
enum Kept {
    Missing,
    Link(PathBuf),
    File {
        content: Vec<u8>,
        mode: u32,
    },
    Folder {
        entries: BTreeMap<OsString, Kept>,
        mode: u32,
    },
    /// A pipe, a socket or a device: it holds nothing.
    Other,
}

impl Guard {
    pub(super) fn capture(policy: &Policy) -> io::Result<Self> {
        let mounted = policy.mode == Mode::Namespaces;
        let mut guard = Self { pinned: Vec::new(), kept: Vec::new() };
        if !mounted {
            for path in policy.pinned() {
                guard.pinned.extend(Pin::set(path));
            }
        }
        let mut budget = Budget { bytes: MOST_BYTES, files: MOST_FILES };
        for path in &policy.protected {
            let mountable = fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink());
            if !(mounted && mountable) {
                guard.kept.push((path.clone(), Kept::read(path, &mut budget)?));
            }
        }
        Ok(guard)
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.pinned.iter().all(Pin::is_in_place)
            && self.kept.iter().all(|(path, kept)| kept.is_at(path))
    }

    /// Puts back what was changed.
    pub(super) fn restore(&self) -> Restored {
        let mut outcome = Restored::default();
        for pin in &self.pinned {
            if !pin.is_in_place() {
                outcome.note(&pin.path, pin.put_back());
            }
        }
        for (path, kept) in &self.kept {
            if !kept.is_at(path) {
                outcome.note(path, kept.replace(path));
            }
        }
        outcome
    }
}

impl Restored {
    fn note(&mut self, path: &Path, result: io::Result<()>) {
        let list = if result.is_ok() { &mut self.restored } else { &mut self.lost };
        list.push(path.to_owned());
    }
}

impl Pin {
    /// Nothing for a path that is not a folder: there is nothing to move away.
    fn set(path: PathBuf) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, FileMode::empty()).ok()?;
        let identity = identity(&fs::symlink_metadata(&path).ok()?);
        Some(Self { path, handle, identity })
    }

    fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity)
    }

    fn put_back(&self) -> io::Result<()> {
        let now = fs::read_link(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))?;
        let still_there =
            fs::symlink_metadata(&now).is_ok_and(|found| identity(&found) == self.identity);
        match fs::symlink_metadata(&self.path) {
            // The original is gone: a folder in its place is as good, and its contents are judged
            // on their own.
            Ok(found) if found.is_dir() && !still_there => return Ok(()),
            Ok(_) => fs::rename(&self.path, unused_name(&self.path))?,
            Err(_) => {}
        }
        if still_there { fs::rename(now, &self.path) } else { fs::create_dir_all(&self.path) }
    }
}

/// What has taken the place of a folder is kept beside it.
fn unused_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".replaced-{number}"));
        PathBuf::from(name)
    };
    (1..).map(name).find(|name| fs::symlink_metadata(name).is_err()).unwrap_or_else(|| name(0))
}

fn identity(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

struct Budget {
    bytes: u64,
    files: u64,
}

impl Kept {
    fn is_at(&self, path: &Path) -> bool {
        let mut budget = Budget { bytes: MOST_BYTES, files: MOST_FILES };
        Self::read(path, &mut budget).is_ok_and(|found| found == *self)
    }

    fn read(path: &Path, budget: &mut Budget) -> io::Result<Self> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(Self::Missing),
                _ => return Err(error),
            },
        };
        budget.files = budget.files.checked_sub(1).ok_or_else(|| too_much(path))?;
        let mode = found.mode() & 0o7777;
        if found.is_symlink() {
            return Ok(Self::Link(fs::read_link(path)?));
        }
        if found.is_dir() {
            let mut entries = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                entries.insert(entry.file_name(), Self::read(&entry.path(), budget)?);
            }
            return Ok(Self::Folder { entries, mode });
        }
        if !found.is_file() {
            return Ok(Self::Other);
        }
        let mut content = Vec::new();
        File::open(path)?.take(budget.bytes + 1).read_to_end(&mut content)?;
        let size = content.len() as u64;
        budget.bytes = budget.bytes.checked_sub(size).ok_or_else(|| too_much(path))?;
        Ok(Self::File { content, mode })
    }

    /// Makes the path what it was, whatever it is now.
    fn replace(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            if !matches!(self, Self::Missing) {
                fs::create_dir_all(folder)?;
            }
            // A folder that its owner may not enter is still its owner's.
            if let Ok(found) = fs::metadata(folder)
                && found.mode() & 0o700 != 0o700
            {
                fs::set_permissions(folder, Permissions::from_mode(found.mode() | 0o700))?;
            }
        }
        remove(path)?;
        self.write(path)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Missing | Self::Other => Ok(()),
            Self::Link(target) => symlink(target, path),
            Self::File { content, mode } => {
                fs::write(path, content)?;
                fs::set_permissions(path, Permissions::from_mode(*mode))
            }
            Self::Folder { entries, mode } => {
                fs::create_dir(path)?;
                for (name, entry) in entries {
                    entry.write(&path.join(name))?;
                }
                fs::set_permissions(path, Permissions::from_mode(*mode))
            }
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn too_much(path: &Path) -> io::Error {
    io::Error::other(format!("{} is too large to be protected.", path.display()))
}
