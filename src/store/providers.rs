//! Providers: shared ones, and those of one person.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, Condition, DbErr, EntityTrait as _,
    IntoActiveModel as _, QueryFilter as _, QueryOrder as _,
};

use super::{
    AdminRow, Db, OwnedRow,
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
    provider::Entity::find()
        .filter(usable_by(user))
        .order_by_asc(provider::COLUMN.name)
        .order_by_asc(provider::COLUMN.id)
        .all(db.read())
        .await
}

/// Finds one that a person may use.
pub async fn usable(db: &Db, user: UserId, id: ProviderId) -> Result<Option<Provider>, DbErr> {
    Provider::find_owned(db, user, id).await
}

pub async fn create(db: &Db, provider: Provider) -> Result<Provider, DbErr> {
    provider.into_active_model().reset_all().insert(db.write()).await
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

fn usable_by(user: UserId) -> Condition {
    Condition::any()
        .add(provider::COLUMN.owner_id.is_null())
        .add(provider::COLUMN.owner_id.eq(user))
}
