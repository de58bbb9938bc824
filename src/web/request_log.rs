//! One id per request: in every line that is logged meanwhile, and in the answer.

use actix_web::{
    Error as ActixError, HttpMessage as _,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};
use tracing::Instrument as _;

use crate::{app::App, domain::ids::RequestId};

/// The header that carries the id.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Logs a request without its query, which may have what is nobody's business.
pub async fn log(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let Some(app) = request.app_data::<Data<App>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let began = app.clock.now();
    let id = RequestId::mint(began, app.entropy.as_ref());
    request.extensions_mut().insert(id);
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let span = tracing::info_span!("request", %id, %method, path);
    async {
        let response = next.call(request).await;
        let mut response =
            response.inspect_err(|err| tracing::error!("{err}"))?.map_into_boxed_body();
        if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
            response.headers_mut().insert(HEADER, value);
        }
        let (status, ms) =
            (response.status().as_u16(), (app.clock.now() - began).num_milliseconds());
        tracing::info!(status, ms, "answered");
        Ok(response)
    }
    .instrument(span)
    .await
}
