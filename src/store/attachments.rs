//! Files that people gave to sessions, found through the session.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    PaginatorTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _, sea_query::Query,
};

use super::{
    Db, OwnedRow,
    entity::{
        attachment::{self, Model as Attachment},
        part, session,
    },
    sessions::owned_by,
};
use crate::domain::{
    ids::{AttachmentId, SessionId, UserId},
    message::Part,
};

impl OwnedRow for Attachment {
    type Id = AttachmentId;

    async fn find_owned(db: &Db, owner: UserId, id: AttachmentId) -> Result<Option<Self>, DbErr> {
        let found = attachment::Entity::find_by_id(id).one(db.read()).await?;
        let Some(attachment) = found else { return Ok(None) };
        let owned = session::Entity::find_by_id(attachment.session_id).filter(owned_by(owner));
        Ok(owned.one(db.read()).await?.map(|_| attachment))
    }
}

/// The newest of a person's own with this content.
pub async fn with_content(
    db: &Db,
    owner: UserId,
    sha256: &str,
) -> Result<Option<Attachment>, DbErr> {
    let sessions = Query::select()
        .column(session::Column::Id)
        .from(session::Entity)
        .cond_where(owned_by(owner))
        .to_owned();
    attachment::Entity::find()
        .filter(attachment::COLUMN.sha256.eq(sha256))
        .filter(attachment::Column::SessionId.in_subquery(sessions))
        .order_by_desc(attachment::COLUMN.id)
        .one(db.read())
        .await
}

/// Those of a session.
pub async fn of_session(db: &Db, session: SessionId) -> Result<Vec<Attachment>, DbErr> {
    attachment::Entity::find()
        .filter(attachment::COLUMN.session_id.eq(session))
        .all(db.read())
        .await
}

/// How many a session has.
pub async fn count(db: &Db, session: SessionId) -> Result<u64, DbErr> {
    attachment::Entity::find()
        .filter(attachment::COLUMN.session_id.eq(session))
        .count(db.read())
        .await
}

pub async fn create(db: &Db, rows: Vec<Attachment>) -> Result<(), DbErr> {
    if rows.is_empty() {
        return Ok(());
    }
    attachment::Entity::insert_many(rows.into_iter().map(|row| row.into_active_model().reset_all()))
        .exec_without_returning(db.write())
        .await
        .map(drop)
}

/// The names of all content that some row has.
pub async fn contents(db: &Db) -> Result<Vec<String>, DbErr> {
    attachment::Entity::find()
        .select_only()
        .column(attachment::Column::Sha256)
        .distinct()
        .into_tuple()
        .all(db.read())
        .await
}

/// Removes those that no prompt has and that were given before a moment. Returns how many.
pub async fn remove_unsent(db: &Db, before: DateTime<Utc>) -> Result<u64, DbErr> {
    let old: Vec<(AttachmentId, SessionId)> = attachment::Entity::find()
        .select_only()
        .columns([attachment::Column::Id, attachment::Column::SessionId])
        .filter(attachment::COLUMN.created_at.lt(before))
        .into_tuple()
        .all(db.read())
        .await?;
    let sessions: HashSet<SessionId> = old.iter().map(|it| it.1).collect();
    let mut sent = HashSet::new();
    for session in sessions {
        let parts = part::Entity::find()
            .filter(part::COLUMN.session_id.eq(session))
            .filter(part::COLUMN.kind.eq("file"))
            .all(db.read())
            .await?;
        for row in parts {
            if let Ok(Part::File(file)) = Part::read(&row.kind, row.data) {
                sent.insert(file.attachment_id);
            }
        }
    }
    let mut removed = 0;
    let unsent: Vec<_> = old.into_iter().map(|it| it.0).filter(|id| !sent.contains(id)).collect();
    // A statement has room for some thousands of values.
    for ids in unsent.chunks(500) {
        let deleted = attachment::Entity::delete_many()
            .filter(attachment::COLUMN.id.is_in(ids.iter().copied()))
            .exec(db.write())
            .await?;
        removed += deleted.rows_affected;
    }
    Ok(removed)
}
