//! A question of an agent to a person.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{AskId, PartId, SessionId, UserId},
    session::{AskKind, AskStatus},
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "asks")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AskId,
    pub session_id: SessionId,
    /// The tool part that waits for the answer.
    pub part_id: PartId,
    pub kind: AskKind,
    /// A `domain::ask::Question`.
    pub data: Json,
    pub status: AskStatus,
    pub reply: Option<Json>,
    pub decided_by: Option<UserId>,
    pub decided_at: Option<DateTimeUtc>,
    pub seq: i64,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
