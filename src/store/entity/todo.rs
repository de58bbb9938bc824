//! One line of an agent's list.

use sea_orm::entity::prelude::*;

use crate::domain::{
    ids::{SessionId, TodoId},
    session::TodoStatus,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "todos")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: TodoId,
    pub session_id: SessionId,
    pub text: String,
    pub status: TodoStatus,
    pub position: i32,
    pub seq: i64,
}

impl ActiveModelBehavior for ActiveModel {}
