//! A person's own providers, as scripts set them up. They are like the shared ones in all but who
//! sees them and where they may lie.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use utoipa::OpenApi;

use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json, Owned, Query},
    },
    maybe::Maybe,
    page::{Page, PageQuery},
    providers::{self, Listing, Provider, ProviderChange, ProviderToCreate, TestResult, TestToRun},
};
use crate::{
    app::App,
    engine::refused::Actor,
    store::{self, entity::provider::Model as Row},
};

#[derive(OpenApi)]
#[openapi(paths(index, create, show, change, delete, test, refresh))]
pub struct Doc;

/// Lists your own providers
///
/// Nobody else sees them. Where administrators have switched them off all are told as disabled.
#[utoipa::path(
    get, path = "/api/v1/me/providers", tag = "providers", params(PageQuery), operation_id = "list_own_providers",
    responses((status = 200, description = "Providers, in the order they were added", body = Page<Provider>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let rows = store::providers::personal(&app.db, user.id).await?;
    providers::listed(&app, &user, &query, rows)
}

/// Adds a provider of your own
///
/// It may not lie in the server's own network, but for hosts that administrators allow.
#[utoipa::path(
    post, path = "/api/v1/me/providers", tag = "providers", request_body = ProviderToCreate, operation_id = "create_own_provider",
    responses((status = 201, description = "The provider", body = Provider)),
)]
pub async fn create(
    app: Data<App>,
    by: Actor,
    CurrentUser(user): CurrentUser,
    Json(wish): Json<ProviderToCreate>,
) -> Result<HttpResponse, Error> {
    let row = app.providers().create_personal(user.id, wish.into(), &by).await?;
    providers::whole(&app, StatusCode::CREATED, row)
}

/// Shows a provider of your own
#[utoipa::path(
    get, path = "/api/v1/me/providers/{id}", tag = "providers", operation_id = "show_own_provider",
    responses((status = 200, description = "The provider", body = Provider)),
)]
pub async fn show(app: Data<App>, Owned(row): Owned<Row>) -> Result<HttpResponse, Error> {
    providers::whole(&app, StatusCode::OK, row)
}

/// Changes a provider of your own
#[utoipa::path(
    patch, path = "/api/v1/me/providers/{id}", tag = "providers", request_body = ProviderChange, operation_id = "change_own_provider",
    responses((status = 200, description = "The provider as it is now", body = Provider)),
)]
pub async fn change(
    app: Data<App>,
    by: Actor,
    row: Owned<Row>,
    wish: Json<ProviderChange>,
) -> Result<HttpResponse, Error> {
    providers::change(app, by, row, wish).await
}

/// Removes a provider of your own
#[utoipa::path(
    delete, path = "/api/v1/me/providers/{id}", tag = "providers", operation_id = "delete_own_provider",
    responses((status = 204, description = "It is gone")),
)]
pub async fn delete(app: Data<App>, by: Actor, row: Owned<Row>) -> Result<HttpResponse, Error> {
    providers::delete(app, by, row).await
}

/// Tries a provider of your own
///
/// Answers with 200 also where it does not work: `ok` says so.
#[utoipa::path(
    post, path = "/api/v1/me/providers/{id}/test", tag = "providers", operation_id = "test_own_provider",
    request_body = Option<TestToRun>,
    responses((status = 200, description = "What came of it", body = TestResult)),
)]
pub async fn test(
    app: Data<App>,
    row: Owned<Row>,
    wish: Maybe<TestToRun>,
) -> Result<HttpResponse, Error> {
    providers::test(app, row, wish).await
}

/// Reads the list of models of a provider of your own
#[utoipa::path(
    post, path = "/api/v1/me/providers/{id}/refresh", tag = "providers", operation_id = "refresh_own_provider",
    responses((status = 200, description = "The models", body = Listing)),
)]
pub async fn refresh(app: Data<App>, by: Actor, row: Owned<Row>) -> Result<HttpResponse, Error> {
    providers::refresh(app, by, row).await
}
