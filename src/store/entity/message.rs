//! One prompt or one answer.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{MessageId, SessionId, UserId},
    message::Role,
    session::Queued,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "messages")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: MessageId,
    pub session_id: SessionId,
    pub position: i64,
    pub role: Role,
    pub queued: Option<Queued>,
    /// Who wrote the prompt.
    pub user_id: Option<UserId>,
    pub agent: String,
    pub model: String,
    pub cost_micros: Option<i64>,
    /// A `domain::message::Tokens`.
    pub tokens: Json,
    /// A `domain::session::Failure`.
    pub error: Option<Json>,
    pub seq: i64,
    pub reverted_at: Option<DateTimeUtc>,
    pub created_at: DateTimeUtc,
    pub completed_at: Option<DateTimeUtc>,
}

impl ActiveModelBehavior for ActiveModel {}
