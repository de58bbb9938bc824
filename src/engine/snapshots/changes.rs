//! What a session has changed, by its own records alone: other uncommitted work is not in it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{Snapshots, SnapshotsError, blocking, lock, rows};
use crate::{
    adapters::blobs::Blobs,
    domain::{
        diff::{self, Bounds, Diff},
        ids::{MessageId, SessionId},
        session::{ChangedFile, FileStatus},
        undo::{Content, FileState},
    },
    store::{self, entity::snapshot::Model as Snapshot},
};

/// The difference in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Relative to the project.
    pub path: String,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
    pub binary: bool,
    /// One of the versions is too large or was not captured: there is nothing to compare.
    pub not_kept: bool,
    pub diff: Diff,
}

/// A file before the first change and after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Net {
    before: FileState,
    after: FileState,
}

type Files = BTreeMap<String, Net>;

/// The net changes of the sessions that are at work, and counted lines, so that after a tool call
/// only what it touched is compared.
#[derive(Default)]
pub(super) struct Nets {
    sessions: Mutex<HashMap<SessionId, Files>>,
    counts: Mutex<HashMap<Net, (u32, u32)>>,
}

/// So many sessions are remembered, and so many compared files.
const MOST_SESSIONS: usize = 64;
const MOST_COUNTS: usize = 16_384;

/// How long the smallest difference of a file is looked for, and of all files together.
const COMPARING: Duration = Duration::from_millis(100);
const COMPARING_ALL: Duration = Duration::from_secs(2);

/// How many bytes of hunks all files may have together.
const MOST_SHOWN: usize = 2 << 20;

impl Nets {
    /// Takes note of how a message left files.
    pub fn left(&self, session: SessionId, rows: &[Snapshot]) {
        if let Some(files) = lock(&self.sessions).get_mut(&session) {
            rows.iter().for_each(|row| add(files, row));
        }
    }

    /// Forgets a session whose messages were undone or redone.
    pub fn forget(&self, session: SessionId) {
        lock(&self.sessions).remove(&session);
    }
}

fn add(files: &mut Files, row: &Snapshot) {
    let Some(after) = rows::after(row) else { return };
    let before = rows::before(row);
    files.entry(row.path.clone()).or_insert(Net { before, after }).after = after;
}

impl Net {
    /// What happened to the file; nothing where it is as it was, or is a folder.
    fn status(&self) -> Option<FileStatus> {
        let is_file =
            |state: &FileState| matches!(state, FileState::File { .. } | FileState::Symlink { .. });
        match (is_file(&self.before), is_file(&self.after)) {
            (true, true) if self.before.same(&self.after) => None,
            (true, true) => Some(FileStatus::Modified),
            (false, true) => Some(FileStatus::Added),
            (true, false) => Some(FileStatus::Deleted),
            (false, false) => None,
        }
    }

    /// The difference; nothing where one of the versions is not kept.
    fn diff(&self, blobs: &Blobs, bounds: Bounds) -> Option<Diff> {
        let content = |state: &FileState| match state {
            FileState::File { content: Content::Kept(hash), .. }
            | FileState::Symlink { target: hash } => blobs.get(*hash).ok(),
            FileState::File { .. } => None,
            _ => Some(Vec::new()),
        };
        Some(diff::lines(&content(&self.before)?, &content(&self.after)?, bounds))
    }
}

impl Snapshots {
    /// The files that a session has changed, as far as its messages are not undone.
    pub async fn changed_files(
        &self,
        session: SessionId,
    ) -> Result<Vec<ChangedFile>, SnapshotsError> {
        let known = lock(&self.parts.nets.sessions).get(&session).cloned();
        let files = match known {
            Some(files) => files,
            None => {
                let files = self.load(session, |message| message.reverted_at.is_none()).await?;
                let mut sessions = lock(&self.parts.nets.sessions);
                if sessions.len() >= MOST_SESSIONS {
                    sessions.clear();
                }
                sessions.insert(session, files.clone());
                files
            }
        };
        self.counted(files).await
    }

    /// What a session has changed, or one of its messages, file by file.
    ///
    /// Counts are always right; how much text is shown is bounded for each file and for all.
    pub async fn diff(
        &self,
        session: SessionId,
        message: Option<MessageId>,
    ) -> Result<Vec<FileDiff>, SnapshotsError> {
        let wanted = |row: &store::entity::message::Model| match message {
            Some(message) => row.id == message,
            None => row.reverted_at.is_none(),
        };
        let files = self.load(session, wanted).await?;
        let blobs = self.parts.blobs.clone();
        blocking(move || {
            let until = Instant::now() + COMPARING_ALL;
            let mut room = MOST_SHOWN;
            let mut diffs = Vec::new();
            for (path, net) in files {
                let Some(status) = net.status() else { continue };
                let deadline = Some(until.min(Instant::now() + COMPARING));
                let bytes = Bounds::default().bytes.min(room);
                let found = net.diff(&blobs, Bounds { deadline, bytes, ..Bounds::default() });
                let not_kept = found.is_none();
                let diff = found.unwrap_or_default();
                let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
                let shown: usize = lines.map(|line| line.text().len()).sum();
                room = room.saturating_sub(shown);
                let (additions, deletions, binary) = (diff.additions, diff.deletions, diff.binary);
                diffs.push(FileDiff { path, status, additions, deletions, binary, not_kept, diff });
            }
            Ok(diffs)
        })
        .await
    }

    /// The net changes of those messages of a session that are wanted.
    pub(super) async fn load(
        &self,
        session: SessionId,
        wanted: impl Fn(&store::entity::message::Model) -> bool,
    ) -> Result<Files, SnapshotsError> {
        let db = &self.parts.db;
        let mut rows = store::snapshots::of_session(db, session).await?;
        if rows.is_empty() {
            return Ok(Files::new());
        }
        let messages = store::messages::from_position(db, session, i64::MIN).await?;
        let places: HashMap<MessageId, i64> =
            messages.iter().filter(|it| wanted(it)).map(|it| (it.id, it.position)).collect();
        rows.retain(|row| places.contains_key(&row.message_id));
        rows.sort_by_key(|row| places.get(&row.message_id).copied());
        let mut files = Files::new();
        rows.iter().for_each(|row| add(&mut files, row));
        Ok(files)
    }

    /// The changes with their counted lines.
    pub(super) async fn counted(&self, files: Files) -> Result<Vec<ChangedFile>, SnapshotsError> {
        let unknown: HashSet<Net> = {
            let counts = lock(&self.parts.nets.counts);
            let shown = files.values().filter(|net| net.status().is_some());
            shown.filter(|net| !counts.contains_key(net)).copied().collect()
        };
        let mut fresh = HashMap::new();
        if !unknown.is_empty() {
            let blobs = self.parts.blobs.clone();
            fresh = blocking(move || {
                let until = Instant::now() + COMPARING_ALL;
                let count = |net: Net| {
                    let deadline = Some(until.min(Instant::now() + COMPARING));
                    let bounds = Bounds { deadline, lines: 0, ..Bounds::default() };
                    let diff = net.diff(&blobs, bounds).unwrap_or_default();
                    (net, (diff.additions, diff.deletions))
                };
                Ok(unknown.into_iter().map(count).collect::<HashMap<_, _>>())
            })
            .await?;
        }
        let mut counts = lock(&self.parts.nets.counts);
        let mut changed = Vec::with_capacity(files.len());
        for (path, net) in files {
            let Some(status) = net.status() else { continue };
            let counted = counts.get(&net).or(fresh.get(&net)).copied();
            let (additions, deletions) = counted.unwrap_or_default();
            changed.push(ChangedFile { path, status, additions, deletions });
        }
        if counts.len() + fresh.len() > MOST_COUNTS {
            counts.clear();
        }
        counts.extend(fresh);
        Ok(changed)
    }
}
