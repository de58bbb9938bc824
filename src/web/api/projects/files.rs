//! The files of a project, and how its work tree stands.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::{
    super::{
        error::Error,
        extract::{Owned, Query},
        files::not_shown,
    },
    json,
};
use crate::{
    adapters::{git::GitError, sandbox::SpawnError},
    app::App,
    engine::{
        projects::LookError,
        tree::{self, Body, Kind},
    },
    store::entity::project::Model as Row,
};

/// Which folder is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FolderQuery {
    /// Relative to the project; left out, it is the project's own folder
    #[serde(default)]
    #[param(max_length = 4096)]
    path: String,
}

/// Which file is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FileQuery {
    /// Relative to the project
    #[param(max_length = 4096)]
    path: String,
}

/// A folder of a project: folders first, each by name
#[derive(Serialize, ToSchema)]
pub struct Folder {
    path: String,
    items: Vec<TreeEntry>,
    /// Always null: a folder is one page of at most 2,000 entries
    #[schema(required)]
    next: Option<String>,
    /// How many entries there are besides those
    left_out: usize,
}

/// A file or folder in a folder
#[derive(Serialize, ToSchema)]
pub struct TreeEntry {
    /// For people: bytes that are not UTF-8 and control characters are shown as �
    name: String,
    /// Relative to the project; null where the name is not UTF-8
    #[schema(required)]
    path: Option<String>,
    kind: EntryKind,
    /// Whether git leaves it out
    ignored: bool,
    /// Whether it is a symbolic link
    link: bool,
}

/// What an entry of a folder is
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    Folder,
    File,
    /// Neither, or a link that leads nowhere or out of the project
    Other,
}

/// A file of a project
#[derive(Serialize, ToSchema)]
pub struct FileContent {
    path: String,
    /// In bytes
    size: u64,
    kind: FileKind,
    /// Null for binary and large files
    #[schema(required)]
    content: Option<String>,
}

/// How a file is answered
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FileKind {
    Text,
    /// Text in which bytes that are not UTF-8 are replaced by �
    Lossy,
    Binary,
    /// Over one MiB
    TooLarge,
}

/// A work tree compared with its last commit
#[derive(Serialize, ToSchema)]
pub struct WorkTree {
    /// Whether the folder has a git repository; if not, the rest is empty
    repository: bool,
    /// Null where a commit is checked out and no branch
    #[schema(required)]
    branch: Option<String>,
    /// The commit; null before the first one
    #[schema(required)]
    head: Option<String>,
    #[schema(required)]
    upstream: Option<String>,
    /// Commits that the upstream does not have; null without one
    #[schema(required)]
    ahead: Option<u32>,
    /// Commits that only the upstream has; null without one
    #[schema(required)]
    behind: Option<u32>,
    changes: Vec<Changed>,
    /// Whether there are more changes than are listed
    more: bool,
}

/// A path that differs from the last commit. The states are those of `git status`
#[derive(Serialize, ToSchema)]
pub struct Changed {
    path: String,
    /// Where a renamed or copied file comes from
    #[schema(required)]
    original: Option<String>,
    /// A letter, or a dot where nothing changed
    #[schema(min_length = 1, max_length = 1)]
    index: String,
    /// A letter, or a dot where nothing changed
    #[schema(min_length = 1, max_length = 1)]
    worktree: String,
}

/// Lists a folder of a project
#[utoipa::path(
    get, path = "/api/v1/projects/{id}/tree", tag = "projects", params(FolderQuery),
    responses((status = 200, description = "The folder", body = Folder)),
)]
pub async fn tree(
    Owned(project): Owned<Row>,
    Query(FolderQuery { path }): Query<FolderQuery>,
) -> Result<HttpResponse, Error> {
    let listing = tree::list(&project.path, &path).await.map_err(not_shown)?;
    let items = listing.entries.into_iter().map(|entry| TreeEntry {
        name: entry.name,
        path: entry.path,
        kind: match entry.kind {
            Kind::Folder => EntryKind::Folder,
            Kind::File => EntryKind::File,
            Kind::Other => EntryKind::Other,
        },
        ignored: entry.ignored,
        link: entry.link,
    });
    let left_out = listing.left_out;
    json(StatusCode::OK, &Folder { path, items: items.collect(), next: None, left_out })
}

/// Shows a file of a project
#[utoipa::path(
    get, path = "/api/v1/projects/{id}/file", tag = "projects", params(FileQuery),
    responses((status = 200, description = "The file", body = FileContent)),
)]
pub async fn file(
    Owned(project): Owned<Row>,
    Query(FileQuery { path }): Query<FileQuery>,
) -> Result<HttpResponse, Error> {
    let viewed = tree::read(&project.path, &path).await.map_err(not_shown)?;
    let (kind, content) = match viewed.body {
        Body::Text(text) => (FileKind::Text, Some(text)),
        Body::Lossy(text) => (FileKind::Lossy, Some(text)),
        Body::Binary => (FileKind::Binary, None),
        Body::TooLarge => (FileKind::TooLarge, None),
    };
    json(StatusCode::OK, &FileContent { path, size: viewed.size, kind, content })
}

/// Tells how the work tree of a project stands
#[utoipa::path(
    get, path = "/api/v1/projects/{id}/status", tag = "projects",
    responses((status = 200, description = "The work tree", body = WorkTree)),
)]
pub async fn status(app: Data<App>, Owned(project): Owned<Row>) -> Result<HttpResponse, Error> {
    let standing = app.projects.standing(&project).await.map_err(|err| {
        let text = err.to_string();
        match err {
            LookError::Gone | LookError::Git(GitError::Failed(_) | GitError::Refused(_)) => {
                Error::Conflict(text)
            }
            LookError::Git(GitError::TimedOut | GitError::Sandbox(SpawnError::Unconfined(_))) => {
                Error::Unavailable(text)
            }
            LookError::Git(err) => Error::Internal(err.into()),
        }
    })?;
    let repository = standing.is_some();
    let status = standing.map(|standing| standing.status).unwrap_or_default();
    let changes = status.entries.into_iter().map(|entry| Changed {
        path: entry.path,
        original: entry.original,
        index: entry.index.to_string(),
        worktree: entry.worktree.to_string(),
    });
    json(
        StatusCode::OK,
        &WorkTree {
            repository,
            branch: status.branch,
            head: status.head,
            upstream: status.upstream,
            ahead: status.ahead,
            behind: status.behind,
            changes: changes.collect(),
            more: status.is_cut,
        },
    )
}
