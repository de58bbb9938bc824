//! Browsers that are signed in. Rows are found by the hash of what their cookie carries.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, Set,
};

use super::{
    Db,
    entity::sign_in::{self, Model as SignIn},
};
use crate::domain::ids::UserId;

/// Finds one that has not expired.
pub async fn find(db: &Db, id: &str, now: DateTime<Utc>) -> Result<Option<SignIn>, DbErr> {
    sign_in::Entity::find_by_id(id).filter(sign_in::COLUMN.expires_at.gt(now)).one(db.read()).await
}

/// Stores one, new or known, and forgets those that have expired.
pub async fn save(db: &Db, sign_in: SignIn, now: DateTime<Utc>) -> Result<(), DbErr> {
    let tx = db.begin().await?;
    sign_in::Entity::delete_many().filter(sign_in::COLUMN.expires_at.lte(now)).exec(&tx).await?;
    sign_in::Entity::delete_by_id(&sign_in.id).exec(&tx).await?;
    sign_in.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await
}

/// Notes that it is in use.
pub async fn seen(
    db: &Db,
    sign_in: SignIn,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<(), DbErr> {
    let mut sign_in = sign_in.into_active_model();
    sign_in.seen_at = Set(now);
    sign_in.expires_at = Set(expires_at);
    sign_in.update(db.write()).await.map(drop)
}

/// Signs a browser out.
pub async fn delete(db: &Db, id: &str) -> Result<(), DbErr> {
    sign_in::Entity::delete_by_id(id).exec(db.write()).await.map(drop)
}

/// Signs a person out everywhere.
pub async fn delete_of(db: &Db, user: UserId) -> Result<u64, DbErr> {
    let deleted = sign_in::Entity::delete_many()
        .filter(sign_in::COLUMN.user_id.eq(user))
        .exec(db.write())
        .await?;
    Ok(deleted.rows_affected)
}
