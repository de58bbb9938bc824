//! A person's own account: name, password, sign-ins and tokens.

use actix_session::Session;
use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{
    auth::{self, Tries},
    error::{Error, Fields},
    extract::{CurrentUser, Form, Owned, Wants},
    page::{Frame, html, see_other},
    sign_ins::{MARK_KEY, mark},
};
use crate::{
    app::{
        Actor, App,
        accounts::{self, AccountError, Change},
        tokens::{self, NewToken},
    },
    domain::{device, token::Scope, zone::Zone},
    store::{
        api_tokens,
        entity::{api_token::Model as ApiToken, sign_in::Model as SignIn, user::Model as User},
        sign_ins,
    },
};

#[derive(Template)]
#[template(path = "account/show.html", blocks = ["tokens"])]
struct Account {
    frame: Frame,
    name: String,
    email: String,
    time_zone: String,
    /// What holds where that is empty.
    default_zone: String,
    zones: Vec<&'static str>,
    errors: Fields,
    sign_ins: Vec<Place>,
    tokens: Vec<Token>,
    /// The text of a token that was just made.
    minted: Option<String>,
}

/// A browser that is signed in.
struct Place {
    id: String,
    device: String,
    ip: Option<String>,
    seen_at: String,
    this_one: bool,
}

struct Token {
    id: String,
    name: String,
    scope: Scope,
    last_used_at: Option<DateTime<Utc>>,
    expires_at: Option<DateTime<Utc>>,
    has_ended: bool,
}

impl Account {
    async fn of(app: &App, session: &Session, frame: Frame, user: &User) -> Result<Self, Error> {
        let now = app.clock.now();
        let this = session.get::<String>(MARK_KEY).ok().flatten();
        let sign_ins = sign_ins::of(&app.db, user.id, now).await?;
        let tokens = api_tokens::of(&app.db, user.id).await?;
        Ok(Self {
            frame,
            name: user.name.clone(),
            email: user.email.clone().unwrap_or_default(),
            time_zone: user.time_zone.clone().unwrap_or_default(),
            default_zone: app.config.accounts.time_zone.to_string(),
            zones: Zone::names().collect(),
            errors: Fields::new(),
            sign_ins: sign_ins.into_iter().map(|row| Place::of(row, this.as_deref())).collect(),
            tokens: tokens.into_iter().map(|row| Token::of(row, now)).collect(),
            minted: None,
        })
    }

    fn refuse(self, errors: Fields) -> Result<HttpResponse, Error> {
        let mut answer = html(Self { errors, ..self })?;
        *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        Ok(answer)
    }
}

impl Place {
    fn of(row: SignIn, this: Option<&str>) -> Self {
        Self {
            this_one: this.is_some() && mark(&row).as_deref() == this,
            device: device::name(row.user_agent.as_deref()),
            id: row.id,
            ip: row.ip,
            seen_at: row.seen_at.to_rfc3339(),
        }
    }
}

impl Token {
    fn of(row: ApiToken, now: DateTime<Utc>) -> Self {
        Self {
            id: row.id.to_string(),
            name: row.name,
            scope: row.scope,
            last_used_at: row.last_used_at,
            has_ended: row.expires_at.is_some_and(|at| at <= now),
            expires_at: row.expires_at,
        }
    }
}

/// `GET /account`
pub async fn show(
    app: Data<App>,
    session: Session,
    frame: Frame,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    html(Account::of(&app, &session, frame, &user).await?)
}

#[derive(Deserialize)]
pub struct You {
    name: String,
    #[serde(default)]
    email: String,
    /// Absent: it stays.
    time_zone: Option<String>,
}

/// `POST /account`
pub async fn save(
    app: Data<App>,
    session: Session,
    frame: Frame,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Form(You { name, email, time_zone }): Form<You>,
) -> Result<HttpResponse, Error> {
    let change = Change {
        name: Some(name.clone()),
        email: Some(email.clone()),
        time_zone: time_zone.clone(),
        ..Change::default()
    };
    match accounts::change(&app, user.id, change, &by).await {
        Ok(_) => Ok(see_other(&app, "/account")),
        Err(AccountError::Fields(errors)) => {
            let page = Account::of(&app, &session, frame, &user).await?;
            let time_zone = time_zone.unwrap_or_default();
            Account { name, email, time_zone, ..page }.refuse(errors)
        }
        Err(err) => Err(err.into()),
    }
}

#[derive(Deserialize)]
pub struct NewPassword {
    old: String,
    new: String,
}

/// `POST /account/password`
pub async fn change_password(
    app: Data<App>,
    request: HttpRequest,
    session: Session,
    frame: Frame,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Form(NewPassword { old, new }): Form<NewPassword>,
) -> Result<HttpResponse, Error> {
    let tries = Tries::of_person(&request, &user);
    tries.begin(&app).map_err(auth::too_many)?;
    match accounts::change_password(&app, &user, old, new, &by).await {
        Ok(user) => {
            tries.succeeded(&app);
            auth::begin(&app, &session, &request, &user)?;
            Ok(see_other(&app, "/account"))
        }
        Err(AccountError::Fields(errors)) => {
            if !errors.contains_key("old") {
                tries.succeeded(&app);
            }
            Account::of(&app, &session, frame, &user).await?.refuse(errors)
        }
        Err(err) => Err(err.into()),
    }
}

/// `POST /account/sign-ins/end`: all but this one.
pub async fn end_others(
    app: Data<App>,
    request: HttpRequest,
    session: Session,
    by: Actor,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    accounts::sign_out(&app, &user, &by).await?;
    auth::begin(&app, &session, &request, &user)?;
    Ok(see_other(&app, "/account"))
}

/// `POST /account/sign-ins/{id}/end`
pub async fn end(
    app: Data<App>,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Owned(sign_in): Owned<SignIn>,
) -> Result<HttpResponse, Error> {
    accounts::end_sign_in(&app, &user, &sign_in, &by).await?;
    Ok(see_other(&app, "/account"))
}

#[derive(Deserialize)]
pub struct Wish {
    name: String,
    scope: String,
    /// Days from now; empty: never.
    #[serde(default)]
    ends: String,
}

/// `POST /account/tokens`
pub async fn create_token(
    app: Data<App>,
    session: Session,
    frame: Frame,
    wants: Wants,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Form(wish): Form<Wish>,
) -> Result<HttpResponse, Error> {
    let wrong = |name, text: &str| Error::field(name, text);
    let scope = wish.scope.parse().map_err(|_| wrong("scope", "Choose read, write or admin."))?;
    let days = match wish.ends.as_str() {
        "" => None,
        days => match days.parse::<u16>() {
            Ok(days) => Some(TimeDelta::days(days.into())),
            Err(_) => return Err(wrong("ends", "Choose when it ends.")),
        },
    };
    let new = NewToken {
        name: wish.name,
        scope,
        expires_at: days.map(|days| app.clock.now() + days),
        ceiling: Scope::Admin,
    };
    let minted = tokens::create(&app, &user, new, &by).await?;
    let page = Account::of(&app, &session, frame, &user).await?;
    let page = Account { minted: Some(minted.text), ..page };
    match wants {
        Wants::Page => html(page),
        Wants::Fragment => html(page.as_tokens()),
    }
}

/// `POST /account/tokens/{id}/revoke`
pub async fn revoke_token(
    app: Data<App>,
    by: Actor,
    Owned(token): Owned<ApiToken>,
) -> Result<HttpResponse, Error> {
    tokens::revoke(&app, token, &by).await?;
    Ok(see_other(&app, "/account"))
}
