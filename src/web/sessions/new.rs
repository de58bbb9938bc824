//! Beginning a session.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::side::{self, Group, Offer};
use crate::{
    app::App,
    domain::{ids::ProjectId, session::Queued},
    engine::{
        refused::Refused,
        sessions::{self, AGENTS, New},
    },
    store::{
        OwnedRow as _,
        entity::{project::Model as Project, session::Model as Session, user::Model as User},
    },
    web::{
        error::Error,
        extract::{CurrentUser, Form, Owned, Query},
        page::{Frame, html, see_other},
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
    providers: Vec<Offer>,
    chosen: bool,
    model: String,
    text: String,
    refused: Option<String>,
}

/// What the form may come filled with.
#[derive(Default, Deserialize)]
pub struct Prefilled {
    text: Option<String>,
}

/// `GET /projects/{id}/sessions/new`
pub async fn form(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Owned(project): Owned<Project>,
    Query(Prefilled { text }): Query<Prefilled>,
) -> Result<HttpResponse, Error> {
    let asked = Begin { project: None, text: text.unwrap_or_default(), agent: None, model: None };
    html(page(&app, frame, &user, &project, asked).await?)
}

#[derive(Deserialize)]
pub struct Begin {
    /// The project's id, where the address does not name it.
    project: Option<String>,
    text: String,
    agent: Option<String>,
    model: Option<String>,
}

/// `POST /projects/{id}/sessions`
pub async fn create(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Owned(project): Owned<Project>,
    Form(asked): Form<Begin>,
) -> Result<HttpResponse, Error> {
    begin(&app, frame, &user, &project, asked).await
}

/// `POST /sessions`
pub async fn create_anywhere(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Form(asked): Form<Begin>,
) -> Result<HttpResponse, Error> {
    let id: Option<ProjectId> = asked.project.as_deref().and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Error::field("project", "Choose a project."))?;
    let project = Project::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
    begin(&app, frame, &user, &project, asked).await
}

async fn begin(
    app: &App,
    frame: Frame,
    user: &User,
    project: &Project,
    asked: Begin,
) -> Result<HttpResponse, Error> {
    let refused = match started(app, user, project, &asked).await {
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
    asked: &Begin,
) -> Result<Session, Refused> {
    // Looked at first, so that no session is left behind that was never prompted.
    sessions::check_prompt(&asked.text)?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let new = New { agent: given(&asked.agent), model: given(&asked.model), ..New::default() };
    let session = sessions::create(&app.engine, user, project, new).await?;
    sessions::prompt(&app.engine, user, &session, &asked.text, Queued::Queue).await?;
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
        model = recent.first().map(side::model_name).unwrap_or_default();
    }
    let mut providers = side::offers(app, user.id, &model).await?;
    let chosen = providers.iter().any(|it| it.models.iter().any(|model| model.chosen));
    if let (false, Some(first)) =
        (chosen, providers.first_mut().and_then(|offer| offer.models.first_mut()))
    {
        first.chosen = true;
    }
    let chosen = !providers.is_empty();
    let refused = (!chosen)
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
        providers,
        chosen,
        model: String::new(),
        text: asked.text,
        refused,
    })
}
