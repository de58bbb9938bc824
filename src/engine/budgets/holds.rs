//! What calls that go on may still cost: set aside before a call, given back after it, so that
//! calls at the same time cannot together spend more than there is.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use super::Limit;
use crate::{
    domain::{
        budget::{Subject, Worst},
        zone::bucket,
    },
    store::{Db, DbErr, usage},
};

/// All that is set aside in this process.
#[derive(Default)]
pub struct Holds {
    state: Arc<Mutex<State>>,
    /// Held while it is decided whether a call may be made.
    gate: tokio::sync::Mutex<()>,
    /// Rung whenever a call has ended.
    freed: Arc<Notify>,
}

/// Sums that are kept in memory; beyond this all are read anew.
const MOST_KEPT: usize = 4_096;

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Open>,
    spent: HashMap<(Subject, i64), Spent>,
}

/// A call that goes on.
struct Open {
    subjects: [Subject; 3],
    /// Micro-dollars that it may cost.
    bound: i64,
}

/// What a subject has spent since the beginning of a window.
#[derive(Default)]
struct Spent {
    micros: i64,
    /// The bucket in which the window ends.
    until: i64,
    /// Whether the sum holds without another look at the ledger: it was read while no call of the
    /// subject went on, and each that ended since was added.
    exact: bool,
    /// Whether the ledger is being read; what ends meanwhile is added here.
    reading: Option<i64>,
}

/// What is set aside for one call. Dropping it gives back what the call did not cost.
pub struct Hold {
    id: u64,
    state: Arc<Mutex<State>>,
    freed: Arc<Notify>,
    cost: i64,
    bucket: i64,
}

/// Whether a call may be made.
pub(super) enum Tried {
    /// It may, with an answer of at most so many tokens where that is a limit.
    Held(Hold, Option<u32>),
    /// It may not, by the limit with this index, of which so much is left.
    Spent { limit: usize, left: i64 },
    /// The price is not known, and that limit does not allow it.
    Unknown { limit: usize, left: i64 },
    /// It may once other calls have ended that do not cost all that is set aside for them.
    Busy,
}

impl Holds {
    /// Waits until some call has ended since this was called.
    pub(super) fn freed(&self) -> impl Future<Output = ()> + use<> {
        self.freed.clone().notified_owned()
    }

    /// Sets aside what a call may cost, where all limits allow it.
    pub(super) async fn try_hold(
        &self,
        db: &Db,
        subjects: [Subject; 3],
        limits: &[Limit],
        worst: Option<Worst>,
        now: DateTime<Utc>,
    ) -> Result<Tried, DbErr> {
        if limits.is_empty() {
            // Also counted: a limit may be set while it goes on.
            return Ok(Tried::Held(self.hold(subjects, worst.map_or(0, |it| it.whole())), None));
        }
        let _gate = self.gate.lock().await;
        self.tidy(bucket(now));
        for limit in limits {
            self.read(db, limit).await?;
        }
        let mut state = self.lock();
        let mut room = i64::MAX;
        for (index, limit) in limits.iter().enumerate() {
            let spent = state.spent.get(&limit.key()).map_or(i64::MAX, |it| it.micros);
            let left = limit.micros.saturating_sub(spent);
            let Some(worst) = worst else {
                if !limit.allow_unknown {
                    return Ok(Tried::Unknown { limit: index, left });
                }
                if left <= 0 {
                    return Ok(Tried::Spent { limit: index, left });
                }
                continue;
            };
            if worst.whole() == 0 {
                continue;
            }
            if left < worst.least() {
                return Ok(Tried::Spent { limit: index, left });
            }
            room = room.min(left.saturating_sub(state.held(limit.subject)));
        }
        let Some(worst) = worst else {
            return Ok(Tried::Held(self.add(&mut state, subjects, 0), None));
        };
        if worst.whole() > 0 && room < worst.least() {
            return Ok(Tried::Busy);
        }
        let bound = worst.whole().min(room);
        Ok(Tried::Held(self.add(&mut state, subjects, bound), worst.output_for(room)))
    }

    /// Has those look again who wait: a limit has changed.
    pub(super) fn ring(&self) {
        self.freed.notify_waiters();
    }

    /// What is set aside for a subject now.
    pub(super) fn held(&self, subject: Subject) -> i64 {
        self.lock().held(subject)
    }

    fn hold(&self, subjects: [Subject; 3], bound: i64) -> Hold {
        self.add(&mut self.lock(), subjects, bound)
    }

    fn add(&self, state: &mut State, subjects: [Subject; 3], bound: i64) -> Hold {
        let id = state.next;
        state.next += 1;
        state.open.insert(id, Open { subjects, bound });
        Hold { id, state: self.state.clone(), freed: self.freed.clone(), cost: 0, bucket: 0 }
    }

    /// Reads what a limit's subject has spent, where that is not known exactly.
    async fn read(&self, db: &Db, limit: &Limit) -> Result<(), DbErr> {
        let (key, buckets) = (limit.key(), limit.window.buckets());
        let alone = {
            let mut state = self.lock();
            let alone = !state.open.values().any(|open| open.subjects.contains(&limit.subject));
            match state.spent.entry(key) {
                Entry::Occupied(known) if known.get().exact => return Ok(()),
                entry => {
                    let spent = entry.or_default();
                    (spent.until, spent.reading) = (buckets.end, Some(0));
                }
            }
            alone
        };
        let micros = usage::spent(db, limit.subject, buckets).await;
        let mut state = self.lock();
        let spent = state.spent.entry(key).or_default();
        let meanwhile = spent.reading.take().unwrap_or(0);
        spent.micros = micros?.saturating_add(meanwhile);
        // Other servers on the same database spend too.
        spent.exact = alone && !db.is_shared();
        Ok(())
    }

    /// Forgets windows that are over.
    fn tidy(&self, now: i64) {
        let mut state = self.lock();
        state.spent.retain(|_, spent| spent.until > now);
        if state.spent.len() > MOST_KEPT {
            state.spent.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn held(&self, subject: Subject) -> i64 {
        let of = self.open.values().filter(|open| open.subjects.contains(&subject));
        of.fold(0, |sum: i64, open| sum.saturating_add(open.bound))
    }
}

impl Hold {
    /// Notes what the call has cost, at the moment that the ledger says too. To be dropped once
    /// that is stored.
    pub fn cost(&mut self, micros: i64, at: DateTime<Utc>) {
        (self.cost, self.bucket) = (micros, bucket(at));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = state.open.remove(&self.id) else { return };
        for ((subject, from), spent) in &mut state.spent {
            let within = (*from..spent.until).contains(&self.bucket);
            if within && open.subjects.contains(subject) {
                let sum = spent.reading.as_mut().unwrap_or(&mut spent.micros);
                *sum = sum.saturating_add(self.cost);
            }
        }
        drop(state);
        self.freed.notify_waiters();
    }
}
