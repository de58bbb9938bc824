//! A piece of a message; `kind` and `data` are those of `domain::message::Part`.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{MessageId, PartId, SessionId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "parts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: PartId,
    pub message_id: MessageId,
    pub session_id: SessionId,
    pub position: i32,
    #[sea_orm(column_name = "type")]
    pub kind: String,
    pub data: Json,
    pub seq: i64,
    pub created_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
