//! The site: routes, pages, fragments and event streams.

mod account;
mod actor;
pub mod api;
pub mod assets;
pub mod attachments;
mod auth;
mod body;
pub mod error;
pub mod extract;
pub mod files;
pub mod guard;
pub mod health;
pub mod highlight;
pub mod home;
mod idempotency;
pub mod live;
mod markdown;
pub mod models;
pub mod page;
pub mod projects;
pub mod providers;
pub mod proxy;
mod request_log;
pub mod routes;
pub mod rules;
pub mod sandbox;
pub mod sessions;
mod settings;
mod setup;
pub mod sign_ins;
pub mod upload;
pub mod usage;
mod users;
mod whole;
pub mod words;

use std::{net::TcpListener, sync::Arc};

use crate::app::App;
pub use crate::domain::token::hash as token_hash;
use actix_session::{SessionMiddleware, config::PersistentSession};
use actix_web::{
    HttpServer,
    cookie::{Key, SameSite, time::Duration},
    dev::Server,
    middleware::{Compress, DefaultHeaders, from_fn},
    web::{self, Data},
};

/// Scripts, styles and everything else from this site alone; no frames, no inline code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// Serves the site on a listener that is already bound, so that a test can pick port zero.
///
/// `cookie_key` is what sign-in cookies are encrypted with.
pub fn serve(listener: TcpListener, app: App, cookie_key: Key) -> std::io::Result<Server> {
    let workers = app.config.server.workers;
    let patience = app.config.server.shutdown_seconds;
    let base = app.config.base_path();
    let app = Arc::new(app);
    let server = HttpServer::new(move || {
        let cookie_path = if base.is_empty() { "/".to_owned() } else { base.clone() };
        let days = Duration::days(app.config.accounts.absolute_days);
        let sign_ins =
            SessionMiddleware::builder(sign_ins::SignIns(app.clone()), cookie_key.clone())
                .cookie_name("forge".into())
                .cookie_path(cookie_path)
                .cookie_same_site(SameSite::Lax)
                .cookie_secure(app.config.cookie_secure())
                .cookie_http_only(true)
                .session_lifecycle(PersistentSession::default().session_ttl(days))
                .build();
        let headers = DefaultHeaders::new()
            .add(("content-security-policy", POLICY))
            .add(("x-content-type-options", "nosniff"))
            .add(("referrer-policy", "same-origin"))
            .add(("x-frame-options", "DENY"))
            .add(("cross-origin-opener-policy", "same-origin"));
        actix_web::App::new()
            .app_data(Data::from(app.clone()))
            .wrap(Compress::default())
            .wrap(from_fn(error::render))
            .wrap(from_fn(guard::set_up))
            .wrap(from_fn(body::plain))
            .wrap(from_fn(guard::same_site))
            .wrap(sign_ins)
            .wrap(from_fn(error::render))
            .wrap(from_fn(request_log::log))
            .wrap(headers)
            .wrap(from_fn(whole::whole))
            .service(web::scope(&base).configure(routes::mount))
            .default_service(web::to(routes::nothing))
    });
    let server = server.workers(workers).shutdown_timeout(patience);
    Ok(server.disable_signals().listen(listener)?.run())
}
