//! Who makes a change of the engine's, and what becomes of one that is refused.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use futures_util::FutureExt as _;

use super::error::Error;
use crate::{
    app,
    engine::refused::{Actor, Refused},
};

impl FromRequest for Actor {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let visitor = app::Actor::from_request(request, payload).now_or_never();
        let visitor = visitor.and_then(Result::ok).unwrap_or_default();
        let actor = visitor.user.map(|user| Self { user, ip: visitor.ip });
        ready(actor.ok_or(Error::SignedOut))
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fields(fields) => Self::Fields(fields),
            Refused::Conflict(message) => Self::Conflict(message),
            Refused::Gone => Self::NotFound,
            Refused::Inside(err) => Self::Internal(err),
        }
    }
}
