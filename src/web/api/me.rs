//! Who asks.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json},
    },
    json, nullable, present,
};
use crate::{
    app::{
        Actor, App,
        accounts::{self, Change},
    },
    domain::ids::UserId,
    store::entity::user::Model as User,
};

#[derive(OpenApi)]
#[openapi(paths(show, change))]
pub struct Doc;

/// The person who asks
#[derive(Serialize, ToSchema)]
pub struct Me {
    id: UserId,
    login: String,
    name: String,
    #[schema(required)]
    email: Option<String>,
    admin: bool,
    /// Where your days begin, for usage and budgets; null stands for the server's own
    #[schema(required)]
    time_zone: Option<String>,
}

/// What is to be changed of you; what is left out stays
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MeChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 80, value_type = String, required = false)]
    name: Option<String>,
    /// A name like `Europe/Berlin`; null stands for the server's own
    #[serde(default, deserialize_with = "nullable")]
    #[schema(max_length = 64, value_type = Option<String>, required = false)]
    time_zone: Option<Option<String>>,
}

impl From<User> for Me {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            login: user.login,
            name: user.name,
            email: user.email,
            admin: user.admin,
            time_zone: user.time_zone,
        }
    }
}

/// Tells who the token or the cookie belongs to
#[utoipa::path(
    get, path = "/api/v1/me", tag = "me",
    responses((status = 200, description = "You", body = Me)),
)]
pub async fn show(CurrentUser(user): CurrentUser) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Me::from(user))
}

/// Changes your name and your time zone
#[utoipa::path(
    patch, path = "/api/v1/me", tag = "me", request_body = MeChange, operation_id = "change_me",
    responses((status = 200, description = "You, as you are now", body = Me)),
)]
pub async fn change(
    app: Data<App>,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Json(MeChange { name, time_zone }): Json<MeChange>,
) -> Result<HttpResponse, Error> {
    let time_zone = time_zone.map(Option::unwrap_or_default);
    let change = Change { name, time_zone, ..Change::default() };
    let user = accounts::change(&app, user.id, change, &by).await?;
    json(StatusCode::OK, &Me::from(user))
}
