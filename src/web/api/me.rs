//! Who asks.

use actix_web::{HttpResponse, http::StatusCode};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::{
    super::{error::Error, extract::CurrentUser},
    json,
};
use crate::domain::ids::UserId;

#[derive(OpenApi)]
#[openapi(paths(show))]
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
}

/// Tells who the token or the cookie belongs to
#[utoipa::path(
    get, path = "/api/v1/me", tag = "me",
    responses((status = 200, description = "You", body = Me)),
)]
pub async fn show(CurrentUser(user): CurrentUser) -> Result<HttpResponse, Error> {
    let me = Me {
        id: user.id,
        login: user.login,
        name: user.name,
        email: user.email,
        admin: user.admin,
    };
    json(StatusCode::OK, &me)
}
