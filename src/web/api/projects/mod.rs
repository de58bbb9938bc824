//! Projects.

pub mod files;

use std::time::Duration;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{
    super::{
        error::{Error, Fields},
        extract::{CurrentUser, Json, JsonOrNothing, Owned, Query},
        projects::{adding::explain, note, set_trust},
    },
    done, json,
    page::{Page, PageQuery},
    present,
};
use crate::{
    app::{Actor, App},
    domain::{
        ids::{ProjectId, UserId},
        trust::Trust,
    },
    engine::projects::{AddError, New, RenameError, instructions, remove},
    store::{entity::project::Model as Row, projects},
};

#[derive(OpenApi)]
#[openapi(paths(
    index,
    create,
    show,
    change,
    delete,
    trust,
    files::tree,
    files::file,
    files::status
))]
pub struct Doc;

/// How long a request waits for a clone.
const CLONE_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A folder that somebody works on
#[derive(Serialize, ToSchema)]
pub struct Project {
    id: ProjectId,
    owner_id: UserId,
    name: String,
    /// Absolute, with symbolic links resolved
    path: String,
    #[schema(required)]
    default_branch: Option<String>,
    /// The instruction files that were found, the one that counts most first
    instructions: Vec<String>,
    trust_status: Trust,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    #[schema(required)]
    opened_at: Option<DateTime<Utc>>,
}

impl From<Row> for Project {
    fn from(row: Row) -> Self {
        Self {
            instructions: instructions(&row),
            id: row.id,
            owner_id: row.owner_id,
            name: row.name,
            path: row.path,
            default_branch: row.default_branch,
            trust_status: row.trust_status,
            created_at: row.created_at,
            updated_at: row.updated_at,
            opened_at: row.opened_at,
        }
    }
}

/// A project to be added: with one of path, clone_url and empty
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectToAdd {
    /// Left out, it is that of the folder or the repository
    #[schema(min_length = 1, max_length = 80)]
    name: Option<String>,
    /// A folder on the server, below one of the roots that the operator has named
    path: Option<String>,
    /// A repository to clone; the answer comes when that is done
    #[schema(max_length = 2000)]
    clone_url: Option<String>,
    /// True for a new repository without files
    empty: Option<bool>,
}

impl ProjectToAdd {
    /// The name and where it comes from, or what is wrong.
    fn read(self) -> Result<(String, New, &'static str), Error> {
        let name = self.name.unwrap_or_default();
        match (self.path, self.clone_url, self.empty.unwrap_or(false)) {
            (Some(path), None, false) => Ok((name, New::Folder { path }, "folder")),
            (None, Some(url), false) => Ok((name, New::Clone { url }, "clone")),
            (None, None, true) => Ok((name, New::Empty, "empty")),
            (path, url, _) => {
                let message = "Give one of path, clone_url and empty: true.";
                let field = match (path, url) {
                    (Some(_), _) => "path",
                    (None, Some(_)) => "clone_url",
                    (None, None) => "empty",
                };
                Err(Error::field(field, message))
            }
        }
    }
}

/// What is to be changed of a project; what is left out stays
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 80, value_type = String, required = false)]
    name: Option<String>,
}

/// Whether what a project's folder says may steer agents
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustChange {
    /// Left out, the project becomes trusted
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Trust, required = false)]
    trust_status: Option<Trust>,
}

/// Lists your projects
#[utoipa::path(
    get, path = "/api/v1/projects", tag = "projects", params(PageQuery),
    responses((status = 200, description = "Projects, in the order they were added", body = Page<Project>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<ProjectId>()?;
    let rows = projects::page(&app.db, user.id, bounds.after, bounds.rows()).await?;
    json(StatusCode::OK, &bounds.page(rows, |row| row.id, Project::from))
}

/// Adds a project
///
/// A clone is waited for, five minutes at most.
#[utoipa::path(
    post, path = "/api/v1/projects", tag = "projects", request_body = ProjectToAdd,
    responses((status = 201, description = "The project", body = Project)),
)]
pub async fn create(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Json(wish): Json<ProjectToAdd>,
) -> Result<HttpResponse, Error> {
    let (name, new, from) = wish.read()?;
    match app.projects.add(user.id, new, &name, CLONE_PATIENCE).await {
        Ok(project) => json(StatusCode::CREATED, &Project::from(project)),
        Err(err @ AddError::Busy(_)) => Err(Error::Conflict(err.to_string())),
        Err(err) => Err(match explain(err, from)? {
            (Some(field), text) => Error::Fields(Fields::from([(field, text)])),
            (None, text) => Error::Unavailable(text),
        }),
    }
}

/// Shows a project
#[utoipa::path(
    get, path = "/api/v1/projects/{id}", tag = "projects",
    responses((status = 200, description = "The project", body = Project)),
)]
pub async fn show(Owned(project): Owned<Row>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Project::from(project))
}

/// Changes a project
#[utoipa::path(
    patch, path = "/api/v1/projects/{id}", tag = "projects", request_body = ProjectChange,
    responses((status = 200, description = "The project as it is now", body = Project)),
)]
pub async fn change(
    app: Data<App>,
    Owned(mut project): Owned<Row>,
    Json(wish): Json<ProjectChange>,
) -> Result<HttpResponse, Error> {
    if let Some(name) = wish.name {
        project = app.projects.rename(project, &name).await.map_err(|err| match err {
            RenameError::Refused(refusal) => Error::field("name", refusal),
            RenameError::Store(err) => err.into(),
        })?;
    }
    json(StatusCode::OK, &Project::from(project))
}

/// Removes a project with its sessions, and not one file of its folder
#[utoipa::path(
    delete, path = "/api/v1/projects/{id}", tag = "projects",
    responses((status = 204, description = "It is gone; its folder is as it was")),
)]
pub async fn delete(
    app: Data<App>,
    by: Actor,
    Owned(project): Owned<Row>,
) -> Result<HttpResponse, Error> {
    remove(&app.engine, &project).await?;
    note(&app, &by, "project.removed", &project).await?;
    Ok(done())
}

/// Trusts a project, or ceases to
#[utoipa::path(
    post, path = "/api/v1/projects/{id}/trust", tag = "projects",
    request_body = Option<TrustChange>,
    responses((status = 200, description = "The project as it is now", body = Project)),
)]
pub async fn trust(
    app: Data<App>,
    by: Actor,
    Owned(project): Owned<Row>,
    JsonOrNothing(wish): JsonOrNothing<TrustChange>,
) -> Result<HttpResponse, Error> {
    let trust = wish.trust_status.unwrap_or(Trust::Trusted);
    let project = set_trust(&app, &by, project, trust).await?;
    json(StatusCode::OK, &Project::from(project))
}
