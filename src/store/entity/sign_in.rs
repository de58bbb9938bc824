//! The server side of a browser that is signed in.

use sea_orm::entity::prelude::*;

use crate::domain::ids::UserId;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "sign_ins")]
pub struct Model {
    /// The hash of the key that the cookie carries.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    pub user_id: Option<UserId>,
    pub state: Json,
    pub ip: Option<String>,
    pub user_agent: Option<String>,
    pub created_at: DateTimeUtc,
    pub seen_at: DateTimeUtc,
    pub expires_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
