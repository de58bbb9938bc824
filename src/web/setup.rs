//! The first start: whoever has the token from the server's terminal becomes the first admin.

use actix_session::Session;
use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    auth::{self, Tries},
    error::{Error, Fields},
    extract::{Form, Query},
    page::{Frame, html, see_other},
};
use crate::{
    app::{
        Actor, App,
        accounts::{self, AccountError, NewUser},
    },
    store::users,
};

#[derive(Template)]
#[template(path = "setup/show.html")]
struct SetUp {
    frame: Frame,
    typed: Typed,
    errors: Fields,
}

/// What was typed, all but the password.
#[derive(Default)]
struct Typed {
    token: String,
    name: String,
    login: String,
    email: String,
}

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    token: String,
}

#[derive(Deserialize)]
pub struct FirstAdmin {
    token: String,
    name: String,
    login: String,
    #[serde(default)]
    email: String,
    password: String,
}

/// `GET /setup`
pub async fn form(
    app: Data<App>,
    frame: Frame,
    Query(Asked { token }): Query<Asked>,
) -> Result<HttpResponse, Error> {
    if app.is_set_up().await? {
        return Err(Error::NotFound);
    }
    html(SetUp { frame, typed: Typed { token, ..Typed::default() }, errors: Fields::new() })
}

/// `POST /setup`
pub async fn set_up(
    app: Data<App>,
    request: HttpRequest,
    session: Session,
    frame: Frame,
    by: Actor,
    Form(first): Form<FirstAdmin>,
) -> Result<HttpResponse, Error> {
    if app.is_set_up().await? {
        return Err(Error::NotFound);
    }
    let tries = Tries::of_setup(&request);
    tries.begin(&app).map_err(auth::too_many)?;
    let typed = Typed {
        token: first.token.clone(),
        name: first.name.clone(),
        login: first.login.clone(),
        email: first.email.clone(),
    };
    let refuse = |errors| {
        let mut answer = html(SetUp { frame, typed, errors })?;
        *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        Ok(answer)
    };
    if !app.is_setup_token(&first.token) {
        let message = "That is not the token of this start. Copy it from the server's terminal.";
        return refuse(Fields::from([("token", message.into())]));
    }
    tries.succeeded(&app);
    let new = NewUser {
        name: first.name,
        login: first.login,
        email: first.email,
        password: Some(first.password),
        admin: true,
    };
    let user = match accounts::add_first(&app, new, &by).await {
        Ok(user) => user,
        Err(AccountError::Fields(errors)) => return refuse(errors),
        Err(AccountError::SetUp) => return Err(Error::NotFound),
        Err(err) => return Err(err.into()),
    };
    let user = users::signed_in(&app.db, app.clock.as_ref(), user, None).await?;
    auth::begin(&app, &session, &request, &user)?;
    Ok(see_other(&app, "/"))
}
