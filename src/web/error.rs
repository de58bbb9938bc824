//! Everything that can go wrong with a request, and what the visitor gets to see of it.
//!
//! A handler returns an [`Error`]; [`render`] turns it into a page, a toast for htmx, or a problem
//! document (RFC 9457) for the API.

use std::{collections::BTreeMap, time::Duration};

use actix_web::{
    Error as ActixError, HttpRequest, HttpResponse, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{StatusCode, header},
    middleware::Next,
    web::Data,
};
use askama::Template;
use serde::Serialize;
use utoipa::ToSchema;

use super::{extract::Wants, page::Frame};
use crate::{
    app::{App, accounts::AccountError},
    store::DbErr,
};

/// An answer other than the one the visitor hoped for.
///
/// The message of each variant is written for the visitor. What went wrong inside stays in the
/// source chain, for the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("There is nothing here, or it is not yours.")]
    NotFound,
    #[error("Sign in first.")]
    SignedOut,
    #[error("That request came from another site.")]
    CrossSite,
    #[error("The request has no Host header. Send one with the name of this site.")]
    NoHost,
    #[error("This token may not do that. It needs the scope {0}.")]
    Scope(crate::domain::token::Scope),
    #[error("{0}")]
    Invalid(String),
    #[error("Some fields need another look.")]
    Fields(Fields),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    TooLarge(String),
    #[error("{0}")]
    MediaType(String),
    #[error("The body did not come in time. Send it again.")]
    TooSlow,
    #[error("That address does not take {method}. It takes {allowed}.")]
    Method { method: String, allowed: String },
    /// A JSON body that does not have the form of what is taken, by the field where it shows.
    #[error("The body is not what this address takes.")]
    Body { field: String, message: String },
    #[error("That was too often. Try again in {} s.", .0.as_secs().max(1))]
    TooMany(Duration),
    #[error("{0}")]
    Unavailable(String),
    #[error("Something broke on our side. It has been logged.")]
    Internal(#[from] anyhow::Error),
}

/// What is wrong, by the name of the field.
pub type Fields = BTreeMap<&'static str, String>;

impl Error {
    /// One field that needs another look.
    pub fn field(name: &'static str, message: impl ToString) -> Self {
        Self::Fields(Fields::from([(name, message.to_string())]))
    }
}

impl From<AccountError> for Error {
    fn from(err: AccountError) -> Self {
        match err {
            AccountError::Fields(fields) => Self::Fields(fields),
            AccountError::Gone => Self::NotFound,
            AccountError::Failed(err) => Self::Internal(err),
            err
            @ (AccountError::LastAdmin | AccountError::HasProjects(_) | AccountError::SetUp) => {
                Self::Conflict(err.to_string())
            }
        }
    }
}

impl From<DbErr> for Error {
    fn from(err: DbErr) -> Self {
        match err {
            DbErr::RecordNotFound(_) => Self::NotFound,
            err => Self::Internal(err.into()),
        }
    }
}

impl ResponseError for Error {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::CrossSite | Self::Scope(_) => StatusCode::FORBIDDEN,
            Self::Invalid(_) | Self::Fields(_) | Self::Body { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A problem document as the API answers it (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// `about:blank`: the status says it all.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    /// With status 422: what is wrong, by field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, String>,
}

impl Problem {
    fn of(error: &Error) -> Self {
        let status = error.status_code();
        let errors = match error {
            Error::Fields(fields) => {
                fields.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect()
            }
            Error::Body { field, message } => BTreeMap::from([(field.clone(), message.clone())]),
            _ => BTreeMap::new(),
        };
        Self {
            kind: "about:blank".into(),
            title: status.canonical_reason().unwrap_or("Error").into(),
            status: status.as_u16(),
            detail: error.to_string(),
            errors,
        }
    }
}

#[derive(Template)]
#[template(path = "error.html", blocks = ["toast"])]
struct ErrorPage {
    frame: Frame,
    status: u16,
    message: String,
    details: Vec<String>,
    /// Whether only the toast is drawn; the page does not show it.
    as_toast: bool,
}

/// Turns errors into pages, toasts or problem documents.
///
/// A handler's error does not know who asked; this does.
pub async fn render(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let response = next.call(request).await?.map_into_boxed_body();
    let Some(error) = response.response().error().and_then(|err| err.as_error::<Error>()) else {
        return Ok(response);
    };
    if let Error::Internal(cause) = error {
        tracing::error!(path = response.request().path(), "{cause:#}");
    }
    let mut answer =
        answer(response.request(), error).map_err(|err| Error::Internal(err.into()))?;
    if let Error::TooMany(wait) = error {
        let seconds = wait.as_secs().max(1);
        answer.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    if let Error::Method { allowed, .. } = error
        && let Ok(allowed) = header::HeaderValue::from_str(allowed)
    {
        answer.headers_mut().insert(header::ALLOW, allowed);
    }
    Ok(response.into_response(answer))
}

/// Whether a request is to the JSON API.
pub fn is_api(request: &HttpRequest) -> bool {
    let base = request.app_data::<Data<App>>().map(|app| app.config.base_path());
    let path = request.path();
    path.strip_prefix(base.as_deref().unwrap_or_default()).unwrap_or(path).starts_with("/api/")
}

fn answer(request: &HttpRequest, error: &Error) -> askama::Result<HttpResponse> {
    let status = error.status_code();
    if is_api(request) {
        let mut answer = HttpResponse::build(status);
        if status == StatusCode::UNAUTHORIZED {
            answer.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        let problem = serde_json::to_string(&Problem::of(error)).unwrap_or_default();
        return Ok(answer.content_type("application/problem+json").body(problem));
    }
    if let Error::NoHost = error {
        // No browser asks like this.
        let text = format!("{error}\n");
        return Ok(HttpResponse::build(status)
            .content_type("text/plain; charset=utf-8")
            .body(text));
    }
    let frame = Frame::of(request);
    let sign_in = sign_in(request, &frame.base);
    let details = match error {
        Error::Fields(fields) => fields.values().cloned().collect(),
        _ => Vec::new(),
    };
    let wants = Wants::of(request);
    let as_toast = wants == Wants::Fragment;
    let message = error.to_string();
    let page = ErrorPage { frame, status: status.as_u16(), message, details, as_toast };
    Ok(match (error, wants) {
        (Error::SignedOut, Wants::Page) => {
            HttpResponse::SeeOther().insert_header((header::LOCATION, sign_in)).finish()
        }
        (Error::SignedOut, Wants::Fragment) => {
            HttpResponse::Unauthorized().insert_header(("hx-redirect", sign_in)).finish()
        }
        (_, Wants::Page) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .body(page.render()?),
        (_, Wants::Fragment) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header(("hx-retarget", "#toasts"))
            .insert_header(("hx-reswap", "beforeend"))
            .body(page.as_toast().render()?),
    })
}

/// The sign-in page, which leads back to where the visitor wanted to go.
fn sign_in(request: &HttpRequest, base: &str) -> String {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let path = path.strip_prefix(base).unwrap_or(path);
    if request.method() != actix_web::http::Method::GET || matches!(path, "" | "/") {
        return format!("{base}/sign-in");
    }
    let next: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
    format!("{base}/sign-in?next={next}")
}
