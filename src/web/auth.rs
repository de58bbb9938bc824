//! Signing in and out.

use actix_session::Session;
use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use anyhow::Context as _;
use askama::Template;
use serde::Deserialize;

use super::{
    error::Error,
    extract::{Form, Query},
    guard::USER_KEY,
    page::{Frame, html, see_other},
    sign_ins::{IP_KEY, USER_AGENT_KEY},
};
use crate::{
    app::App,
    domain::login::PASSWORD_MAX,
    engine::passwords::Verdict,
    store::{entity::user::Model as User, users},
};

#[derive(Template)]
#[template(path = "auth/sign_in.html")]
struct SignIn {
    frame: Frame,
    login: String,
    next: Option<String>,
    /// Where this Forge is, as far as it is configured.
    host: Option<String>,
    refused: Option<Refused>,
}

struct Refused {
    title: &'static str,
    advice: String,
}

#[derive(Deserialize)]
pub struct Asked {
    next: Option<String>,
}

#[derive(Deserialize)]
pub struct Credentials {
    login: String,
    password: String,
    next: Option<String>,
}

/// `GET /sign-in`
pub async fn form(
    app: Data<App>,
    frame: Frame,
    Query(Asked { next }): Query<Asked>,
) -> Result<HttpResponse, Error> {
    let next = next.filter(|next| is_local(next));
    html(SignIn { frame, login: String::new(), next, host: host(&app), refused: None })
}

/// `POST /sign-in`
pub async fn sign_in(
    app: Data<App>,
    request: HttpRequest,
    session: Session,
    frame: Frame,
    Form(Credentials { login, password, next }): Form<Credentials>,
) -> Result<HttpResponse, Error> {
    let next = next.filter(|next| is_local(next));
    let user = users::by_login(&app.db, &login).await?;
    let Some((user, rehashed)) = proven(&app, user, password).await? else {
        let login = login.chars().take(100).collect();
        let refused = Some(Refused {
            title: "Login or password is wrong",
            advice: "Check both and try again.".into(),
        });
        let mut answer = html(SignIn { frame, login, next, host: host(&app), refused })?;
        *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(answer);
    };
    begin(&session, &request, &user)?;
    users::signed_in(&app.db, app.clock.as_ref(), user, rehashed).await?;
    Ok(see_other(&app, next.as_deref().unwrap_or("/")))
}

/// `POST /sign-out`
pub async fn sign_out(app: Data<App>, session: Session) -> HttpResponse {
    session.purge();
    see_other(&app, "/sign-in")
}

/// Signs this browser in, under a new key.
pub(super) fn begin(session: &Session, request: &HttpRequest, user: &User) -> Result<(), Error> {
    session.clear();
    session.renew();
    session.insert(USER_KEY, user.id).context("starting a sign-in")?;
    if let Some(address) = request.peer_addr() {
        session.insert(IP_KEY, address.ip().to_string()).context("starting a sign-in")?;
    }
    let agent = request.headers().get("user-agent").and_then(|agent| agent.to_str().ok());
    if let Some(agent) = agent {
        let agent: String = agent.chars().take(200).collect();
        session.insert(USER_AGENT_KEY, agent).context("starting a sign-in")?;
    }
    Ok(())
}

/// The person, if the password is theirs and they may come in, with a new hash where one is due.
async fn proven(
    app: &App,
    user: Option<User>,
    mut password: String,
) -> Result<Option<(User, Option<String>)>, Error> {
    if password.len() > PASSWORD_MAX {
        // Nobody has one that long; it costs the same time and not more.
        password.clear();
    }
    let stored = user.as_ref().map(|user| user.password_hash.clone());
    let verdict = app.passwords.verify(password, stored).await?;
    let user = user.filter(|user| user.disabled_at.is_none());
    Ok(match verdict {
        Verdict::Wrong => None,
        Verdict::Right => user.map(|user| (user, None)),
        Verdict::Outdated(hash) => user.map(|user| (user, Some(hash))),
    })
}

fn host(app: &App) -> Option<String> {
    app.config.server.public_url.as_ref()?.host_str().map(str::to_owned)
}

/// Whether it is a path of this site, so that nobody is sent elsewhere after signing in.
fn is_local(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= 2000
        && !path.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_gone_on_to() {
        assert!(is_local("/projects/1?tab=diff"));
        for elsewhere in ["", "projects", "//evil.example", "/\\evil.example", "https://x", "/\t/x"]
        {
            assert!(!is_local(elsewhere), "{elsewhere}");
        }
    }
}
