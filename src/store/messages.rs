//! Messages and their parts, for pages, for the API and for what is sent to a model.

use std::collections::HashMap;

use sea_orm::{
    ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{
    Db, OwnedRow,
    entity::{
        message::{self, Model as Message},
        part::{self, Model as Part},
        session,
    },
    sessions::owned_by,
};
use crate::domain::ids::{MessageId, PartId, SessionId, UserId};

impl OwnedRow for Message {
    type Id = MessageId;

    async fn find_owned(db: &Db, owner: UserId, id: MessageId) -> Result<Option<Self>, DbErr> {
        let found = message::Entity::find_by_id(id).one(db.read()).await?;
        let Some(message) = found else { return Ok(None) };
        let owned = session::Entity::find_by_id(message.session_id).filter(owned_by(owner));
        Ok(owned.one(db.read()).await?.map(|_| message))
    }
}

impl OwnedRow for Part {
    type Id = PartId;

    async fn find_owned(db: &Db, owner: UserId, id: PartId) -> Result<Option<Self>, DbErr> {
        let found = part::Entity::find_by_id(id).one(db.read()).await?;
        let Some(part) = found else { return Ok(None) };
        let owned = session::Entity::find_by_id(part.session_id).filter(owned_by(owner));
        Ok(owned.one(db.read()).await?.map(|_| part))
    }
}

/// A message with its parts in order.
#[derive(Clone, Debug)]
pub struct Whole {
    pub message: Message,
    pub parts: Vec<Part>,
}

/// The messages of a session that have been sent and come before a position, newest last.
pub async fn page(
    db: &Db,
    session: SessionId,
    before: Option<i64>,
    limit: u64,
) -> Result<Vec<Whole>, DbErr> {
    let mut query = message::Entity::find()
        .filter(message::COLUMN.session_id.eq(session))
        .filter(message::COLUMN.queued.is_null())
        .order_by_desc(message::COLUMN.position)
        .limit(limit);
    if let Some(before) = before {
        query = query.filter(message::COLUMN.position.lt(before));
    }
    let mut messages = query.all(db.read()).await?;
    messages.reverse();
    with_parts(db, messages).await
}

/// What a model is told: all messages that were sent and not undone, in order.
pub async fn conversation(db: &Db, session: SessionId) -> Result<Vec<Whole>, DbErr> {
    let messages = message::Entity::find()
        .filter(message::COLUMN.session_id.eq(session))
        .filter(message::COLUMN.queued.is_null())
        .filter(message::COLUMN.reverted_at.is_null())
        .order_by_asc(message::COLUMN.position)
        .all(db.read())
        .await?;
    let parts = part::Entity::find()
        .filter(part::COLUMN.session_id.eq(session))
        .order_by_asc(part::COLUMN.position)
        .all(db.read())
        .await?;
    Ok(joined(messages, parts))
}

/// The prompts of a session that wait, in the order in which they will be sent.
pub async fn queued(db: &Db, session: SessionId) -> Result<Vec<Whole>, DbErr> {
    let messages = message::Entity::find()
        .filter(message::COLUMN.session_id.eq(session))
        .filter(message::COLUMN.queued.is_not_null())
        .order_by_asc(message::COLUMN.position)
        .all(db.read())
        .await?;
    with_parts(db, messages).await
}

/// The messages of a session that were sent, from one position on; without their parts.
pub async fn from_position(
    db: &Db,
    session: SessionId,
    position: i64,
) -> Result<Vec<Message>, DbErr> {
    message::Entity::find()
        .filter(message::COLUMN.session_id.eq(session))
        .filter(message::COLUMN.queued.is_null())
        .filter(message::COLUMN.position.gte(position))
        .order_by_asc(message::COLUMN.position)
        .all(db.read())
        .await
}

/// The last place of a session's messages; 0 where there is none.
pub async fn last_position(db: &Db, session: SessionId) -> Result<i64, DbErr> {
    let last: Option<Option<i64>> = message::Entity::find()
        .select_only()
        .column_as(message::COLUMN.position.max(), "last")
        .filter(message::COLUMN.session_id.eq(session))
        .into_tuple()
        .one(db.read())
        .await?;
    Ok(last.flatten().unwrap_or(0))
}

/// A message of a session, by id; the caller has checked the session.
pub async fn in_session(
    db: &Db,
    session: SessionId,
    id: MessageId,
) -> Result<Option<Message>, DbErr> {
    message::Entity::find_by_id(id)
        .filter(message::COLUMN.session_id.eq(session))
        .one(db.read())
        .await
}

/// One message with its parts.
pub async fn whole(db: &Db, message: Message) -> Result<Whole, DbErr> {
    let parts = part::Entity::find()
        .filter(part::COLUMN.message_id.eq(message.id))
        .order_by_asc(part::COLUMN.position)
        .all(db.read())
        .await?;
    Ok(Whole { message, parts })
}

/// One part, whatever session it belongs to; for callers that have checked that session.
pub async fn part(db: &Db, id: crate::domain::ids::PartId) -> Result<Option<Part>, DbErr> {
    part::Entity::find_by_id(id).one(db.read()).await
}

/// The messages and parts of a session that changed after a `seq`, by it.
pub async fn changed_since(
    db: &Db,
    session: SessionId,
    seq: i64,
    limit: u64,
) -> Result<(Vec<Message>, Vec<Part>), DbErr> {
    let messages = message::Entity::find()
        .filter(message::COLUMN.session_id.eq(session))
        .filter(message::COLUMN.seq.gt(seq))
        .order_by_asc(message::COLUMN.seq)
        .limit(limit)
        .all(db.read())
        .await?;
    let parts = part::Entity::find()
        .filter(part::COLUMN.session_id.eq(session))
        .filter(part::COLUMN.seq.gt(seq))
        .order_by_asc(part::COLUMN.seq)
        .limit(limit)
        .all(db.read())
        .await?;
    Ok((messages, parts))
}

/// Removes a prompt that still waits. `false` where it was sent in the meantime.
pub async fn delete_queued(db: &Db, id: MessageId) -> Result<bool, DbErr> {
    let deleted = message::Entity::delete_many()
        .filter(message::COLUMN.id.eq(id))
        .filter(message::COLUMN.queued.is_not_null())
        .exec(db.write())
        .await?;
    Ok(deleted.rows_affected > 0)
}

/// Removes messages for good: those that were undone, when the conversation goes on without them.
pub async fn delete(db: &Db, ids: Vec<MessageId>) -> Result<(), DbErr> {
    message::Entity::delete_many()
        .filter(message::COLUMN.id.is_in(ids))
        .exec(db.write())
        .await
        .map(drop)
}

async fn with_parts(db: &Db, messages: Vec<Message>) -> Result<Vec<Whole>, DbErr> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let parts = part::Entity::find()
        .filter(part::COLUMN.message_id.is_in(messages.iter().map(|message| message.id)))
        .order_by_asc(part::COLUMN.position)
        .all(db.read())
        .await?;
    Ok(joined(messages, parts))
}

fn joined(messages: Vec<Message>, parts: Vec<Part>) -> Vec<Whole> {
    let mut by_message: HashMap<MessageId, Vec<Part>> = HashMap::new();
    for part in parts {
        by_message.entry(part.message_id).or_default().push(part);
    }
    let whole = |message: Message| {
        let parts = by_message.remove(&message.id).unwrap_or_default();
        Whole { message, parts }
    };
    messages.into_iter().map(whole).collect()
}

/// Removes a part that came to nothing after some of it had been stored.
pub async fn delete_part(db: &Db, id: PartId) -> Result<(), DbErr> {
    part::Entity::delete_by_id(id).exec(db.write()).await.map(drop)
}
