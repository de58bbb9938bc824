//! Forms that may come with files, and files that come by themselves.

use std::str;

use actix_multipart::{Multipart, MultipartError};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, web::Data};
use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde::de::DeserializeOwned;

use super::{
    body::{BODY_MAX, Patience},
    error::Error,
    extract::{Form, form},
};
use crate::{app::App, engine::attachments::Incoming};

/// Pieces that a form may consist of.
const PIECES: usize = 100;
/// How many times the largest file all files of a form may be together: they are held in memory.
const TOGETHER: usize = 4;

/// A posted form with the files that came with it: as `multipart/form-data`, or without files as
/// any form.
pub struct Posted<T> {
    pub form: T,
    pub files: Vec<Incoming>,
}

impl<T: DeserializeOwned + 'static> FromRequest for Posted<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        if !is_multipart(request) {
            let form = Form::<T>::from_request(request, payload);
            return async move { Ok(Self { form: form.await?.0, files: Vec::new() }) }
                .boxed_local();
        }
        let pieces = Pieces::from_request(request, payload);
        async move {
            let Pieces { fields, files } = pieces.await?;
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(fields);
            Ok(Self { form: form(&query.finish())?, files })
        }
        .boxed_local()
    }
}

/// The pieces of a `multipart/form-data` body, within the limits for attachments.
pub struct Pieces {
    pub fields: Vec<(String, String)>,
    pub files: Vec<Incoming>,
}

impl FromRequest for Pieces {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        if !is_multipart(request) {
            let text = "Send files as multipart/form-data.".to_owned();
            return async move { Err(Error::MediaType(text)) }.boxed_local();
        }
        let app = request.app_data::<Data<App>>().cloned();
        let multipart = Multipart::from_request(request, payload);
        async move {
            let app = app.ok_or_else(|| anyhow::anyhow!("the application state is not mounted"))?;
            read(&app, multipart.await.map_err(unreadable)?).await
        }
        .boxed_local()
    }
}

async fn read(app: &App, mut body: Multipart) -> Result<Pieces, Error> {
    let limits = &app.config.attachments;
    let mut pieces = Pieces { fields: Vec::new(), files: Vec::new() };
    let mut room = BODY_MAX;
    let mut file_room = limits.file_bytes().saturating_mul(TOGETHER);
    let mut count = 0;
    let patience = Patience::new();
    while let Some(piece) = patience.next(&mut body).await? {
        let mut piece = piece.map_err(|err| unreadable(err.into()))?;
        count += 1;
        if count > PIECES {
            return Err(Error::Invalid("The form has too many fields.".into()));
        }
        let name = piece.name().unwrap_or_default().to_owned();
        let file = piece.content_disposition().and_then(|it| it.get_filename()).map(str::to_owned);
        let most = if file.is_some() { limits.file_bytes() } else { room };
        let mut content = BytesMut::new();
        while let Some(chunk) = patience.next(&mut piece).await? {
            let chunk = chunk.map_err(|err| unreadable(err.into()))?;
            if file.is_some() && content.len() + chunk.len() > file_room {
                let most = limits.file_mb.saturating_mul(TOGETHER);
                return Err(Error::TooLarge(format!("The files are over {most} MB together.")));
            }
            if content.len() + chunk.len() > most {
                return Err(match &file {
                    Some(file) => {
                        let file = crate::domain::attachment::name(file);
                        Error::TooLarge(format!("{file} is over {} MB.", limits.file_mb))
                    }
                    None => Error::TooLarge(format!("Keep it under {} KiB.", BODY_MAX / 1024)),
                });
            }
            content.extend_from_slice(&chunk);
        }
        let Some(file) = file else {
            room -= content.len();
            let text = str::from_utf8(&content)
                .map_err(|_| Error::Invalid(format!("The field {name} is not UTF-8.")))?;
            pieces.fields.push((name, text.to_owned()));
            continue;
        };
        // A browser sends an empty one where nothing was chosen.
        if file.is_empty() && content.is_empty() {
            continue;
        }
        if pieces.files.len() == limits.per_prompt {
            let text = format!("Attach at most {} files to a prompt.", limits.per_prompt);
            return Err(Error::field("attachments", text));
        }
        file_room -= content.len();
        pieces.files.push(Incoming { name: file, content: content.to_vec() });
    }
    Ok(pieces)
}

fn is_multipart(request: &HttpRequest) -> bool {
    request.content_type().trim().eq_ignore_ascii_case("multipart/form-data")
}

fn unreadable(err: actix_web::Error) -> Error {
    match err.as_error::<MultipartError>() {
        Some(err) => Error::Invalid(format!("The form could not be read: {err}.")),
        None => Error::Invalid("The form could not be read.".into()),
    }
}
