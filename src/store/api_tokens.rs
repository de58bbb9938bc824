//! Keys with which scripts act for people. Only their hashes are stored.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, QueryOrder as _, Set,
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

pub async fn create(db: &Db, token: ApiToken) -> Result<ApiToken, DbErr> {
    token.into_active_model().reset_all().insert(db.write()).await
}

/// Notes that a token was used.
pub async fn used(db: &Db, token: ApiToken, now: DateTime<Utc>) -> Result<(), DbErr> {
    let mut token = token.into_active_model();
    token.last_used_at = Set(Some(now));
    token.update(db.write()).await.map(drop)
}

pub async fn delete(db: &Db, token: ApiToken) -> Result<(), DbErr> {
    api_token::Entity::delete_by_id(token.id).exec(db.write()).await.map(drop)
}
