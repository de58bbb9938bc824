//! Every address of the site, who may visit it, and what answers.
//!
//! The table is data, so that `tests/it/access.rs` can walk it and knock on every door as someone
//! who should not get in. An address that is not in the table does not exist.

use std::marker::PhantomData;

use actix_web::{
    FromRequest, Handler, HttpRequest, Responder, Route,
    http::Method,
    middleware::from_fn,
    web::{self, ServiceConfig},
};

use super::{assets, auth, error::Error, guard, health, providers};
use crate::store::{AdminRow, OwnedRow, entity::provider::Model as Provider};

/// The pages, then the API.
pub fn table() -> Vec<Entry> {
    pages()
}

#[rustfmt::skip]
fn pages() -> Vec<Entry> {
    vec![
        Anyone::get  ("/health/live",  health::live),
        Anyone::get  ("/health/ready", health::ready),
        Anyone::get  ("/static/{version}/{path:.*}", assets::file),

        Anyone::get  ("/sign-in",      auth::form),
        Anyone::post ("/sign-in",      auth::sign_in),
        Anyone::post ("/sign-out",     auth::sign_out),

        Admin::get   ("/providers",     providers::index),
        Admin::post  ("/providers",     providers::create),
        Admin::get   ("/providers/new", providers::new),
        Managed::<Provider>::get  ("/providers/{id}",         providers::show),
        Managed::<Provider>::post ("/providers/{id}",         providers::update),
        Managed::<Provider>::post ("/providers/{id}/test",    providers::test),
        Managed::<Provider>::post ("/providers/{id}/refresh", providers::refresh),
        Managed::<Provider>::get  ("/providers/{id}/models",  providers::models),
        Managed::<Provider>::post ("/providers/{id}/models",  providers::choose),
        Managed::<Provider>::post ("/providers/{id}/disable", providers::disable),
        Managed::<Provider>::post ("/providers/{id}/enable",  providers::enable),
        Managed::<Provider>::post ("/providers/{id}/delete",  providers::delete),
    ]
}

pub struct Entry {
    pub access: Access,
    pub method: Method,
    pub path: &'static str,
    route: Route,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    SignedIn,
    Admin,
    Owner,
    AdminRow,
}

/// Hangs every route. An address with another method is told which ones there are.
pub fn mount(config: &mut ServiceConfig) {
    let mut paths: Vec<(&'static str, Vec<Entry>)> = Vec::new();
    for entry in table() {
        match paths.iter_mut().find(|(path, _)| *path == entry.path) {
            Some((_, entries)) => entries.push(entry),
            None => paths.push((entry.path, vec![entry])),
        }
    }
    for (path, entries) in paths {
        let mut resource = web::resource(path);
        for entry in entries {
            resource = resource.route(entry.route);
        }
        config.service(resource.default_service(web::to(wrong_method)));
    }
}

/// There is no such address.
pub async fn nothing() -> Result<&'static str, Error> {
    Err(Error::NotFound)
}

async fn wrong_method(request: HttpRequest) -> Result<&'static str, Error> {
    Err(Error::Method(request.method().to_string()))
}

/// Anyone at all.
pub(super) struct Anyone;

/// Anyone with an account; what they see is their own.
pub(super) struct SignedIn;

/// Only admins. To everyone else there is nothing here.
pub(super) struct Admin;

/// Only the owner of the row that `{id}` names. To everyone else there is no such row.
pub(super) struct Owner<T>(PhantomData<T>);

/// Only admins, and only where the row that `{id}` names exists.
pub(super) struct Managed<T>(PhantomData<T>);

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        fn $name<A>(path: &'static str, handler: impl Handler<A, Output: Responder + 'static>) -> Entry
        where
            A: FromRequest + 'static,
        {
            let route = Self::hang(web::$name().to(handler));
            Entry { access: Self::ACCESS, method: Method::$method, path, route }
        }
    )*};
}

/// What stands between a request and a handler.
pub(super) trait Door {
    const ACCESS: Access;

    fn hang(route: Route) -> Route;

    methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE, head HEAD);
}

impl Door for Anyone {
    const ACCESS: Access = Access::Anyone;

    fn hang(route: Route) -> Route {
        route
    }
}

impl Door for SignedIn {
    const ACCESS: Access = Access::SignedIn;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::signed_in))
    }
}

impl Door for Admin {
    const ACCESS: Access = Access::Admin;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::admin))
    }
}

impl<T: OwnedRow + Clone + 'static> Door for Owner<T> {
    const ACCESS: Access = Access::Owner;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::owner::<T>))
    }
}

impl<T: AdminRow + Clone + 'static> Door for Managed<T> {
    const ACCESS: Access = Access::AdminRow;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::admin_row::<T>))
    }
}
