//! Snapshots of files, so that what an agent did can be seen, undone and redone.
//!
//! Before a tool changes a file, a [`MessageRecorder`] keeps its content; a command stands between
//! [`Snapshots::before_command`] and [`Snapshots::after_command`]. Content lies in blobs, a row
//! for each file and message says which. Covered are files, their modes, symbolic links and
//! folders; not covered are what lies in `.git`, files over 2 MiB, and folders of packages, caches
//! and builds. Whatever is not covered is named and never half restored.

mod baseline;
mod changes;
mod command;
mod compare;
mod later;
mod not_captured;
mod noting;
mod open;
mod recorder;
mod recover;
mod repositories;
mod restore;
mod revert;
mod rows;
mod tree;
mod walk;
mod windows;

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use self::{
    baseline::Baseline, changes::Nets, noting::Notings, open::OpenCommands, recorder::Inner,
    windows::Windows,
};
pub use self::{
    changes::FileDiff,
    command::{ChangedPath, Changes, Scan},
    not_captured::{NotCaptured, Paths},
    noting::Noting,
    recorder::MessageRecorder,
    recover::Recovered,
    repositories::Taken,
    restore::Stuck,
    revert::Undone,
    tree::LARGEST_KEPT,
};
use crate::{
    adapters::blobs::Blobs,
    domain::{
        clock::Clock,
        ids::{Entropy, MessageId, SessionId},
        undo::Hash,
    },
    engine::tools::Files,
    store::{self, Db, DbErr},
};

/// Keeps, shows and restores. Cheap to clone: all parts are shared.
#[derive(Clone)]
pub struct Snapshots {
    parts: Arc<Parts>,
}

struct Parts {
    db: Db,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    blobs: Blobs,
    commands: OpenCommands,
    files: Files,
    notings: Arc<Notings>,
    windows: Windows,
    baselines: Baselines,
    nets: Nets,
    live: Mutex<HashMap<MessageId, Weak<Inner>>>,
    /// One undo at a time.
    reverting: tokio::sync::Mutex<()>,
    /// What commands did is noted one after the other: each goes on where another ends.
    following: tokio::sync::Mutex<()>,
}

/// Why something could not be recorded or restored.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotsError {
    #[error("The session is running. Stop it first.")]
    Running,
    #[error("What the last command changed is still being noted. Try again in a moment.")]
    Noting,
    #[error("The session or the message is no longer there.")]
    Gone,
    #[error(transparent)]
    Stuck(#[from] Stuck),
    #[error("the project's files could not be read: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Db(#[from] DbErr),
}

impl Snapshots {
    /// What is kept lies in the data folder.
    pub fn new(
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        data: &Path,
        files: Files,
    ) -> Self {
        let parts = Parts {
            db,
            clock,
            entropy,
            blobs: Blobs::below(data),
            commands: OpenCommands::below(data),
            files,
            notings: Arc::default(),
            windows: Windows::default(),
            baselines: Baselines::default(),
            nets: Nets::default(),
            live: Mutex::default(),
            reverting: tokio::sync::Mutex::default(),
            following: tokio::sync::Mutex::default(),
        };
        Self { parts: Arc::new(parts) }
    }

    /// The record of a message; the same one for everybody who asks while somebody has it.
    /// `root` is the project's folder, canonical.
    pub fn recorder(&self, root: &Path, session: SessionId, message: MessageId) -> MessageRecorder {
        let mut live = lock(&self.parts.live);
        if let Some(inner) = live.get(&message).and_then(Weak::upgrade) {
            return MessageRecorder(inner);
        }
        live.retain(|_, inner| inner.strong_count() > 0);
        let recorder = MessageRecorder::new(self.clone(), root.to_owned(), session, message);
        live.insert(message, Arc::downgrade(&recorder.0));
        recorder
    }

    /// Stores how a message left its files, where that is not known yet. Called when the answer
    /// has ended, was stopped, or is repaired after a crash.
    pub async fn finish_message(
        &self,
        session: SessionId,
        message: MessageId,
        root: &Path,
    ) -> Result<(), SnapshotsError> {
        let recorder = self.recorder(root, session, message);
        recorder.0.load().await?;
        recorder.0.mark_open();
        recorder.settle().await
    }

    /// Removes content that nothing refers to any more. Returns how many bytes that were.
    pub async fn sweep(&self) -> Result<u64, SnapshotsError> {
        // What was kept a moment ago may get its row only now.
        const UNUSED_FOR: Duration = Duration::from_secs(60 * 60);
        let mut in_use: HashSet<_> = self.parts.baselines.blobs();
        let stored = store::snapshots::blobs_in_use(&self.parts.db).await?;
        in_use.extend(stored.iter().filter_map(|blob| blob.parse::<Hash>().ok()));
        let blobs = self.parts.blobs.clone();
        blocking(move || blobs.remove_unused(&in_use, UNUSED_FOR)).await
    }
}

/// The newest baseline of the projects in which commands ran last.
#[derive(Default)]
struct Baselines(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    newest: Vec<(PathBuf, Arc<Baseline>)>,
    /// Those too that a running command still needs.
    all: Vec<Weak<Baseline>>,
}

/// One of a large project takes some megabytes.
const MOST_BASELINES: usize = 6;

impl Baselines {
    fn get(&self, root: &Path) -> Option<Arc<Baseline>> {
        let kept = lock(&self.0);
        kept.newest.iter().find(|(at, _)| at == root).map(|(_, baseline)| baseline.clone())
    }

    fn put(&self, root: &Path, baseline: Arc<Baseline>) {
        let mut kept = lock(&self.0);
        kept.newest.retain(|(at, _)| at != root);
        kept.all.retain(|baseline| baseline.strong_count() > 0);
        kept.all.push(Arc::downgrade(&baseline));
        kept.newest.insert(0, (root.to_owned(), baseline));
        kept.newest.truncate(MOST_BASELINES);
    }

    fn blobs(&self) -> HashSet<Hash> {
        let all: Vec<_> = lock(&self.0).all.iter().filter_map(Weak::upgrade).collect();
        all.iter().flat_map(|baseline| baseline.blobs()).collect()
    }
}

/// A panic elsewhere leaves what is locked here whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the disk away from the threads that serve pages.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SnapshotsError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(io::Error::other)??)
}
