//! What handlers may ask for. Whatever an extractor yields has already been checked.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, error::PayloadError};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde::de::DeserializeOwned;

use super::{error::Error, page::Frame};
use crate::store::entity::user::Model as User;

/// The signed-in person, on routes that are for signed-in people.
pub struct CurrentUser(pub User);

impl FromRequest for CurrentUser {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(fetched(request).map(Self))
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

/// The longest form or JSON body, in bytes.
pub const BODY_MAX: usize = 1 << 20;

/// A posted form. One that cannot be read is the visitor's mistake, and is told like any other.
pub struct Form<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    #[expect(clippy::disallowed_types, reason = "the one place that wraps it")]
    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        use actix_web::error::UrlencodedError;
        let form = actix_web::web::Form::<T>::from_request(request, payload);
        async move {
            let err = match form.await {
                Ok(form) => return Ok(Self(form.into_inner())),
                Err(err) => err,
            };
            Err(match err.as_error::<UrlencodedError>() {
                Some(UrlencodedError::Overflow { .. }) => too_large(),
                Some(UrlencodedError::Payload(PayloadError::Overflow)) => too_large(),
                Some(UrlencodedError::ContentType) => {
                    Error::MediaType("Send this form as application/x-www-form-urlencoded.".into())
                }
                _ => Error::Invalid(format!("The form could not be read: {err}.")),
            })
        }
        .boxed_local()
    }
}

/// A JSON body of the API.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    #[expect(clippy::disallowed_types, reason = "the one place that wraps it")]
    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        use actix_web::error::JsonPayloadError;
        let json = actix_web::web::Json::<T>::from_request(request, payload);
        async move {
            let err = match json.await {
                Ok(json) => return Ok(Self(json.into_inner())),
                Err(err) => err,
            };
            Err(match err.as_error::<JsonPayloadError>() {
                Some(
                    JsonPayloadError::OverflowKnownLength { .. }
                    | JsonPayloadError::Overflow { .. },
                ) => too_large(),
                Some(JsonPayloadError::ContentType) => {
                    Error::MediaType("Send JSON, with Content-Type: application/json.".into())
                }
                Some(JsonPayloadError::Deserialize(err)) => {
                    Error::Invalid(format!("The body is not what this address takes: {err}."))
                }
                _ => Error::Invalid(format!("The body could not be read: {err}.")),
            })
        }
        .boxed_local()
    }
}

/// The query of an address.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Query<T> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let query = actix_web::web::Query::<T>::from_query(request.query_string());
        ready(match query {
            Ok(query) => Ok(Self(query.into_inner())),
            Err(err) => Err(Error::Invalid(format!("The query could not be read: {err}."))),
        })
    }
}

fn too_large() -> Error {
    Error::TooLarge(format!("Keep it under {} KiB.", BODY_MAX / 1024))
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
