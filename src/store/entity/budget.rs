//! How much may be spent by whom, in which time.

use sea_orm::entity::prelude::*;

use crate::domain::{
    budget::{Period, Scope},
    ids::{BudgetId, ProjectId, SessionId, UserId},
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "budgets")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: BudgetId,
    pub scope: Scope,
    pub user_id: Option<UserId>,
    pub project_id: Option<ProjectId>,
    pub session_id: Option<SessionId>,
    pub period: Period,
    pub limit_micros: i64,
    /// Whether models may be called whose price is not known.
    pub allow_unknown: bool,
    /// Whose it is to change; all administrators' where it is nobody's.
    pub owner_id: Option<UserId>,
    pub created_at: DateTimeUtc,
    pub updated_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
