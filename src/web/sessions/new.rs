//! Beginning a session.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    picker::{self, Picker, Told},
    side::{self, Group},
};
use crate::{
    app::App,
    domain::{ids::ProjectId, session::Queued},
    engine::{
        attachments::{self, Incoming},
        refused::Refused,
        sessions::{self, AGENTS, New, Prompt},
    },
    store::{
        OwnedRow as _,
        entity::{project::Model as Project, session::Model as Session, user::Model as User},
    },
    web::{
        error::Error,
        extract::{CurrentUser, Owned, Query},
        page::{Frame, html, see_other},
        upload::Posted,
    },
};

#[derive(Template)]
#[template(path = "sessions/new.html")]
struct Beginning {
    frame: Frame,
    project_id: String,
    project: String,
    branch: Option<String>,
    /// No session is open here.
    session_id: String,
    groups: Vec<Group>,
    agents: &'static [&'static str],
    agent: String,
    picker: Picker,
    model: String,
    text: String,
    refused: Option<String>,
}

/// What the form may come filled with.
#[derive(Default, Deserialize)]
pub struct Prefilled {
    text: Option<String>,
    model: Option<String>,
}

/// `GET /projects/{id}/sessions/new`
pub async fn form(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Owned(project): Owned<Project>,
    Query(Prefilled { text, model }): Query<Prefilled>,
) -> Result<HttpResponse, Error> {
    let asked = Begin { text: text.unwrap_or_default(), model, ..Begin::default() };
    html(page(&app, frame, &user, &project, asked).await?)
}

#[derive(Default, Deserialize)]
pub struct Begin {
    /// The project's id, where the address does not name it.
    project: Option<String>,
    text: String,
    agent: Option<String>,
    model: Option<String>,
    /// The model that the next two were drawn for.
    settings_for: Option<String>,
    effort: Option<String>,
    temperature: Option<String>,
}

/// `POST /projects/{id}/sessions`
pub async fn create(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Owned(project): Owned<Project>,
    asked: Posted<Begin>,
) -> Result<HttpResponse, Error> {
    begin(&app, frame, &user, &project, asked).await
}

/// `POST /sessions`
pub async fn create_anywhere(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    asked: Posted<Begin>,
) -> Result<HttpResponse, Error> {
    let id: Option<ProjectId> = asked.form.project.as_deref().and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Error::field("project", "Choose a project."))?;
    let project = Project::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
    begin(&app, frame, &user, &project, asked).await
}

async fn begin(
    app: &App,
    frame: Frame,
    user: &User,
    project: &Project,
    Posted { form: asked, files }: Posted<Begin>,
) -> Result<HttpResponse, Error> {
    let model = asked.model.as_deref().unwrap_or_default();
    let drawn = (&asked.settings_for, &asked.effort, &asked.temperature);
    let settings = picker::entered(drawn, model)?.unwrap_or_default();
    let refused = match started(app, user, project, (&asked, settings), files).await {
        Ok(session) => return Ok(see_other(app, &format!("/sessions/{}", session.id))),
        Err(Refused::Fields(fields)) => fields.into_values().collect::<Vec<_>>().join(" "),
        Err(Refused::Conflict(text)) => text,
        Err(refused) => return Err(refused.into()),
    };
    let mut page = page(app, frame, user, project, asked).await?;
    page.refused = Some(refused);
    let mut answer = html(page)?;
    *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(answer)
}

async fn started(
    app: &App,
    user: &User,
    project: &Project,
    (asked, (effort, temperature)): (&Begin, Told),
    files: Vec<Incoming>,
) -> Result<Session, Refused> {
    // Looked at first, so that no session is left behind that was never prompted.
    sessions::check_text(&asked.text, files.len())?;
    attachments::check(&app.engine, &files)?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (agent, model) = (given(&asked.agent), given(&asked.model));
    let new = New { agent, model, effort, temperature, ..New::default() };
    let session = sessions::create(&app.engine, user, project, new).await?;
    let given = attachments::add(&app.engine, user, &session, files).await?;
    let attachments = given.into_iter().map(|it| it.id).collect();
    let prompt = Prompt { text: asked.text.clone(), attachments, when: Queued::Queue };
    sessions::send(&app.engine, user, &session, prompt).await?;
    Ok(session)
}

async fn page(
    app: &App,
    frame: Frame,
    user: &User,
    project: &Project,
    asked: Begin,
) -> Result<Beginning, Error> {
    let mut model = asked.model.unwrap_or_default();
    if model.is_empty() {
        let recent = crate::store::sessions::recent(&app.db, user.id, 1).await?;
        model = recent.first().and_then(Session::model_name).unwrap_or_default();
    }
    let whose = format!("project={}", project.id);
    let mut picker = Picker::of(app, user.id, whose.clone(), &model, None).await?;
    if !picker.chosen {
        picker = Picker::of(app, user.id, whose, "", None).await?;
    }
    let refused = (!picker.chosen)
        .then(|| "No model can be used yet. An administrator adds a provider first.".to_owned());
    Ok(Beginning {
        frame,
        project_id: project.id.to_string(),
        project: project.name.clone(),
        branch: project.default_branch.clone(),
        session_id: String::new(),
        groups: side::list(&app.db, project.id, app.clock.now()).await?,
        agents: AGENTS,
        agent: asked.agent.unwrap_or_else(|| AGENTS[0].to_owned()),
        picker,
        model: String::new(),
        text: asked.text,
        refused,
    })
}
