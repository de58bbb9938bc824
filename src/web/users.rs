//! What administrators do with accounts.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    error::{Error, Fields},
    extract::{CurrentUser, Form, Owned},
    page::{Frame, html, see_other},
};
use crate::{
    app::{
        Actor, App,
        accounts::{self, AccountError, Change, NewUser},
    },
    domain::ids::UserId,
    store::{entity::user::Model as User, users},
};

#[derive(Template)]
#[template(path = "admin/users.html")]
struct Users {
    frame: Frame,
    me: UserId,
    people: Vec<User>,
    admins: usize,
    typed: Typed,
    errors: Fields,
}

#[derive(Template)]
#[template(path = "admin/user.html")]
struct Person {
    frame: Frame,
    user: User,
    typed: Typed,
    errors: Fields,
    /// Why something was not done, other than for a field.
    refused: Option<String>,
}

/// What was typed, all but the password.
#[derive(Default, Deserialize)]
pub struct Typed {
    name: String,
    login: String,
    #[serde(default)]
    email: String,
    admin: bool,
}

impl Users {
    async fn of(app: &App, frame: Frame, me: UserId) -> Result<Self, Error> {
        let people = users::all(&app.db).await?;
        let active = |user: &&User| user.admin && user.disabled_at.is_none();
        let admins = people.iter().filter(active).count();
        Ok(Self { frame, me, people, admins, typed: Typed::default(), errors: Fields::new() })
    }
}

impl Person {
    fn of(frame: Frame, user: User) -> Self {
        let typed = Typed {
            name: user.name.clone(),
            login: user.login.clone(),
            email: user.email.clone().unwrap_or_default(),
            admin: user.admin,
        };
        Self { frame, user, typed, errors: Fields::new(), refused: None }
    }

    /// Shows the page again with why nothing was done.
    fn refuse(mut self, err: AccountError) -> Result<HttpResponse, Error> {
        let status = match err {
            AccountError::Fields(errors) => {
                self.errors = errors;
                StatusCode::UNPROCESSABLE_ENTITY
            }
            err @ (AccountError::LastAdmin | AccountError::HasProjects(_)) => {
                self.refused = Some(err.to_string());
                StatusCode::CONFLICT
            }
            err => return Err(err.into()),
        };
        let mut answer = html(self)?;
        *answer.status_mut() = status;
        Ok(answer)
    }
}

/// `GET /admin/users`
pub async fn index(
    app: Data<App>,
    frame: Frame,
    CurrentUser(me): CurrentUser,
) -> Result<HttpResponse, Error> {
    html(Users::of(&app, frame, me.id).await?)
}

#[derive(Deserialize)]
pub struct Added {
    name: String,
    login: String,
    #[serde(default)]
    email: String,
    password: String,
    admin: bool,
}

/// `POST /admin/users`
pub async fn add(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    CurrentUser(me): CurrentUser,
    Form(added): Form<Added>,
) -> Result<HttpResponse, Error> {
    let new = NewUser {
        name: added.name.clone(),
        login: added.login.clone(),
        email: added.email.clone(),
        password: Some(added.password),
        admin: added.admin,
    };
    match accounts::add(&app, new, &by).await {
        Ok(_) => Ok(see_other(&app, "/admin/users")),
        Err(AccountError::Fields(errors)) => {
            let Added { name, login, email, admin, .. } = added;
            let typed = Typed { name, login, email, admin };
            let page = Users { typed, errors, ..Users::of(&app, frame, me.id).await? };
            let mut answer = html(page)?;
            *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(answer)
        }
        Err(err) => Err(err.into()),
    }
}

/// `GET /admin/users/{id}`
pub async fn edit(frame: Frame, Owned(user): Owned<User>) -> Result<HttpResponse, Error> {
    html(Person::of(frame, user))
}

/// `POST /admin/users/{id}`
pub async fn save(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Owned(user): Owned<User>,
    Form(typed): Form<Typed>,
) -> Result<HttpResponse, Error> {
    let wanted = Change {
        name: Some(typed.name.clone()),
        login: Some(typed.login.clone()),
        email: Some(typed.email.clone()),
        admin: Some(typed.admin),
        ..Change::default()
    };
    match accounts::change(&app, user.id, wanted, &by).await {
        Ok(_) => Ok(see_other(&app, "/admin/users")),
        Err(err) => Person { typed, ..Person::of(frame, user) }.refuse(err),
    }
}

#[derive(Deserialize)]
pub struct NewPassword {
    password: String,
}

/// `POST /admin/users/{id}/password`
pub async fn set_password(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Owned(user): Owned<User>,
    Form(NewPassword { password }): Form<NewPassword>,
) -> Result<HttpResponse, Error> {
    let wanted = Change { password: Some(password), ..Change::default() };
    change(&app, frame, user, wanted, &by).await
}

/// `POST /admin/users/{id}/disable`
pub async fn disable(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Owned(user): Owned<User>,
) -> Result<HttpResponse, Error> {
    let wanted = Change { disabled: Some(true), ..Change::default() };
    change(&app, frame, user, wanted, &by).await
}

/// `POST /admin/users/{id}/enable`
pub async fn enable(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Owned(user): Owned<User>,
) -> Result<HttpResponse, Error> {
    let wanted = Change { disabled: Some(false), ..Change::default() };
    change(&app, frame, user, wanted, &by).await
}

/// `POST /admin/users/{id}/sign-out`
pub async fn sign_out(
    app: Data<App>,
    by: Actor,
    Owned(user): Owned<User>,
) -> Result<HttpResponse, Error> {
    accounts::sign_out(&app, &user, &by).await?;
    Ok(see_other(&app, &format!("/admin/users/{}", user.id)))
}

/// `POST /admin/users/{id}/delete`
pub async fn delete(
    app: Data<App>,
    frame: Frame,
    by: Actor,
    Owned(user): Owned<User>,
) -> Result<HttpResponse, Error> {
    match accounts::remove(&app, &user, &by).await {
        Ok(()) => Ok(see_other(&app, "/admin/users")),
        Err(err) => Person::of(frame, user).refuse(err),
    }
}

/// Makes a change, and shows the person's page again.
async fn change(
    app: &App,
    frame: Frame,
    user: User,
    wanted: Change,
    by: &Actor,
) -> Result<HttpResponse, Error> {
    match accounts::change(app, user.id, wanted, by).await {
        Ok(user) => Ok(see_other(app, &format!("/admin/users/{}", user.id))),
        Err(err) => Person::of(frame, user).refuse(err),
    }
}
