//! What handlers may ask for. Whatever an extractor yields has already been checked.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde::de::DeserializeOwned;

use super::{
    body::{self, BODY_MAX, read},
    error::Error,
    guard::Pass,
    page::Frame,
    proxy,
};
use crate::{app::Actor, domain::token::Scope, store::entity::user::Model as User};

/// The signed-in person, on routes that are for signed-in people.
pub struct CurrentUser(pub User);

impl FromRequest for CurrentUser {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(fetched(request).map(Self))
    }
}

/// The most that the visitor may do: less than their rights where they came with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling(pub Scope);

impl FromRequest for Ceiling {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(fetched(request))
    }
}

impl FromRequest for Pass {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(fetched(request))
    }
}

/// Who acts, for the audit log: the visitor, whom a guard may have let in, and their address.
impl FromRequest for Actor {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let user = request.extensions().get::<User>().map(|user| user.id);
        let ip = proxy::address(request).map(|address| address.to_string());
        ready(Ok(Self { user, ip }))
    }
}

/// The row that `{id}` in the path names, on routes that are for its owner or for admins.
///
/// This is the only way from a path to a row, so a handler that has the row has the right to it.
pub struct Owned<T>(pub T);

impl<T: Clone + 'static> FromRequest for Owned<T> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(fetched(request).map(|Fetched(row)| Self(row)))
    }
}

/// How a guard leaves a row for [`Owned`]; so that the person of the visit is never taken for it.
#[derive(Clone)]
pub(super) struct Fetched<T>(pub T);

impl FromRequest for Frame {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self::of(request)))
    }
}

/// A posted form. One that cannot be read is the visitor's mistake, and is told like any other.
pub struct Form<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_form =
            request.content_type().trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
        let fits = body::check_length(request.headers(), BODY_MAX);
        let mut payload = payload.take();
        async move {
            if !is_form {
                let message = "Send this form as application/x-www-form-urlencoded.";
                return Err(Error::MediaType(message.into()));
            }
            fits?;
            let body = read(&mut payload, BODY_MAX).await?;
            let text = std::str::from_utf8(&body).map_err(|_| {
                Error::Invalid("The form could not be read: it is not UTF-8.".into())
            })?;
            form(text).map(Self)
        }
        .boxed_local()
    }
}

/// Reads a form from `a=1&b=2`.
pub(super) fn form<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    body::without_nul(url::form_urlencoded::parse(text.as_bytes()))?;
    pairs(text).map_err(|err| Error::Invalid(format!("The form could not be read: {err}.")))
}

/// A JSON body of the API. One that does not fit is answered with the field where it shows.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = request.content_type().trim().eq_ignore_ascii_case("application/json");
        let fits = body::check_length(request.headers(), BODY_MAX);
        let mut payload = payload.take();
        async move {
            if !is_json {
                let message = "Send JSON, with Content-Type: application/json.";
                return Err(Error::MediaType(message.into()));
            }
            fits?;
            let body = read(&mut payload, BODY_MAX).await?;
            body::json_without_nul(&body)?;
            let mut json = serde_json::Deserializer::from_slice(&body);
            let value = serde_path_to_error::deserialize(&mut json).map_err(misfit)?;
            let end = json.end();
            end.map_err(|err| Error::Invalid(format!("The body is not JSON: {err}.")))?;
            Ok(Self(value))
        }
        .boxed_local()
    }
}

/// A JSON body that may be left out altogether.
pub struct JsonOrNothing<T>(pub T);

impl<T: DeserializeOwned + Default + 'static> FromRequest for JsonOrNothing<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let length = header(actix_web::http::header::CONTENT_LENGTH).unwrap_or("0");
        let chunked = header(actix_web::http::header::TRANSFER_ENCODING).is_some();
        if length == "0" && !chunked {
            return ready(Ok(Self(T::default()))).boxed_local();
        }
        let json = Json::<T>::from_request(request, payload);
        async move { json.await.map(|Json(value)| Self(value)) }.boxed_local()
    }
}

/// Says where a body does not fit, as far as serde tells.
fn misfit(err: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let mut field = err.path().to_string();
    let err = err.into_inner();
    if !err.is_data() {
        return Error::Invalid(format!("The body is not JSON: {err}."));
    }
    // Without the position in the text, which says nothing to a script.
    let text = err.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let (text, named) = match text.split('`').collect::<Vec<_>>()[..] {
        ["missing field ", name, ..] => ("This field is missing.".to_owned(), Some(name)),
        ["unknown field ", name, ..] => ("There is no such field.".to_owned(), Some(name)),
        _ => (format!("{text}."), None),
    };
    match named {
        // For an unknown field the path ends in it already.
        Some(name) if field == "." => field = name.to_owned(),
        Some(name) if !field.ends_with(name) => field = format!("{field}.{name}"),
        _ => {}
    }
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    Error::Body { field, message: first.chain(letters).collect() }
}

/// The query of an address.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Query<T> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let text = request.query_string();
        // Nothing is called by a name with a NUL, and not every database can be asked for one.
        if body::without_nul(url::form_urlencoded::parse(text.as_bytes())).is_err() {
            return ready(Err(Error::NotFound));
        }
        let query = pairs(text);
        ready(
            query
                .map(Self)
                .map_err(|err| Error::Invalid(format!("The query could not be read: {err}."))),
        )
    }
}

/// Reads `a=1&b=2`, or says why it cannot.
fn pairs<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    use actix_web::error::QueryPayloadError;
    match actix_web::web::Query::<T>::from_query(text) {
        Ok(query) => Ok(query.into_inner()),
        Err(QueryPayloadError::Deserialize(err)) => Err(err.to_string()),
        Err(err) => Err(err.to_string()),
    }
}

/// Whether htmx asked, and will swap the answer into the page it is on.
///
/// Boosted links and restored history look like htmx requests but want a whole page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    Page,
    Fragment,
}

impl Wants {
    pub fn of(request: &HttpRequest) -> Self {
        let has = |name: &str| request.headers().contains_key(name);
        if has("hx-request") && !has("hx-boosted") && !has("hx-history-restore-request") {
            Self::Fragment
        } else {
            Self::Page
        }
    }
}

impl FromRequest for Wants {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self::of(request)))
    }
}

/// Hands over what a guard fetched. Nothing there means the route hangs behind the wrong door.
fn fetched<T: Clone + 'static>(request: &HttpRequest) -> Result<T, Error> {
    let found = request.extensions().get::<T>().cloned();
    found.ok_or_else(|| anyhow::anyhow!("no guard fetched a {}", std::any::type_name::<T>()).into())
}
