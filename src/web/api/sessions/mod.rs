//! Sessions, their prompts, messages and changes.

mod body;
pub mod events;
pub mod history;
pub mod prompts;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use utoipa::OpenApi;

pub use self::body::{MessageBody, PartBody, SessionBody, dollars};
use self::body::{SessionToChange, SessionToCreate};
use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json, Owned, Query},
    },
    done, json,
    page::{Page, PageQuery},
};
use crate::{
    app::App,
    domain::ids::SessionId,
    engine::sessions::{self, Change, New},
    store::{
        self, OwnedRow as _,
        entity::{project::Model as Project, session::Model as Session},
    },
};

#[derive(OpenApi)]
#[openapi(paths(
    index,
    create,
    show,
    change,
    remove,
    prompts::send,
    prompts::abort,
    prompts::stop_job,
    prompts::queue,
    prompts::edit,
    prompts::remove,
    history::messages,
    history::todos,
    history::usage,
    history::diff,
    history::undo,
    history::redo,
    events::stream,
))]
pub struct Doc;

/// Lists the sessions of a project
#[utoipa::path(
    get, path = "/api/v1/projects/{id}/sessions", tag = "sessions", params(PageQuery),
    responses((status = 200, description = "The sessions, newest first", body = Page<SessionBody>)),
)]
pub async fn index(
    app: Data<App>,
    Owned(project): Owned<Project>,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<SessionId>()?;
    let rows = store::sessions::page(&app.db, project.id, bounds.after, bounds.rows()).await?;
    json(StatusCode::OK, &bounds.page(rows, |row| row.id, SessionBody::from))
}

/// Begins a session
#[utoipa::path(
    post, path = "/api/v1/projects/{id}/sessions", tag = "sessions", request_body = SessionToCreate,
    responses((status = 201, description = "The session; nothing runs yet", body = SessionBody)),
)]
pub async fn create(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(project): Owned<Project>,
    Json(wish): Json<SessionToCreate>,
) -> Result<HttpResponse, Error> {
    let SessionToCreate { name, agent, model, max_steps, effort, temperature } = wish;
    let new = New { name, agent, model, max_steps, effort, temperature };
    let session = sessions::create(&app.engine, &user, &project, new).await?;
    json(StatusCode::CREATED, &SessionBody::from(session))
}

/// Shows a session
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}", tag = "sessions",
    responses((status = 200, description = "The session", body = SessionBody)),
)]
pub async fn show(Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &SessionBody::from(session))
}

/// Changes a session
#[utoipa::path(
    patch, path = "/api/v1/sessions/{id}", tag = "sessions", request_body = SessionToChange,
    responses((status = 200, description = "The session as it is now", body = SessionBody)),
)]
pub async fn change(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Json(wish): Json<SessionToChange>,
) -> Result<HttpResponse, Error> {
    let SessionToChange { name, agent, model, max_steps, effort, temperature, archived } = wish;
    let change = Change { name, agent, model, max_steps, effort, temperature, archived };
    sessions::change(&app.engine, &user, &session, change).await?;
    let session = Session::find_owned(&app.db, user.id, session.id).await?;
    json(StatusCode::OK, &SessionBody::from(session.ok_or(Error::NotFound)?))
}

/// Removes a session
///
/// What runs in it is stopped first. The files it changed stay as they are.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{id}", tag = "sessions",
    responses((status = 204, description = "It is gone")),
)]
pub async fn remove(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    sessions::delete(&app.engine, session).await?;
    Ok(done())
}
