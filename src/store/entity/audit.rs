//! Who did what; only ever added to.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{AuditId, UserId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_log")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AuditId,
    pub actor_id: Option<UserId>,
    pub action: String,
    pub subject_type: String,
    pub subject_id: Option<String>,
    pub detail: Json,
    pub ip: Option<String>,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
