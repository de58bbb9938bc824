//! One look at every file of a project, without reading any.
//!
//! Files that Git ignores are looked at too, because a command may change them. Left out are
//! `.git`, and folders full of what tools can make again: those of package managers and caches by
//! their name, and those that hold a `CACHEDIR.TAG`, as compilers' folders do. A folder with
//! files in it that Git has is never left out.
//!
//! What a repository inside the project has of its own is told by name, see
//! [`super::repositories`].

use std::{
    collections::{HashMap, HashSet},
    num::NonZero,
    path::Path,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::{
    fs::{AtFlags, Dir, OFlags},
    io::Errno,
};

use super::tree::{Kind, Stat, Tree};

/// Folders that are not looked into.
const MADE: [&[u8]; 14] = [
    b"node_modules",
    b"bower_components",
    b".venv",
    b"venv",
    b"__pycache__",
    b".tox",
    b".mypy_cache",
    b".pytest_cache",
    b".ruff_cache",
    b".gradle",
    b".next",
    b".nuxt",
    b".svelte-kit",
    b".parcel-cache",
];

/// The mark of a cache: <https://bford.info/cachedir/>.
const TAG: &[u8] = b"CACHEDIR.TAG";

/// A project with more files is not watched.
const MOST: usize = 400_000;

/// Walking waits for the kernel, and more threads than this do not make it faster.
const MOST_THREADS: usize = 4;

/// What a walk found, by path.
#[derive(Default)]
pub(super) struct Walked {
    pub files: HashMap<Box<[u8]>, Stat>,
    /// Folders that could not be opened.
    pub unreadable: Vec<Box<[u8]>>,
    /// There are more files than can be looked at, and this is not all of them.
    pub too_many: bool,
    /// What makes a folder inside the project a repository: its `.git`, whatever that is, or the
    /// folder itself if it is one without a work tree.
    pub repositories: Vec<Box<[u8]>>,
}

/// Whether a folder of this name is made by a tool.
pub(super) fn is_made(name: &[u8]) -> bool {
    MADE.contains(&name)
}

/// Whether it is one of our own files on its way to its real name.
fn is_ours(name: &[u8]) -> bool {
    name.starts_with(b".forge-") && name.ends_with(b".tmp")
}

struct Work {
    folders: Vec<Box<[u8]>>,
    /// Threads that are in a folder and may find more.
    busy: usize,
    found: Walked,
}

/// Looks at everything below a folder. `tracked` are folders that are looked into in any case.
pub(super) fn walk(root: &Path, tracked: &HashSet<Box<[u8]>>) -> std::io::Result<Walked> {
    let tree = Tree::open(root)?;
    let top: Box<[u8]> = Box::default();
    let work = Work { folders: vec![top], busy: 0, found: Walked::default() };
    let (work, more) = (Mutex::new(work), Condvar::new());
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| work_on(&tree, tracked, &work, &more));
        }
        work_on(&tree, tracked, &work, &more);
    });
    Ok(work.into_inner().unwrap_or_else(PoisonError::into_inner).found)
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work_on(tree: &Tree, tracked: &HashSet<Box<[u8]>>, work: &Mutex<Work>, more: &Condvar) {
    let mut guard = lock(work);
    loop {
        let Some(folder) = guard.folders.pop() else {
            if guard.busy == 0 {
                more.notify_all();
                return;
            }
            guard = more.wait(guard).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        guard.busy += 1;
        drop(guard);
        let looked = look(tree, &folder, tracked);
        guard = lock(work);
        guard.busy -= 1;
        match looked {
            Ok(mut looked) => {
                guard.found.repositories.append(&mut looked.repositories);
                if looked.tagged {
                    if let Some(stat) = guard.found.files.get_mut(&folder) {
                        stat.kind = Kind::Tree;
                    }
                } else {
                    guard.found.files.extend(looked.files);
                    guard.folders.append(&mut looked.folders);
                }
            }
            // It has gone since it was listed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => guard.found.unreadable.push(folder),
        }
        if guard.found.files.len() > MOST {
            guard.found.too_many = true;
            guard.folders.clear();
        }
        more.notify_all();
    }
}

/// What is in a folder.
#[derive(Default)]
struct Looked {
    files: Vec<(Box<[u8]>, Stat)>,
    /// Those that are looked into.
    folders: Vec<Box<[u8]>>,
    repositories: Vec<Box<[u8]>>,
    /// It is a cache, and what is in it does not count.
    tagged: bool,
}

fn look(tree: &Tree, folder: &[u8], tracked: &HashSet<Box<[u8]>>) -> Result<Looked, Errno> {
    let open = tree.reach(folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut looked = Looked::default();
    // What a repository without a work tree consists of.
    let mut bare = [false; 3];
    for entry in Dir::read_from(&open)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || is_ours(name) {
            continue;
        }
        if name == b".git" && !folder.is_empty() {
            looked.repositories.push([folder, name].join(&b'/').into());
        }
        if name == b".git" {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let mut stat = Stat::of(&stat);
        let path: Box<[u8]> = match folder {
            b"" => name.into(),
            _ => [folder, name].join(&b'/').into(),
        };
        looked.tagged |= name == TAG && stat.kind == Kind::File;
        for (part, is) in [b"HEAD".as_slice(), b"objects", b"refs"].iter().zip(&mut bare) {
            *is |= name == *part;
        }
        if stat.kind == Kind::Folder {
            if is_made(name) && !tracked.contains(&path) {
                stat.kind = Kind::Tree;
            } else {
                looked.folders.push(path.clone());
            }
        }
        looked.files.push((path, stat));
    }
    if bare == [true; 3] && !folder.is_empty() {
        looked.repositories.push(folder.into());
    }
    // The project itself may carry the mark, and is looked at all the same.
    looked.tagged &= !folder.is_empty() && !tracked.contains(folder);
    Ok(looked)
}
