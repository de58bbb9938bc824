//! The content of an attachment, for whoever may see its session.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web::Data,
};

use super::{error::Error, extract::Owned, files::encoded};
use crate::{app::App, engine::attachments, store::entity::attachment::Model as Attachment};

/// What is shown by itself may do nothing at all.
const POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// `GET /attachments/{id}`, on the pages and in the API.
///
/// The type is what Forge found the content to be: an image that models read, or plain text.
pub async fn show(
    app: Data<App>,
    request: HttpRequest,
    Owned(row): Owned<Attachment>,
) -> Result<HttpResponse, Error> {
    let tag = format!("\"{}\"", row.sha256);
    let known = request.headers().get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|it| it.as_bytes() == tag.as_bytes());
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    let name = encoded(&row.name).replace('/', "%2F");
    let disposition = format!("inline; filename=\"file\"; filename*=UTF-8''{name}");
    let disposition = HeaderValue::from_str(&disposition)
        .map_err(|err| anyhow::anyhow!("naming an attachment: {err}"))?;
    let mime = match row.mime.as_str() {
        image @ ("image/png" | "image/jpeg" | "image/gif" | "image/webp") => image,
        _ => "text/plain; charset=utf-8",
    };
    answer
        .content_type(mime)
        .insert_header((header::ETAG, tag))
        // Asked for again each time: the session may be gone, or the person signed out.
        .insert_header((header::CACHE_CONTROL, "private, no-cache"))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header(("cross-origin-resource-policy", "same-origin"));
    if is_known {
        return Ok(answer.finish());
    }
    let content = attachments::content(&app.engine, &row).await?;
    Ok(answer.body(content))
}
