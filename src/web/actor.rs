//! Who makes a change, as the audit log names them.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use futures_util::FutureExt as _;

use super::{error::Error, extract::CurrentUser, proxy};
use crate::engine::refused::{Actor, Refused};

impl FromRequest for Actor {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let ip = proxy::address(request).map(|address| address.to_string());
        let user = CurrentUser::from_request(request, payload).now_or_never();
        let user = user.unwrap_or(Err(Error::SignedOut));
        ready(user.map(|CurrentUser(user)| Self { user: user.id, ip }))
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fields(fields) => Self::Fields(fields),
            Refused::Gone => Self::NotFound,
            Refused::Inside(err) => Self::Internal(err),
        }
    }
}
