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

use super::error::Error;
use crate::{app::App, domain::ids::RequestId};

/// The header that carries the id.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Logs a request without its query, which may have what is nobody's business.
///
/// It also turns what other middleware fails with into an answer, so that each has all headers.
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
        let http = request.request().clone();
        let mut response = match next.call(request).await {
            Ok(response) => response.map_into_boxed_body(),
            Err(err) => {
                if err.as_response_error().status_code().is_server_error() {
                    tracing::error!("{err}");
                }
                let answer = match err.as_error::<Error>() {
                    Some(_) => err.error_response(),
                    None => actix_web::HttpResponse::build(err.as_response_error().status_code())
                        .finish(),
                };
                ServiceResponse::new(http, answer)
            }
        };
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
