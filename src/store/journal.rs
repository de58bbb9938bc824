//! How a session changes: a batch of writes in one transaction, each with its own `seq`.
//!
//! `sessions.seq` grows by one with every stored change, and each row carries the `seq` of its
//! last change. So whoever has seen everything up to a `seq` needs only the rows above it.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ActiveValue, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _,
    ExprTrait as _, IntoActiveModel as _, QueryFilter as _, Set,
    sea_query::{Expr, OnConflict},
};
use serde_json::Value;

use super::{
    Db,
    entity::{ask, message, part, session, todo},
};
use crate::domain::{
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
    pub summary: Option<Value>,
    pub archived_at: Option<Option<DateTime<Utc>>>,
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
    let tx = db.begin().await?;
    let stored = record_in(&tx, session, now, writes).await?;
    tx.commit().await?;
    Ok(stored)
}

/// The same within a transaction of the caller.
pub async fn record_in(
    tx: &impl ConnectionTrait,
    session: SessionId,
    now: DateTime<Utc>,
    writes: Vec<Write>,
) -> Result<Vec<Stored>, DbErr> {
    let count = i64::try_from(writes.len()).unwrap_or(i64::MAX);
    let mut change = session::ActiveModel { updated_at: Set(now), ..Default::default() };
    for write in &writes {
        if let Write::Session(fields) = write {
            fields.put_into(&mut change);
        }
    }
    let row = session::Entity::update_many()
        .set(change)
        .col_expr(session::Column::Seq, Expr::col(session::Column::Seq).add(count))
        .filter(session::COLUMN.id.eq(session))
        .exec_with_returning(tx)
        .await?
        .pop()
        .ok_or_else(|| DbErr::RecordNotFound(format!("session {session}")))?;
    let mut stored = Vec::with_capacity(writes.len());
    for (seq, write) in (row.seq - count + 1..).zip(writes) {
        stored.push(Stored { seq, write: put(tx, session, seq, write).await? });
    }
    Ok(stored)
}

async fn put(
    tx: &impl ConnectionTrait,
    session: SessionId,
    seq: i64,
    write: Write,
) -> Result<Write, DbErr> {
    match write {
        Write::Session(_) => {}
        Write::Message(mut row) => {
            row.seq = seq;
            message::Entity::insert((*row).clone().into_active_model().reset_all())
                .on_conflict(
                    OnConflict::column(message::Column::Id)
                        .update_columns([
                            message::Column::Position,
                            message::Column::Queued,
                            message::Column::Agent,
                            message::Column::Model,
                            message::Column::CostMicros,
                            message::Column::Tokens,
                            message::Column::Error,
                            message::Column::Seq,
                            message::Column::RevertedAt,
                            message::Column::CompletedAt,
                        ])
                        .to_owned(),
                )
                .exec_without_returning(tx)
                .await?;
            return Ok(Write::Message(row));
        }
        Write::Part(mut row) => {
            row.seq = seq;
            part::Entity::insert((*row).clone().into_active_model().reset_all())
                .on_conflict(
                    OnConflict::column(part::Column::Id)
                        .update_columns([part::Column::Data, part::Column::Seq])
                        .to_owned(),
                )
                .exec_without_returning(tx)
                .await?;
            return Ok(Write::Part(row));
        }
        Write::Todos(mut rows) => {
            todo::Entity::delete_many()
                .filter(todo::COLUMN.session_id.eq(session))
                .exec(tx)
                .await?;
            for row in &mut rows {
                row.seq = seq;
            }
            if !rows.is_empty() {
                let rows = rows.iter().map(|row| row.clone().into_active_model().reset_all());
                todo::Entity::insert_many(rows).exec_without_returning(tx).await?;
            }
            return Ok(Write::Todos(rows));
        }
        Write::Ask(mut row) => {
            row.seq = seq;
            ask::Entity::insert((*row).clone().into_active_model().reset_all())
                .on_conflict(
                    OnConflict::column(ask::Column::Id)
                        .update_columns([
                            ask::Column::Status,
                            ask::Column::Reply,
                            ask::Column::DecidedBy,
                            ask::Column::DecidedAt,
                            ask::Column::Seq,
                        ])
                        .to_owned(),
                )
                .exec_without_returning(tx)
                .await?;
            return Ok(Write::Ask(row));
        }
    }
    Ok(write)
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
        set(&self.summary, &mut row.summary);
        set(&self.archived_at, &mut row.archived_at);
        if let Some((provider, model)) = &self.model {
            row.provider_id = Set(Some(*provider));
            row.model = Set(model.clone());
        }
    }
}
