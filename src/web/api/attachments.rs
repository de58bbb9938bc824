//! Files that are sent with prompts.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, OpenApi, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    super::{
        attachments as page,
        error::Error,
        extract::{CurrentUser, Owned, Query},
        upload::Pieces,
    },
    json,
    schema::words,
};
use crate::{
    app::App,
    domain::{
        ids::{AttachmentId, SessionId},
        message::FileKind,
    },
    engine::attachments,
    store::{
        self, OwnedRow as _,
        entity::{attachment::Model as Attachment, session::Model as Session},
    },
};

#[derive(OpenApi)]
#[openapi(paths(create, exists, show))]
pub struct Doc;

/// A file that was given to a session
#[derive(Debug, Serialize, ToSchema)]
pub struct AttachmentBody {
    pub id: AttachmentId,
    pub session_id: SessionId,
    pub name: String,
    /// Found by the content, never by the name
    pub mime: String,
    pub kind: FileKind,
    /// Bytes
    pub size: i64,
    pub sha256: String,
    pub created_at: DateTime<Utc>,
}

/// Whether one of the person's own attachments has some content
#[derive(Debug, Serialize, ToSchema)]
pub struct ExistsBody {
    pub exists: bool,
    /// The newest that has it; it can be sent with a prompt of any session
    #[schema(required)]
    pub attachment: Option<AttachmentBody>,
}

/// A file to give to a session
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes the body")]
pub struct FileToAttach {
    /// A PNG, JPEG, GIF or WebP image, or a text in UTF-8
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// Which session a file is for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ForSession {
    /// The session that it is for
    #[param(value_type = SessionId, required = true)]
    session: Option<String>,
}

/// Which content is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ByContent {
    /// The SHA-256 of the content, in hexadecimal
    #[param(min_length = 64, max_length = 64, value_type = String, required = true)]
    sha256: Option<String>,
}

impl PartialSchema for FileKind {
    fn schema() -> RefOr<Schema> {
        words(["image", "text"])
    }
}

impl ToSchema for FileKind {}

impl From<Attachment> for AttachmentBody {
    fn from(row: Attachment) -> Self {
        Self {
            id: row.id,
            session_id: row.session_id,
            name: row.name,
            mime: row.mime,
            kind: row.kind,
            size: row.size,
            sha256: row.sha256,
            created_at: row.created_at,
        }
    }
}

/// Gives a file to a session
///
/// It is sent with a prompt that names its id, and goes after a day where none does.
#[utoipa::path(
    post, path = "/api/v1/attachments", tag = "attachments", params(ForSession),
    request_body(content = FileToAttach, content_type = "multipart/form-data"),
    responses((status = 201, description = "The attachment", body = AttachmentBody)),
)]
pub async fn create(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(ForSession { session }): Query<ForSession>,
    Pieces { files, .. }: Pieces,
) -> Result<HttpResponse, Error> {
    let id: Option<SessionId> = session.and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Error::field("session", "Name the session that it is for."))?;
    let session = Session::find_owned(&app.db, user.id, id).await?;
    let session = session.ok_or_else(|| Error::field("session", "There is no such session."))?;
    if files.len() != 1 {
        return Err(Error::field("file", "Send one file."));
    }
    let mut rows = attachments::add(&app.engine, &user, &session, files).await?;
    let row = rows.pop().ok_or_else(|| anyhow::anyhow!("a file without a row"))?;
    json(StatusCode::CREATED, &AttachmentBody::from(row))
}

/// Tells whether one's own attachments have some content already
#[utoipa::path(
    get, path = "/api/v1/attachments/exists", tag = "attachments", params(ByContent),
    responses((status = 200, description = "Whether it need not be sent again", body = ExistsBody)),
)]
pub async fn exists(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(ByContent { sha256 }): Query<ByContent>,
) -> Result<HttpResponse, Error> {
    let is_hash = |it: &String| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit());
    let sha256 = sha256.map(|it| it.to_ascii_lowercase()).filter(is_hash);
    let sha256 = sha256.ok_or_else(|| Error::field("sha256", "Give 64 hexadecimal digits."))?;
    let found = store::attachments::with_content(&app.db, user.id, &sha256).await?;
    let attachment = found.map(AttachmentBody::from);
    json(StatusCode::OK, &ExistsBody { exists: attachment.is_some(), attachment })
}

/// Answers with the content of an attachment
#[utoipa::path(
    get, path = "/api/v1/attachments/{id}", tag = "attachments",
    responses(
        (status = 200, description = "The content, with its type", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "It is what `If-None-Match` names"),
    ),
)]
pub async fn show(
    app: Data<App>,
    request: HttpRequest,
    attachment: Owned<Attachment>,
) -> Result<HttpResponse, Error> {
    page::show(app, request, attachment).await
}
