//! The JSON API and the OpenAPI document that describes it.
//!
//! A feature has a file here with its bodies, its handlers and a `Doc`, which is named once in
//! [`features`]. What every operation has in common (the problem answers, the key of a request
//! that creates) is added from the route table, so that nobody has to write it down again.

pub mod asks;
pub mod attachments;
pub mod budgets;
pub mod favourites;
mod maybe;
pub mod me;
pub mod own_providers;
pub mod page;
pub mod projects;
pub mod providers;
pub mod rules;
pub mod sandbox;
pub mod schema;
pub mod sessions;
pub mod settings;
pub mod tokens;
pub mod usage;
pub mod users;

use actix_web::{
    HttpResponse,
    http::{Method, StatusCode},
    web::Data,
};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{
    OpenApi,
    openapi::{
        Content, OpenApi as Document, Ref, RefOr, Required, Response, SecurityRequirement, Server,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        schema::{ObjectBuilder, Type},
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::{
    error::{Error, Problem},
    routes::{self, Access, Entry},
};
use crate::app::App;

/// The features of the API, one line each.
fn features() -> Vec<Document> {
    vec![
        asks::Doc::openapi(),
        budgets::Doc::openapi(),
        favourites::Doc::openapi(),
        attachments::Doc::openapi(),
        me::Doc::openapi(),
        projects::Doc::openapi(),
        providers::Doc::openapi(),
        own_providers::Doc::openapi(),
        rules::Doc::openapi(),
        sandbox::Doc::openapi(),
        sessions::Doc::openapi(),
        settings::Doc::openapi(),
        tokens::Doc::openapi(),
        usage::Doc::openapi(),
        users::Doc::openapi(),
    ]
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Forge",
        description = "For scripts, CI and other programs: the same that the pages do."
    ),
    paths(openapi),
    components(schemas(Problem))
)]
struct Base;

/// The description of this API
#[utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "description",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = serde_json::Value)),
)]
pub async fn openapi(app: Data<App>) -> Result<HttpResponse, Error> {
    let mut document = document();
    let base = app.config.base_path();
    document.servers = Some(vec![Server::new(if base.is_empty() { "/" } else { &base })]);
    json(StatusCode::OK, &document)
}

/// The whole document.
pub fn document() -> Document {
    let mut document = Base::openapi();
    for feature in features() {
        document.merge(feature);
    }
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An access token from the account page or the command line."))
        .build();
    let cookie = ApiKeyValue::with_description("forge", "The sign-in cookie of a browser.");
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    let nothing: [&str; 0] = [];
    document.security = Some(vec![
        SecurityRequirement::new("token", nothing),
        SecurityRequirement::new("cookie", nothing),
    ]);
    for entry in routes::table() {
        let item = document.paths.paths.get_mut(entry.path);
        if let Some(operation) = item.and_then(|item| operation(item, &entry.method)) {
            complete(operation, &entry);
        }
    }
    document
}

fn operation<'a>(item: &'a mut PathItem, method: &Method) -> Option<&'a mut Operation> {
    let operation = match method.as_str() {
        "GET" => &mut item.get,
        "POST" => &mut item.post,
        "PUT" => &mut item.put,
        "PATCH" => &mut item.patch,
        "DELETE" => &mut item.delete,
        "HEAD" => &mut item.head,
        _ => return None,
    };
    operation.as_mut()
}

/// Adds what the route table knows of an operation: its problem answers, its id, its key.
fn complete(operation: &mut Operation, entry: &Entry) {
    let changes = !matches!(entry.method, Method::GET | Method::HEAD);
    let has_body = operation.request_body.is_some();
    let has_query = operation.parameters.as_ref().is_some_and(|all| {
        all.iter().any(|one| is(one, |one| matches!(one.parameter_in, ParameterIn::Query)))
    });
    let has_id = entry.path.contains("{id}");
    let guarded = entry.access != Access::Anyone;
    let hidden = has_id || matches!(entry.access, Access::Admin | Access::AdminRow);
    let problems = [
        (guarded, 401, "Not signed in, or the token is unknown, ended or of somebody disabled"),
        (guarded, 403, "The token lacks the scope, or another site sent the request"),
        (hidden, 404, "Not there, or not yours"),
        (changes && guarded, 409, "A state that forbids it"),
        (has_body, 413, "The body is too large"),
        (has_body, 415, "The body is not of a type that is taken"),
        (has_body || has_query || entry.creates, 422, "What was sent does not fit: see errors"),
        (guarded, 429, "That was too often: see Retry-After"),
        (guarded, 500, "Something broke on the side of the server"),
        (guarded, 503, "Forge is not set up yet, or cannot do it at the moment"),
    ];
    for (applies, status, description) in problems {
        if applies {
            let problem = RefOr::T(problem(description));
            operation.responses.responses.entry(status.to_string()).or_insert(problem);
        }
    }
    // The functions of every feature have the same few names; its tag tells them apart.
    if let (Some(tag), Some(id)) = (operation.tags.iter().flatten().next(), &operation.operation_id)
    {
        operation.operation_id = Some(format!("{tag}_{id}"));
    }
    let parameters = operation.parameters.get_or_insert_default();
    if has_id && !parameters.iter().any(|one| is(one, |one| one.name == "id")) {
        parameters.push(
            ParameterBuilder::new()
                .name("id")
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(schema::id()))
                .build()
                .into(),
        );
    }
    if entry.creates {
        let key = ObjectBuilder::new().schema_type(Type::String).max_length(Some(255));
        parameters.push(
            ParameterBuilder::new()
                .name("Idempotency-Key")
                .parameter_in(ParameterIn::Header)
                .required(Required::False)
                .description(Some(
                    "Names this request: sent again with the same body within a day, it is \
                     answered the same and not done again.",
                ))
                .schema(Some(key))
                .build()
                .into(),
        );
    }
    if parameters.is_empty() {
        operation.parameters = None;
    }
    if !guarded {
        // An empty requirement: nobody has to sign in.
        operation.security = Some(vec![SecurityRequirement::default()]);
    }
}

fn is(parameter: &RefOr<Parameter>, test: impl Fn(&Parameter) -> bool) -> bool {
    matches!(parameter, RefOr::T(parameter) if test(parameter))
}

fn problem(description: &str) -> Response {
    let mut response = Response::new(description);
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert("application/problem+json".into(), RefOr::T(content));
    response
}

/// Answers with JSON.
pub fn json(status: StatusCode, body: &impl Serialize) -> Result<HttpResponse, Error> {
    let body = serde_json::to_string(body).map_err(|err| Error::Internal(err.into()))?;
    Ok(HttpResponse::build(status)
        .content_type("application/json")
        .insert_header(("cache-control", "no-store"))
        .body(body))
}

/// Answers that something was done, without a body.
pub fn done() -> HttpResponse {
    HttpResponse::NoContent().finish()
}

/// For a field of a PATCH that may be left out, null or a value: `None`, `Some(None)`, `Some(…)`.
///
/// Goes with `#[serde(default, deserialize_with = "nullable")]`.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// For a field of a PATCH that may be left out but not null.
///
/// Goes with `#[serde(default, deserialize_with = "present")]`.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
