//! The statements that store batches.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _,
    ExprTrait as _, IntoActiveModel as _, QueryFilter as _, QueryTrait as _, Set,
    sea_query::{Expr, OnConflict},
};

use super::{Batch, Write};
use crate::{
    domain::ids::SessionId,
    store::entity::{ask, message, part, session, todo, usage},
};

/// Parts that one statement puts; a statement has room for some ten thousand values.
const TOGETHER: usize = 200;

/// Puts batches, and notes in each the numbers that its writes got.
///
/// As few statements as possible: each is a way to the connection's thread and back, on which
/// every other writer waits.
pub(super) async fn all(tx: &impl ConnectionTrait, batches: &mut [Batch]) -> Result<(), DbErr> {
    let mut parts = Vec::new();
    let mut used = Vec::new();
    for batch in batches {
        batch.first = advance(tx, batch).await?;
        for (seq, write) in (batch.first..).zip(&mut batch.writes) {
            if let Write::Part(row) = write {
                row.seq = seq;
                let twice = parts.iter().any(|before: &part::Model| before.id == row.id);
                if twice || parts.len() == TOGETHER {
                    put_parts(tx, std::mem::take(&mut parts)).await?;
                }
                parts.push((**row).clone());
            } else {
                if matches!(write, Write::Ask(_)) {
                    // It refers to its part.
                    put_parts(tx, std::mem::take(&mut parts)).await?;
                }
                if let Write::Session(change) = write {
                    used.extend(change.used.as_deref().cloned());
                }
                put(tx, batch.session, seq, write).await?;
            }
        }
    }
    put_parts(tx, parts).await?;
    put_used(tx, used).await
}

/// Changes the session itself and counts its `seq` on. Returns the first of the new numbers.
async fn advance(tx: &impl ConnectionTrait, batch: &Batch) -> Result<i64, DbErr> {
    let count = i64::try_from(batch.writes.len()).unwrap_or(i64::MAX);
    let mut change = session::ActiveModel { updated_at: Set(batch.now), ..Default::default() };
    for write in &batch.writes {
        if let Write::Session(fields) = write {
            fields.put_into(&mut change);
        }
    }
    let mut update = session::Entity::update_many()
        .set(change)
        .col_expr(session::Column::Seq, Expr::col(session::Column::Seq).add(count))
        .filter(session::COLUMN.id.eq(batch.session))
        .into_query();
    update.returning_col(session::Column::Seq);
    let row = tx.query_one(&update).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound(format!("session {}", batch.session)))?;
    Ok(row.try_get_by_index::<i64>(0)? - count + 1)
}

/// Puts parts with one statement. No id may stand among them twice.
async fn put_parts(tx: &impl ConnectionTrait, parts: Vec<part::Model>) -> Result<(), DbErr> {
    if parts.is_empty() {
        return Ok(());
    }
    part::Entity::insert_many(parts.into_iter().map(|row| row.into_active_model().reset_all()))
        .on_conflict(
            OnConflict::column(part::Column::Id)
                .update_columns([part::Column::Data, part::Column::Seq])
                .to_owned(),
        )
        .exec_without_returning(tx)
        .await
        .map(drop)
}

/// Adds lines to the ledger with one statement. They are never changed.
async fn put_used(tx: &impl ConnectionTrait, used: Vec<usage::Model>) -> Result<(), DbErr> {
    if used.is_empty() {
        return Ok(());
    }
    usage::Entity::insert_many(used.into_iter().map(|row| row.into_active_model().reset_all()))
        .exec_without_returning(tx)
        .await
        .map(drop)
}

async fn put(
    tx: &impl ConnectionTrait,
    session: SessionId,
    seq: i64,
    write: &mut Write,
) -> Result<(), DbErr> {
    match write {
        // The session has been changed with its `seq`, and parts are put together.
        Write::Session(_) | Write::Part(_) => {}
        Write::Message(row) => {
            row.seq = seq;
            message::Entity::insert((**row).clone().into_active_model().reset_all())
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
        }
        Write::Todos(rows) => {
            todo::Entity::delete_many()
                .filter(todo::COLUMN.session_id.eq(session))
                .exec(tx)
                .await?;
            for row in rows.iter_mut() {
                row.seq = seq;
            }
            if !rows.is_empty() {
                let rows = rows.iter().map(|row| row.clone().into_active_model().reset_all());
                todo::Entity::insert_many(rows).exec_without_returning(tx).await?;
            }
        }
        Write::Ask(row) => {
            row.seq = seq;
            ask::Entity::insert((**row).clone().into_active_model().reset_all())
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
        }
    }
    Ok(())
}
