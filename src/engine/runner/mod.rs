//! Carries out the orders of a [`Turn`](crate::domain::turn::Turn): one run at a time in a session.
//!
//! A run is rebuilt from what is stored, stores what happens before it tells the hub, and ends
//! with the session in a state that a person can go on from.

mod bill;
mod call;
mod cut_off;
mod endpoint;
mod files;
mod forewarn;
mod late;
mod ledger;
mod limits;
mod record;
mod repair;
mod resume;
mod run;
mod step;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{
    Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, mpsc, oneshot, watch,
};
use tokio_util::sync::CancellationToken;

pub(in crate::engine) use self::record::filled;
pub use self::{
    late::refresh_summary,
    repair::{forget_job, repair, stop_waiting},
};
use super::Engine;
use crate::domain::ids::{PartId, ProjectId, SessionId};

/// All runs that go on in this process.
#[derive(Default)]
pub struct Runs {
    running: Mutex<HashMap<SessionId, Handle>>,
    /// One for each session, held while it is decided whether a prompt starts a run or waits.
    moments: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    /// One for each project, shared by whoever begins something in it.
    projects: Mutex<HashMap<ProjectId, Arc<RwLock<()>>>>,
}

#[derive(Clone)]
struct Handle {
    cancel: CancellationToken,
    inbox: mpsc::UnboundedSender<News>,
    retry_now: Arc<Notify>,
    steered: Arc<AtomicBool>,
    ended: watch::Receiver<bool>,
}

/// What reaches a run from outside.
#[derive(Clone, Debug)]
pub enum News {
    /// An ask about a call was answered.
    Decided(Decided),
}

/// The answer to an ask about a call.
#[derive(Clone, Debug)]
pub struct Decided {
    pub part: PartId,
    pub allowed: bool,
    /// A word to the agent.
    pub message: Option<String>,
    /// Who answered, or who made the rule that did.
    pub login: String,
    /// The rule that answered in a person's place, in words.
    pub rule: Option<String>,
}

/// How a run begins.
#[derive(Clone, Debug)]
pub enum Begin {
    /// With the prompts that wait, if any.
    Prompts,
    /// In the middle of a reply, with the answer to an ask that outlived the server.
    Answered(Decided),
}

impl Runs {
    /// Whether a run goes on in a session.
    pub fn is_running(&self, session: SessionId) -> bool {
        self.lock().contains_key(&session)
    }

    /// Asks a run to stop, and waits until it has. `false` where none goes on.
    pub async fn abort(&self, session: SessionId) -> bool {
        let Some(mut handle) = self.handle(session) else { return false };
        handle.cancel.cancel();
        let _ = tokio::time::timeout(Duration::from_secs(5), handle.ended.wait_for(|it| *it)).await;
        true
    }

    /// Ends the wait before the next try of a model call. `false` where none is waited for.
    pub fn retry_now(&self, session: SessionId) -> bool {
        self.handle(session).map(|handle| handle.retry_now.notify_waiters()).is_some()
    }

    /// Stops all runs, for the end of the server.
    pub async fn stop_all(&self) {
        let all: Vec<SessionId> = self.lock().keys().copied().collect();
        futures_util::future::join_all(all.into_iter().map(|session| self.abort(session))).await;
    }

    /// Lets a run look for prompts that are to steer it before its next step. To be called once
    /// they are stored.
    pub fn steered(&self, session: SessionId) {
        if let Some(handle) = self.handle(session) {
            handle.steered.store(true, Ordering::Release);
        }
    }

    /// Brings news to a run. `false` where none goes on.
    pub fn tell(&self, session: SessionId, news: News) -> bool {
        self.handle(session).is_some_and(|handle| handle.inbox.send(news).is_ok())
    }

    fn handle(&self, session: SessionId) -> Option<Handle> {
        self.lock().get(&session).cloned()
    }

    /// While this is held no run of the session ends, and none begins but by its holder: what is
    /// read of the session's state still holds when something is made of it.
    pub async fn moment(&self, session: SessionId) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
            moments.retain(|_, lock| Arc::strong_count(lock) > 1);
            moments.entry(session).or_default().clone()
        };
        lock.lock_owned().await
    }

    /// Stops what runs in a session, again and again until nothing does. While the answer is held
    /// nothing begins by itself.
    pub async fn end(&self, session: SessionId) -> tokio::sync::OwnedMutexGuard<()> {
        loop {
            self.abort(session).await;
            let moment = self.moment(session).await;
            if !self.is_running(session) {
                return moment;
            }
        }
    }

    /// While this is held the project is not removed. Taken before [`Runs::moment`], and only once
    /// by one task: who leaves goes before those who come after.
    pub async fn stays(&self, project: ProjectId) -> OwnedRwLockReadGuard<()> {
        self.project(project).read_owned().await
    }

    /// While this is held nothing begins in the project: nobody creates a session, prompts,
    /// answers, undoes or redoes. Who looks after it finds what was made of the project.
    pub async fn leaving(&self, project: ProjectId) -> OwnedRwLockWriteGuard<()> {
        self.project(project).write_owned().await
    }

    fn project(&self, project: ProjectId) -> Arc<RwLock<()>> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        projects.retain(|_, lock| Arc::strong_count(lock) > 1);
        projects.entry(project).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Handle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a run in a session, unless one goes on: that one takes the waiting prompts itself.
pub fn wake(engine: &Arc<Engine>, session: SessionId) {
    start(engine, session, Begin::Prompts);
}

pub fn start(engine: &Arc<Engine>, session: SessionId, begin: Begin) {
    let cancel = CancellationToken::new();
    let (inbox, news) = mpsc::unbounded_channel();
    let (ended, has_ended) = watch::channel(false);
    let retry_now = Arc::new(Notify::new());
    // Some may have waited since before the server was started anew.
    let steered = Arc::new(AtomicBool::new(true));
    {
        let mut runs = engine.runs.lock();
        if runs.contains_key(&session) {
            return;
        }
        let handle = Handle {
            cancel: cancel.clone(),
            inbox,
            retry_now: retry_now.clone(),
            steered: steered.clone(),
            ended: has_ended,
        };
        runs.insert(session, handle);
    }
    let engine = engine.clone();
    let (late, mut left) = oneshot::channel();
    let reins = run::Reins { cancel: cancel.clone(), news, retry_now, steered, late: Some(late) };
    let threads = engine.threads.clone();
    threads.spawn(async move {
        // What the last run has changed is noted before the next one changes more. One that is
        // stopped meanwhile only says so.
        tokio::select! {
            () = engine.snapshots.noted(session) => {}
            () = cancel.cancelled() => {}
        }
        let work = tokio::spawn(run::run(engine.clone(), session, begin, reins));
        match work.await {
            Ok(Ok(())) => {}
            Ok(Err(err)) => {
                tracing::error!(%session, "a run failed: {err:#}");
                repair::after_failure(&engine, session).await;
            }
            Err(err) => {
                tracing::error!(%session, "a run panicked: {err}");
                repair::after_failure(&engine, session).await;
            }
        }
        if let Ok(late) = left.try_recv() {
            tokio::spawn(late.finish());
        }
        // A prompt that came while the run was ending was put into the queue.
        let moment = engine.runs.moment(session).await;
        engine.runs.lock().remove(&session);
        let _ = ended.send(true);
        engine.hub.tidy();
        match run::waits(&engine, session).await {
            // Whoever said stop meant all of it, even if the answer was whole just then.
            Ok(true) if !cancel.is_cancelled() => wake(&engine, session),
            Ok(_) => {}
            Err(err) => tracing::error!(%session, "looking for waiting prompts: {err}"),
        }
        drop(moment);
    });
}
