//! What all sessions share about files: one lock per file, and what each session has seen of it.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use sha2::{Digest, Sha256};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::domain::ids::SessionId;

/// So many files are remembered over all sessions; then the ones seen longest ago are forgotten,
/// and have to be read again before they are changed.
const REMEMBERED: usize = 16_384;

/// The hash of a file's content.
pub type Stamp = [u8; 32];

pub fn stamp(content: &[u8]) -> Stamp {
    Sha256::digest(content).into()
}

/// A lock on a file, held until it is dropped.
pub type Held = OwnedMutexGuard<()>;

/// One for the whole process, whatever the session or project. A clone is the same one.
#[derive(Clone, Default)]
pub struct Files(Arc<Shared>);

#[derive(Default)]
struct Shared {
    locks: Mutex<Locks>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Locks {
    by_path: HashMap<PathBuf, Weak<AsyncMutex<()>>>,
    /// With so many, those that nobody holds are forgotten.
    tidy_at: usize,
}

/// Fewer locks than this are not worth to be tidied.
const LOCKS: usize = 64;

impl Locks {
    fn of(&mut self, real: &Path) -> Arc<AsyncMutex<()>> {
        if let Some(lock) = self.by_path.get(real).and_then(Weak::upgrade) {
            return lock;
        }
        // Going through all is paid for by as many new ones since the last time.
        if self.by_path.len() >= self.tidy_at {
            self.by_path.retain(|_, lock| lock.strong_count() > 0);
            self.tidy_at = LOCKS.max(self.by_path.len() * 2);
        }
        let lock = Arc::new(AsyncMutex::new(()));
        self.by_path.insert(real.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[derive(Default)]
struct Seen {
    stamps: HashMap<(SessionId, PathBuf), (Stamp, u64)>,
    /// Grows with each stamp, so that the oldest can be told.
    turn: u64,
}

impl Files {
    /// Waits until nobody else changes the file. Whoever comes first is first.
    pub async fn lock(&self, real: &Path) -> Held {
        let lock = whole(&self.0.locks).of(real);
        lock.lock_owned().await
    }

    /// Waits for several files, in an order that all keep to: so no two wait for each other.
    pub async fn lock_all(&self, reals: impl IntoIterator<Item = PathBuf>) -> Vec<Held> {
        let sorted: BTreeSet<PathBuf> = reals.into_iter().collect();
        let mut held = Vec::with_capacity(sorted.len());
        for real in sorted {
            held.push(self.lock(&real).await);
        }
        held
    }

    /// The file's content when the session last read or wrote it.
    pub fn seen(&self, session: SessionId, real: &Path) -> Option<Stamp> {
        whole(&self.0.seen).stamps.get(&(session, real.to_owned())).map(|(stamp, _)| *stamp)
    }

    /// Remembers that the session knows this content.
    pub fn see(&self, session: SessionId, real: &Path, stamp: Stamp) {
        let mut seen = whole(&self.0.seen);
        seen.turn += 1;
        let turn = seen.turn;
        seen.stamps.insert((session, real.to_owned()), (stamp, turn));
        if seen.stamps.len() > REMEMBERED {
            let mut turns: Vec<u64> = seen.stamps.values().map(|(_, turn)| *turn).collect();
            let (_, oldest, _) = turns.select_nth_unstable(REMEMBERED / 4);
            let oldest = *oldest;
            seen.stamps.retain(|_, (_, turn)| *turn > oldest);
        }
    }

    /// Forgets all that a session has seen: it is over, or was reverted.
    pub fn forget(&self, session: SessionId) {
        whole(&self.0.seen).stamps.retain(|(owner, _), _| *owner != session);
    }
}

/// A panic elsewhere leaves these maps whole, so they can still be used.
fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(last: char) -> SessionId {
        format!("0000000000000000000000000{last}").parse().unwrap()
    }

    #[test]
    fn each_session_has_seen_its_own() {
        let files = Files::default();
        let (a, b, path) = (session('A'), session('B'), Path::new("/x"));
        files.see(a, path, stamp(b"1"));
        assert_eq!(files.seen(a, path), Some(stamp(b"1")));
        assert_eq!(files.seen(b, path), None);
        files.see(b, path, stamp(b"2"));
        files.forget(a);
        assert_eq!(files.seen(a, path), None);
        assert_eq!(files.seen(b, path), Some(stamp(b"2")));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let files = Files::default();
        let path = |at: usize| PathBuf::from(format!("/{at}"));
        (0..=REMEMBERED).for_each(|at| files.see(session('A'), &path(at), [0; 32]));
        assert_eq!(files.seen(session('A'), &path(0)), None);
        assert!(files.seen(session('A'), &path(REMEMBERED)).is_some());
        assert!(whole(&files.0.seen).stamps.len() < REMEMBERED);
    }

    #[tokio::test]
    async fn one_holder_at_a_time() {
        let files = Files::default();
        let held = files.lock(Path::new("/x")).await;
        let other = files.lock(Path::new("/y")).await;
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(5), files.lock(Path::new("/x")))
                .await
                .is_err()
        );
        drop((held, other));
        drop(files.lock(Path::new("/x")).await);
    }

    #[tokio::test]
    async fn locks_that_nobody_holds_are_forgotten_in_the_end() {
        let files = Files::default();
        let path = |at: usize| PathBuf::from(format!("/{at}"));
        for at in 0..1_000 {
            drop(files.lock(&path(at)).await);
        }
        assert!(whole(&files.0.locks).by_path.len() <= LOCKS);
        let mut held = Vec::new();
        for at in 0..1_000 {
            held.push(files.lock(&path(at)).await);
        }
        assert_eq!(whole(&files.0.locks).by_path.len(), 1_000);
        assert!(files.0.locks.lock().unwrap().tidy_at >= 1_000, "one look at all for as many new");
        let first = path(0);
        let waits = files.lock(&first);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(5), waits).await.is_err());
    }
}
