//! What is still being noted of a session: calls that change files and have not come to their end.
//!
//! A call may outlive its run, when that was stopped and noting what a command has changed takes
//! long. Until it is done nothing is undone, and the next run does not begin.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use super::{Snapshots, lock};
use crate::domain::ids::SessionId;

/// How many calls are not done, by session.
#[derive(Default)]
pub(super) struct Notings {
    open: Mutex<HashMap<SessionId, usize>>,
    done: Notify,
}

/// While this is held, something is being noted of a session.
pub struct Noting {
    notings: Arc<Notings>,
    session: SessionId,
}

impl Snapshots {
    /// Says that what a session changes is being noted, until the result is dropped.
    pub fn noting(&self, session: SessionId) -> Noting {
        let notings = self.parts.notings.clone();
        *lock(&notings.open).entry(session).or_default() += 1;
        Noting { notings, session }
    }

    /// Whether something is still being noted of a session.
    pub fn is_noting(&self, session: SessionId) -> bool {
        lock(&self.parts.notings.open).contains_key(&session)
    }

    /// Waits until nothing is being noted of a session.
    pub async fn noted(&self, session: SessionId) {
        loop {
            let done = self.parts.notings.done.notified();
            let mut done = std::pin::pin!(done);
            // Before looking, or the last word could be missed.
            done.as_mut().enable();
            if !self.is_noting(session) {
                return;
            }
            done.await;
        }
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        let mut open = lock(&self.notings.open);
        if let Some(count) = open.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.session);
            }
        }
        drop(open);
        self.notings.done.notify_waiters();
    }
}
