//! Finding what a shell command changed.
//!
//! Before a command all files are looked at and a source of their content is made sure of, see
//! [`super::baseline`]; after it they are looked at again. What differs is recorded like a tool's
//! change. Nobody is kept from working in the project meanwhile.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use super::{
    MessageRecorder, Snapshots, SnapshotsError, Taken,
    baseline::{Baseline, Budget, just_now},
    blocking,
    compare::{Compared, Found, compare},
    later::Later,
    not_captured::NotCaptured,
    open::{Head, Open},
    rows::{self, Author},
    windows::Window,
};
use crate::{
    domain::{
        ids::PartId,
        undo::{Content, FileState, path},
    },
    store,
};

/// The project as it was before a command. Dropped without [`Snapshots::after_command`], it
/// leaves no trace but the file of [`Scan::keep`], which the next start of the server looks at.
pub struct Scan {
    recorder: MessageRecorder,
    baseline: Arc<Baseline>,
    window: Arc<Window>,
    since: (i64, u32),
    /// Its file in the data folder, once it has one.
    open: Option<Open>,
    /// What the command could change without that it can be undone.
    pub not_captured: NotCaptured,
    /// Whether the session goes on while the command runs.
    pub in_background: bool,
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub changed: Vec<ChangedPath>,
    /// What was taken away from repositories inside the project.
    pub taken: Vec<Taken>,
}

/// A file that a command changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// Relative to the project, as [`path::encode`] writes it.
    pub path: String,
    pub before: FileState,
    pub after: FileState,
}

impl ChangedPath {
    /// Whether undo can bring back what was there before.
    pub fn is_captured(&self) -> bool {
        let kept = |content| matches!(content, Content::Kept(_));
        match (self.before, self.after) {
            (FileState::File { content, .. }, _) => kept(content),
            (FileState::Tree | FileState::Special, _) | (FileState::Absent, FileState::Tree) => {
                false
            }
            (FileState::Absent | FileState::Symlink { .. } | FileState::Folder { .. }, _) => true,
        }
    }
}

impl Scan {
    /// What the command must not change of the repositories inside the project, and how many
    /// there are beyond what can be protected.
    pub fn protected(&self) -> (Vec<PathBuf>, usize) {
        self.baseline.repositories.protected(&self.recorder.0.root)
    }

    /// Stores that the command is about to start, so that what it changes is found also when the
    /// server is killed. Returns the file that has to stay locked while processes of it are there.
    pub async fn keep(&mut self, part: PartId) -> Result<PathBuf, SnapshotsError> {
        let inner = &self.recorder.0;
        let head = Head {
            session: inner.session,
            message: inner.message,
            root: inner.root.clone(),
            since: self.since,
        };
        let (commands, baseline) = (inner.snapshots.parts.commands.clone(), self.baseline.clone());
        let path = blocking(move || commands.store(part, &head, &baseline)).await?;
        self.open = Some(Open::beat(path.clone()));
        Ok(path)
    }
}

impl Snapshots {
    /// Looks at the project before a command runs.
    pub async fn before_command(
        &self,
        recorder: &MessageRecorder,
        command: &str,
    ) -> Result<Scan, SnapshotsError> {
        let inner = &recorder.0;
        inner.load().await?;
        recorder.settle().await?;
        let since = just_now();
        let window = self.parts.windows.open(&inner.root, inner.session, inner.message);
        let (baseline, not_captured) = self.look(recorder, command).await?;
        inner.doubt(&baseline).await?;
        let recorder = recorder.clone();
        let in_background = false;
        Ok(Scan { recorder, baseline, window, since, open: None, not_captured, in_background })
    }

    /// What a command that is only asked about could change without that it can be undone.
    pub async fn before_asking(
        &self,
        recorder: &MessageRecorder,
        command: &str,
    ) -> Result<NotCaptured, SnapshotsError> {
        recorder.0.load().await?;
        Ok(self.look(recorder, command).await?.1)
    }

    async fn look(
        &self,
        recorder: &MessageRecorder,
        command: &str,
    ) -> Result<(Arc<Baseline>, NotCaptured), SnapshotsError> {
        let inner = &recorder.0;
        let old = self.parts.baselines.get(&inner.root);
        let (root, blobs) = (inner.root.clone(), self.parts.blobs.clone());
        let mut first = named(command, &root);
        first.extend(inner.rows().by_path.keys().map(|path| path::decode(path)));
        let found = blocking(move || {
            let baseline = Baseline::take(&root, &blobs, old.as_deref(), first, Budget::default())?;
            let not_captured = baseline.not_captured();
            Ok((Arc::new(baseline), not_captured))
        })
        .await?;
        self.parts.baselines.put(&inner.root, found.0.clone());
        Ok(found)
    }

    /// Takes away what could run outside later, records what the command has changed, and returns
    /// both.
    pub async fn after_command(&self, scan: Scan) -> Result<Changes, SnapshotsError> {
        let Scan { recorder, baseline, window, open, since, in_background, .. } = scan;
        let noted = async {
            let inner = &recorder.0;
            let (root, blobs) = (inner.root.clone(), self.parts.blobs.clone());
            let touched = match in_background {
                true => self.touched(&recorder).await?,
                false => Vec::new(),
            };
            let compared = blocking(move || compare(&root, &blobs, &baseline, &touched)).await?;
            let Compared { found, taken, next } = compared;
            window.close();
            self.parts.baselines.put(&inner.root, Arc::new(next));
            let author = |path: &str, it: &Found| window.author(path, &it.after, it.changed);
            let since = in_background.then_some(since);
            let earlier = || window.earlier();
            let changed = self.note(&recorder, found, author, since, earlier).await?;
            Ok(Changes { changed, taken })
        };
        let noted = noted.await;
        // Also after a failure, which is told: later it could only be done worse.
        if let Some(open) = open {
            open.close().await;
        }
        noted
    }

    /// The files that a message and later ones of its session have changed: a command that goes on
    /// beside them may have brought them back to how it had found them.
    async fn touched(&self, recorder: &MessageRecorder) -> Result<Vec<Vec<u8>>, SnapshotsError> {
        let inner = &recorder.0;
        let rows = store::snapshots::of_session(&self.parts.db, inner.session).await?;
        let rows = rows.iter().filter(|row| row.message_id >= inner.message);
        let paths: HashSet<&str> = rows.map(|row| row.path.as_str()).collect();
        Ok(paths.into_iter().map(path::decode).collect())
    }

    /// Stores changes of a message, as far as it is their author. `since` is when the command
    /// began, where its session may have gone on and changed files after that. `earlier` is how
    /// commands of earlier messages that ended meanwhile left files.
    pub(super) async fn note(
        &self,
        recorder: &MessageRecorder,
        found: Vec<Found>,
        author: impl Fn(&str, &Found) -> Option<Author>,
        since: Option<(i64, u32)>,
        earlier: impl FnOnce() -> HashMap<String, FileState>,
    ) -> Result<Vec<ChangedPath>, SnapshotsError> {
        let inner = &recorder.0;
        let _storing = inner.storing().await;
        let _following = self.parts.following.lock().await;
        let earlier = earlier();
        let mut new = inner.new_rows();
        let mut later = match since {
            Some(since) => Later::read(self, inner.session, inner.message, since).await?,
            None => Later::default(),
        };
        // Rows are put together in their order, and these belong before those of later messages.
        new.now = later.since.unwrap_or(new.now);
        let (mut fresh, mut left, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        let mut ended = Vec::new();
        for mut found in found {
            let path = path::encode(&found.path);
            let Some(author) = author(&path, &found) else { continue };
            if let Some(theirs) = earlier.get(&path)
                && !inner.rows().by_path.contains_key(&path)
            {
                found.before = *theirs;
                if found.before.same(&found.after) {
                    continue;
                }
            }
            if !found.before.same(&found.after) {
                changed.push(ChangedPath {
                    path: path.clone(),
                    before: found.before,
                    after: found.after,
                });
            }
            let Some(after) = later.up_to(&path, found.before, found.after) else { continue };
            ended.push((path.clone(), after));
            match inner.rows().by_path.contains_key(&path) {
                true => left.push((path, after, author)),
                false => {
                    let mut row = new.of(path, found.before);
                    rows::set_after(&mut row, after, author);
                    fresh.push(row);
                }
            }
        }
        inner.insert(fresh.clone()).await?;
        store::snapshots::update(&self.parts.db, later.changed).await?;
        inner.left(&fresh);
        let fresh = fresh.into_iter().map(|row| (row.path.clone(), row));
        inner.rows().by_path.extend(fresh);
        inner.leave(left).await?;
        self.parts.windows.noted(&inner.root, (inner.session, inner.message), &ended);
        Ok(changed)
    }
}

/// The words of a command that may be files of the project.
fn named(command: &str, root: &std::path::Path) -> HashSet<Vec<u8>> {
    let top = format!("{}/", root.display());
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=$".contains(c));
    let words = words.map(|word| word.strip_prefix(&top).unwrap_or(word));
    let words = words.map(|word| word.trim_start_matches("./"));
    words.filter(|word| !word.is_empty()).take(1_000).map(|word| word.as_bytes().to_vec()).collect()
}
