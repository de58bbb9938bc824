//! Whether the server runs, and whether it can do its work.

use actix_web::{HttpResponse, web::Data};

use crate::app::App;

/// The process answers.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok\n")
}

/// The database answers too.
pub async fn ready(app: Data<App>) -> HttpResponse {
    match app.db.ping().await {
        Ok(()) => HttpResponse::Ok().content_type("text/plain").body("ready\n"),
        Err(err) => {
            tracing::error!("database: {err}");
            HttpResponse::ServiceUnavailable().content_type("text/plain").body("database\n")
        }
    }
}
