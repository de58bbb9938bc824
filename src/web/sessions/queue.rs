//! Prompts that wait: sent at the next step, changed, put in another order, removed.

use actix_web::{HttpResponse, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{acts::queue_or_page, timeline::text_of};
use crate::{
    app::App,
    domain::{ids::SessionId, session::Queued},
    engine::sessions,
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session},
        messages,
    },
    web::{
        error::Error,
        extract::{Form, Owned, Wants},
        page::{Frame, html},
    },
};

/// `POST /queue/{id}/steer`
pub async fn steer(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(message): Owned<Message>,
) -> Result<HttpResponse, Error> {
    let session = session(&app, message.session_id).await?;
    sessions::edit_queued(&app.engine, message, None, Some(Queued::Steer)).await?;
    queue_or_page(&app, &frame, wants, &session).await
}

#[derive(Deserialize)]
pub struct Placed {
    /// The place among those that wait, from 0.
    place: usize,
}

/// `POST /queue/{id}/move`
pub async fn place(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(message): Owned<Message>,
    Form(Placed { place }): Form<Placed>,
) -> Result<HttpResponse, Error> {
    let session = session(&app, message.session_id).await?;
    sessions::place_queued(&app.engine, message, place).await?;
    queue_or_page(&app, &frame, wants, &session).await
}

/// `POST /queue/{id}/remove`
pub async fn remove(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(message): Owned<Message>,
) -> Result<HttpResponse, Error> {
    let session = session(&app, message.session_id).await?;
    sessions::remove_queued(&app.engine, message).await?;
    queue_or_page(&app, &frame, wants, &session).await
}

#[derive(Template)]
#[template(path = "sessions/edit_queued.html", blocks = ["form"])]
struct Editing {
    frame: Frame,
    session_id: String,
    id: String,
    text: String,
}

/// `GET /queue/{id}/edit`
pub async fn editing(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(message): Owned<Message>,
) -> Result<HttpResponse, Error> {
    if message.queued.is_none() {
        return Err(Error::Conflict("The prompt was sent in the meantime.".into()));
    }
    let (id, session_id) = (message.id.to_string(), message.session_id.to_string());
    let whole = messages::whole(&app.db, message).await?;
    let page = Editing { frame, session_id, id, text: text_of(whole.parts) };
    match wants {
        Wants::Page => html(page),
        Wants::Fragment => html(page.as_form()),
    }
}

#[derive(Deserialize)]
pub struct Edited {
    text: String,
}

/// `POST /queue/{id}/edit`
pub async fn edit(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(message): Owned<Message>,
    Form(Edited { text }): Form<Edited>,
) -> Result<HttpResponse, Error> {
    let session = session(&app, message.session_id).await?;
    sessions::edit_queued(&app.engine, message, Some(&text), None).await?;
    queue_or_page(&app, &frame, wants, &session).await
}

/// The session of a message that is the person's own.
async fn session(app: &App, id: SessionId) -> Result<Session, Error> {
    let found = store::sessions::with_project(&app.db, id).await?;
    found.map(|(session, _)| session).ok_or(Error::NotFound)
}
