//! A person with an account.

use sea_orm::entity::prelude::*;

use crate::domain::ids::UserId;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "users")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UserId,
    pub name: String,
    pub login: String,
    pub login_key: String,
    pub email: Option<String>,
    pub email_key: Option<String>,
    pub password_hash: String,
    pub admin: bool,
    /// The IANA name of where their days begin; the server's own where there is none.
    pub time_zone: Option<String>,
    /// The windows of budgets that go on over the last change of it.
    pub kept_windows: Option<Json>,
    pub disabled_at: Option<DateTimeUtc>,
    pub last_login_at: Option<DateTimeUtc>,
    pub created_at: DateTimeUtc,
    pub updated_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}
