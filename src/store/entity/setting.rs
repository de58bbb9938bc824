//! What was set while Forge runs, over the configuration.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "settings")]
pub struct Model {
    /// Whose they are: `global`.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// Only the keys that were changed.
    pub values: Json,
    pub updated_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
