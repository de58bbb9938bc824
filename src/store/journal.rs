//! How a session changes: a batch of writes in one transaction, each with its own `seq`.
//!
//! `sessions.seq` grows by one with every stored change, and each row carries the `seq` of its
//! last change. So whoever has seen everything up to a `seq` needs only the rows above it.

mod group;
mod put;

use chrono::{DateTime, Utc};
use sea_orm::{ActiveValue, ConnectionTrait, DbErr, Set};
use serde_json::Value;

pub(super) use self::group::Group;
use super::{
    Db,
    entity::{ask, message, part, session, todo, usage},
};
use crate::domain::{
    conversation::Effort,
    ids::{ProviderId, SessionId},
    session::SessionStatus,
};

/// One change of a session. Rows are put whole: inserted, or written over the row with their id.
#[derive(Clone, Debug)]
pub enum Write {
    Session(Box<SessionChange>),
    Message(Box<message::Model>),
    Part(Box<part::Model>),
    /// The whole list, in place of the one before.
    Todos(Vec<todo::Model>),
    Ask(Box<ask::Model>),
}

/// What changes of the session itself; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct SessionChange {
    pub status: Option<SessionStatus>,
    pub name: Option<String>,
    pub agent: Option<String>,
    pub model: Option<(ProviderId, String)>,
    pub max_steps: Option<i32>,
    pub effort: Option<Option<Effort>>,
    pub temperature: Option<Option<f64>>,
    pub summary: Option<Value>,
    pub archived_at: Option<Option<DateTime<Utc>>>,
    /// A line for the ledger, stored with the totals that it is part of.
    pub used: Option<Box<usage::Model>>,
}

impl Write {
    pub fn status(status: SessionStatus) -> Self {
        Self::Session(Box::new(SessionChange { status: Some(status), ..SessionChange::default() }))
    }
}

/// A change as it was stored, with the `seq` it got. Its row carries the same number.
#[derive(Clone, Debug)]
pub struct Stored {
    pub seq: i64,
    pub write: Write,
}

/// What one caller stores of one session, all or none.
struct Batch {
    session: SessionId,
    now: DateTime<Utc>,
    writes: Vec<Write>,
    /// The `seq` of the first write, once it is stored.
    first: i64,
}

impl Batch {
    fn stored(self) -> Vec<Stored> {
        (self.first..).zip(self.writes).map(|(seq, write)| Stored { seq, write }).collect()
    }
}

/// Stores changes of a session, all or none, and tells which `seq` each got.
///
/// A session that is no longer there is [`DbErr::RecordNotFound`].
pub async fn record(
    db: &Db,
    session: SessionId,
    now: DateTime<Utc>,
    writes: Vec<Write>,
) -> Result<Vec<Stored>, DbErr> {
    if writes.is_empty() {
        return Ok(Vec::new());
    }
    group::record(db, Batch { session, now, writes, first: 0 }).await
}

/// The same within a transaction of the caller.
pub async fn record_in(
    tx: &impl ConnectionTrait,
    session: SessionId,
    now: DateTime<Utc>,
    writes: Vec<Write>,
) -> Result<Vec<Stored>, DbErr> {
    let mut batch = Batch { session, now, writes, first: 0 };
    put::all(tx, std::slice::from_mut(&mut batch)).await?;
    Ok(batch.stored())
}

impl SessionChange {
    fn put_into(&self, row: &mut session::ActiveModel) {
        fn set<T: Clone + Into<sea_orm::Value>>(value: &Option<T>, field: &mut ActiveValue<T>) {
            if let Some(value) = value {
                *field = Set(value.clone());
            }
        }
        set(&self.status, &mut row.status);
        set(&self.name, &mut row.name);
        set(&self.agent, &mut row.agent);
        set(&self.max_steps, &mut row.max_steps);
        set(&self.effort, &mut row.effort);
        set(&self.temperature, &mut row.temperature);
        set(&self.summary, &mut row.summary);
        set(&self.archived_at, &mut row.archived_at);
        if let Some((provider, model)) = &self.model {
            row.provider_id = Set(Some(*provider));
            row.model = Set(model.clone());
        }
    }
}
