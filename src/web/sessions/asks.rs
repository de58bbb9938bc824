//! Answers of a person to what an agent asks.

use actix_web::{HttpResponse, web::Data};
use serde::Deserialize;

use super::fragments::AnsweredFragment;
use crate::{
    app::App,
    domain::ask::Answer,
    engine::asks::{self, Answered},
    store::entity::ask::Model as Ask,
    web::{
        error::Error,
        extract::{CurrentUser, Form, Owned, Wants},
        page::{Frame, html, see_other},
    },
};

#[derive(Deserialize)]
pub struct Reply {
    reply: Answer,
    pattern: Option<String>,
    message: Option<String>,
}

/// `POST /asks/{id}`
pub async fn answer(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Owned(ask): Owned<Ask>,
    Form(Reply { reply, pattern, message }): Form<Reply>,
) -> Result<HttpResponse, Error> {
    let (id, session) = (ask.id.to_string(), ask.session_id);
    let subject = ask.data["subject"].as_str().unwrap_or_default().to_owned();
    let answered = Answered { answer: reply, message, pattern };
    asks::answer(&app.engine, ask, &user, answered).await?;
    if wants == Wants::Page {
        return Ok(see_other(&app, &format!("/sessions/{session}")));
    }
    let said = match reply {
        Answer::Once => "You allowed it once",
        Answer::Always => "You allowed it, and saved a rule",
        Answer::Deny => "You denied it",
    };
    html(AnsweredFragment { frame: &frame, id: &id, said, subject: &subject })
}
