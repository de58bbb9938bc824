//! A folder that somebody works on.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{ProjectId, UserId},
    trust::Trust,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "projects")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProjectId,
    pub owner_id: UserId,
    pub name: String,
    /// Canonical and absolute.
    pub path: String,
    pub default_branch: Option<String>,
    /// The instruction files that were found, as a list of paths.
    pub instructions: Json,
    pub trust_status: Trust,
    pub created_at: DateTimeUtc,
    pub updated_at: DateTimeUtc,
    pub opened_at: Option<DateTimeUtc>,
}

impl ActiveModelBehavior for ActiveModel {}
