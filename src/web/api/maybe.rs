//! A JSON body that may be left out.

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header};
use futures_util::future::{FutureExt as _, LocalBoxFuture, ready};
use serde::de::DeserializeOwned;

use super::super::{error::Error, extract::Json};

/// What was sent, or the default where nothing was.
pub struct Maybe<T>(pub T);

impl<T: DeserializeOwned + Default + 'static> FromRequest for Maybe<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let empty = length
            .map_or(!request.headers().contains_key(header::TRANSFER_ENCODING), |length| {
                length == "0"
            });
        if empty {
            return ready(Ok(Self(T::default()))).boxed_local();
        }
        Json::from_request(request, payload).map(|it| it.map(|Json(it)| Self(it))).boxed_local()
    }
}
