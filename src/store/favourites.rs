//! The models that people like to find quickly.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    PaginatorTrait as _, QueryFilter as _,
};

use super::{
    Db,
    entity::model_favourite::{self, Model as Favourite},
};
use crate::domain::ids::{ProviderId, UserId};

/// Those of a person.
pub async fn of(db: &Db, user: UserId) -> Result<Vec<Favourite>, DbErr> {
    let found = model_favourite::Entity::find().filter(model_favourite::COLUMN.user_id.eq(user));
    found.all(db.read()).await
}

/// Adds one, where the person has fewer than so many; `None` where not. Adding it twice changes
/// nothing.
pub async fn add(db: &Db, favourite: Favourite, most: u64) -> Result<Option<Favourite>, DbErr> {
    let tx = db.begin().await?;
    let id = (favourite.user_id, favourite.provider_id, favourite.model.clone());
    if let Some(there) = model_favourite::Entity::find_by_id(id).one(&tx).await? {
        return Ok(Some(there));
    }
    let beside = model_favourite::COLUMN.user_id.eq(favourite.user_id);
    if model_favourite::Entity::find().filter(beside).count(&tx).await? >= most {
        return Ok(None);
    }
    let favourite = favourite.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    Ok(Some(favourite))
}

/// Removes one, if it is there.
pub async fn remove(db: &Db, user: UserId, provider: ProviderId, model: &str) -> Result<(), DbErr> {
    model_favourite::Entity::delete_by_id((user, provider, model.to_owned()))
        .exec(db.write())
        .await
        .map(drop)
}
