//! People, for administrators.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{Json, Owned, Query},
    },
    done, json, nullable,
    page::{Page, PageQuery},
    present,
};
use crate::{
    app::{
        Actor, App,
        accounts::{self, Change, NewUser},
    },
    domain::ids::UserId,
    store::{entity::user::Model as Row, users},
};

#[derive(OpenApi)]
#[openapi(paths(index, create, show, change, delete))]
pub struct Doc;

/// A person with an account
#[derive(Serialize, ToSchema)]
pub struct User {
    id: UserId,
    login: String,
    name: String,
    #[schema(required)]
    email: Option<String>,
    admin: bool,
    disabled: bool,
    #[schema(required)]
    last_login_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<Row> for User {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            login: row.login,
            name: row.name,
            email: row.email,
            admin: row.admin,
            disabled: row.disabled_at.is_some(),
            last_login_at: row.last_login_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A person to be added
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserToCreate {
    /// Unique, whatever its case
    #[schema(min_length = 2, max_length = 40)]
    login: String,
    #[schema(min_length = 1, max_length = 80)]
    name: String,
    #[schema(max_length = 254)]
    email: Option<String>,
    /// Without one the person cannot sign in until they are given one
    #[schema(min_length = 10, max_length = 1024, write_only)]
    password: Option<String>,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    disabled: bool,
}

/// What is to be changed of a person; what is left out stays
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 2, max_length = 40, value_type = String, required = false)]
    login: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 80, value_type = String, required = false)]
    name: Option<String>,
    /// Null takes it away
    #[serde(default, deserialize_with = "nullable")]
    #[schema(max_length = 254, value_type = Option<String>, required = false)]
    email: Option<Option<String>>,
    /// Ends all sign-ins of the person and revokes their tokens
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 10, max_length = 1024, value_type = String, required = false, write_only)]
    password: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    admin: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    disabled: Option<bool>,
}

/// Lists everybody
#[utoipa::path(
    get, path = "/api/v1/users", tag = "users", params(PageQuery),
    responses((status = 200, description = "People, in the order they were added", body = Page<User>)),
)]
pub async fn index(app: Data<App>, Query(query): Query<PageQuery>) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<UserId>()?;
    let rows = users::page(&app.db, bounds.after, bounds.rows()).await?;
    json(StatusCode::OK, &bounds.page(rows, |row| row.id, User::from))
}

/// Adds a person
#[utoipa::path(
    post, path = "/api/v1/users", tag = "users", request_body = UserToCreate,
    responses((status = 201, description = "The person", body = User)),
)]
pub async fn create(
    app: Data<App>,
    by: Actor,
    Json(wish): Json<UserToCreate>,
) -> Result<HttpResponse, Error> {
    let new = NewUser {
        name: wish.name,
        login: wish.login,
        email: wish.email.unwrap_or_default(),
        password: wish.password,
        admin: wish.admin,
    };
    let mut user = accounts::add(&app, new, &by).await?;
    if wish.disabled {
        let change = Change { disabled: Some(true), ..Change::default() };
        user = accounts::change(&app, user.id, change, &by).await?;
    }
    json(StatusCode::CREATED, &User::from(user))
}

/// Shows a person
#[utoipa::path(
    get, path = "/api/v1/users/{id}", tag = "users",
    responses((status = 200, description = "The person", body = User)),
)]
pub async fn show(Owned(user): Owned<Row>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &User::from(user))
}

/// Changes a person
///
/// The last active administrator cannot be demoted or disabled.
#[utoipa::path(
    patch, path = "/api/v1/users/{id}", tag = "users", request_body = UserChange,
    responses((status = 200, description = "The person as they are now", body = User)),
)]
pub async fn change(
    app: Data<App>,
    by: Actor,
    Owned(user): Owned<Row>,
    Json(wish): Json<UserChange>,
) -> Result<HttpResponse, Error> {
    let change = Change {
        name: wish.name,
        login: wish.login,
        email: wish.email.map(Option::unwrap_or_default),
        admin: wish.admin,
        disabled: wish.disabled,
        password: wish.password,
        ..Change::default()
    };
    let user = accounts::change(&app, user.id, change, &by).await?;
    json(StatusCode::OK, &User::from(user))
}

/// Removes a person who owns no projects
///
/// The last active administrator cannot be removed.
#[utoipa::path(
    delete, path = "/api/v1/users/{id}", tag = "users",
    responses((status = 204, description = "They are gone")),
)]
pub async fn delete(
    app: Data<App>,
    by: Actor,
    Owned(user): Owned<Row>,
) -> Result<HttpResponse, Error> {
    accounts::remove(&app, &user, &by).await?;
    Ok(done())
}
