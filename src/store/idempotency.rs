//! Answers that are given again to a request that is sent again.

use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _,
};

use super::{
    Db,
    entity::idempotency_key::{self, Model as Key},
};
use crate::domain::ids::UserId;

/// How long an answer is remembered.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// How long a request may take. One that was cut off leaves a claim that nobody finishes.
const CARRIED_OUT: TimeDelta = TimeDelta::minutes(5);

/// What is known of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Nobody has used it: carry the request out, then [`finish`] or [`release`].
    New,
    /// The same request is being carried out at this moment.
    Busy,
    /// Another request has used it.
    Other,
    /// The same request was answered like this.
    Answered { status: u16, body: String },
}

/// Claims a key for a request, known by the hash of its method, path and body.
pub async fn claim(
    db: &Db,
    user: UserId,
    key_hash: &str,
    request_hash: &str,
    now: DateTime<Utc>,
) -> Result<Claim, DbErr> {
    let tx = db.begin().await?;
    idempotency_key::Entity::delete_many()
        .filter(idempotency_key::COLUMN.created_at.lt(now - KEPT))
        .exec(&tx)
        .await?;
    let id = (user, key_hash.to_owned());
    idempotency_key::Entity::delete_by_id(id.clone())
        .filter(idempotency_key::COLUMN.status.is_null())
        .filter(idempotency_key::COLUMN.created_at.lt(now - CARRIED_OUT))
        .exec(&tx)
        .await?;
    if let Some(row) = idempotency_key::Entity::find_by_id(id).one(&tx).await? {
        return Ok(match (row.request_hash == request_hash, row.status, row.body) {
            (false, ..) => Claim::Other,
            (true, Some(status), Some(body)) => {
                Claim::Answered { status: u16::try_from(status).unwrap_or(500), body }
            }
            (true, ..) => Claim::Busy,
        });
    }
    let row = Key {
        user_id: user,
        key_hash: key_hash.into(),
        request_hash: request_hash.into(),
        status: None,
        body: None,
        created_at: now,
    };
    row.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    Ok(Claim::New)
}

/// Remembers the answer.
pub async fn finish(
    db: &Db,
    user: UserId,
    key_hash: &str,
    status: u16,
    body: String,
) -> Result<(), DbErr> {
    use sea_orm::sea_query::Expr;
    idempotency_key::Entity::update_many()
        .col_expr(idempotency_key::Column::Status, Expr::value(i32::from(status)))
        .col_expr(idempotency_key::Column::Body, Expr::value(body))
        .filter(idempotency_key::COLUMN.user_id.eq(user))
        .filter(idempotency_key::COLUMN.key_hash.eq(key_hash))
        .exec(db.write())
        .await
        .map(drop)
}

/// Forgets a claim whose request created nothing, so that it may be sent again.
pub async fn release(db: &Db, user: UserId, key_hash: &str) -> Result<(), DbErr> {
    idempotency_key::Entity::delete_by_id((user, key_hash.to_owned()))
        .exec(db.write())
        .await
        .map(drop)
}

/// The name of the row under which an answer is sealed.
pub fn row(user: UserId, key_hash: &str) -> String {
    format!("idempotency:{user}:{key_hash}")
}

/// All answers, as they are sealed: whose, by which key, and the text.
pub async fn sealed(db: &Db) -> Result<Vec<(UserId, String, String)>, DbErr> {
    let found = idempotency_key::Entity::find().filter(idempotency_key::COLUMN.body.is_not_null());
    let rows = found.all(db.read()).await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.user_id, row.key_hash, row.body?))).collect())
}

/// Puts an answer that is sealed anew in the place of what it was.
pub async fn reseal(
    db: &Db,
    user: UserId,
    key_hash: &str,
    from: &str,
    to: String,
) -> Result<(), DbErr> {
    use sea_orm::sea_query::Expr;
    idempotency_key::Entity::update_many()
        .col_expr(idempotency_key::Column::Body, Expr::value(to))
        .filter(idempotency_key::COLUMN.user_id.eq(user))
        .filter(idempotency_key::COLUMN.key_hash.eq(key_hash))
        .filter(idempotency_key::COLUMN.body.eq(from))
        .exec(db.write())
        .await
        .map(drop)
}
