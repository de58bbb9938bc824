//! Opening and replacing files without ever following a symbolic link.
//!
//! A [`Target`] is free of links when it is judged. A process of the agent may put one on its way
//! a moment later, so each step of the way is taken relative to an open folder and refuses links:
//! what is opened is what was judged, or nothing.

mod taking;
mod trouble;

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{Read, Write},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid},
    io::Errno,
};

pub use self::trouble::Trouble;
use super::paths::Target;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(meta: &Metadata) -> Self {
        let modified = (meta.mtime(), meta.mtime_nsec());
        Self { device: meta.dev(), inode: meta.ino(), size: meta.size(), modified }
    }
}

/// A whole file, and what it takes to replace it.
pub struct Loaded {
    pub bytes: Vec<u8>,
    meta: Metadata,
}

/// An open folder that paths start from: the project's, or `/` for what is outside.
pub struct Base {
    folder: OwnedFd,
    path: PathBuf,
}

impl Base {
    /// The folder to reach a target from, and the way from there.
    pub fn of(root: &Path, target: &Target) -> Result<(Self, PathBuf), Trouble> {
        let (path, way) = match target.inside.as_deref() {
            Some(inside) => (root.to_owned(), PathBuf::from(inside)),
            None => (
                PathBuf::from("/"),
                target.real.strip_prefix("/").unwrap_or(&target.real).to_owned(),
            ),
        };
        let way = if way.as_os_str().is_empty() { PathBuf::from(".") } else { way };
        let folder = rustix::fs::openat(CWD, &path, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
        Ok((Self { folder, path }, way))
    }

    /// The folder as a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file. Nothing else is opened, not even for a moment: opening a device can
    /// have effects, and opening a pipe can wait for ever.
    pub fn open(&self, way: &Path) -> Result<(File, Metadata), Trouble> {
        self.look(way)?;
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(self.reach(way, flags)?);
        let meta = file.metadata()?;
        regular(&meta)?;
        Ok((file, meta))
    }

    /// What a regular file is like, without opening it.
    fn look(&self, way: &Path) -> Result<Metadata, Trouble> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let meta = File::from(self.reach(way, flags)?).metadata()?;
        regular(&meta)?;
        Ok(meta)
    }

    /// Reads a whole file of at most `most` bytes.
    pub fn load(&self, way: &Path, most: u64) -> Result<Loaded, Trouble> {
        let (file, meta) = self.open(way)?;
        if meta.size() > most {
            return Err(Trouble::Large(meta.size()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.size()).unwrap_or_default());
        file.take(most + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > most {
            true => Err(Trouble::Large(bytes.len() as u64)),
            false => Ok(Loaded { bytes, meta }),
        }
    }

    /// Replaces a file at once and whole, with its mode and owner kept, or creates it with its
    /// folders. Refuses where it is not as it was loaded.
    pub fn replace(
        &self,
        way: &Path,
        content: &[u8],
        before: Option<&Loaded>,
    ) -> Result<(), Trouble> {
        self.put(way, content, before, before)
    }

    /// As [`Self::replace`], with the mode and owner of `like`.
    pub fn put(
        &self,
        way: &Path,
        content: &[u8],
        before: Option<&Loaded>,
        like: Option<&Loaded>,
    ) -> Result<(), Trouble> {
        let name = way.file_name().ok_or(Trouble::Folder)?;
        let parent = way.parent().unwrap_or(Path::new(""));
        let folder = match before {
            Some(before) => {
                if before.meta.mode() & 0o222 == 0 {
                    return Err(Trouble::ReadOnly);
                }
                if Identity::of(&self.look(way)?) != Identity::of(&before.meta) {
                    return Err(Trouble::Changed);
                }
                self.walk(parent, Missing::Fails)?
            }
            None => self.walk(parent, Missing::IsMade)?,
        };
        let (temp, file) = match temporary(&folder, if like.is_some() { 0o600 } else { 0o666 }) {
            // A folder that takes no new files may still hold one that can be written.
            Err(Errno::ACCESS | Errno::PERM) if before.is_some() => {
                return self.rewrite(way, content, before);
            }
            made => made?,
        };
        let done = fill(file, content, like).and_then(|()| rename(&folder, &temp, name, before));
        if done.is_err() {
            // It is gone already where the rename was what failed to be reported.
            let _ = rustix::fs::unlinkat(&folder, &temp, AtFlags::empty());
        }
        done
    }

    fn rewrite(&self, way: &Path, content: &[u8], before: Option<&Loaded>) -> Result<(), Trouble> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(self.reach(way, flags)?);
        if before.is_some_and(|before| {
            file.metadata().is_ok_and(|now| Identity::of(&now) != Identity::of(&before.meta))
        }) {
            return Err(Trouble::Changed);
        }
        file.set_len(0)?;
        Ok(file.write_all(content)?)
    }

    /// Opens what lies at the end of a way that has no symbolic link.
    fn reach(&self, way: &Path, flags: OFlags) -> Result<OwnedFd, Trouble> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.folder, way, flags, Mode::empty(), resolve) {
            // An old kernel, or a container that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {
                let parent = self.walk(way.parent().unwrap_or(Path::new("")), Missing::Fails)?;
                let name = way.file_name().unwrap_or(OsStr::new("."));
                Ok(rustix::fs::openat(&parent, name, flags, Mode::empty())?)
            }
            opened => Ok(opened?),
        }
    }

    /// Opens a folder step by step.
    fn walk(&self, way: &Path, missing: Missing) -> Result<OwnedFd, Trouble> {
        let mut folder = self.folder.try_clone()?;
        for name in way.components().map(|it| it.as_os_str()).filter(|name| *name != ".") {
            let open = || rustix::fs::openat(&folder, name, FOLDER, Mode::empty());
            folder = match (open(), missing) {
                (Err(Errno::NOENT), Missing::IsMade) => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => open()?,
                        Err(err) => return Err(err.into()),
                    }
                }
                (opened, _) => opened?,
            };
        }
        Ok(folder)
    }
}

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What becomes of a missing folder.
#[derive(Clone, Copy)]
enum Missing {
    Fails,
    IsMade,
}

fn regular(meta: &Metadata) -> Result<(), Trouble> {
    use std::os::unix::fs::FileTypeExt;
    let kind = meta.file_type();
    match kind {
        _ if kind.is_file() => Ok(()),
        _ if kind.is_dir() => Err(Trouble::Folder),
        // Without links on the way, one at its end has come since.
        _ if kind.is_symlink() => Err(Trouble::Moved),
        _ if kind.is_fifo() => Err(Trouble::Special("a named pipe")),
        _ if kind.is_socket() => Err(Trouble::Special("a socket")),
        _ => Err(Trouble::Special("a device")),
    }
}

/// A new file beside the one that it is going to be.
fn temporary(folder: &OwnedFd, mode: u32) -> Result<(String, File), Errno> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let name =
            format!(".forge-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode)) {
            Err(Errno::EXIST) => {}
            made => return made.map(|file| (name, File::from(file))),
        }
    }
}

fn fill(mut file: File, content: &[u8], like: Option<&Loaded>) -> Result<(), Trouble> {
    file.write_all(content)?;
    if let Some(Loaded { meta, .. }) = like {
        let now = file.metadata()?;
        if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
            // Only root may give files away; the file's content matters more than its owner.
            let _ = rustix::fs::fchown(
                &file,
                Some(Uid::from_raw(meta.uid())),
                Some(Gid::from_raw(meta.gid())),
            );
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(meta.mode() & 0o7777))?;
    }
    Ok(())
}

fn rename(
    folder: &OwnedFd,
    temp: &str,
    name: &OsStr,
    before: Option<&Loaded>,
) -> Result<(), Trouble> {
    if before.is_some() {
        return Ok(rustix::fs::renameat(folder, temp, folder, name)?);
    }
    match rustix::fs::renameat_with(folder, temp, folder, name, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Err(Trouble::Changed),
        // Not every file system can promise not to replace.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(folder, temp, folder, name)?),
        done => Ok(done?),
    }
}

/// Whether a part of the way is called so.
pub fn passes(way: &Path, name: &str) -> bool {
    way.components().any(|part| part.as_os_str().as_bytes() == name.as_bytes())
}
