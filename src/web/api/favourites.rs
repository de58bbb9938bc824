//! The models that a person likes to find quickly.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json, Query},
    },
    done, json,
    page::{Page, PageQuery},
};
use crate::{
    app::App,
    engine::models,
    store::{entity::model_favourite::Model as Row, favourites},
};

#[derive(OpenApi)]
#[openapi(paths(index, create, delete))]
pub struct Doc;

/// A model that you like to find quickly
#[derive(Serialize, ToSchema)]
pub struct Favourite {
    /// `<provider id>/<model id>`, as sessions name it
    model: String,
    created_at: DateTime<Utc>,
}

/// A model to be liked
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FavouriteToCreate {
    /// `<provider id>/<model id>`
    #[schema(max_length = 230)]
    model: String,
}

/// Which model is meant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ByModel {
    /// `<provider id>/<model id>`
    #[param(value_type = String, required = true, max_length = 230)]
    model: Option<String>,
}

impl From<Row> for Favourite {
    fn from(row: Row) -> Self {
        Self { model: format!("{}/{}", row.provider_id, row.model), created_at: row.created_at }
    }
}

/// Lists the models that you like
#[utoipa::path(
    get, path = "/api/v1/me/favourites", tag = "me", params(PageQuery), operation_id = "list_favourites",
    responses((status = 200, description = "Models, by their names", body = Page<Favourite>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<String>()?;
    let rows = favourites::of(&app.db, user.id).await?;
    let mut all: Vec<Favourite> = rows.into_iter().map(Favourite::from).collect();
    all.retain(|it| bounds.after.as_ref().is_none_or(|after| it.model > *after));
    all.sort_by(|one, other| one.model.cmp(&other.model));
    json(StatusCode::OK, &bounds.page(all, |it| it.model.clone(), |it| it))
}

/// Likes a model
///
/// One that sessions of yours can use. Liking it twice changes nothing.
#[utoipa::path(
    post, path = "/api/v1/me/favourites", tag = "me", request_body = FavouriteToCreate, operation_id = "create_favourite",
    responses((status = 201, description = "The model", body = Favourite)),
)]
pub async fn create(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Json(wish): Json<FavouriteToCreate>,
) -> Result<HttpResponse, Error> {
    let row = models::like(&app.engine, user.id, &wish.model).await?;
    json(StatusCode::CREATED, &Favourite::from(row))
}

/// Likes a model no longer
#[utoipa::path(
    delete, path = "/api/v1/me/favourites", tag = "me", params(ByModel), operation_id = "delete_favourite",
    responses((status = 204, description = "It is no favourite")),
)]
pub async fn delete(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(ByModel { model }): Query<ByModel>,
) -> Result<HttpResponse, Error> {
    let model = model.ok_or_else(|| Error::field("model", "Name a model."))?;
    models::unlike(&app.engine, user.id, &model).await?;
    Ok(done())
}
