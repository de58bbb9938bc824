//! An answer that is given again to a request that is sent again.

use sea_orm::entity::prelude::*;

use crate::domain::ids::UserId;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency_keys")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub key_hash: String,
    pub request_hash: String,
    pub status: Option<i32>,
    pub body: Option<String>,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
