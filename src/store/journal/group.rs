//! Group commit: what many sessions have to store while SQLite's one writer is busy is stored with
//! its next transaction.
//!
//! There is no thread for it. Whoever gets the turn stores what has gathered, and the others find
//! their batch done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sea_orm::DbErr;
use tokio::sync::oneshot;

use super::{Batch, Stored, put};
use crate::store::Db;

/// Batches that one transaction takes, so that nobody waits long for it.
const MOST: usize = 64;

/// What waits to be stored.
#[derive(Default)]
pub(in crate::store) struct Group {
    waiting: Mutex<Vec<Job>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

struct Job {
    batch: Batch,
    done: oneshot::Sender<Result<Vec<Stored>, DbErr>>,
}

impl Group {
    fn waiting(&self) -> MutexGuard<'_, Vec<Job>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next jobs, without those that nobody waits for any more.
    fn take(&self) -> Vec<Job> {
        let mut waiting = self.waiting();
        waiting.retain(|job| !job.done.is_closed());
        let count = waiting.len().min(MOST);
        waiting.drain(..count).collect()
    }
}

pub(super) async fn record(db: &Db, batch: Batch) -> Result<Vec<Stored>, DbErr> {
    let Some(group) = db.group() else { return alone(db, batch).await };
    let (done, mut stored) = oneshot::channel();
    group.waiting().push(Job { batch, done });
    loop {
        let turn = tokio::select! {
            biased;
            stored = &mut stored => return stored.unwrap_or_else(|_| Err(lost())),
            turn = group.turn.clone().lock_owned() => turn,
        };
        let jobs = group.take();
        if jobs.is_empty() {
            continue;
        }
        let db = db.clone();
        // A task of its own, which keeps the turn: whoever has it may hang up, and the others
        // count on it.
        let work = tokio::spawn(async move {
            store(&db, jobs).await;
            drop(turn);
        });
        if let Err(err) = work.await {
            tracing::error!("storing changes: {err}");
        }
    }
}

/// Stores jobs in one transaction; where that fails, each in one of its own.
async fn store(db: &Db, jobs: Vec<Job>) {
    let (mut batches, done): (Vec<_>, Vec<_>) =
        jobs.into_iter().map(|job| (job.batch, job.done)).unzip();
    if batches.len() > 1 {
        match together(db, &mut batches).await {
            Ok(()) => {
                for (batch, done) in batches.into_iter().zip(done) {
                    let _ = done.send(Ok(batch.stored()));
                }
                return;
            }
            Err(err) => tracing::debug!("storing changes one by one: {err}"),
        }
    }
    for (batch, done) in batches.into_iter().zip(done) {
        let _ = done.send(alone(db, batch).await);
    }
}

async fn alone(db: &Db, mut batch: Batch) -> Result<Vec<Stored>, DbErr> {
    together(db, std::slice::from_mut(&mut batch)).await?;
    Ok(batch.stored())
}

async fn together(db: &Db, batches: &mut [Batch]) -> Result<(), DbErr> {
    let tx = db.begin().await?;
    put::all(&tx, batches).await?;
    tx.commit().await
}

fn lost() -> DbErr {
    DbErr::Custom("changes were not stored, because storing them failed inside".into())
}
