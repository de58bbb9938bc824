//! What was set while Forge runs.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _, sea_query::OnConflict,
};
use serde_json::Value;

use super::{
    Db,
    entity::setting::{self, Model as Setting},
};

/// The settings of the whole server.
pub const GLOBAL: &str = "global";

/// What was set for somebody, if anything was.
pub async fn of(db: &Db, whose: &str) -> Result<Option<Value>, DbErr> {
    let found = setting::Entity::find_by_id(whose.to_owned()).one(db.read()).await?;
    Ok(found.map(|row| row.values))
}

/// Changes what is set, as it is at this moment. Nothing changes where `change` refuses.
pub async fn change<E>(
    db: &Db,
    whose: &str,
    now: DateTime<Utc>,
    change: impl FnOnce(Option<Value>) -> Result<Value, E>,
) -> Result<Result<Value, E>, DbErr> {
    let tx = db.begin().await?;
    let found = setting::Entity::find_by_id(whose.to_owned()).one(&tx).await?;
    let values = match change(found.map(|row| row.values)) {
        Ok(values) => values,
        Err(refused) => return Ok(Err(refused)),
    };
    let row = Setting { id: whose.to_owned(), values: values.clone(), updated_at: now };
    setting::Entity::insert(row.into_active_model().reset_all())
        .on_conflict(
            OnConflict::column(setting::Column::Id)
                .update_columns([setting::Column::Values, setting::Column::UpdatedAt])
                .to_owned(),
        )
        .exec_without_returning(&tx)
        .await?;
    tx.commit().await?;
    Ok(Ok(values))
}
