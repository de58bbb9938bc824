//! Keeps what the files of a project were before a message changed them, and how it left them.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OnceCell;

use super::{
    Snapshots, SnapshotsError,
    baseline::Baseline,
    blocking,
    rows::{self, Author, NewRow},
    tree::Tree,
};
use crate::{
    domain::{
        ids::{MessageId, SessionId},
        undo::{FileState, path},
    },
    engine::tools::Recorder,
    store::{self, entity::snapshot::Model as Snapshot},
};

/// The record of one message. Cheap to clone; all clones are the same record.
#[derive(Clone)]
pub struct MessageRecorder(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub snapshots: Snapshots,
    pub root: PathBuf,
    pub session: SessionId,
    pub message: MessageId,
    loaded: OnceCell<()>,
    /// Held while rows are stored, so that two changes never store a row for one path.
    storing: tokio::sync::Mutex<()>,
    rows: Mutex<Rows>,
}

#[derive(Default)]
pub(super) struct Rows {
    pub by_path: HashMap<String, Snapshot>,
    /// What was touched since its after-image was stored.
    pub dirty: BTreeSet<String>,
}

impl Rows {
    /// Marks a file as touched, and the folders above it that are in the record: they may be made.
    fn touch(&mut self, key: &str) {
        for path in path::ancestors(key).chain([key]) {
            if self.by_path.contains_key(path) {
                self.dirty.insert(path.to_owned());
            }
        }
    }
}

/// How many rows go into one statement: a database bounds its parameters.
const AT_ONCE: usize = 500;

impl Recorder for MessageRecorder {
    fn before_change<'a>(
        &'a self,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async move {
            self.record(path.as_bytes()).await.map_err(|err| {
                tracing::error!(%err, session = %self.0.session, "a file could not be recorded");
                "The file's content could not be kept for undo, so it was not changed.".to_owned()
            })
        })
    }
}

impl MessageRecorder {
    pub(super) fn new(
        snapshots: Snapshots,
        root: PathBuf,
        session: SessionId,
        message: MessageId,
    ) -> Self {
        Self(Arc::new(Inner {
            snapshots,
            root,
            session,
            message,
            loaded: OnceCell::new(),
            storing: tokio::sync::Mutex::default(),
            rows: Mutex::default(),
        }))
    }

    /// Records a file, and those folders above it that do not exist, before it is changed. Only
    /// the first change in a message costs anything.
    pub async fn record(&self, path: &[u8]) -> Result<(), SnapshotsError> {
        let inner = &self.0;
        inner.load().await?;
        let key = path::encode(path);
        inner.snapshots.parts.windows.touch(&inner.root, inner.session, &key);
        if inner.touch_known(&key) {
            return Ok(());
        }
        let stored = self.store(key.clone()).await;
        if stored.is_err() {
            inner.snapshots.parts.windows.release(&inner.root, inner.session, &key);
        }
        stored
    }

    /// Stores how a file and what is missing above it are now, unless that is known.
    async fn store(&self, key: String) -> Result<(), SnapshotsError> {
        let inner = &self.0;
        let _storing = inner.storing.lock().await;
        let (root, blobs, wanted) =
            (inner.root.clone(), inner.snapshots.parts.blobs.clone(), key.clone());
        let found = blocking(move || {
            let tree = Tree::open(&root)?;
            let mut found = Vec::new();
            for above in path::ancestors(&wanted) {
                if tree.stat(&path::decode(above))?.is_none() {
                    found.push((above.to_owned(), FileState::Absent));
                }
            }
            let state = tree.state(&path::decode(&wanted), &blobs)?;
            found.push((wanted, state));
            Ok(found)
        })
        .await?;
        let new = inner.new_rows();
        let rows: Vec<Snapshot> = {
            let known = inner.rows();
            let found = found.into_iter().filter(|(path, _)| !known.by_path.contains_key(path));
            found.map(|(path, before)| new.of(path, before)).collect()
        };
        inner.insert(rows.clone()).await?;
        let mut known = inner.rows();
        for row in rows {
            known.dirty.insert(row.path.clone());
            known.by_path.insert(row.path.clone(), row);
        }
        known.touch(&key);
        Ok(())
    }

    /// Keeps everybody from storing more in the record while the result is held. For tests of
    /// what happens while noting takes long.
    pub async fn hold(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.storing().await
    }

    /// Whether the message has changed any file.
    pub fn has_changes(&self) -> bool {
        !self.0.rows().by_path.is_empty()
    }

    /// Stores how the files are now that were touched since the last time. Called after each tool
    /// call, so that whoever changes a file later is noticed.
    pub async fn settle(&self) -> Result<(), SnapshotsError> {
        let inner = &self.0;
        let dirty = std::mem::take(&mut inner.rows().dirty);
        if dirty.is_empty() {
            return Ok(());
        }
        let (root, blobs, paths) =
            (inner.root.clone(), inner.snapshots.parts.blobs.clone(), dirty.clone());
        let states = blocking(move || {
            let tree = Tree::open(&root)?;
            let state = |path: String| Ok((tree.state(&path::decode(&path), &blobs)?, path));
            paths.into_iter().map(state).collect::<std::io::Result<Vec<_>>>()
        });
        let stored = match states.await {
            Ok(states) => {
                let left = states.into_iter().map(|(after, path)| (path, after, Author::Message));
                inner.leave(left.collect()).await
            }
            Err(err) => Err(err),
        };
        if stored.is_err() {
            inner.rows().dirty.extend(dirty);
        }
        stored
    }
}

/// A file that was about to change when the work stopped is nobody's any more.
impl Drop for Inner {
    fn drop(&mut self) {
        let windows = &self.snapshots.parts.windows;
        let rows = self.rows.get_mut().unwrap_or_else(PoisonError::into_inner);
        rows.dirty.iter().for_each(|path| windows.release(&self.root, self.session, path));
    }
}

impl Inner {
    pub fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other change stores rows.
    pub async fn storing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.storing.lock().await
    }

    pub fn new_rows(&self) -> NewRow<'_> {
        let parts = &self.snapshots.parts;
        NewRow {
            session: self.session,
            message: self.message,
            now: parts.clock.now(),
            entropy: parts.entropy.as_ref(),
        }
    }

    /// Whether the file is in the record already; it counts as touched then.
    fn touch_known(&self, key: &str) -> bool {
        let mut rows = self.rows();
        let known = rows.by_path.contains_key(key);
        if known {
            rows.touch(key);
        }
        known
    }

    /// Marks what has no after-image yet as touched.
    pub fn mark_open(&self) {
        let mut rows = self.rows();
        let open = rows.by_path.values().filter(|row| row.after_kind.is_none());
        let open: Vec<String> = open.map(|row| row.path.clone()).collect();
        rows.dirty.extend(open);
    }

    /// Reads what an earlier run has recorded for the message.
    pub async fn load(&self) -> Result<(), SnapshotsError> {
        let load = async {
            let stored =
                store::snapshots::of_messages(&self.snapshots.parts.db, vec![self.message]).await?;
            let rows = stored.into_iter().map(|row| (row.path.clone(), row));
            self.rows().by_path.extend(rows);
            Ok(())
        };
        self.loaded.get_or_try_init(|| load).await.copied()
    }

    pub async fn insert(&self, rows: Vec<Snapshot>) -> Result<(), SnapshotsError> {
        for rows in rows.chunks(AT_ONCE) {
            store::snapshots::insert(&self.snapshots.parts.db, rows.to_vec()).await?;
        }
        Ok(())
    }

    /// Stores how files that are in the record were left.
    pub async fn leave(
        &self,
        left: Vec<(String, FileState, Author)>,
    ) -> Result<(), SnapshotsError> {
        let changed: Vec<Snapshot> = {
            let mut rows = self.rows();
            let mut changed = Vec::with_capacity(left.len());
            for (path, after, author) in &left {
                let Some(row) = rows.by_path.get_mut(path) else { continue };
                let earlier = row.clone();
                rows::set_after(row, *after, *author);
                if *row != earlier {
                    changed.push(row.clone());
                }
            }
            changed
        };
        for (path, after, _) in left.iter().filter(|(_, _, author)| *author == Author::Message) {
            self.snapshots.parts.windows.settle(&self.root, self.session, path, *after);
        }
        self.snapshots.parts.nets.left(self.session, &changed);
        if changed.is_empty() {
            return Ok(());
        }
        Ok(store::snapshots::update(&self.snapshots.parts.db, changed).await?)
    }

    /// Marks the files that are not as the message left them a moment ago: somebody else works on
    /// them too, and is asked before they are undone.
    pub async fn doubt(&self, baseline: &Baseline) -> Result<(), SnapshotsError> {
        let differs =
            |row: &&Snapshot| match (baseline.hash(&path::decode(&row.path)), rows::after(row)) {
                (Some(hash), Some(FileState::File { content, .. })) => content.hash() != Some(hash),
                _ => false,
            };
        let doubtful: Vec<(String, FileState, Author)> = {
            let rows = self.rows();
            let found = rows.by_path.values().filter(|row| !rows::is_shared(row)).filter(differs);
            found
                .filter_map(|row| Some((row.path.clone(), rows::after(row)?, Author::Shared)))
                .collect()
        };
        self.leave(doubtful).await
    }

    /// Tells others how files were left.
    pub fn left(&self, rows: &[Snapshot]) {
        let parts = &self.snapshots.parts;
        for row in rows {
            // What is shared is as much the other session's, and does not tell it anything.
            if let Some(after) = rows::after(row).filter(|_| !rows::is_shared(row)) {
                parts.windows.settle(&self.root, self.session, &row.path, after);
            }
        }
        parts.nets.left(self.session, rows);
    }
}
