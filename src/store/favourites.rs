//! The models that people like to find quickly.

use std::collections::HashSet;

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, sea_query::OnConflict,
};

use super::{
    Db,
    entity::model_favourite::{self, Model as Favourite},
};
use crate::domain::ids::{ProviderId, UserId};

/// Those of a person.
pub async fn of(db: &Db, user: UserId) -> Result<HashSet<(ProviderId, String)>, DbErr> {
    let rows = model_favourite::Entity::find()
        .filter(model_favourite::COLUMN.user_id.eq(user))
        .all(db.read())
        .await?;
    Ok(rows.into_iter().map(|row| (row.provider_id, row.model)).collect())
}

/// Adds one. Adding it twice changes nothing.
pub async fn add(db: &Db, favourite: Favourite) -> Result<(), DbErr> {
    use model_favourite::Column::{Model, ProviderId, UserId};
    model_favourite::Entity::insert(favourite.into_active_model().reset_all())
        .on_conflict(
            OnConflict::columns([UserId, ProviderId, Model]).update_column(Model).to_owned(),
        )
        .exec_without_returning(db.write())
        .await
        .map(drop)
}

/// Removes one, if it is there.
pub async fn remove(db: &Db, user: UserId, provider: ProviderId, model: &str) -> Result<(), DbErr> {
    model_favourite::Entity::delete_by_id((user, provider, model.to_owned()))
        .exec(db.write())
        .await
        .map(drop)
}
