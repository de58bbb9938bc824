//! How a file was before a message changed it, and how the message left it.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{MessageId, SessionId, SnapshotId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "snapshots")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SnapshotId,
    pub session_id: SessionId,
    pub message_id: MessageId,
    /// Relative to the project.
    pub path: String,
    pub before_kind: String,
    pub before_mode: Option<i32>,
    pub before_size: Option<i64>,
    pub before_blob: Option<String>,
    pub after_kind: Option<String>,
    pub after_mode: Option<i32>,
    pub after_size: Option<i64>,
    pub after_blob: Option<String>,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
