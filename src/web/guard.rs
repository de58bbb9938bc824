//! What a request must pass before any handler sees it.
//!
//! Guards fetch; the extractors in [`super::extract`] only hand over what a guard has fetched.
//! So a visitor's rights are settled before a byte of the request's body is read.

use std::{future::Future, str::FromStr};

use actix_session::SessionExt as _;
use actix_web::{
    Error as ActixError, HttpMessage as _, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header,
    middleware::Next,
    web::Data,
};
use chrono::TimeDelta;

use super::{
    error::{Error, is_api},
    extract::{Ceiling, Fetched},
    proxy,
    sign_ins::MARK_KEY,
    token_hash,
};
use crate::{
    app::App,
    domain::{ids::UserId, token::Scope},
    store::{Db, DbErr, api_tokens, entity::user::Model as User, sign_ins, users},
};

/// Under which name a sign-in keeps whose it is.
pub const USER_KEY: &str = "user";

/// Lets signed-in people through, and notes who they are.
pub async fn signed_in(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let user = visiting(&request).await;
    admit(request, next, user.map(|user| (user, ()))).await
}

/// Lets admins through. To everyone else there is nothing here.
pub async fn admin(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let user = visiting_admin(&request).await;
    admit(request, next, user.map(|user| (user, ()))).await
}

/// How a door finds the row that `{id}` names, and for whom it is open.
pub trait Finds {
    type Row: Clone + 'static;
    type Id: FromStr;
    const FOR: For;

    fn find(
        db: &Db,
        visitor: UserId,
        id: Self::Id,
    ) -> impl Future<Output = Result<Option<Self::Row>, DbErr>>;
}

/// For whom a door is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Anybody,
    Admins,
}

/// Lets those through who may have the row that `{id}` names, and brings the row.
///
/// A malformed id, a missing row and somebody else's row are all the same "not found".
pub async fn row<D: Finds>(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let found = async {
        let user = match D::FOR {
            For::Anybody => visiting(&request).await?,
            For::Admins => visiting_admin(&request).await?,
        };
        // Not every database can be asked for a text with a NUL.
        let id = request.match_info().get("id").filter(|id| !id.contains('\0'));
        let id = id.and_then(|id| id.parse().ok());
        let row = D::find(&app(&request)?.db, user.id, id.ok_or(Error::NotFound)?).await?;
        Ok((user, Fetched(row.ok_or(Error::NotFound)?)))
    };
    let found = found.await;
    admit(request, next, found).await
}

async fn admit<T: 'static>(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    found: Result<(User, T), Error>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    match found {
        Ok((user, row)) => {
            request.extensions_mut().insert(user);
            request.extensions_mut().insert(row);
        }
        Err(error) => return Ok(request.error_response(error)),
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// Leads everybody to the set-up page until somebody has an account.
pub async fn set_up(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let app = app(&request)?.clone();
    let base = app.config.base_path();
    let path = request.path().strip_prefix(&base).unwrap_or(request.path());
    let open = matches!(path, "/setup" | "/api/v1/openapi.json")
        || path.starts_with("/static/")
        || path.starts_with("/health/");
    let is_set_up = open || {
        match app.is_set_up().await {
            Ok(is_set_up) => is_set_up,
            Err(err) => return Ok(request.error_response(Error::from(err))),
        }
    };
    if is_set_up {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    if is_api(request.request()) {
        let error = Error::Unavailable("Forge is not set up yet. Open /setup in a browser.".into());
        return Ok(request.error_response(error));
    }
    let answer = HttpResponse::SeeOther()
        .insert_header((header::LOCATION, format!("{base}/setup")))
        .finish();
    Ok(request.into_response(answer))
}

/// Refuses a change that another site asks a visitor's browser to make, and a name of the site
/// that is not its own: somebody else's name may point here (DNS rebinding).
///
/// Browsers say where a request comes from, so no form needs a token. A request with a token of
/// the API is not a browser's doing. A request that does not say comes from no browser, and so
/// carries nobody's cookie.
pub async fn same_site(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    // Whoever watches over the server may ask for it by its address, and learns nothing else.
    if is_health(&request)? {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    if proxy::host(request.request()).is_empty() {
        return Ok(request.error_response(Error::NoHost));
    }
    if !known_host(&request)? {
        return Ok(request.error_response(Error::Invalid(
            "Forge is not known under this name. Open it under its public address.".into(),
        )));
    }
    let by_token = is_api(request.request()) && bearer(&request).is_some();
    if request.method().is_safe() || by_token || came_from_here(&request) {
        Ok(next.call(request).await?.map_into_boxed_body())
    } else {
        Ok(request.error_response(Error::CrossSite))
    }
}

/// The scope that a token needs for a request.
fn needed(request: &ServiceRequest) -> Scope {
    if request.method().is_safe() { Scope::Read } else { Scope::Write }
}

/// With what a visitor got in: what a stream looks at again while it goes on.
#[derive(Clone, Debug)]
pub enum Pass {
    /// A token, by its hash.
    Token(UserId, String),
    /// A sign-in, by its mark.
    SignIn(UserId, Option<String>),
}

impl Pass {
    /// Who got in.
    pub fn user(&self) -> UserId {
        match self {
            Self::Token(user, _) | Self::SignIn(user, _) => *user,
        }
    }

    /// Whether it would let them in now.
    pub async fn holds(&self, app: &App) -> Result<bool, DbErr> {
        let now = app.clock.now();
        let there = match self {
            Self::Token(_, hash) => api_tokens::by_hash(&app.db, hash, now).await?.is_some(),
            Self::SignIn(user, mark) => {
                let all = sign_ins::of(&app.db, *user, now).await?;
                all.iter().any(|one| super::sign_ins::mark(one) == *mark)
            }
        };
        let user = users::find(&app.db, self.user()).await?;
        Ok(there && user.is_some_and(|user| user.disabled_at.is_none()))
    }
}

/// Who asks: by a token on the API, else by the sign-in cookie. With the most they may do.
async fn visitor(request: &ServiceRequest) -> Result<(User, Scope), Error> {
    let app = app(request)?;
    let (user, scope) = match bearer(request).filter(|_| is_api(request.request())) {
        Some(token) => {
            let now = app.clock.now();
            let token = api_tokens::by_hash(&app.db, &token_hash(token), now).await?;
            let token = token.ok_or(Error::SignedOut)?;
            if token.last_used_at.is_none_or(|at| now - at > TimeDelta::minutes(1)) {
                api_tokens::used(&app.db, token.id, now).await?;
            }
            request.extensions_mut().insert(Pass::Token(token.user_id, token.token_hash));
            (users::find(&app.db, token.user_id).await?, token.scope)
        }
        None => {
            let cookie = request.get_session();
            let id = cookie.get::<UserId>(USER_KEY).ok().flatten().ok_or(Error::SignedOut)?;
            let mark = cookie.get::<String>(MARK_KEY).ok().flatten();
            request.extensions_mut().insert(Pass::SignIn(id, mark));
            (users::find(&app.db, id).await?, Scope::Admin)
        }
    };
    let user = user.filter(|user| user.disabled_at.is_none()).ok_or(Error::SignedOut)?;
    let most = if user.admin { Scope::Admin } else { Scope::Write };
    Ok((user, scope.min(most)))
}

/// A visitor who may do what the request asks for, as far as that depends on the token alone.
async fn visiting(request: &ServiceRequest) -> Result<User, Error> {
    let (user, scope) = visitor(request).await?;
    let needed = needed(request);
    if scope < needed {
        return Err(Error::Scope(needed));
    }
    request.extensions_mut().insert(Ceiling(scope));
    Ok(user)
}

async fn visiting_admin(request: &ServiceRequest) -> Result<User, Error> {
    let (user, scope) = visitor(request).await?;
    if !user.admin {
        return Err(Error::NotFound);
    }
    if scope < Scope::Admin {
        return Err(Error::Scope(Scope::Admin));
    }
    request.extensions_mut().insert(Ceiling(scope));
    Ok(user)
}

fn bearer(request: &ServiceRequest) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn app(request: &ServiceRequest) -> Result<&Data<App>, Error> {
    let app = request.app_data::<Data<App>>();
    app.ok_or_else(|| anyhow::anyhow!("the application state is not mounted").into())
}

fn is_health(request: &ServiceRequest) -> Result<bool, Error> {
    let base = app(request)?.config.base_path();
    let path = request.path();
    Ok(path.strip_prefix(&base).unwrap_or(path).starts_with("/health/"))
}

/// Whether the site is called by a name that is its own: the public one, or one of loopback.
fn known_host(request: &ServiceRequest) -> Result<bool, Error> {
    let config = &app(request)?.config;
    let host = proxy::host(request.request());
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let loopback = name == "localhost"
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    Ok(match config.server.public_url.as_ref().and_then(|url| url.host_str()) {
        Some(public) => loopback || name.eq_ignore_ascii_case(public.trim_matches(['[', ']'])),
        None => loopback || !config.server.bind.ip().is_loopback(),
    })
}

/// Whether a browser, or something that is none, asks from a page of this site.
fn came_from_here(request: &ServiceRequest) -> bool {
    let header = |name: header::HeaderName| request.headers().get(name);
    let site = header(header::HeaderName::from_static("sec-fetch-site"));
    if let Some(site) = site.and_then(|site| site.to_str().ok()) {
        return matches!(site, "same-origin" | "none");
    }
    if let Some(origin) = header(header::ORIGIN) {
        return origin.to_str().is_ok_and(|origin| is_here(request, origin));
    }
    // Browsers that are too old for either still say which page they were on.
    header(header::REFERER).is_none_or(|page| {
        let page = page.to_str().ok().and_then(|page| url::Url::parse(page).ok());
        page.is_some_and(|page| is_here(request, &page.origin().ascii_serialization()))
    })
}

/// Whether an origin is this site.
fn is_here(request: &ServiceRequest, origin: &str) -> bool {
    let public = app(request).ok().and_then(|app| app.config.server.public_url.clone());
    public.is_some_and(|url| url.origin().ascii_serialization() == origin)
        || origin.split_once("://").is_some_and(|(_, host)| host == proxy::host(request.request()))
}
