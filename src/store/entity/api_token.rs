//! A key with which a script acts for a person.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{ApiTokenId, UserId},
    token::Scope,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "api_tokens")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ApiTokenId,
    pub user_id: UserId,
    pub name: String,
    pub token_hash: String,
    pub scope: Scope,
    pub last_used_at: Option<DateTimeUtc>,
    pub expires_at: Option<DateTimeUtc>,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
