//! How files were before a message changed them, and how the message left them.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, ExprTrait as _,
    IntoActiveModel as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::{OnConflict, Query},
};

use super::{
    Db,
    entity::{
        message, session,
        snapshot::{self, Model as Snapshot},
    },
};
use crate::domain::ids::{MessageId, ProjectId, SessionId, SnapshotId};

/// Stores before-images; of a file only the first in a message is kept.
pub async fn insert(db: &Db, rows: Vec<Snapshot>) -> Result<(), DbErr> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = rows.into_iter().map(|row| row.into_active_model().reset_all());
    snapshot::Entity::insert_many(rows)
        .on_conflict(
            OnConflict::columns([snapshot::Column::MessageId, snapshot::Column::Path])
                .do_nothing()
                .to_owned(),
        )
        .exec_without_returning(db.write())
        .await
        .map(drop)
}

/// Stores all fields of rows that are there: their after-images.
pub async fn update(db: &Db, rows: Vec<Snapshot>) -> Result<(), DbErr> {
    let tx = db.begin().await?;
    for row in rows {
        row.into_active_model().reset_all().update(&tx).await?;
    }
    tx.commit().await
}

/// The snapshots of some messages, oldest first.
pub async fn of_messages(db: &Db, messages: Vec<MessageId>) -> Result<Vec<Snapshot>, DbErr> {
    snapshot::Entity::find()
        .filter(snapshot::COLUMN.message_id.is_in(messages))
        .order_by_asc(snapshot::COLUMN.id)
        .all(db.read())
        .await
}

/// All snapshots of a session, oldest first.
pub async fn of_session(db: &Db, session: SessionId) -> Result<Vec<Snapshot>, DbErr> {
    snapshot::Entity::find()
        .filter(snapshot::COLUMN.session_id.eq(session))
        .order_by_asc(snapshot::COLUMN.id)
        .all(db.read())
        .await
}

/// The snapshots of all other sessions of a project whose messages were not complete at some time.
pub async fn of_others(
    db: &Db,
    project: ProjectId,
    but: SessionId,
    since: DateTime<Utc>,
) -> Result<Vec<Snapshot>, DbErr> {
    let sessions = Query::select()
        .column(session::Column::Id)
        .from(session::Entity)
        .and_where(session::Column::ProjectId.eq(project))
        .and_where(session::Column::Id.ne(but))
        .to_owned();
    let open = message::Column::CompletedAt.is_null();
    let messages = Query::select()
        .column(message::Column::Id)
        .from(message::Entity)
        .and_where(message::Column::SessionId.in_subquery(sessions))
        .and_where(open.or(message::Column::CompletedAt.gte(since)))
        .to_owned();
    snapshot::Entity::find()
        .filter(snapshot::Column::MessageId.in_subquery(messages))
        .order_by_asc(snapshot::COLUMN.id)
        .all(db.read())
        .await
}

/// Removes rows that no longer mean anything.
pub async fn delete(db: &Db, ids: Vec<SnapshotId>) -> Result<(), DbErr> {
    snapshot::Entity::delete_many()
        .filter(snapshot::COLUMN.id.is_in(ids))
        .exec(db.write())
        .await
        .map(drop)
}

/// Which of some blobs are still named by a row; the others may be removed.
pub async fn blobs_in_use(db: &Db) -> Result<Vec<String>, DbErr> {
    let columns = [snapshot::Column::BeforeBlob, snapshot::Column::AfterBlob];
    let mut blobs = Vec::new();
    for column in columns {
        let found: Vec<String> = snapshot::Entity::find()
            .select_only()
            .column(column)
            .filter(column.is_not_null())
            .distinct()
            .into_tuple()
            .all(db.read())
            .await?;
        blobs.extend(found);
    }
    Ok(blobs)
}
