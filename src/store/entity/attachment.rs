//! A file that somebody gave to a session; its content lies in the data folder.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{AttachmentId, SessionId, UserId},
    message::FileKind,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "attachments")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AttachmentId,
    pub session_id: SessionId,
    pub user_id: Option<UserId>,
    /// The name of the content, which other rows may have too.
    pub sha256: String,
    pub name: String,
    pub mime: String,
    pub kind: FileKind,
    /// Bytes.
    pub size: i64,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
