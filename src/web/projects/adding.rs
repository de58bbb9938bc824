//! The form that adds a project, and the clone that it may start.

use std::{collections::BTreeMap, time::Duration};

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::ASKS;
use crate::{
    adapters::git::GitError,
    app::App,
    domain::{ids::ProjectId, project::Refusal},
    engine::projects::{AddError, Cloning, New, Progress},
    store::{asks, entity::user::Model as User},
    web::{
        error::Error,
        extract::{CurrentUser, Form, Query, Wants},
        page::{Frame, html, see_other},
    },
};

/// How long making an empty repository, or taking a folder, may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default, Template)]
#[template(path = "projects/new.html", blocks = ["form"])]
struct NewPage {
    frame: Frame,
    roots: Vec<String>,
    from: String,
    clone_url: String,
    path: String,
    name: String,
    /// What is wrong, by the name of the field.
    errors: BTreeMap<&'static str, String>,
    /// What is wrong with no field in particular.
    problem: Option<String>,
    cloning: Option<CloneView>,
}

struct CloneView {
    id: ProjectId,
    url: String,
    name: String,
    said: String,
    failed: bool,
}

#[derive(Debug, Deserialize)]
pub struct Asked {
    /// A clone to show.
    clone: Option<String>,
    clone_url: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct NewProject {
    #[serde(default)]
    from: String,
    #[serde(default)]
    clone_url: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    name: String,
}

/// `GET /projects/new`: the form, or how a clone comes along.
pub async fn form(
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Query(asked): Query<Asked>,
) -> Result<HttpResponse, Error> {
    let mut page = blank(&app, frame, &user).await?;
    if let Some(id) = asked.clone {
        let id: ProjectId = id.parse().map_err(|_| Error::NotFound)?;
        let cloning = app.projects.cloning(user.id, id).ok_or(Error::NotFound)?;
        if cloning.progress == Progress::Done {
            return Ok(onwards(&app, wants, &format!("/projects/{id}")));
        }
        page.cloning = Some(CloneView::of(cloning));
    }
    page.clone_url = asked.clone_url.unwrap_or_default();
    page.name = asked.name.unwrap_or_default();
    answer(page, wants, StatusCode::OK)
}

/// `POST /projects`
pub async fn create(
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Form(form): Form<NewProject>,
) -> Result<HttpResponse, Error> {
    let NewProject { from, clone_url, path, name } = form;
    let added = match from.as_str() {
        "clone" => {
            let started = app.projects.start_clone(user.id, clone_url.clone(), &name).await;
            started.map(|id| format!("/projects/new?clone={id}"))
        }
        "folder" | "empty" => {
            let new = if from == "empty" { New::Empty } else { New::Folder { path: path.clone() } };
            let added = app.projects.add(user.id, new, &name, PATIENCE).await;
            added.map(|project| format!("/projects/{}", project.id))
        }
        _ => return Err(Error::field("from", "Choose where the project is.")),
    };
    let err = match added {
        Ok(path) => return Ok(onwards(&app, wants, &path)),
        Err(err) => err,
    };
    let mut page = NewPage { from, clone_url, path, name, ..blank(&app, frame, &user).await? };
    match explain(err, &page.from)? {
        (Some(field), text) => drop(page.errors.insert(field, text)),
        (None, text) => page.problem = Some(text),
    }
    answer(page, wants, StatusCode::UNPROCESSABLE_ENTITY)
}

/// What a person hears of an error, and with which field.
///
/// Errors of the server's own come back as they are.
pub fn explain(err: AddError, from: &str) -> Result<(Option<&'static str>, String), Error> {
    let text = err.to_string();
    Ok(match err {
        AddError::Refused(Refusal::Name(_) | Refusal::NameCharacters) => (Some("name"), text),
        AddError::Refused(Refusal::Url(_)) => (Some("clone_url"), text),
        AddError::Refused(_) if from == "folder" => (Some("path"), text),
        AddError::Refused(_) | AddError::Git(GitError::Failed(_) | GitError::Refused(_))
            if from == "clone" =>
        {
            (Some("clone_url"), text)
        }
        AddError::Refused(_) | AddError::Git(_) | AddError::Busy(_) => (None, text),
        AddError::Folder(err) => return Err(anyhow::Error::new(err).context(text).into()),
        AddError::Store(err) => return Err(err.into()),
    })
}

impl CloneView {
    fn of(cloning: Cloning) -> Self {
        let (said, failed) = match cloning.progress {
            Progress::Running(line) => (line, false),
            Progress::Failed(why) => (why, true),
            Progress::Done => (String::new(), false),
        };
        Self { id: cloning.id, url: cloning.url, name: cloning.name, said, failed }
    }
}

async fn blank(app: &App, frame: Frame, user: &User) -> Result<NewPage, Error> {
    let roots = app.config.projects.roots.iter();
    Ok(NewPage {
        frame: frame.waiting(asks::open(&app.db, user.id, ASKS).await?.len()),
        roots: roots.map(|root| root.display().to_string()).collect(),
        from: "clone".into(),
        ..NewPage::default()
    })
}

fn answer(page: NewPage, wants: Wants, status: StatusCode) -> Result<HttpResponse, Error> {
    let mut answer = match wants {
        Wants::Page => html(page)?,
        Wants::Fragment => html(page.as_form())?,
    };
    *answer.status_mut() = status;
    Ok(answer)
}

/// To another page, also where htmx asked for a piece of this one.
fn onwards(app: &App, wants: Wants, path: &str) -> HttpResponse {
    match wants {
        Wants::Page => see_other(app, path),
        Wants::Fragment => {
            let target = format!("{}{path}", app.config.base_path());
            HttpResponse::Ok().insert_header(("hx-redirect", target)).finish()
        }
    }
}
