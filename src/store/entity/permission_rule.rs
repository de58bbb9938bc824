//! One line of a permission list; global where it has no project.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{ProjectId, RuleId, UserId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "permission_rules")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: RuleId,
    pub project_id: Option<ProjectId>,
    pub tool: String,
    pub pattern: String,
    pub action: String,
    pub position: i32,
    pub created_by: Option<UserId>,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
