//! What a person does with a session: prompt it, stop it, name it, put it away.

use actix_web::{HttpResponse, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{fragments::QueueFragment, picker, side};
use crate::{
    app::App,
    domain::session::Queued,
    engine::{
        attachments, jobs,
        sessions::{self, Change},
    },
    store::{
        self,
        entity::{part::Model as Part, session::Model as Session},
    },
    web::{
        error::Error,
        extract::{CurrentUser, Form, Owned, Wants},
        page::{Frame, html, see_other},
        upload::Posted,
    },
};

#[derive(Deserialize)]
pub struct Prompt {
    text: String,
    agent: Option<String>,
    /// `<provider id>/<model id>`; nothing where the session keeps its own.
    model: Option<String>,
    when: Option<When>,
    /// The model that the next two were drawn for.
    settings_for: Option<String>,
    effort: Option<String>,
    temperature: Option<String>,
}

/// When a prompt is sent while the agent is at work.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    After,
    Now,
}

/// `POST /sessions/{id}/prompt`
pub async fn prompt(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Posted { form, files }: Posted<Prompt>,
) -> Result<HttpResponse, Error> {
    sessions::check_text(&form.text, files.len())?;
    attachments::check(&app.engine, &files)?;
    let agent = form.agent.filter(|agent| !agent.is_empty() && *agent != session.agent);
    let current = session.model_name().unwrap_or_default();
    let model = form.model.filter(|model| !model.is_empty());
    let drawn = (&form.settings_for, &form.effort, &form.temperature);
    let settings = picker::entered(drawn, model.as_deref().unwrap_or_default())?;
    let settings = settings.filter(|it| *it != (session.effort, session.temperature));
    let model = model.filter(|model| *model != current);
    if agent.is_some() || model.is_some() || settings.is_some() {
        let (effort, temperature) = settings.unzip();
        let change = Change { agent, model, effort, temperature, ..Change::default() };
        sessions::change(&app.engine, &user, &session, change).await?;
    }
    let when = match form.when {
        Some(When::Now) => Queued::Steer,
        Some(When::After) | None => Queued::Queue,
    };
    let given = attachments::add(&app.engine, &user, &session, files).await?;
    let attachments = given.into_iter().map(|it| it.id).collect();
    let prompt = sessions::Prompt { text: form.text, attachments, when };
    sessions::send(&app.engine, &user, &session, prompt).await?;
    queue_or_page(&app, &frame, wants, &session).await
}

/// Answers with the queue where htmx asks, else with the way back to the session.
pub(super) async fn queue_or_page(
    app: &App,
    frame: &Frame,
    wants: Wants,
    session: &Session,
) -> Result<HttpResponse, Error> {
    match wants {
        Wants::Fragment => {
            let queue = side::queue(&app.db, session).await?;
            html(QueueFragment { frame, queue: &queue })
        }
        Wants::Page => Ok(see_other(app, &format!("/sessions/{}", session.id))),
    }
}

/// Nothing to swap, where htmx asks: the stream brings what changed.
fn done_or_page(app: &App, wants: Wants, session: &Session) -> HttpResponse {
    match wants {
        Wants::Fragment => HttpResponse::NoContent().finish(),
        Wants::Page => see_other(app, &format!("/sessions/{}", session.id)),
    }
}

/// `POST /sessions/{id}/abort`
pub async fn abort(
    app: Data<App>,
    wants: Wants,
    Owned(session): Owned<Session>,
) -> Result<HttpResponse, Error> {
    sessions::abort(&app.engine, &session).await?;
    Ok(done_or_page(&app, wants, &session))
}

/// `POST /parts/{id}/stop`
pub async fn stop_job(
    app: Data<App>,
    wants: Wants,
    Owned(part): Owned<Part>,
) -> Result<HttpResponse, Error> {
    let session = part.session_id;
    jobs::stop(&app.engine, part).await?;
    Ok(match wants {
        Wants::Fragment => HttpResponse::NoContent().finish(),
        Wants::Page => see_other(&app, &format!("/sessions/{session}")),
    })
}

/// `POST /sessions/{id}/retry`
pub async fn retry(app: Data<App>, wants: Wants, Owned(session): Owned<Session>) -> HttpResponse {
    app.engine.runs.retry_now(session.id);
    done_or_page(&app, wants, &session)
}

#[derive(Template)]
#[template(path = "sessions/name.html", blocks = ["form"])]
struct Naming {
    frame: Frame,
    session_id: String,
    name: String,
}

/// `GET /sessions/{id}/name`
pub async fn naming(
    frame: Frame,
    wants: Wants,
    Owned(session): Owned<Session>,
) -> Result<HttpResponse, Error> {
    let page = Naming { frame, session_id: session.id.to_string(), name: session.name };
    match wants {
        Wants::Page => html(page),
        Wants::Fragment => html(page.as_form()),
    }
}

#[derive(Deserialize)]
pub struct Name {
    name: String,
}

/// `POST /sessions/{id}/name`
pub async fn name(
    app: Data<App>,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Form(Name { name }): Form<Name>,
) -> Result<HttpResponse, Error> {
    let change = Change { name: Some(name), ..Change::default() };
    sessions::change(&app.engine, &user, &session, change).await?;
    if wants == Wants::Page {
        return Ok(see_other(&app, &format!("/sessions/{}", session.id)));
    }
    let found = store::sessions::with_project(&app.db, session.id).await?;
    let (session, _) = found.ok_or(Error::NotFound)?;
    html(Text { text: session.name })
}

/// A text by itself, as what an element holds.
#[derive(Template)]
#[template(source = "{{ text }}", ext = "html")]
struct Text {
    text: String,
}

#[derive(Deserialize)]
pub struct Model {
    model: String,
}

/// `POST /sessions/{id}/model`
pub async fn model(
    app: Data<App>,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Form(Model { model }): Form<Model>,
) -> Result<HttpResponse, Error> {
    let change = Change { model: Some(model), ..Change::default() };
    sessions::change(&app.engine, &user, &session, change).await?;
    Ok(done_or_page(&app, wants, &session))
}

#[derive(Deserialize)]
pub struct Archive {
    archived: bool,
}

/// `POST /sessions/{id}/archive`
pub async fn archive(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(session): Owned<Session>,
    Form(Archive { archived }): Form<Archive>,
) -> Result<HttpResponse, Error> {
    let change = Change { archived: Some(archived), ..Change::default() };
    sessions::change(&app.engine, &user, &session, change).await?;
    Ok(see_other(&app, &format!("/sessions/{}", session.id)))
}

#[derive(Template)]
#[template(path = "sessions/delete.html")]
struct Deleting {
    frame: Frame,
    session_id: String,
    name: String,
}

/// `GET /sessions/{id}/delete`
pub async fn deleting(frame: Frame, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    html(Deleting { frame, session_id: session.id.to_string(), name: session.name })
}

/// `POST /sessions/{id}/delete`
pub async fn delete(app: Data<App>, Owned(session): Owned<Session>) -> Result<HttpResponse, Error> {
    let project = session.project_id;
    sessions::delete(&app.engine, session).await?;
    Ok(see_other(&app, &format!("/projects/{project}")))
}
