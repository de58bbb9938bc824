//! What happened in a session: its messages, its list, what it used and what it changed.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    super::{
        super::{
            error::Error,
            extract::{Json, Owned, Query},
        },
        budgets::{self, Budget},
        json,
        page::Page,
    },
    body::{MessageBody, Totals},
};
use crate::{
    app::App,
    domain::{
        diff::unified,
        ids::{MessageId, TodoId},
        session::TodoStatus,
        undo::Force,
    },
    engine::{snapshots::Undone, undo},
    store::{
        self,
        entity::{session::Model as Session, todo::Model as Todo},
        messages,
    },
};

/// Which messages are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessagesQuery {
    /// Only messages before this one
    #[param(value_type = Option<MessageId>)]
    before: Option<String>,
    /// How many at most
    #[param(value_type = Option<u64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

/// One line of an agent's list
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TodoBody {
    pub id: TodoId,
    pub text: String,
    pub status: TodoStatus,
    pub position: i32,
}

impl From<&Todo> for TodoBody {
    fn from(row: &Todo) -> Self {
        Self { id: row.id, text: row.text.clone(), status: row.status, position: row.position }
    }
}

/// Lists messages
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/messages", tag = "sessions", params(MessagesQuery),
    responses((status = 200, description = "Oldest first; `next` goes to `before` for earlier ones", body = Page<MessageBody>)),
)]
pub async fn messages(
    app: Data<App>,
    Owned(session): Owned<Session>,
    Query(query): Query<MessagesQuery>,
) -> Result<HttpResponse, Error> {
    let limit: u64 = match query.limit.as_deref().map(str::parse) {
        None => 50,
        Some(Ok(limit @ 1..=200)) => limit,
        Some(_) => return Err(Error::field("limit", "Give a number from 1 to 200.")),
    };
    let before = match query.before {
        None => None,
        Some(text) => Some(position(&app, &session, &text).await?),
    };
    let mut found = messages::page(&app.db, session.id, before, limit + 1).await?;
    let more = found.len() as u64 > limit;
    if more {
        found.remove(0);
    }
    let next = found.first().filter(|_| more).map(|whole| whole.message.id.to_string());
    let items = found.into_iter().map(MessageBody::from).collect();
    json(StatusCode::OK, &Page { items, next })
}

/// Shows the agent's list
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/todos", tag = "sessions",
    responses((status = 200, description = "The list, in order", body = Page<TodoBody>)),
)]
pub async fn todos(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    let rows = store::todos::of(&app.db, session.id).await?;
    json(StatusCode::OK, &Page { items: rows.iter().map(TodoBody::from).collect(), next: None })
}

/// Shows what a session has used
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/usage", tag = "sessions",
    responses((status = 200, description = "Tokens and cost so far", body = SessionUsage)),
)]
pub async fn usage(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    let totals = Totals::read(&session.summary);
    let budgets = budgets::of_session(&app, &session).await?;
    json(StatusCode::OK, &SessionUsage { totals, budgets })
}

/// What a session has used so far, and the budgets that hold for it
#[derive(Serialize, ToSchema)]
pub struct SessionUsage {
    #[serde(flatten)]
    totals: Totals,
    budgets: Vec<Budget>,
}

/// Which changes are compared.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// Only what this message changed
    #[param(value_type = Option<MessageId>)]
    message: Option<String>,
}

/// The files that a session changed
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffBody {
    pub files: Vec<FileDiffBody>,
}

/// A file that was changed, compared with how the session found it
#[derive(Debug, Serialize, ToSchema)]
pub struct FileDiffBody {
    pub path: String,
    #[schema(value_type = String, example = "modified")]
    pub status: crate::domain::session::FileStatus,
    pub additions: u32,
    pub deletions: u32,
    /// Unified; null where the file is no text or too large to show
    #[schema(required)]
    pub patch: Option<String>,
}

/// Shows what a session changed
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/diff", tag = "sessions", params(DiffQuery),
    responses((status = 200, description = "File by file", body = DiffBody)),
)]
pub async fn diff(
    app: Data<App>,
    Owned(session): Owned<Session>,
    Query(query): Query<DiffQuery>,
) -> Result<HttpResponse, Error> {
    let message = match query.message {
        None => None,
        Some(text) => Some(message_of(&app, &session, &text).await?.id),
    };
    let files = undo::diff(&app.engine, &session, message).await?;
    let files = files.into_iter().map(|file| FileDiffBody {
        patch: (!file.binary && !file.not_kept).then(|| unified(&file.diff, &file.path)),
        path: file.path,
        status: file.status,
        additions: file.additions,
        deletions: file.deletions,
    });
    json(StatusCode::OK, &DiffBody { files: files.collect() })
}

/// What to undo
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoWish {
    /// The prompt from which on everything is undone
    #[schema(value_type = MessageId)]
    message_id: String,
    /// Undo also what somebody else has changed since
    #[serde(default)]
    force: bool,
}

/// What to redo
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedoWish {
    /// Redo also what somebody else has changed since
    force: bool,
}

/// What became of an undo or redo
#[derive(Debug, Serialize, ToSchema)]
pub struct UndoneBody {
    /// Files that were put back
    pub restored: Vec<String>,
    /// Files that somebody has changed since; with any of these and without `force` nothing was done
    pub conflicts: Vec<ConflictBody>,
}

/// A file that stands in the way of an undo
#[derive(Debug, Serialize, ToSchema)]
pub struct ConflictBody {
    pub path: String,
    pub reason: String,
}

/// Undoes a prompt and all after it
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/undo", tag = "sessions", request_body = UndoWish,
    responses((status = 200, description = "What was put back, and what stands in the way", body = UndoneBody)),
)]
pub async fn undo(
    app: Data<App>,
    Owned(session): Owned<Session>,
    Json(wish): Json<UndoWish>,
) -> Result<HttpResponse, Error> {
    let message = message_of(&app, &session, &wish.message_id).await?;
    let undone = undo::undo(&app.engine, &session, &message, force(wish.force)).await?;
    json(StatusCode::OK, &body(undone))
}

/// Brings back what was undone
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/redo", tag = "sessions", request_body = RedoWish,
    responses((status = 200, description = "What was put back, and what stands in the way", body = UndoneBody)),
)]
pub async fn redo(
    app: Data<App>,
    Owned(session): Owned<Session>,
    Json(wish): Json<RedoWish>,
) -> Result<HttpResponse, Error> {
    let undone = undo::redo(&app.engine, &session, force(wish.force)).await?;
    json(StatusCode::OK, &body(undone))
}

fn force(wished: bool) -> Force {
    if wished { Force::Overwrite } else { Force::Ask }
}

fn body(undone: Undone) -> UndoneBody {
    let conflicts = undone.conflicts.into_iter();
    UndoneBody {
        restored: undone.restored,
        conflicts: conflicts
            .map(|conflict| ConflictBody {
                reason: conflict.reason.to_string(),
                path: conflict.path,
            })
            .collect(),
    }
}

/// A message that is named from outside, where it is one of the session's.
async fn message_of(
    app: &App,
    session: &Session,
    id: &str,
) -> Result<store::entity::message::Model, Error> {
    let id: MessageId = id.parse().map_err(|_| Error::NotFound)?;
    messages::in_session(&app.db, session.id, id).await?.ok_or(Error::NotFound)
}

async fn position(app: &App, session: &Session, id: &str) -> Result<i64, Error> {
    Ok(message_of(app, session, id).await?.position)
}
