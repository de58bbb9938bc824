//! One line of the ledger: what one call of a model used. It is never changed, and it outlives the
//! person, the project and the provider that it names.

use sea_orm::entity::prelude::*;

use crate::domain::ids::{MessageId, ProjectId, ProviderId, SessionId, UsageId, UserId};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "usage")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UsageId,
    pub at: DateTimeUtc,
    /// Quarters of an hour since 1970.
    pub bucket: i64,
    pub user_id: UserId,
    pub user_login: String,
    pub project_id: ProjectId,
    pub project_name: String,
    pub session_id: SessionId,
    pub message_id: MessageId,
    pub provider_id: ProviderId,
    pub provider_name: String,
    pub model: String,
    /// `done`, `failed` or `aborted`.
    pub outcome: String,
    pub input: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    pub output: i64,
    pub reasoning: i64,
    /// Absent where the price is not known.
    pub cost_micros: Option<i64>,
    /// Whether Forge counted the tokens, because the provider did not say.
    pub estimated: bool,
    /// The provider's own account.
    pub raw: Option<Json>,
    /// The prices that were counted with.
    pub prices: Json,
}

impl ActiveModelBehavior for ActiveModel {}
