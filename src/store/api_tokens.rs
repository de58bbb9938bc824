//! Keys with which scripts act for people. Only their hashes are stored.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{
    Db, OwnedRow,
    entity::api_token::{self, Model as ApiToken},
};
use crate::domain::ids::{ApiTokenId, UserId};

impl OwnedRow for ApiToken {
    type Id = ApiTokenId;

    async fn find_owned(db: &Db, owner: UserId, id: ApiTokenId) -> Result<Option<Self>, DbErr> {
        api_token::Entity::find_by_id(id)
            .filter(api_token::COLUMN.user_id.eq(owner))
            .one(db.read())
            .await
    }
}

/// Finds the token with a hash that has not expired.
pub async fn by_hash(db: &Db, hash: &str, now: DateTime<Utc>) -> Result<Option<ApiToken>, DbErr> {
    let token = api_token::Entity::find()
        .filter(api_token::COLUMN.token_hash.eq(hash))
        .one(db.read())
        .await?;
    Ok(token.filter(|token| token.expires_at.is_none_or(|at| at > now)))
}

/// A person's tokens, newest first.
pub async fn of(db: &Db, user: UserId) -> Result<Vec<ApiToken>, DbErr> {
    api_token::Entity::find()
        .filter(api_token::COLUMN.user_id.eq(user))
        .order_by_desc(api_token::COLUMN.id)
        .all(db.read())
        .await
}

/// A page of a person's tokens by id, after a cursor.
pub async fn page(
    db: &Db,
    user: UserId,
    after: Option<ApiTokenId>,
    limit: u64,
) -> Result<Vec<ApiToken>, DbErr> {
    let mut query = api_token::Entity::find()
        .filter(api_token::COLUMN.user_id.eq(user))
        .order_by_asc(api_token::COLUMN.id)
        .limit(limit);
    if let Some(after) = after {
        query = query.filter(api_token::COLUMN.id.gt(after));
    }
    query.all(db.read()).await
}

pub async fn create(db: &Db, token: ApiToken) -> Result<ApiToken, DbErr> {
    token.into_active_model().reset_all().insert(db.write()).await
}

/// Notes that a token was used, unless it was revoked in the meantime.
pub async fn used(db: &Db, id: ApiTokenId, now: DateTime<Utc>) -> Result<(), DbErr> {
    use sea_orm::sea_query::Expr;
    api_token::Entity::update_many()
        .col_expr(api_token::Column::LastUsedAt, Expr::value(now))
        .filter(api_token::COLUMN.id.eq(id))
        .exec(db.write())
        .await
        .map(drop)
}

/// Revokes a token.
pub async fn delete(db: &Db, token: ApiToken) -> Result<(), DbErr> {
    api_token::Entity::delete_by_id(token.id).exec(db.write()).await.map(drop)
}

/// Revokes all tokens of a person.
pub async fn delete_of(db: &Db, user: UserId) -> Result<u64, DbErr> {
    let deleted = api_token::Entity::delete_many()
        .filter(api_token::COLUMN.user_id.eq(user))
        .exec(db.write())
        .await?;
    Ok(deleted.rows_affected)
}
