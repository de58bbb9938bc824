//! Requests that change something are carried out to their end, also when whoever sent them hangs
//! up: what was begun is finished, told, and written into the audit log.

use actix_web::{
    Error as ActixError,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
};

use super::error::Error;

/// Gives such a request a task of its own. A body that does not come whole still changes nothing.
pub async fn whole(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, ActixError> {
    if request.method().is_safe() {
        return next.call(request).await;
    }
    let work = actix_web::rt::spawn(next.call(request));
    work.await.unwrap_or_else(|err| {
        Err(Error::from(anyhow::anyhow!("a request ended early: {err}")).into())
    })
}
