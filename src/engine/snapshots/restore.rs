//! Bringing files back to a state, in an order in which each step is possible.
//!
//! Every step may be done again: after a failure or a crash in the middle, the same plan made
//! anew does what is left.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, Uid},
    io::Errno,
};

use super::tree::Tree;
use crate::{
    adapters::blobs::Blobs,
    domain::undo::{Content, FileState, Restore, path},
};

/// A file that could not be restored. Those before it are.
#[derive(Debug, thiserror::Error)]
#[error("{path} could not be restored: {source}")]
pub struct Stuck {
    pub path: String,
    source: io::Error,
}

/// Restores files. The plan is sorted by path, so that folders come before what is in them.
pub(super) fn apply(tree: &Tree, blobs: &Blobs, plan: &[Restore]) -> Result<(), Stuck> {
    let about = |restore: &Restore, done: io::Result<()>| {
        done.map_err(|source| Stuck { path: restore.path.clone(), source })
    };
    let folders = |restore: &&Restore| matches!(restore.to, FileState::Folder { .. });
    // A folder that is closed now must be open while its files are restored.
    for restore in plan.iter().filter(folders) {
        if let FileState::Folder { mode } = restore.from {
            about(restore, set_mode(tree, &path::decode(&restore.path), mode | 0o700))?;
        }
    }
    for restore in plan.iter().rev() {
        about(restore, remove(tree, restore))?;
    }
    for restore in plan {
        about(restore, create(tree, blobs, restore))?;
    }
    for restore in plan.iter().rev().filter(folders) {
        if let FileState::Folder { mode } = restore.to {
            about(restore, set_mode(tree, &path::decode(&restore.path), mode))?;
        }
    }
    Ok(())
}

/// Removes what is to be absent, or in the way of what is to be there.
fn remove(tree: &Tree, restore: &Restore) -> io::Result<()> {
    let is_folder = |state| matches!(state, FileState::Folder { .. } | FileState::Tree);
    let replaced =
        restore.to != FileState::Absent && is_folder(restore.from) == is_folder(restore.to);
    if restore.from == FileState::Absent || replaced {
        return Ok(());
    }
    let flags = if is_folder(restore.from) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let bytes = path::decode(&restore.path);
    match tree.parent(&bytes).and_then(|(parent, name)| rustix::fs::unlinkat(parent, name, flags)) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        // Somebody has put something there this very moment: it stays.
        Err(Errno::NOTEMPTY | Errno::EXIST) if restore.to == FileState::Absent => Ok(()),
        Err(err) => Err(err.into()),
    }
}

fn create(tree: &Tree, blobs: &Blobs, restore: &Restore) -> io::Result<()> {
    let bytes = path::decode(&restore.path);
    match restore.to {
        FileState::Absent | FileState::Tree | FileState::Special => Ok(()),
        FileState::Folder { .. } if matches!(restore.from, FileState::Folder { .. }) => Ok(()),
        FileState::Folder { .. } => {
            let (parent, name) = make_parent(tree, &bytes)?;
            match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(err) => Err(err.into()),
            }
        }
        FileState::Symlink { target } => {
            let target = blobs.get(target)?;
            let (parent, name) = make_parent(tree, &bytes)?;
            let temp = named(|temp| rustix::fs::symlinkat(target.as_slice(), &parent, temp))?;
            put(&parent, &temp, name)
        }
        FileState::File { mode, content: Content::Kept(hash), .. } => {
            if let FileState::File { content, .. } = restore.from
                && content.hash() == Some(hash)
            {
                return set_mode(tree, &bytes, mode);
            }
            let content = blobs.get(hash)?;
            let (parent, name) = make_parent(tree, &bytes)?;
            let mut file = None;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let temp = named(|temp| {
                let made = rustix::fs::openat(&parent, temp, flags, Mode::from_raw_mode(0o600))?;
                file = Some(File::from(made));
                Ok(())
            })?;
            let filled = file.map_or(Ok(()), |mut file| {
                file.write_all(&content)?;
                if let Some((user, group)) = tree.owner(&bytes) {
                    // Only root may give files away; the content matters more than the owner.
                    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
                    let _ = rustix::fs::fchown(&file, Some(user), Some(group));
                }
                Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?)
            });
            match filled {
                Ok(()) => put(&parent, &temp, name),
                Err(err) => {
                    let _ = rustix::fs::unlinkat(&parent, temp.as_str(), AtFlags::empty());
                    Err(err)
                }
            }
        }
        FileState::File { .. } => Err(io::Error::other("its content was not kept")),
    }
}

/// Opens the folder that a path lies in, and makes it where it is missing.
fn make_parent<'a>(tree: &Tree, bytes: &'a [u8]) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
    match tree.parent(bytes) {
        Err(Errno::NOENT) => {}
        opened => return Ok(opened?),
    }
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let (parent, name) = tree.parent(&bytes[..at])?;
        match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(tree.parent(bytes)?)
}

/// Makes something under a name that nothing has yet.
fn named(mut make: impl FnMut(&str) -> Result<(), Errno>) -> io::Result<String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".forge-{}-u{number}.tmp", std::process::id());
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return made.map(|()| name).map_err(io::Error::from),
        }
    }
}

/// Gives something its real name, in place of what had it.
fn put(parent: &OwnedFd, temp: &str, name: &std::ffi::OsStr) -> io::Result<()> {
    let done = rustix::fs::renameat(parent, temp, parent, name);
    if done.is_err() {
        let _ = rustix::fs::unlinkat(parent, temp, AtFlags::empty());
    }
    Ok(done?)
}

/// Sets the mode of a file or folder, also of one that may not be opened.
fn set_mode(tree: &Tree, bytes: &[u8], mode: u32) -> io::Result<()> {
    let open = tree.reach(bytes, OFlags::PATH)?;
    if File::from(open.try_clone()?).metadata()?.is_symlink() {
        return Err(io::Error::other("it has become a symbolic link"));
    }
    let itself = format!("/proc/self/fd/{}", open.as_raw_fd());
    fs::set_permissions(itself, Permissions::from_mode(mode))
}
