//! How all files of a project are before a command, and where the content of each can be had
//! when the command has changed it.
//!
//! Of a file that is as Git has it, Git's object is enough. Other files are read and kept once,
//! and again only when their state in the file system differs. That is bounded: what is too large
//! or beyond the budget is not captured, and [`NotCaptured`] says so before the command runs.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::{
    not_captured::NotCaptured,
    repositories::Repositories,
    tree::{Kind, LARGEST_KEPT, Stat, Tree},
    walk::walk,
};
use crate::{
    adapters::{
        blobs::Blobs,
        objects::{self, Index, IndexVersion, Objects, Oid, Repository},
    },
    domain::undo::{Content, FileState, Hash},
};

/// How much of a project is kept for commands at most. Files that Git has do not count, and files
/// that a session works on are kept in any case, before all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub files: i64,
    pub bytes: i64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: 20_000, bytes: 256 << 20 }
    }
}

/// The kernel may give two changes within this time the same time.
const TICK: Duration = Duration::from_millis(20);

/// Where the content of a file can be had later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Source {
    /// There is none: a folder, or something special.
    Nothing,
    Kept(Hash),
    Git(Oid),
    Missing(Why),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Why {
    Large,
    Unreadable,
    Budget,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    pub stat: Stat,
    pub source: Source,
    /// It changed so shortly before that a later change might not show.
    pub fresh: bool,
}

/// All files of a project at one moment.
#[derive(Serialize, Deserialize)]
pub(super) struct Baseline {
    pub files: HashMap<Box<[u8]>, Known>,
    pub unreadable: Vec<Box<[u8]>>,
    /// There are too many files, and changes are not looked for.
    pub too_many: bool,
    pub tracked: Tracked,
    pub repositories: Repositories,
}

/// The folders that have files of the index in them.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Tracked {
    #[serde(skip)]
    version: Option<IndexVersion>,
    pub folders: Arc<HashSet<Box<[u8]>>>,
}

impl Tracked {
    /// Those of a repository, read again only if its index was written since.
    pub fn of(repository: Option<&Repository>, old: Option<&Self>) -> Self {
        let version = repository.and_then(Repository::index_version);
        match (repository, old) {
            (Some(_), Some(old)) if old.version == version => old.clone(),
            (Some(repository), _) => {
                let folders = repository.index().unwrap_or_default().folders();
                Self { version, folders: folders.into() }
            }
            (None, _) => Self::default(),
        }
    }
}

impl Baseline {
    /// Looks at all files, and sees to it that each has a source. Starts from an earlier baseline
    /// where there is one. `first` are files that are kept whatever the budget says, as are those
    /// that were kept before.
    pub fn take(
        root: &Path,
        blobs: &Blobs,
        old: Option<&Self>,
        mut first: HashSet<Vec<u8>>,
        mut budget: Budget,
    ) -> io::Result<Self> {
        let since = just_now();
        let repository = Repository::at(root);
        let tracked = Tracked::of(repository.as_ref(), old.map(|old| &old.tracked));
        let walked = walk(root, &tracked.folders)?;
        let mut baseline = Self {
            files: HashMap::new(),
            unreadable: walked.unreadable,
            too_many: walked.too_many,
            tracked,
            repositories: Repositories::of(&Tree::open(root)?, walked.repositories),
        };
        if baseline.too_many {
            return Ok(baseline);
        }
        baseline.files.reserve(walked.files.len());
        let (mut todo, mut attributes) = (Vec::new(), Vec::new());
        for (path, stat) in walked.files {
            if path.ends_with(b".gitattributes") {
                attributes.push(path.clone());
            }
            let fresh = stat.changed >= since;
            let known = old.and_then(|old| old.files.get(&path));
            match known.filter(|known| known.stat == stat && !known.fresh) {
                Some(Known { source: Source::Missing(Why::Budget), .. }) => todo.push((path, stat)),
                Some(known) => {
                    if let Source::Kept(_) = known.source {
                        budget.files -= 1;
                        budget.bytes -= stat.size as i64;
                    }
                    baseline.files.insert(path, *known);
                }
                None if matches!(stat.kind, Kind::File | Kind::Symlink) => {
                    if let Some(Known { source: Source::Kept(_), .. }) = known {
                        first.insert(path.to_vec());
                    }
                    todo.push((path, stat));
                }
                None => {
                    baseline.files.insert(path, Known { stat, source: Source::Nothing, fresh });
                }
            }
        }
        if todo.is_empty() {
            return Ok(baseline);
        }
        // The smallest first, because then the most files have room.
        todo.sort_unstable_by_key(|(path, stat)| (!first.contains(&**path), stat.size));
        let tree = Tree::open(root)?;
        let keeper = Keeper {
            by_state: by_state(&tree, repository.as_ref(), &attributes),
            index: repository.and_then(|it| it.index().ok()).unwrap_or_default(),
            tree,
            blobs,
            first: &first,
            since,
            files: AtomicI64::new(budget.files),
            bytes: AtomicI64::new(budget.bytes),
        };
        baseline.files.extend(keeper.keep_all(todo));
        Ok(baseline)
    }

    /// What can be said about it before a command runs.
    pub fn not_captured(&self) -> NotCaptured {
        let mut found = NotCaptured { too_many: self.too_many, ..NotCaptured::default() };
        for path in &self.unreadable {
            found.unreadable.add(path);
        }
        for (path, known) in &self.files {
            match known.source {
                Source::Missing(Why::Large) => found.large.add(path),
                Source::Missing(Why::Unreadable) => found.unreadable.add(path),
                Source::Missing(Why::Budget) => found.beyond += 1,
                Source::Nothing if known.stat.kind == Kind::Tree => found.trees.add(path),
                _ => {}
            }
        }
        found.sort();
        found
    }

    /// The hash of a file's content, where it was read.
    pub fn hash(&self, path: &[u8]) -> Option<Hash> {
        match self.files.get(path)? {
            Known { stat: Stat { kind: Kind::File, .. }, source: Source::Kept(hash), .. } => {
                Some(*hash)
            }
            _ => None,
        }
    }

    /// The blobs that must stay because of it.
    pub fn blobs(&self) -> impl Iterator<Item = Hash> {
        self.files.values().filter_map(|known| match known.source {
            Source::Kept(hash) => Some(hash),
            _ => None,
        })
    }
}

/// The moment from which on a change may be followed by another that does not show.
pub(super) fn just_now() -> (i64, u32) {
    #[expect(clippy::disallowed_methods, reason = "compared with times that the kernel wrote")]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(TICK);
    (since.as_secs() as i64, since.subsec_nanos())
}

/// Whether a file whose state is that in the index has the content that is in the index. Filters
/// make it something else.
fn by_state(tree: &Tree, repository: Option<&Repository>, attributes: &[Box<[u8]>]) -> bool {
    let filtered = |text: &str| {
        ["filter", "ident", "working-tree-encoding"].iter().any(|word| text.contains(word))
    };
    let read = |path: &[u8]| match tree.read(path) {
        Ok(Some((bytes, _))) => filtered(&String::from_utf8_lossy(&bytes)),
        _ => true,
    };
    let own = repository.and_then(Repository::attributes);
    !own.is_some_and(|text| filtered(&text)) && !attributes.iter().any(|path| read(path))
}

/// Finds and makes sources.
struct Keeper<'a> {
    tree: Tree,
    blobs: &'a Blobs,
    index: Index,
    by_state: bool,
    first: &'a HashSet<Vec<u8>>,
    since: (i64, u32),
    files: AtomicI64,
    bytes: AtomicI64,
}

impl Keeper<'_> {
    fn keep_all(&self, todo: Vec<(Box<[u8]>, Stat)>) -> Vec<(Box<[u8]>, Known)> {
        let keep = |(path, stat): (Box<[u8]>, Stat)| {
            let known = self.keep(&path, stat);
            (path, known)
        };
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
        if todo.len() < 64 || threads == 1 {
            return todo.into_iter().map(keep).collect();
        }
        // Dealt out in turn, so that the small ones are still first.
        let mut hands: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (at, one) in todo.into_iter().enumerate() {
            hands[at % threads].push(one);
        }
        thread::scope(|scope| {
            let work = |hand: Vec<_>| scope.spawn(move || hand.into_iter().map(keep).collect());
            let working: Vec<thread::ScopedJoinHandle<'_, Vec<_>>> =
                hands.into_iter().map(work).collect();
            working.into_iter().flat_map(|it| it.join().unwrap_or_default()).collect()
        })
    }

    fn keep(&self, path: &[u8], stat: Stat) -> Known {
        let known = |stat: Stat, source| Known { stat, source, fresh: stat.changed >= self.since };
        if stat.kind == Kind::Symlink {
            let target = self.tree.link(path).and_then(|target| self.blobs.put(&target));
            return known(stat, target.map_or(Source::Missing(Why::Unreadable), Source::Kept));
        }
        if stat.size > LARGEST_KEPT {
            return known(stat, Source::Missing(Why::Large));
        }
        let entry = self.index.get(path);
        if let Some(entry) = entry
            && self.by_state
            && self.index.is_settled(entry)
            && is_as_in(entry, &stat)
        {
            return known(stat, Source::Git(entry.oid));
        }
        let first = self.first.contains(path);
        let full = self.files.load(Ordering::Relaxed) <= 0;
        if entry.is_none() && full && !first {
            return known(stat, Source::Missing(Why::Budget));
        }
        let (bytes, stat) = match self.tree.read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return known(stat, Source::Missing(Why::Large)),
            Err(_) => return known(stat, Source::Missing(Why::Unreadable)),
        };
        if let Some(entry) = entry.filter(|entry| objects::oid(&bytes) == entry.oid) {
            return known(stat, Source::Git(entry.oid));
        }
        if !self.has_room(bytes.len() as i64) && !first {
            return known(stat, Source::Missing(Why::Budget));
        }
        match self.blobs.put(&bytes) {
            Ok(hash) => known(stat, Source::Kept(hash)),
            Err(err) => {
                tracing::warn!(%err, "a file could not be kept before a command");
                known(stat, Source::Missing(Why::Unreadable))
            }
        }
    }

    fn has_room(&self, size: i64) -> bool {
        self.files.fetch_sub(1, Ordering::Relaxed) > 0
            && self.bytes.fetch_sub(size, Ordering::Relaxed) >= size
    }
}

/// Whether a file is as Git saw it last. Git stores only the low 32 bits of each number.
fn is_as_in(entry: &objects::Entry, stat: &Stat) -> bool {
    entry.size == stat.size as u32
        && entry.inode == stat.inode as u32
        && entry.modified == (stat.modified.0 as u32, stat.modified.1)
        && entry.changed == (stat.changed.0 as u32, stat.changed.1)
}

impl Known {
    /// The state before a command, with its content kept.
    pub fn state(&self, blobs: &Blobs, objects: &Objects) -> FileState {
        let Stat { mode, size, .. } = self.stat;
        match (self.stat.kind, self.source) {
            (Kind::Folder, _) => FileState::Folder { mode },
            (Kind::Tree, _) => FileState::Tree,
            (Kind::Symlink, Source::Kept(target)) => FileState::Symlink { target },
            (Kind::Special | Kind::Symlink, _) => FileState::Special,
            (Kind::File, Source::Kept(hash)) => {
                FileState::File { mode, size, content: Content::Kept(hash) }
            }
            (Kind::File, Source::Git(oid)) => {
                let content = recovered(objects, oid, size).and_then(|it| blobs.put(&it).ok());
                let content = content.map_or(Content::Unknown, Content::Kept);
                FileState::File { mode, size, content }
            }
            (Kind::File, Source::Missing(_) | Source::Nothing) => {
                FileState::File { mode, size, content: Content::Unknown }
            }
        }
    }
}

/// The content that a file had, from Git's object.
///
/// Git may keep LF where the file has CRLF. It does so only where every LF of the object is a
/// CRLF in the file, which the sizes then prove.
fn recovered(objects: &Objects, oid: Oid, size: u64) -> Option<Vec<u8>> {
    let content = objects.content(oid, LARGEST_KEPT)?;
    if content.len() as u64 == size {
        return Some(content);
    }
    let breaks = content.iter().filter(|byte| **byte == b'\n').count() as u64;
    if content.contains(&b'\r') || content.len() as u64 + breaks != size {
        return None;
    }
    Some(content.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The files that a baseline has no content of.
    fn missing(baseline: &Baseline) -> Vec<String> {
        let lacks = |known: &Known| matches!(known.source, Source::Missing(_));
        let paths = baseline.files.iter().filter(|(_, known)| lacks(known)).map(|(path, _)| path);
        let mut paths: Vec<_> =
            paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn beyond_the_budget_are_the_largest_files_but_none_that_is_worked_on() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        fs::create_dir(&root).unwrap();
        for (name, size) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            fs::write(root.join(name), vec![b'x'; size]).unwrap();
        }
        let blobs = Blobs::below(temp.path());
        let take = |old: Option<&Baseline>, first: &[&str], budget| {
            let first = first.iter().map(|path| path.as_bytes().to_vec()).collect();
            Baseline::take(&root, &blobs, old, first, budget).unwrap()
        };
        let two = Budget { files: 2, ..Budget::default() };
        assert_eq!(missing(&take(None, &[], two)), ["c", "d"]);
        assert_eq!(missing(&take(None, &[], Budget { bytes: 4, ..Budget::default() })), ["c", "d"]);
        let baseline = take(None, &["d"], two);
        assert_eq!(missing(&baseline), ["b", "c"]);
        assert_eq!(baseline.not_captured().beyond, 2);
        // What was kept stays kept when it grows.
        fs::write(root.join("a"), [b'y'; 9]).unwrap();
        assert_eq!(missing(&take(Some(&baseline), &[], two)), ["b", "c"]);
    }
}
