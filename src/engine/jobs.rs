//! Commands that go on in the background of their session, after the call that started them.
//!
//! A job ends by itself, at its time limit, by `bash_kill`, by a person, or with its session: when
//! that is stopped, archived or deleted, its project removed, or the server ended. What it has
//! changed is recorded then, with the message that started it.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{Engine, runner};
use crate::{
    adapters::sandbox::Stopper,
    domain::ids::{PartId, SessionId},
    store::entity::part::Model as PartRow,
};

/// Jobs that may run in a session, and on the server, at a time.
const IN_SESSION: usize = 8;
const IN_ALL: usize = 64;
/// Jobs of a session that are remembered once they are over.
const REMEMBERED: usize = 32;
/// How long is waited for a job that was told to end: its processes get a second, and what it has
/// changed is recorded then.
const PATIENCE: Duration = Duration::from_secs(20);

/// All jobs of this process.
#[derive(Default)]
pub struct Jobs(Mutex<HashMap<SessionId, Vec<Arc<Job>>>>);

/// A command in the background.
pub struct Job {
    /// What the model calls it; unique in its session.
    pub id: String,
    /// The call that started it.
    pub part: PartId,
    pub started: Instant,
    /// Where its output is, as far as there is any.
    pub output: PathBuf,
    /// Bytes of its output that the model has been told.
    pub told: AtomicU64,
    stopper: Stopper,
    state: watch::Sender<State>,
}

/// How it stands with a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Running,
    /// Its processes are gone, and what it changed is being recorded; how it ended, in words.
    Ended(String),
    /// All of it is over.
    Over(String),
}

impl Jobs {
    /// Whether one more may start. An error is a sentence for the model.
    pub fn room(&self, session: SessionId) -> Result<(), String> {
        let jobs = self.lock();
        let running = |jobs: &Vec<Arc<Job>>| jobs.iter().filter(|job| job.runs()).count();
        if jobs.get(&session).map_or(0, running) >= IN_SESSION {
            return Err(format!(
                "{IN_SESSION} background jobs of this session run already. End one with bash_kill first."
            ));
        }
        match jobs.values().map(running).sum::<usize>() >= IN_ALL {
            true => Err("Too many background jobs run on this server. Run it without background."
                .to_owned()),
            false => Ok(()),
        }
    }

    /// Takes in a job that has started. What is over longest is forgotten.
    pub fn put(
        &self,
        session: SessionId,
        part: PartId,
        output: PathBuf,
        stopper: Stopper,
    ) -> Arc<Job> {
        let job = Arc::new(Job {
            id: id_of(part),
            part,
            started: Instant::now(),
            output,
            told: AtomicU64::new(0),
            stopper,
            state: watch::Sender::new(State::Running),
        });
        let mut jobs = self.lock();
        let list = jobs.entry(session).or_default();
        list.push(job.clone());
        let mut over = list.iter().filter(|job| !job.runs()).count();
        list.retain(|job| {
            let keep = job.runs() || over <= REMEMBERED;
            over -= usize::from(!keep);
            keep
        });
        job
    }

    /// A job of a session, by its id.
    pub fn find(&self, session: SessionId, id: &str) -> Option<Arc<Job>> {
        self.of(session).into_iter().find(|job| job.id == id)
    }

    /// The jobs of a session that run.
    pub fn running(&self, session: SessionId) -> Vec<Arc<Job>> {
        self.of(session).into_iter().filter(|job| job.runs()).collect()
    }

    /// Tells all jobs of a session to end, and goes on at once.
    pub fn kill(&self, session: SessionId) {
        self.running(session).iter().for_each(|job| job.kill());
    }

    /// Ends all jobs of a session. `false` where one does not end.
    pub async fn end(&self, session: SessionId) -> bool {
        let running = self.running(session);
        let ended = futures_util::future::join_all(running.iter().map(|job| job.end())).await;
        ended.into_iter().all(|state| matches!(state, State::Over(_)))
    }

    /// Ends all jobs, for the end of the server.
    pub async fn end_all(&self) {
        let all: Vec<SessionId> = self.lock().keys().copied().collect();
        futures_util::future::join_all(all.into_iter().map(|session| self.end(session))).await;
    }

    /// Forgets a session that is gone.
    pub fn forget(&self, session: SessionId) {
        self.kill(session);
        self.lock().remove(&session);
    }

    fn of(&self, session: SessionId) -> Vec<Arc<Job>> {
        self.lock().get(&session).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Arc<Job>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    fn runs(&self) -> bool {
        !matches!(*self.state.borrow(), State::Over(_))
    }

    /// Says that its processes are gone, and how it ended.
    pub fn has_ended(&self, how: String) {
        self.state.send_replace(State::Ended(how));
    }

    /// Says that all of it is over.
    pub fn is_over(&self) {
        self.state.send_modify(|state| {
            if let State::Ended(how) = state {
                *state = State::Over(std::mem::take(how));
            }
        });
    }

    /// Waits until its processes are gone.
    pub async fn ended(&self) {
        let _ = self.state.subscribe().wait_for(|state| *state != State::Running).await;
    }

    /// Waits until all of it is over.
    async fn over(&self) {
        let _ = self.state.subscribe().wait_for(|state| matches!(state, State::Over(_))).await;
    }

    /// Tells its processes to end, and goes on at once.
    pub fn kill(&self) {
        self.stopper.kill();
    }

    /// Ends it with all its processes, and waits until what it changed is recorded.
    pub async fn end(&self) -> State {
        self.kill();
        let _ = tokio::time::timeout(PATIENCE, self.over()).await;
        self.state()
    }

    /// Bytes of output that the model was told, and will have been told.
    pub fn tell(&self, upto: u64) -> u64 {
        self.told.swap(upto, Ordering::AcqRel)
    }
}

/// Ends the job that a call started, for a person. `false` where the call has no job that runs.
pub async fn stop(engine: &Engine, row: PartRow) -> anyhow::Result<bool> {
    let running = engine.jobs.running(row.session_id);
    match running.into_iter().find(|job| job.part == row.id) {
        Some(job) => {
            job.end().await;
            Ok(true)
        }
        // The server may have been killed just when the end of it was to be stored.
        None => runner::forget_job(engine, row).await,
    }
}

/// The end of an id is made of chance, so that a few letters tell the jobs of a session apart.
pub fn id_of(part: PartId) -> String {
    let id = part.to_string().to_lowercase();
    id[id.len().saturating_sub(6)..].to_owned()
}
