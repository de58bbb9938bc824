//! A person's own access tokens.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{Ceiling, CurrentUser, Json, Owned, Query},
    },
    done, json,
    page::{Page, PageQuery},
};
use crate::{
    app::{
        Actor, App,
        tokens::{self, NewToken},
    },
    domain::{ids::ApiTokenId, token::Scope},
    store::{api_tokens, entity::api_token::Model as ApiToken},
};

#[derive(OpenApi)]
#[openapi(paths(index, create, revoke))]
pub struct Doc;

/// An access token, without its text
#[derive(Serialize, ToSchema)]
pub struct Token {
    id: ApiTokenId,
    name: String,
    scope: Scope,
    #[schema(required)]
    last_used_at: Option<DateTime<Utc>>,
    #[schema(required)]
    expires_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

/// An access token that was just made
#[derive(Serialize, ToSchema)]
pub struct CreatedToken {
    #[serde(flatten)]
    row: Token,
    /// What to send as the bearer token. It is not shown again.
    token: String,
}

/// An access token to be made
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenToCreate {
    #[schema(min_length = 1, max_length = 80)]
    name: String,
    /// `admin` only for administrators, and never more than the token that asks for it
    scope: Scope,
    /// When it ends; left out or null: never
    expires_at: Option<DateTime<Utc>>,
}

impl From<ApiToken> for Token {
    fn from(row: ApiToken) -> Self {
        Self {
            id: row.id,
            name: row.name,
            scope: row.scope,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
            created_at: row.created_at,
        }
    }
}

/// Lists your access tokens
#[utoipa::path(
    get, path = "/api/v1/tokens", tag = "tokens", params(PageQuery),
    responses((status = 200, description = "Your tokens, oldest first", body = Page<Token>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<ApiTokenId>()?;
    let rows = api_tokens::page(&app.db, user.id, bounds.after, bounds.rows()).await?;
    json(StatusCode::OK, &bounds.page(rows, |row| row.id, Token::from))
}

/// Makes an access token
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "tokens", request_body = TokenToCreate,
    responses((status = 201, description = "The token, with its text", body = CreatedToken)),
)]
pub async fn create(
    app: Data<App>,
    by: Actor,
    Ceiling(ceiling): Ceiling,
    CurrentUser(user): CurrentUser,
    Json(wish): Json<TokenToCreate>,
) -> Result<HttpResponse, Error> {
    let TokenToCreate { name, scope, expires_at } = wish;
    let new = NewToken { name, scope, expires_at, ceiling };
    let minted = tokens::create(&app, &user, new, &by).await?;
    let created = CreatedToken { row: minted.row.into(), token: minted.text };
    json(StatusCode::CREATED, &created)
}

/// Revokes an access token
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", tag = "tokens",
    responses((status = 204, description = "It is revoked")),
)]
pub async fn revoke(
    app: Data<App>,
    by: Actor,
    Owned(token): Owned<ApiToken>,
) -> Result<HttpResponse, Error> {
    tokens::revoke(&app, token, &by).await?;
    Ok(done())
}
