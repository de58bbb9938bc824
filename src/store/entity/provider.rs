//! Where models are asked; shared with everyone where it has no owner.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{ProviderId, UserId},
    provider::Kind,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "providers")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProviderId,
    pub owner_id: Option<UserId>,
    pub name: String,
    pub url: String,
    pub kind: Kind,
    /// Sealed; never leaves the server.
    pub key: Option<String>,
    /// The last four characters of the key.
    pub key_hint: Option<String>,
    /// The ids that sessions can use.
    pub models: Json,
    /// A `domain::provider::Meta`.
    pub meta: Json,
    pub disabled_at: Option<DateTimeUtc>,
    pub created_at: DateTimeUtc,
    pub updated_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
