//! What agents ask, and the answers of people.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, OpenApi, PartialSchema, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json, Owned, Query},
    },
    json,
    page::Page,
    schema::words,
};
use crate::{
    app::App,
    domain::{
        ask::Answer,
        ids::{AskId, PartId, SessionId},
        session::{AskKind, AskStatus},
    },
    engine::asks::{self, Answered},
    store::{
        self, OwnedRow as _,
        entity::{ask::Model as Ask, session::Model as Session},
    },
};

#[derive(OpenApi)]
#[openapi(paths(index, answer))]
pub struct Doc;

/// A question of an agent
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AskBody {
    pub id: AskId,
    pub session_id: SessionId,
    /// The tool part that waits for the answer
    pub part_id: PartId,
    pub kind: AskKind,
    /// `tool`, `subject`, `reasons`, and the rules that `always` would save
    #[schema(value_type = Object)]
    pub data: Value,
    pub status: AskStatus,
    #[schema(required, value_type = Option<Object>)]
    pub reply: Option<Value>,
    #[schema(required)]
    pub decided_at: Option<DateTime<Utc>>,
    pub seq: i64,
    pub created_at: DateTime<Utc>,
}

impl From<Ask> for AskBody {
    fn from(row: Ask) -> Self {
        Self {
            id: row.id,
            session_id: row.session_id,
            part_id: row.part_id,
            kind: row.kind,
            data: row.data,
            status: row.status,
            reply: row.reply,
            decided_at: row.decided_at,
            seq: row.seq,
            created_at: row.created_at,
        }
    }
}

/// Which asks are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AskQuery {
    /// Only those of this session
    #[param(value_type = Option<SessionId>)]
    session: Option<String>,
}

/// An answer to an ask
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskReply {
    reply: Answer,
    /// With `always`: the pattern to save, where it is to be another than the proposed one
    #[schema(max_length = 1000)]
    pattern: Option<String>,
    /// With `deny`: a word to the agent
    #[schema(max_length = 4000)]
    message: Option<String>,
}

/// The most asks that are listed.
const MOST: u64 = 200;

/// Lists what waits for you
#[utoipa::path(
    get, path = "/api/v1/asks", tag = "asks", params(AskQuery),
    responses((status = 200, description = "The open asks, oldest first", body = Page<AskBody>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<AskQuery>,
) -> Result<HttpResponse, Error> {
    let rows = match query.session {
        None => store::asks::open(&app.db, user.id, MOST).await?,
        Some(text) => {
            let id = text.parse().map_err(|_| Error::NotFound)?;
            let session =
                Session::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
            store::asks::open_in(&app.db, session.id).await?
        }
    };
    json(StatusCode::OK, &Page { items: rows.into_iter().map(AskBody::from).collect(), next: None })
}

/// Answers an ask
///
/// The first answer wins; a second one is told so with 409.
#[utoipa::path(
    post, path = "/api/v1/asks/{id}", tag = "asks", request_body = AskReply,
    responses((status = 200, description = "The ask with its answer", body = AskBody)),
)]
pub async fn answer(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(ask): Owned<Ask>,
    Json(reply): Json<AskReply>,
) -> Result<HttpResponse, Error> {
    let id = ask.id;
    let AskReply { reply: answer, pattern, message } = reply;
    asks::answer(&app.engine, ask, &user, Answered { answer, message, pattern }).await?;
    let ask = Ask::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
    json(StatusCode::OK, &AskBody::from(ask))
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
    AskKind ["permission"]
    AskStatus ["open", "allowed", "denied", "withdrawn"]
    Answer ["once", "always", "deny"]
}
