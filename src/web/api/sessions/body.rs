//! How sessions, messages and parts look in the API.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{PartialSchema, ToSchema};

use super::super::{nullable, present, schema::words};
use crate::{
    domain::{
        conversation::Effort,
        ids::{MessageId, PartId, ProjectId, SessionId, UserId},
        message::Role,
        session::{Queued, SessionStatus, Summary, TodoStatus},
    },
    store::{
        entity::{message::Model as Message, part::Model as Part, session::Model as Session},
        messages::Whole,
    },
};

/// A session
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SessionBody {
    pub id: SessionId,
    pub project_id: ProjectId,
    pub name: String,
    pub agent: String,
    /// `<provider id>/<model id>`; null where the provider was removed
    #[schema(required)]
    pub model: Option<String>,
    /// How much the model is to think; null leaves it to the model
    #[schema(required)]
    pub effort: Option<Effort>,
    /// Null leaves it to the model
    #[schema(required)]
    pub temperature: Option<f64>,
    pub status: SessionStatus,
    pub max_steps: i32,
    /// Grows with every stored change: the id of the newest event
    pub seq: i64,
    pub totals: Totals,
    #[schema(required)]
    pub archived_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// What a session has used so far, and what it has changed
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Totals {
    pub tokens: TokensBody,
    /// Dollars, of the steps whose price is known
    pub cost: f64,
    /// Whether some step's price is not known
    pub cost_incomplete: bool,
    pub steps: u32,
    /// How much of the model's window the newest step took, in tokens
    pub context_tokens: u64,
    pub files: Vec<ChangedFileBody>,
}

/// Tokens; the four kinds of input and output do not overlap
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TokensBody {
    pub input: u64,
    pub output: u64,
    /// The share of `output` that was reasoning, where that is known
    pub reasoning: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Counted from bytes, because the provider did not say
    pub estimated: bool,
}

/// A file that the session changed
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChangedFileBody {
    pub path: String,
    #[schema(value_type = String, example = "modified")]
    pub status: crate::domain::session::FileStatus,
    pub additions: u32,
    pub deletions: u32,
}

/// A session to begin
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionToCreate {
    /// Left out: made from the first prompt
    #[schema(max_length = 120)]
    pub name: Option<String>,
    pub agent: Option<String>,
    /// `<provider id>/<model id>`; left out: the one used last
    pub model: Option<String>,
    pub max_steps: Option<u32>,
    /// How much the model is to think, where it is known to take that
    pub effort: Option<Effort>,
    /// Where the model takes one: from 0 to 1 or 2
    #[schema(minimum = 0, maximum = 2)]
    pub temperature: Option<f64>,
}

/// What to change of a session; what is left out stays
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionToChange {
    #[serde(deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 120, nullable = false)]
    pub name: Option<String>,
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    pub agent: Option<String>,
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    pub max_steps: Option<u32>,
    /// Null leaves it to the model, here and below
    #[serde(deserialize_with = "nullable")]
    #[schema(value_type = Option<Effort>)]
    pub effort: Option<Option<Effort>>,
    #[serde(deserialize_with = "nullable")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 2)]
    pub temperature: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    pub archived: Option<bool>,
}

/// A prompt or an answer, with its parts in order
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MessageBody {
    pub id: MessageId,
    pub session_id: SessionId,
    pub role: Role,
    /// How a prompt waits; null once it is sent
    #[schema(required)]
    pub queued: Option<Queued>,
    /// Who wrote the prompt
    #[schema(required)]
    pub user_id: Option<UserId>,
    pub agent: String,
    pub model: String,
    /// Dollars; null where no step's price is known
    #[schema(required)]
    pub cost: Option<f64>,
    pub tokens: TokensBody,
    /// Why the answer ended early: `code`, `message`, `provider_message`
    #[schema(required, value_type = Option<Object>)]
    pub error: Option<Value>,
    pub seq: i64,
    /// When it was undone
    #[schema(required)]
    pub reverted_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    #[schema(required)]
    pub completed_at: Option<DateTime<Utc>>,
    /// Absent in events: parts have their own
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parts: Option<Vec<PartBody>>,
}

/// A piece of a message
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PartBody {
    pub id: PartId,
    pub message_id: MessageId,
    pub position: i32,
    /// `text`, `reasoning`, `tool`, `file`, `patch` or `step`
    #[serde(rename = "type")]
    pub kind: String,
    /// Depends on the type
    #[schema(value_type = Object)]
    pub data: Value,
    /// The session's `seq` at the part's last change; 0 while it is open
    pub seq: i64,
    pub created_at: DateTime<Utc>,
}

impl From<Session> for SessionBody {
    fn from(row: Session) -> Self {
        Self {
            model: row.model_name(),
            id: row.id,
            project_id: row.project_id,
            name: row.name,
            agent: row.agent,
            effort: row.effort,
            temperature: row.temperature,
            status: row.status,
            max_steps: row.max_steps,
            seq: row.seq,
            totals: Totals::read(&row.summary),
            archived_at: row.archived_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl Totals {
    /// Reads what is stored with a session.
    pub fn read(summary: &Value) -> Self {
        let summary: Summary = serde_json::from_value(summary.clone()).unwrap_or_default();
        let files = summary.files.into_iter().map(|file| ChangedFileBody {
            path: file.path,
            status: file.status,
            additions: file.additions,
            deletions: file.deletions,
        });
        Self {
            tokens: serde_json::to_value(summary.tokens)
                .and_then(serde_json::from_value)
                .unwrap_or_default(),
            cost: dollars(summary.cost_micros),
            cost_incomplete: summary.cost_incomplete,
            steps: summary.steps,
            context_tokens: summary.context_tokens,
            files: files.collect(),
        }
    }
}

impl From<Message> for MessageBody {
    fn from(row: Message) -> Self {
        Self {
            id: row.id,
            session_id: row.session_id,
            role: row.role,
            queued: row.queued,
            user_id: row.user_id,
            agent: row.agent,
            model: row.model,
            cost: row.cost_micros.map(dollars),
            tokens: serde_json::from_value(row.tokens).unwrap_or_default(),
            error: row.error,
            seq: row.seq,
            reverted_at: row.reverted_at,
            created_at: row.created_at,
            completed_at: row.completed_at,
            parts: None,
        }
    }
}

impl From<Whole> for MessageBody {
    fn from(whole: Whole) -> Self {
        let parts = whole.parts.into_iter().map(PartBody::from).collect();
        Self { parts: Some(parts), ..whole.message.into() }
    }
}

impl From<Part> for PartBody {
    fn from(row: Part) -> Self {
        Self {
            id: row.id,
            message_id: row.message_id,
            position: row.position,
            kind: row.kind,
            data: row.data,
            seq: row.seq,
            created_at: row.created_at,
        }
    }
}

/// Micro-dollars in dollars.
pub fn dollars(micros: i64) -> f64 {
    micros as f64 / 1_000_000.0
}

macro_rules! described {
    ($($type:ident [$($word:literal),*])*) => {$(
        impl PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                words([$($word),*])
            }
        }

        impl ToSchema for $type {}
    )*};
}

described! {
    SessionStatus ["idle", "running", "waiting", "aborted", "error"]
    Role ["user", "assistant"]
    Queued ["queue", "steer"]
    Effort ["off", "low", "medium", "high"]
    TodoStatus ["pending", "in_progress", "done", "cancelled"]
}
