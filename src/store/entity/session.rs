//! One conversation with an agent.

use sea_orm::entity::prelude::*;

use crate::domain::{
    conversation::Effort,
    ids::{ProjectId, ProviderId, SessionId, UserId},
    session::SessionStatus,
};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "sessions")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SessionId,
    pub project_id: ProjectId,
    pub user_id: UserId,
    pub name: String,
    pub agent: String,
    pub provider_id: Option<ProviderId>,
    pub model: String,
    /// How much the model is to think; what it does by itself where this is null.
    pub effort: Option<Effort>,
    pub temperature: Option<f64>,
    pub status: SessionStatus,
    pub max_steps: i32,
    pub parent_id: Option<SessionId>,
    /// Grows with every stored change of the session.
    pub seq: i64,
    /// A `domain::session::Summary`.
    pub summary: Json,
    pub archived_at: Option<DateTimeUtc>,
    pub created_at: DateTimeUtc,
    pub updated_at: DateTimeUtc,
}

impl ActiveModelBehavior for ActiveModel {}

impl Model {
    /// The model as `<provider id>/<model id>`; `None` where the provider was removed.
    pub fn model_name(&self) -> Option<String> {
        self.provider_id.map(|provider| format!("{provider}/{}", self.model))
    }
}
