//! A model that somebody likes to find quickly.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{ProviderId, UserId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "model_favourites")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub provider_id: ProviderId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub model: String,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
