//! Questions of agents to people. The first answer wins.

use chrono::{DateTime, Utc};
use sea_orm::{
    ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::Query,
};
use serde_json::Value;

use super::{
    Db, OwnedRow,
    entity::{
        ask::{self, Model as Ask},
        session,
    },
    journal::{self, Stored, Write},
    sessions::owned_by,
};
use crate::domain::{
    ids::{AskId, ProjectId, SessionId, UserId},
    session::AskStatus,
};

impl OwnedRow for Ask {
    type Id = AskId;

    async fn find_owned(db: &Db, owner: UserId, id: AskId) -> Result<Option<Self>, DbErr> {
        ask::Entity::find_by_id(id).filter(in_sessions_of(owner)).one(db.read()).await
    }
}

/// The open asks in all of a person's projects, oldest first.
pub async fn open(db: &Db, owner: UserId, limit: u64) -> Result<Vec<Ask>, DbErr> {
    ask::Entity::find()
        .filter(ask::COLUMN.status.eq(AskStatus::Open))
        .filter(in_sessions_of(owner))
        .order_by_asc(ask::COLUMN.id)
        .limit(limit)
        .all(db.read())
        .await
}

/// The open asks of a project's sessions, or of all there are, oldest first.
pub async fn open_below(
    db: &Db,
    project: Option<ProjectId>,
    limit: u64,
) -> Result<Vec<Ask>, DbErr> {
    let mut query = ask::Entity::find().filter(ask::COLUMN.status.eq(AskStatus::Open));
    if let Some(project) = project {
        let sessions = Query::select()
            .column(session::Column::Id)
            .from(session::Entity)
            .and_where(session::Column::ProjectId.eq(project))
            .to_owned();
        query = query.filter(ask::Column::SessionId.in_subquery(sessions));
    }
    query.order_by_asc(ask::COLUMN.id).limit(limit).all(db.read()).await
}

/// The open asks of a session, oldest first.
pub async fn open_in(db: &Db, session: SessionId) -> Result<Vec<Ask>, DbErr> {
    ask::Entity::find()
        .filter(ask::COLUMN.session_id.eq(session))
        .filter(ask::COLUMN.status.eq(AskStatus::Open))
        .order_by_asc(ask::COLUMN.id)
        .all(db.read())
        .await
}

/// The asks of a session that changed after a `seq`.
pub async fn changed_since(db: &Db, session: SessionId, seq: i64) -> Result<Vec<Ask>, DbErr> {
    ask::Entity::find()
        .filter(ask::COLUMN.session_id.eq(session))
        .filter(ask::COLUMN.seq.gt(seq))
        .order_by_asc(ask::COLUMN.seq)
        .all(db.read())
        .await
}

/// Closes an ask with an answer, if it is still open. `None`: somebody was first.
pub async fn decide(db: &Db, ask: Ask, decision: Decision) -> Result<Option<Vec<Stored>>, DbErr> {
    let tx = db.begin().await?;
    let current = ask::Entity::find_by_id(ask.id).one(&tx).await?;
    let Some(mut row) = current.filter(|row| row.status == AskStatus::Open) else {
        return Ok(None);
    };
    row.status = decision.status;
    row.reply = Some(decision.reply);
    row.decided_by = decision.by;
    row.decided_at = Some(decision.at);
    let session = row.session_id;
    let writes = vec![Write::Ask(Box::new(row))];
    let stored = journal::record_in(&tx, session, decision.at, writes).await?;
    tx.commit().await?;
    Ok(Some(stored))
}

/// An answer to an ask.
#[derive(Clone, Debug)]
pub struct Decision {
    pub status: AskStatus,
    /// A `domain::ask::Reply`.
    pub reply: Value,
    pub by: Option<UserId>,
    pub at: DateTime<Utc>,
}

fn in_sessions_of(owner: UserId) -> sea_orm::Condition {
    let sessions = Query::select()
        .column(session::Column::Id)
        .from(session::Entity)
        .cond_where(owned_by(owner))
        .to_owned();
    sea_orm::Condition::all().add(ask::Column::SessionId.in_subquery(sessions))
}
