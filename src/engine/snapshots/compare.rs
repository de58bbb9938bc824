//! What a command has changed: the project before and after it.

use std::{collections::HashMap, io, path::Path};

use super::{
    baseline::{Baseline, Known, Source, Tracked, Why, just_now},
    repositories::{Repositories, Taken},
    tree::{Kind, Stat, Tree},
    walk::walk,
};
use crate::{
    adapters::{
        blobs::Blobs,
        objects::{self, Objects, Repository},
    },
    domain::undo::{Content, FileState},
};

/// A file that is not as it was.
pub(super) struct Found {
    pub path: Box<[u8]>,
    pub before: FileState,
    pub after: FileState,
    /// When it was changed, where there is still something to tell.
    pub changed: Option<(i64, u32)>,
}

/// What is different from a baseline.
pub(super) struct Compared {
    pub found: Vec<Found>,
    /// What was taken away from repositories inside the project.
    pub taken: Vec<Taken>,
    /// The baseline for what comes next.
    pub next: Baseline,
}

/// Finds all changes since a baseline, when what could run outside later has been taken away.
/// Of the paths that are `touched` it is found too that they are again as they were.
pub(super) fn compare(
    root: &Path,
    blobs: &Blobs,
    before: &Baseline,
    touched: &[Vec<u8>],
) -> io::Result<Compared> {
    let mut since = just_now();
    // What was watched before is watched now, whatever the command did to the index.
    let mut walked = walk(root, &before.tracked.folders)?;
    let tree = Tree::open(root)?;
    // Of what was not looked at before nobody knows whether it is new.
    let taken = match before.too_many {
        true => Vec::new(),
        false => before.repositories.take_away(&tree, root, &walked.repositories),
    };
    if !taken.is_empty() {
        since = just_now();
        walked = walk(root, &before.tracked.folders)?;
    }
    let repository = Repository::at(root);
    let tracked = Tracked::of(repository.as_ref(), Some(&before.tracked));
    let mut after = Baseline {
        files: HashMap::with_capacity(walked.files.len()),
        unreadable: walked.unreadable.clone(),
        too_many: walked.too_many,
        tracked,
        repositories: Repositories::of(&tree, walked.repositories),
    };
    if before.too_many || after.too_many {
        return Ok(Compared { found: Vec::new(), taken, next: after });
    }
    let mut objects = None;
    let mut comparing = Comparing { root, tree, blobs, before, objects: &mut objects };
    let mut found = Vec::new();
    let seen = (walked.files, walked.unreadable);
    for path in before.files.keys().filter(|path| !seen.0.contains_key(&**path)) {
        if !hidden(path, &seen.0, &seen.1) {
            found.extend(comparing.gone(path)?);
        }
    }
    for (path, stat) in seen.0 {
        let fresh = stat.changed >= since;
        let known = before.files.get(&path);
        if let Some(known) = known.filter(|known| !known.fresh && known.stat == stat) {
            after.files.insert(path, *known);
            continue;
        }
        let (change, source) = comparing.look(&path, stat, known)?;
        // It was not looked into before, so nobody knows what was there.
        let unknown = known.is_none() && shut(&path, before);
        found.extend(change.filter(|_| !unknown));
        after.files.insert(path, Known { stat, source, fresh });
    }
    for path in touched {
        let known = before.files.get(&**path);
        let tree = |known: Option<&Known>| known.is_some_and(|it| it.stat.kind == Kind::Tree);
        let covered = !shut(path, before) && !shut(path, &after) && !tree(known);
        if covered && !found.iter().any(|it| *it.path == **path) {
            let state = known.map_or(FileState::Absent, |known| comparing.earlier(known));
            let path = path.as_slice().into();
            found.push(Found { path, before: state, after: state, changed: None });
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(Compared { found, taken, next: after })
}

fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Whether a walk has not looked into a folder that a path lies in.
fn hidden(path: &[u8], files: &HashMap<Box<[u8]>, Stat>, unreadable: &[Box<[u8]>]) -> bool {
    above(path).any(|folder| {
        files.get(folder).is_some_and(|stat| stat.kind == Kind::Tree)
            || unreadable.iter().any(|it| &**it == folder)
    })
}

/// The same for a baseline.
fn shut(path: &[u8], before: &Baseline) -> bool {
    above(path).any(|folder| {
        before.files.get(folder).is_some_and(|known| known.stat.kind == Kind::Tree)
            || before.unreadable.iter().any(|it| &**it == folder)
    })
}

struct Comparing<'a> {
    root: &'a Path,
    tree: Tree,
    blobs: &'a Blobs,
    before: &'a Baseline,
    /// Opened when the first object is needed.
    objects: &'a mut Option<Objects>,
}

impl Comparing<'_> {
    fn gone(&mut self, path: &[u8]) -> io::Result<Option<Found>> {
        let Some(known) = self.before.files.get(path) else { return Ok(None) };
        let before = self.earlier(known);
        let after = self.tree.state(path, self.blobs)?;
        Ok((!before.same(&after)).then(|| Found {
            path: path.into(),
            before,
            after,
            changed: None,
        }))
    }

    /// What became of a file, and where its new content can be had.
    fn look(
        &mut self,
        path: &[u8],
        stat: Stat,
        known: Option<&Known>,
    ) -> io::Result<(Option<Found>, Source)> {
        if let Some(source) = self.untouched(path, stat, known)? {
            return Ok((None, source));
        }
        let after = match stat.kind {
            Kind::Tree => FileState::Tree,
            _ => self.tree.state(path, self.blobs)?,
        };
        let source = match after {
            FileState::File { content: Content::Kept(hash), .. } => Source::Kept(hash),
            FileState::File { content: Content::Seen(_), .. } => Source::Missing(Why::Large),
            FileState::File { content: Content::Unknown, .. } => Source::Missing(Why::Unreadable),
            FileState::Symlink { target } => Source::Kept(target),
            _ => Source::Nothing,
        };
        let before = known.map_or(FileState::Absent, |known| self.earlier(known));
        let same = before.same(&after);
        let changed = Some(stat.changed);
        let found = (!same).then(|| Found { path: path.into(), before, after, changed });
        Ok((found, source))
    }

    /// Whether a file was written again with what Git has of it; saves reading that.
    fn untouched(
        &self,
        path: &[u8],
        stat: Stat,
        known: Option<&Known>,
    ) -> io::Result<Option<Source>> {
        let Some(Known { stat: was, source: Source::Git(oid), .. }) = known else {
            return Ok(None);
        };
        if (was.kind, was.mode, was.size) != (stat.kind, stat.mode, stat.size) {
            return Ok(None);
        }
        let same = match self.tree.read(path) {
            Ok(Some((bytes, _))) => objects::oid(&bytes) == *oid,
            Ok(None) | Err(_) => false,
        };
        Ok(same.then_some(Source::Git(*oid)))
    }

    fn earlier(&mut self, known: &Known) -> FileState {
        let root = self.root;
        let objects = self.objects.get_or_insert_with(|| match Repository::at(root) {
            Some(repository) => repository.objects(),
            None => Objects::none(),
        });
        known.state(self.blobs, objects)
    }
}
