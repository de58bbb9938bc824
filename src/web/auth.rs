//! Signing in and out.

use std::{net::IpAddr, sync::PoisonError, time::Duration};

use actix_session::Session;
use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::Data,
};
use anyhow::Context as _;
use askama::Template;
use chrono::TimeDelta;
use serde::Deserialize;

use super::{
    error::Error,
    extract::{Form, Query},
    guard::USER_KEY,
    page::{Frame, html, see_other},
    proxy,
    sign_ins::{IP_KEY, MARK_KEY, PROOF_KEY, USER_AGENT_KEY},
};
use crate::{
    app::App,
    domain::{
        ids::UserId,
        login::PASSWORD_MAX,
        throttle::{self, Limits},
    },
    engine::passwords::Verdict,
    store::{entity::user::Model as User, sign_ins, users},
};

/// The longest that is looked up: that of an address.
const LOGIN_MAX: usize = 254;

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
    let user = match login.len() {
        ..=LOGIN_MAX => users::by_login(&app.db, &login).await?,
        _ => None,
    };
    let tries = Tries::of(&app, &request, &login, user.as_ref()).await?;
    let refuse = |refused: Refused, status| {
        let login = login.chars().take(LOGIN_MAX).collect();
        let refused = Some(refused);
        let mut answer =
            html(SignIn { frame, login, next: next.clone(), host: host(&app), refused })?;
        *answer.status_mut() = status;
        Ok(answer)
    };
    let wait = match tries.begin(&app) {
        Ok(wait) => wait,
        Err(wait) => {
            let advice = format!("Try again in {} s.", seconds(wait));
            let refused = Refused { title: "That was too often", advice };
            let mut answer = refuse(refused, StatusCode::TOO_MANY_REQUESTS)?;
            answer.headers_mut().insert(header::RETRY_AFTER, seconds(wait).into());
            return Ok(answer);
        }
    };
    let Some((user, rehashed)) = proven(&app, user, password).await? else {
        let advice = match seconds(wait) {
            0 => "Check both and try again.".to_owned(),
            wait => format!("Check both and try again in {wait} s."),
        };
        let refused = Refused { title: "Login or password is wrong", advice };
        return refuse(refused, StatusCode::UNPROCESSABLE_ENTITY);
    };
    tries.succeeded(&app);
    let user = users::signed_in(&app.db, app.clock.as_ref(), user, rehashed).await?;
    begin(&app, &session, &request, &user)?;
    Ok(see_other(&app, next.as_deref().unwrap_or("/")))
}

/// `POST /sign-out`
pub async fn sign_out(app: Data<App>, session: Session) -> HttpResponse {
    session.purge();
    see_other(&app, "/sign-in")
}

/// Signs this browser in, under a new key. That counts for nothing where the person has another
/// password by the time it is stored.
pub(super) fn begin(
    app: &App,
    session: &Session,
    request: &HttpRequest,
    user: &User,
) -> Result<(), Error> {
    let keep = |key: &str, value: String| session.insert(key, value).context("a sign-in");
    session.clear();
    session.renew();
    keep(USER_KEY, user.id.to_string())?;
    keep(PROOF_KEY, sign_ins::proof(user))?;
    keep(MARK_KEY, format!("{:032x}", app.entropy.bits()))?;
    if let Some(address) = proxy::address(request) {
        keep(IP_KEY, address.to_string())?;
    }
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    if let Some(agent) = agent {
        keep(USER_AGENT_KEY, agent.chars().take(200).collect())?;
    }
    Ok(())
}

/// What a try to sign in counts for: a login, and an address.
pub(super) struct Tries {
    login: String,
    address: String,
}

impl Tries {
    async fn of(
        app: &App,
        request: &HttpRequest,
        login: &str,
        user: Option<&User>,
    ) -> Result<Self, Error> {
        let (ip, now) = (proxy::address(request), app.clock.now());
        let (mut key, id) = match user {
            Some(user) => (format!("login {}", user.login_key), user.id),
            // Nobody's id, so that an unknown login costs the same questions.
            None => {
                let nobody = UserId::mint(now, app.entropy.as_ref());
                (format!("login {}", login.trim().to_lowercase()), nobody)
            }
        };
        // Who is signed in from here already counts apart, so that strangers elsewhere cannot
        // keep a person out.
        if let Some(ip) = ip
            && sign_ins::known(&app.db, id, &ip.to_string(), now).await?
        {
            // Not at the end, where a login that somebody makes up could have it too.
            key = format!("at {ip}, {key}");
        }
        Ok(Self { login: key, address: address_key(ip) })
    }

    /// Tries of somebody who is signed in to prove who they are once more.
    pub(super) fn of_person(request: &HttpRequest, user: &User) -> Self {
        let login = format!("password of {}", user.id);
        Self { login, address: address_key(proxy::address(request)) }
    }

    /// Tries to show the token of the first start.
    pub(super) fn of_setup(request: &HttpRequest) -> Self {
        let address = address_key(proxy::address(request));
        Self { login: format!("setup from {address}"), address }
    }

    /// Begins one, unless it is too early: returns how long the next or this one has to wait.
    pub(super) fn begin(&self, app: &App) -> Result<TimeDelta, TimeDelta> {
        let mut throttle = app.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        throttle.begin(&self.keys(), app.clock.now())
    }

    pub(super) fn succeeded(&self, app: &App) {
        let mut throttle = app.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        throttle.succeeded(&self.keys());
    }

    fn keys(&self) -> [(&str, Limits); 2] {
        [(&self.login, throttle::LOGIN), (&self.address, throttle::ADDRESS)]
    }
}

fn address_key(ip: Option<IpAddr>) -> String {
    ip.map_or_else(String::new, |ip| format!("address {}", proxy::network(ip)))
}

/// Whole seconds, rounded up.
fn seconds(wait: TimeDelta) -> i64 {
    (wait + TimeDelta::milliseconds(999)).num_seconds()
}

/// A wait as an error.
pub(super) fn too_many(wait: TimeDelta) -> Error {
    Error::TooMany(Duration::from_secs(seconds(wait).max(1).cast_unsigned()))
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
