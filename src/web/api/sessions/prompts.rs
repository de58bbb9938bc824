//! Prompts: sent, queued, stopped.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::{
        super::{
            error::Error,
            extract::{CurrentUser, Json, Owned},
        },
        done, json,
        page::Page,
        present,
    },
    body::MessageBody,
};
use crate::{
    app::App,
    domain::{
        ids::{AttachmentId, MessageId},
        session::Queued,
    },
    engine::{
        jobs,
        sessions::{self, Change, Prompt},
    },
    store::{
        entity::{message::Model as Message, part::Model as Part, session::Model as Session},
        messages,
    },
};

/// A prompt to send
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptToSend {
    /// May be empty where files come with it
    #[schema(max_length = 200_000)]
    text: String,
    /// Files that were given to a session before, in this order
    #[serde(default)]
    #[schema(max_items = 100)]
    attachments: Vec<AttachmentId>,
    /// From here on the session's agent
    agent: Option<String>,
    /// From here on the session's model: `<provider id>/<model id>`
    model: Option<String>,
    /// While the agent is at work: until it is done, or at its next step
    when: Option<Queued>,
}

/// A prompt that was taken
#[derive(Debug, Serialize, ToSchema)]
pub struct SentBody {
    message_id: MessageId,
    /// Whether it waits
    queued: bool,
}

/// What was stopped
#[derive(Debug, Serialize, ToSchema)]
pub struct AbortedBody {
    /// Whether anything ran
    aborted: bool,
}

/// What to change of a prompt that waits
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptToChange {
    #[serde(deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 200_000, nullable = false)]
    text: Option<String>,
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    when: Option<Queued>,
    /// The place among those that wait, from 0
    #[serde(deserialize_with = "present")]
    #[schema(nullable = false)]
    place: Option<usize>,
}

/// Sends a prompt
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/prompt", tag = "sessions", request_body = PromptToSend,
    responses((status = 202, description = "Taken: the agent works on it, or it waits", body = SentBody)),
)]
pub async fn send(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Json(prompt): Json<PromptToSend>,
) -> Result<HttpResponse, Error> {
    let PromptToSend { text, attachments, agent, model, when } = prompt;
    sessions::check_text(&text, attachments.len())?;
    if agent.is_some() || model.is_some() {
        let change = Change { agent, model, ..Change::default() };
        sessions::change(&app.engine, &user, &session, change).await?;
    }
    let when = when.unwrap_or(Queued::Queue);
    let prompt = Prompt { text, attachments, when };
    let sent = sessions::send(&app.engine, &user, &session, prompt).await?;
    json(StatusCode::ACCEPTED, &SentBody { message_id: sent.message.id, queued: sent.queued })
}

/// Stops the background command that a call started
#[utoipa::path(
    post, path = "/api/v1/parts/{id}/stop", tag = "sessions",
    responses((status = 200, description = "It does not run any more", body = AbortedBody)),
)]
pub async fn stop_job(app: Data<App>, Owned(part): Owned<Part>) -> Result<HttpResponse, Error> {
    let aborted = jobs::stop(&app.engine, part).await?;
    json(StatusCode::OK, &AbortedBody { aborted })
}

/// Stops what the agent does, and what it has left running in the background
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/abort", tag = "sessions",
    responses((status = 200, description = "It stands still", body = AbortedBody)),
)]
pub async fn abort(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    let aborted = sessions::abort(&app.engine, &session).await?;
    json(StatusCode::OK, &AbortedBody { aborted })
}

/// Lists the prompts that wait
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/queue", tag = "sessions",
    responses((status = 200, description = "In the order in which they are sent", body = Page<MessageBody>)),
)]
pub async fn queue(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    let waiting = messages::queued(&app.db, session.id).await?;
    let items = waiting.into_iter().map(MessageBody::from).collect();
    json(StatusCode::OK, &Page { items, next: None })
}

/// Changes a prompt that waits
#[utoipa::path(
    patch, path = "/api/v1/queue/{id}", tag = "queue", request_body = PromptToChange,
    responses((status = 204, description = "It is changed")),
)]
pub async fn edit(
    app: Data<App>,
    Owned(message): Owned<Message>,
    Json(change): Json<PromptToChange>,
) -> Result<HttpResponse, Error> {
    if change.text.is_some() || change.when.is_some() || change.place.is_none() {
        let (text, when) = (change.text.as_deref(), change.when);
        sessions::edit_queued(&app.engine, message.clone(), text, when).await?;
    }
    if let Some(place) = change.place {
        sessions::place_queued(&app.engine, message, place).await?;
    }
    Ok(done())
}

/// Removes a prompt that waits
#[utoipa::path(
    delete, path = "/api/v1/queue/{id}", tag = "queue",
    responses((status = 204, description = "It is removed")),
)]
pub async fn remove(app: Data<App>, Owned(message): Owned<Message>) -> Result<HttpResponse, Error> {
    sessions::remove_queued(&app.engine, message).await?;
    Ok(done())
}
