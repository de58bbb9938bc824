//! Agents' lists of what is to be done. They are written through the journal.

use sea_orm::{ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _};

use super::{
    Db,
    entity::todo::{self, Model as Todo},
};
use crate::domain::ids::SessionId;

/// The list of a session, in order.
pub async fn of(db: &Db, session: SessionId) -> Result<Vec<Todo>, DbErr> {
    todo::Entity::find()
        .filter(todo::COLUMN.session_id.eq(session))
        .order_by_asc(todo::COLUMN.position)
        .all(db.read())
        .await
}
