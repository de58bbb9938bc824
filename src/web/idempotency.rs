//! A request that creates, sent again with its `Idempotency-Key`, is answered again.

use actix_web::{
    Error as ActixError, HttpMessage as _, HttpResponse,
    body::{BoxBody, MessageBody, to_bytes},
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{StatusCode, header::ContentType},
    middleware::Next,
    web::{Bytes, Data},
};
use anyhow::Context as _;
use futures_util::FutureExt as _;
use sha2::{Digest as _, Sha256};

use super::{
    body::{BODY_MAX, check_length, read},
    error::Error,
    token_hash,
};
use crate::{
    app::App,
    store::{
        entity::user::Model as User,
        idempotency::{self, Claim},
    },
};

/// The header that names a request.
pub const HEADER: &str = "idempotency-key";
/// Told of an answer that was given before.
const REPLAYED: &str = "idempotency-replayed";
/// Bytes of a key.
const KEY_MAX: usize = 255;
/// Bytes of an upload that comes with a key.
const UPLOAD_MAX: usize = 32 << 20;

/// Carries a request out once per key and person; behind a guard.
pub async fn once(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let claimed = match claim(&mut request).await {
        Ok(Claimed::None) => return Ok(next.call(request).await?.map_into_boxed_body()),
        Ok(Claimed::Answered(answer)) => return Ok(request.into_response(answer)),
        Ok(Claimed::New(claimed)) => claimed,
        Err(error) => return Ok(request.error_response(error)),
    };
    let response = next.call(request).await?.map_into_boxed_body();
    if !response.status().is_success() {
        claimed.release().await?;
        return Ok(response);
    }
    let (request, answer) = response.into_parts();
    let (answer, body) = answer.into_parts();
    let body = to_bytes(body).await.map_err(|err| anyhow::anyhow!("an answer's body: {err}"));
    let body = body.map_err(Error::Internal)?;
    claimed.finish(answer.status(), &body).await?;
    Ok(ServiceResponse::new(request, answer.set_body(BoxBody::new(body))))
}

enum Claimed {
    /// Without a key there is nothing to remember.
    None,
    Answered(HttpResponse),
    New(Remembered),
}

/// A key whose request is being carried out.
struct Remembered {
    app: Data<App>,
    user: User,
    key_hash: String,
}

async fn claim(request: &mut ServiceRequest) -> Result<Claimed, Error> {
    let Some(key) = request.headers().get(HEADER) else { return Ok(Claimed::None) };
    let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= KEY_MAX);
    let key = key.ok_or_else(|| {
        Error::Invalid(format!("Give an Idempotency-Key of 1 to {KEY_MAX} visible characters."))
    })?;
    let key_hash = token_hash(key);
    let app = request.app_data::<Data<App>>().cloned().context("no application state")?;
    let user = request.extensions().get::<User>().cloned().context("no guard let anybody in")?;

    let most = if request.content_type().starts_with("multipart/") { UPLOAD_MAX } else { BODY_MAX };
    check_length(request.headers(), most)?;
    let body = read(&mut request.take_payload(), most).await?.freeze();
    let mut hash = Sha256::new();
    hash.update(request.method().as_str());
    hash.update([0]);
    hash.update(request.uri().to_string());
    hash.update([0]);
    hash.update(&body);
    let request_hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    request.set_payload(again(body));

    let now = app.clock.now();
    let claim = idempotency::claim(&app.db, user.id, &key_hash, &request_hash, now).await?;
    let claimed = Remembered { app, user, key_hash };
    match claim {
        Claim::New => Ok(Claimed::New(claimed)),
        Claim::Busy => Err(Error::Conflict(
            "The request with this Idempotency-Key is still being carried out.".into(),
        )),
        Claim::Other => Err(Error::Invalid(
            "This Idempotency-Key was used for another request. Choose a new one.".into(),
        )),
        Claim::Answered { status, body } => {
            let opened = claimed.app.vault.open(&claimed.row(), &body).context("an answer")?;
            let status = StatusCode::from_u16(status).context("an answer")?;
            Ok(Claimed::Answered(
                HttpResponse::build(status)
                    .content_type(ContentType::json())
                    .insert_header((REPLAYED, "true"))
                    .body(opened.expose().to_owned()),
            ))
        }
    }
}

impl Remembered {
    async fn finish(&self, status: StatusCode, body: &Bytes) -> Result<(), Error> {
        let Self { app, user, key_hash } = self;
        let body = std::str::from_utf8(body).context("an answer that is not text")?;
        // Sealed: the answer to a new token is the token.
        let sealed = app.vault.seal(&self.row(), body).context("an answer")?;
        idempotency::finish(&app.db, user.id, key_hash, status.as_u16(), sealed).await?;
        Ok(())
    }

    async fn release(&self) -> Result<(), Error> {
        Ok(idempotency::release(&self.app.db, self.user.id, &self.key_hash).await?)
    }

    /// The name of the row under which its answer is sealed.
    fn row(&self) -> String {
        idempotency::row(self.user.id, &self.key_hash)
    }
}

/// A body that has been read, to be read once more.
fn again(body: Bytes) -> Payload {
    Payload::Stream { payload: Box::pin(async move { Ok(body) }.into_stream()) }
}
