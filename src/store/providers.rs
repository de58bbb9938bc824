//! Providers: shared ones, and those of one person.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, Condition, DbErr, EntityTrait as _,
    IntoActiveModel as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _, sea_query::Expr,
};

use super::{
    AdminRow, Db, OwnRow, OwnedRow,
    entity::provider::{self, Model as Provider},
};
use crate::domain::ids::{ProviderId, UserId};

/// Everybody may use the shared ones; their own, people may change too.
impl OwnedRow for Provider {
    type Id = ProviderId;

    async fn find_owned(db: &Db, owner: UserId, id: ProviderId) -> Result<Option<Self>, DbErr> {
        provider::Entity::find_by_id(id).filter(usable_by(owner)).one(db.read()).await
    }
}

/// Their own, people manage themselves.
impl OwnRow for Provider {
    type Id = ProviderId;

    async fn find_own(db: &Db, owner: UserId, id: ProviderId) -> Result<Option<Self>, DbErr> {
        let found = provider::Entity::find_by_id(id).filter(provider::COLUMN.owner_id.eq(owner));
        found.one(db.read()).await
    }
}

/// Admins manage the shared ones.
impl AdminRow for Provider {
    type Id = ProviderId;

    async fn find_for_admin(db: &Db, id: ProviderId) -> Result<Option<Self>, DbErr> {
        provider::Entity::find_by_id(id)
            .filter(provider::COLUMN.owner_id.is_null())
            .one(db.read())
            .await
    }
}

/// The shared ones and a person's own, by name.
pub async fn of(db: &Db, user: UserId) -> Result<Vec<Provider>, DbErr> {
    listed(db, usable_by(user)).await
}

/// The shared ones, by name.
pub async fn shared(db: &Db) -> Result<Vec<Provider>, DbErr> {
    listed(db, Condition::all().add(provider::COLUMN.owner_id.is_null())).await
}

/// Those that a person alone has, by name.
pub async fn personal(db: &Db, owner: UserId) -> Result<Vec<Provider>, DbErr> {
    listed(db, Condition::all().add(provider::COLUMN.owner_id.eq(owner))).await
}

/// Finds one that a person may use.
pub async fn usable(db: &Db, user: UserId, id: ProviderId) -> Result<Option<Provider>, DbErr> {
    Provider::find_owned(db, user, id).await
}

pub async fn create(db: &Db, provider: Provider) -> Result<Provider, DbErr> {
    provider.into_active_model().reset_all().insert(db.write()).await
}

/// Adds one, where its owner has fewer than so many. `None` where not.
pub async fn create_up_to(
    db: &Db,
    provider: Provider,
    most: u64,
) -> Result<Option<Provider>, DbErr> {
    let tx = db.begin().await?;
    let beside = match provider.owner_id {
        Some(owner) => provider::COLUMN.owner_id.eq(owner),
        None => provider::COLUMN.owner_id.is_null(),
    };
    if provider::Entity::find().filter(beside).count(&tx).await? >= most {
        return Ok(None);
    }
    let provider = provider.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    Ok(Some(provider))
}

/// Changes one as it is at this moment, so that nothing is lost that somebody else stored meanwhile.
/// `None` where it is gone.
pub async fn change(
    db: &Db,
    id: ProviderId,
    change: impl FnOnce(&mut Provider),
) -> Result<Option<Provider>, DbErr> {
    let tx = db.begin().await?;
    let Some(mut provider) = provider::Entity::find_by_id(id).one(&tx).await? else {
        return Ok(None);
    };
    change(&mut provider);
    let provider = provider.into_active_model().reset_all().update(&tx).await?;
    tx.commit().await?;
    Ok(Some(provider))
}

/// Stores all fields.
pub async fn update(db: &Db, provider: Provider) -> Result<Provider, DbErr> {
    provider.into_active_model().reset_all().update(db.write()).await
}

/// Removes one; sessions that used it keep their history and need another.
pub async fn delete(db: &Db, provider: Provider) -> Result<(), DbErr> {
    provider::Entity::delete_by_id(provider.id).exec(db.write()).await.map(drop)
}

/// All keys, as they are sealed.
pub async fn sealed(db: &Db) -> Result<Vec<(ProviderId, String)>, DbErr> {
    let found = provider::Entity::find().filter(provider::COLUMN.key.is_not_null());
    let rows = found.all(db.read()).await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.id, row.key?))).collect())
}

/// Puts a key that is sealed anew in the place of what it was, unless that has changed meanwhile.
pub async fn reseal(db: &Db, id: ProviderId, from: &str, to: String) -> Result<(), DbErr> {
    provider::Entity::update_many()
        .col_expr(provider::Column::Key, Expr::value(to))
        .filter(provider::COLUMN.id.eq(id))
        .filter(provider::COLUMN.key.eq(from))
        .exec(db.write())
        .await
        .map(drop)
}

async fn listed(db: &Db, which: Condition) -> Result<Vec<Provider>, DbErr> {
    provider::Entity::find()
        .filter(which)
        .order_by_asc(provider::COLUMN.name)
        .order_by_asc(provider::COLUMN.id)
        .all(db.read())
        .await
}

fn usable_by(user: UserId) -> Condition {
    Condition::any()
        .add(provider::COLUMN.owner_id.is_null())
        .add(provider::COLUMN.owner_id.eq(user))
}
