//! What administrators set for the whole server while it runs.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    error::{Error, Fields},
    extract::Form,
    page::{Frame, html, see_other},
};
use crate::{
    app::App,
    domain::settings::{Change, Given},
    engine::{
        refused::{Actor, Refused},
        settings,
    },
};

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct Settings {
    frame: Frame,
    personal: Given<bool>,
    /// One on each line.
    hosts: String,
    hosts_are_set: bool,
    errors: Fields,
}

impl Settings {
    fn of(app: &App, frame: Frame) -> Self {
        let hosts = app.engine.allowed_hosts();
        Self {
            frame,
            personal: app.engine.personal_providers(),
            hosts: hosts.value.join("\n"),
            hosts_are_set: hosts.is_set(),
            errors: Fields::new(),
        }
    }
}

/// `GET /admin/settings`
pub async fn show(app: Data<App>, frame: Frame) -> Result<HttpResponse, Error> {
    html(Settings::of(&app, frame))
}

#[derive(Deserialize)]
pub struct Typed {
    #[serde(default)]
    personal_providers: bool,
    #[serde(default)]
    allowed_hosts: String,
    /// The key that is to be as the configuration says; nothing else changes then.
    reset: Option<String>,
}

/// `POST /admin/settings`
pub async fn save(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Form(typed): Form<Typed>,
) -> Result<HttpResponse, Error> {
    let mut change = Change::default();
    match typed.reset.as_deref() {
        Some("personal_providers") => change.personal_providers = Some(None),
        Some("allowed_hosts") => change.allowed_hosts = Some(None),
        Some(_) => return Err(Error::field("reset", "There is no such setting.")),
        // Only what differs is set.
        None => {
            let personal = typed.personal_providers;
            let differs = app.engine.personal_providers().value != personal;
            change.personal_providers = differs.then_some(Some(personal));
            let hosts: Vec<String> =
                typed.allowed_hosts.split_whitespace().map(str::to_owned).collect();
            let differs = app.engine.allowed_hosts().value != hosts;
            change.allowed_hosts = differs.then_some(Some(hosts));
        }
    }
    match settings::change(&app.engine, change, &by).await {
        Ok(()) => Ok(see_other(&app, "/admin/settings")),
        Err(Refused::Fields(errors)) => {
            let mut page = Settings { errors, ..Settings::of(&app, frame) };
            page.personal.value = typed.personal_providers;
            page.hosts = typed.allowed_hosts;
            let mut answer = html(page)?;
            *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(answer)
        }
        Err(refused) => Err(refused.into()),
    }
}
