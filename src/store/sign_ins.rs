//! Browsers that are signed in. Rows are found by the hash of what their cookie carries.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    PaginatorTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{
    Db, OwnedRow,
    entity::{
        sign_in::{self, Model as SignIn},
        user::{self, Model as User},
    },
};
use crate::domain::{ids::UserId, token};

impl OwnedRow for SignIn {
    type Id = String;

    async fn find_owned(db: &Db, owner: UserId, id: String) -> Result<Option<Self>, DbErr> {
        sign_in::Entity::find_by_id(id)
            .filter(sign_in::COLUMN.user_id.eq(owner))
            .one(db.read())
            .await
    }
}

/// Finds one that has not expired.
pub async fn find(db: &Db, id: &str, now: DateTime<Utc>) -> Result<Option<SignIn>, DbErr> {
    sign_in::Entity::find_by_id(id).filter(sign_in::COLUMN.expires_at.gt(now)).one(db.read()).await
}

/// What a sign-in keeps of the password that was shown for it: enough to know whether the person
/// still has that one.
pub fn proof(user: &User) -> String {
    token::hash(&user.password_hash)
}

/// Stores one, new or known, and forgets those that have expired.
///
/// Nothing is stored where the person has another password by now, is disabled or gone: showing a
/// password takes a while, and what ends all sign-ins meanwhile means this one too.
pub async fn save(
    db: &Db,
    sign_in: SignIn,
    shown: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), DbErr> {
    let Some(user) = sign_in.user_id else { return Ok(()) };
    let tx = db.begin().await?;
    // Locked where there are many writers: who changes the person waits until this row can be seen.
    let user = user::Entity::find_by_id(user).lock_shared().one(&tx).await?;
    let user = user.filter(|user| user.disabled_at.is_none());
    if user.is_none_or(|user| Some(proof(&user).as_str()) != shown) {
        return Ok(());
    }
    sign_in::Entity::delete_many().filter(sign_in::COLUMN.expires_at.lte(now)).exec(&tx).await?;
    sign_in::Entity::delete_by_id(&sign_in.id).exec(&tx).await?;
    sign_in.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await
}

/// Notes that it is in use, unless it has ended in the meantime.
pub async fn seen(
    db: &Db,
    id: &str,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<(), DbErr> {
    use sea_orm::sea_query::Expr;
    sign_in::Entity::update_many()
        .col_expr(sign_in::Column::SeenAt, Expr::value(now))
        .col_expr(sign_in::Column::ExpiresAt, Expr::value(expires_at))
        .filter(sign_in::COLUMN.id.eq(id))
        .exec(db.write())
        .await
        .map(drop)
}

/// Where a person is signed in, the one used last first.
pub async fn of(db: &Db, user: UserId, now: DateTime<Utc>) -> Result<Vec<SignIn>, DbErr> {
    sign_in::Entity::find()
        .filter(sign_in::COLUMN.user_id.eq(user))
        .filter(sign_in::COLUMN.expires_at.gt(now))
        .order_by_desc(sign_in::COLUMN.seen_at)
        .order_by_desc(sign_in::COLUMN.created_at)
        .all(db.read())
        .await
}

/// Whether a person is signed in from an address.
pub async fn known(db: &Db, user: UserId, ip: &str, now: DateTime<Utc>) -> Result<bool, DbErr> {
    let here = sign_in::Entity::find()
        .filter(sign_in::COLUMN.user_id.eq(user))
        .filter(sign_in::COLUMN.ip.eq(ip))
        .filter(sign_in::COLUMN.expires_at.gt(now));
    Ok(here.count(db.read()).await? > 0)
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
