//! The pages of a project.

pub mod adding;
mod working_tree;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    error::Error,
    extract::{CurrentUser, Form, Owned, Wants},
    files::{encoded, not_shown},
    page::{Frame, html, see_other},
    words::{self, SessionRow},
};
use crate::{
    app::{Actor, App},
    domain::{ids::ProjectId, trust::Trust},
    engine::{
        projects::{self, RenameError, instructions},
        refused::Refused,
        tree::{self, Kind, Listing},
    },
    store::{
        asks,
        entity::{project::Model as Project, user::Model as User},
        sessions,
    },
};
use working_tree::Tree;

/// Sessions that are listed.
const SESSIONS: u64 = 50;
/// Entries of the project's own folder that are listed.
const FILES: usize = 40;
/// Asks that are counted for the frame.
const ASKS: u64 = 100;

#[derive(Template)]
#[template(path = "projects/show.html")]
struct Show {
    frame: Frame,
    project: Project,
    tab: &'static str,
    owner: String,
    trusted: bool,
    instructions: Vec<String>,
    rows: Rows,
    session_count: u64,
    branch: Option<String>,
    files: Result<Vec<FileRow>, String>,
    tree: Tree,
    rename: Option<Rename>,
}

/// The sessions of a project, the one changed last first.
#[derive(Template)]
#[template(path = "projects/rows.html")]
struct Rows {
    frame: Frame,
    project: ProjectId,
    sessions: Vec<SessionRow>,
}

impl Rows {
    async fn of(app: &App, frame: &Frame, project: ProjectId) -> Result<Self, Error> {
        let sessions = sessions::of_project(&app.db, project, SESSIONS).await?;
        let sessions = sessions.iter().map(SessionRow::of).collect();
        Ok(Self { frame: frame.clone(), project, sessions })
    }
}

/// A name that was refused.
struct Rename {
    name: String,
    error: String,
}

struct FileRow {
    icon: &'static str,
    name: String,
    href: Option<String>,
    changed: usize,
    ignored: bool,
    instructions: bool,
}

/// `GET /projects/{id}`. htmx gets the list of sessions.
pub async fn show(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    wants: Wants,
) -> Result<HttpResponse, Error> {
    if wants == Wants::Fragment {
        return html(Rows::of(&app, &frame, project.id).await?);
    }
    let project = app.projects.opened(project).await?;
    html(overview(&app, frame, user, project, None).await?)
}

async fn overview(
    app: &App,
    frame: Frame,
    user: User,
    project: Project,
    rename: Option<Rename>,
) -> Result<Show, Error> {
    let waiting = asks::open(&app.db, user.id, ASKS).await?.len();
    let (tree, listing) =
        tokio::join!(app.projects.standing(&project), tree::list(&project.path, ""));
    let prefix = format!("{}/projects/{}", frame.base, project.id);
    let tree = Tree::of(&project, &prefix, tree);
    let found = instructions(&project);
    let files = match listing {
        Ok(listing) => Ok(file_rows(&listing, &prefix, &found, &tree)),
        Err(err) => match not_shown(err) {
            Error::Conflict(why) => Err(why),
            err => return Err(err),
        },
    };
    let branch = match &tree {
        Tree::Known(known) => known.branch.clone(),
        Tree::None | Tree::Unknown(_) => None,
    };
    let session_count = sessions::count(&app.db, project.id).await?;
    Ok(Show {
        owner: user.name,
        trusted: project.trust_status == Trust::Trusted,
        instructions: found,
        session_count,
        branch,
        files,
        tree,
        rename,
        tab: "overview",
        rows: Rows::of(app, &frame, project.id).await?,
        frame: frame.waiting(waiting),
        project,
    })
}

fn file_rows(
    listing: &Listing,
    prefix: &str,
    instructions: &[String],
    tree: &Tree,
) -> Vec<FileRow> {
    let rows = listing.entries.iter().take(FILES).map(|entry| {
        let folder = entry.kind == Kind::Folder;
        let path = entry.path.as_deref().filter(|_| entry.kind != Kind::Other);
        let page = if folder { "files" } else { "file" };
        FileRow {
            icon: if folder { "folder" } else { "file" },
            name: entry.name.clone(),
            href: path.map(|path| format!("{prefix}/{page}?path={}", encoded(path))),
            changed: path.map_or(0, |path| tree.changed_at(path)),
            ignored: entry.ignored,
            instructions: path.is_some_and(|path| instructions.iter().any(|it| it == path)),
        }
    });
    rows.collect()
}

#[derive(Debug, Deserialize)]
pub struct Naming {
    name: String,
}

/// `POST /projects/{id}/name`
pub async fn rename(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    Form(Naming { name }): Form<Naming>,
) -> Result<HttpResponse, Error> {
    let path = format!("/projects/{}", project.id);
    match app.projects.rename(project.clone(), &name).await {
        Ok(_) => Ok(see_other(&app, &path)),
        Err(RenameError::Store(err)) => Err(err.into()),
        Err(RenameError::Refused(refusal)) => {
            let rename = Rename { name, error: refusal.to_string() };
            let page = overview(&app, frame, user, project, Some(rename)).await?;
            refused(html(page)?)
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Trusting {
    trust: Option<String>,
}

/// `POST /projects/{id}/trust`
pub async fn trust(
    Owned(project): Owned<Project>,
    by: Actor,
    app: Data<App>,
    Form(Trusting { trust }): Form<Trusting>,
) -> Result<HttpResponse, Error> {
    let trust = match trust {
        Some(word) => word.parse().map_err(|_| Error::field("trust", "Choose trusted or not."))?,
        None => Trust::Trusted,
    };
    let project = set_trust(&app, &by, project, trust).await?;
    Ok(see_other(&app, &format!("/projects/{}", project.id)))
}

/// Trusts a project or ceases to, and writes down who did.
pub async fn set_trust(
    app: &App,
    by: &Actor,
    project: Project,
    trust: Trust,
) -> Result<Project, Error> {
    let changed = project.trust_status != trust;
    let project = app.projects.set_trust(project, trust).await?;
    if changed {
        let action = match trust {
            Trust::Trusted => "project.trusted",
            Trust::Untrusted => "project.untrusted",
        };
        note(app, by, action, &project).await?;
    }
    Ok(project)
}

/// Writes down what somebody did to a project.
pub async fn note(
    app: &App,
    by: &Actor,
    action: &'static str,
    project: &Project,
) -> Result<(), Error> {
    let detail = serde_json::json!({ "name": project.name, "path": project.path });
    Ok(app.audit(by, action, ("project", project.id.to_string()), detail).await?)
}

#[derive(Template)]
#[template(path = "projects/remove.html")]
struct Remove {
    frame: Frame,
    project: Project,
    sessions: String,
    refused: Option<String>,
}

/// `GET /projects/{id}/remove`: what goes and what stays.
pub async fn confirm_removal(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
) -> Result<HttpResponse, Error> {
    html(removal(&app, frame, &user, project, None).await?)
}

/// `POST /projects/{id}/remove`
pub async fn remove(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    by: Actor,
    app: Data<App>,
    frame: Frame,
) -> Result<HttpResponse, Error> {
    match projects::remove(&app.engine, &project).await {
        Ok(_) => {
            note(&app, &by, "project.removed", &project).await?;
            Ok(see_other(&app, "/"))
        }
        Err(Refused::Conflict(why)) => {
            let page = removal(&app, frame, &user, project, Some(why)).await?;
            let mut answer = html(page)?;
            *answer.status_mut() = StatusCode::CONFLICT;
            Ok(answer)
        }
        Err(refused) => Err(refused.into()),
    }
}

async fn removal(
    app: &App,
    frame: Frame,
    user: &User,
    project: Project,
    refused: Option<String>,
) -> Result<Remove, Error> {
    let frame = frame.waiting(asks::open(&app.db, user.id, ASKS).await?.len());
    let kept = projects::kept(&app.engine, &project).await?;
    let sessions = match kept.sessions {
        0 => "Nothing: it has no sessions".to_owned(),
        number => words::count(number, "session"),
    };
    Ok(Remove { frame, project, sessions, refused })
}

/// The page of a form that needs another look.
fn refused(mut page: HttpResponse) -> Result<HttpResponse, Error> {
    *page.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(page)
}
