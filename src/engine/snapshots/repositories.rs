//! Repositories inside a project, and what somebody's git would run in them later.
//!
//! Git takes programs to run from hooks and from settings, and it is a person's git that does so,
//! outside the sandbox. Of the repositories that are there before a command both are protected
//! while it runs. What a command makes a repository of is judged after it: samples of hooks and
//! plain settings stay, all else is moved to a name that git does not look at, and told. Folders
//! that are not looked into, see [`super::walk`], are not searched for repositories either.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, RenameFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::tree::{Kind, Tree};
use crate::domain::{git_config, text};

/// So many of them are known, and so many protected while a command runs.
const MOST: usize = 4_096;
const MOST_PROTECTED: usize = 64;

/// What git takes programs from, or is sent elsewhere by to take them from there.
const DANGEROUS: [&[u8]; 4] = [b"hooks", b"config", b"config.worktree", b"commondir"];
/// What is moved away gets this behind its name.
const AWAY: &str = ".taken-away";

/// The repositories that belong to a project, by their places in it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Repositories {
    /// What makes a folder a repository: see [`super::walk::Walked`].
    entries: BTreeSet<Box<[u8]>>,
    /// Where repositories have their hooks and settings.
    dirs: BTreeSet<Box<[u8]>>,
    /// There are more than are known, and which ones these are is chance.
    too_many: bool,
}

/// Something that was taken away from a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Relative to the project, fit for a sentence.
    pub path: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Moved { to: String },
    Settings { names: Vec<String>, whole: String },
    Stuck,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WHY: &str = "git would run what it names later, outside the sandbox";
        let path = &self.path;
        match &self.what {
            What::Moved { to } => write!(f, "{path} was moved to {to}: {WHY}."),
            What::Settings { names, whole } => {
                let names = names.join(", ");
                write!(f, "Of {path} some settings were left out ({names}): ")?;
                write!(f, "only plain ones are kept. It is whole in {whole}.")
            }
            What::Stuck => {
                write!(f, "{path} could not be taken away. Look at it before you use git there: ")?;
                write!(f, "{WHY}.")
            }
        }
    }
}

impl Repositories {
    /// Those that a walk has come across, and the project's own.
    pub fn of(tree: &Tree, entries: impl IntoIterator<Item = Box<[u8]>>) -> Self {
        let mut found = Self::default();
        found.entries.extend(entries);
        while found.entries.len() > MOST {
            found.too_many = true;
            found.entries.pop_last();
        }
        let own: Box<[u8]> = b".git".as_slice().into();
        for entry in found.entries.iter().chain([&own]) {
            if is_folder(tree, entry) {
                found.dirs.insert(entry.clone());
                found.too_many |= !submodules(tree, &join(entry, b"modules"), &mut found.dirs);
            }
        }
        found
    }

    /// What a command must not change of the repositories inside the project, the outer ones
    /// first, and how many there are beyond what can be protected.
    pub fn protected(&self, root: &Path) -> (Vec<PathBuf>, usize) {
        let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
        let links = self.entries.iter().filter(|entry| !self.dirs.contains(*entry));
        let mut all: Vec<(&Box<[u8]>, bool)> = links.map(|entry| (entry, false)).collect();
        let nested = self.dirs.iter().filter(|dir| !is_own(dir));
        all.extend(nested.map(|dir| (dir, true)));
        all.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
        let beyond = all.len().saturating_sub(MOST_PROTECTED);
        all.truncate(MOST_PROTECTED);
        let mut paths = Vec::new();
        for (path, is_dir) in all {
            match is_dir {
                true => paths.extend(DANGEROUS.map(|name| at(&join(path, name)))),
                false => paths.push(at(path)),
            }
        }
        (paths, beyond)
    }

    /// Judges what has become a repository since, and takes away what git would run there.
    pub fn take_away(&self, tree: &Tree, root: &Path, entries: &[Box<[u8]>]) -> Vec<Taken> {
        let now = Self::of(tree, entries.iter().cloned());
        let mut taken = Vec::new();
        if self.too_many || now.too_many {
            tracing::warn!(root = %root.display(), "too many repositories to judge the new ones");
            return taken;
        }
        let mut new: BTreeSet<Box<[u8]>> = now.dirs.difference(&self.dirs).cloned().collect();
        for entry in now.entries.difference(&now.dirs).filter(|it| !self.entries.contains(*it)) {
            match leads_to(tree, root, entry) {
                Some(dir) if now.is_worktree(&dir) => {}
                Some(dir) if is_folder(tree, &dir) => {
                    if !self.dirs.contains(&dir) {
                        new.insert(dir);
                    }
                }
                _ => taken.push(move_away(tree, entry)),
            }
        }
        for dir in &new {
            judge(tree, dir, &mut taken);
        }
        for dir in now.dirs.iter().chain(&new) {
            worktrees(tree, dir, &mut taken);
        }
        taken
    }

    /// Whether it is where a repository keeps what belongs to one of its work trees.
    fn is_worktree(&self, dir: &[u8]) -> bool {
        let above = parent(dir).filter(|above| above.ends_with(b"/worktrees"));
        above.and_then(parent).is_some_and(|repository| self.dirs.contains(repository))
    }
}

/// Whether it belongs to the project's own repository, which is protected by itself.
fn is_own(dir: &[u8]) -> bool {
    dir == b".git" || dir.starts_with(b".git/")
}

fn join(folder: &[u8], name: &[u8]) -> Box<[u8]> {
    [folder, name].join(&b'/').into()
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|byte| *byte == b'/').map(|at| &path[..at])
}

fn is_folder(tree: &Tree, path: &[u8]) -> bool {
    matches!(tree.stat(path), Ok(Some(stat)) if stat.kind == Kind::Folder)
}

/// The repositories of submodules, which may lie in folders of their names. `false` where there is
/// more than can be looked at.
fn submodules(tree: &Tree, below: &[u8], dirs: &mut BTreeSet<Box<[u8]>>) -> bool {
    let mut folders: Vec<Box<[u8]>> = vec![below.into()];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MOST {
            return false;
        }
        for name in tree.names(&folder).unwrap_or_default() {
            let path = join(&folder, &name);
            if !is_folder(tree, &path) {
                continue;
            }
            match tree.stat(&join(&path, b"HEAD")) {
                Ok(None) => folders.push(path),
                _ => {
                    folders.push(join(&path, b"modules"));
                    dirs.insert(path);
                }
            }
        }
    }
    true
}

/// Where a `.git` that is a file says that the repository is, if that is inside the project.
fn leads_to(tree: &Tree, root: &Path, entry: &[u8]) -> Option<Box<[u8]>> {
    let (content, _) = tree.read(entry).ok()??;
    let target = content.strip_prefix(b"gitdir:")?.trim_ascii();
    let target = Path::new(OsStr::from_bytes(target));
    let folder = root.join(OsStr::from_bytes(parent(entry)?));
    let mut whole = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    let inside = whole.strip_prefix(root).ok()?.as_os_str().as_bytes();
    (!inside.is_empty()).then(|| inside.into())
}

/// Judges what a new repository has of its own.
fn judge(tree: &Tree, dir: &[u8], taken: &mut Vec<Taken>) {
    for name in DANGEROUS {
        let path = join(dir, name);
        let kind = match tree.stat(&path) {
            Ok(None) => continue,
            Ok(Some(stat)) => stat.kind,
            Err(_) => Kind::Special,
        };
        match (name, kind) {
            (b"hooks", Kind::Folder) => match tree.names(&path) {
                Ok(hooks) => {
                    let away = AWAY.as_bytes();
                    let inert = |hook: &Vec<u8>| {
                        hook.ends_with(b".sample") || hook.windows(away.len()).any(|it| it == away)
                    };
                    let hooks = hooks.into_iter().filter(|hook| !inert(hook));
                    taken.extend(hooks.map(|hook| move_away(tree, &join(&path, &hook))));
                }
                Err(_) => taken.push(move_away(tree, &path)),
            },
            (b"config" | b"config.worktree", Kind::File) => taken.extend(settings(tree, &path)),
            _ => taken.push(move_away(tree, &path)),
        }
    }
}

/// What each work tree of a repository is sent to for hooks and settings is that repository.
fn worktrees(tree: &Tree, dir: &[u8], taken: &mut Vec<Taken>) {
    let folder = join(dir, b"worktrees");
    for name in tree.names(&folder).unwrap_or_default().into_iter().take(MOST) {
        let path = join(&join(&folder, &name), b"commondir");
        let good = match tree.read(&path) {
            Ok(Some((content, _))) => content.trim_ascii() == b"../..",
            Ok(None) => false,
            Err(_) => matches!(tree.stat(&path), Ok(None)),
        };
        if !good {
            taken.push(move_away(tree, &path));
        }
    }
}

/// Leaves out the settings that can name programs. Nothing where there are none.
fn settings(tree: &Tree, path: &[u8]) -> Option<Taken> {
    let Ok(Some((content, stat))) = tree.read(path) else { return Some(move_away(tree, path)) };
    let Ok(content) = String::from_utf8(content) else { return Some(move_away(tree, path)) };
    let judged = git_config::judge(&content);
    if judged.dropped.is_empty() {
        return None;
    }
    let mut names = judged.dropped;
    names.dedup();
    names.truncate(20);
    let moved = move_away(tree, path);
    let What::Moved { to: whole } = moved.what else { return Some(moved) };
    let written = write(tree, path, judged.kept.as_bytes(), stat.mode & 0o666);
    if let Err(err) = written {
        tracing::warn!(%err, "the plain settings of a repository could not be written");
    }
    Some(Taken { path: moved.path, what: What::Settings { names, whole } })
}

fn write(tree: &Tree, path: &[u8], content: &[u8], mode: u32) -> io::Result<()> {
    let (folder, name) = tree.parent(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode | 0o600);
    File::from(rustix::fs::openat(folder, name, flags, mode)?).write_all(content)
}

/// Gives something a name beside its own that git does not look at.
fn move_away(tree: &Tree, path: &[u8]) -> Taken {
    let shown = |path: &[u8]| text::printable(path).into_owned();
    let moved = tree.parent(path).and_then(|(folder, name)| {
        for number in 1..1_000 {
            let mut away = name.to_owned();
            away.push(AWAY);
            if number > 1 {
                away.push(format!("-{number}"));
            }
            let to = rustix::fs::renameat_with(
                &folder,
                name,
                &folder,
                away.as_os_str(),
                RenameFlags::NOREPLACE,
            );
            match to {
                Err(Errno::EXIST) => {}
                Ok(()) => return Ok(away),
                Err(err) => return Err(err),
            }
        }
        Err(Errno::EXIST)
    });
    let what = match moved {
        Ok(away) => {
            let to = parent(path).map_or(away.as_bytes().into(), |it| join(it, away.as_bytes()));
            What::Moved { to: shown(&to) }
        }
        Err(err) => {
            tracing::warn!(%err, "a file of a repository could not be taken away");
            What::Stuck
        }
    };
    Taken { path: shown(path), what }
}
