//! Bodies of requests, which anybody can send: bounded in length and in time, read as they are, and
//! with nothing in their texts that a database does not keep.

use std::{borrow::Cow, time::Duration};

use actix_web::{
    Error as ActixError,
    body::{BoxBody, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    error::PayloadError,
    http::header,
    middleware::Next,
};
use bytes::BytesMut;
use futures_util::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use super::error::Error;
use crate::domain::text::nul_in_json;

/// The longest form or JSON body, in bytes.
pub const BODY_MAX: usize = 1 << 20;
/// How long the next byte of a body may take.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a whole body may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Refuses bodies that are compressed: a few bytes of them can stand for more than there is memory.
pub async fn plain(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, ActixError> {
    let is_plain = |value: &header::HeaderValue| {
        value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")
    };
    if request.headers().get_all(header::CONTENT_ENCODING).all(is_plain) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let message = "Send the body as it is, without Content-Encoding.";
    Ok(request.error_response(Error::MediaType(message.into())))
}

/// Refuses a body that says beforehand that it is longer than so many bytes.
pub(super) fn check_length(headers: &header::HeaderMap, at_most: usize) -> Result<(), Error> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    match length {
        Some(length) if length > at_most as u64 => Err(too_large(at_most)),
        _ => Ok(()),
    }
}

/// How long somebody is waited for who sends a body.
pub(super) struct Patience {
    until: Instant,
    silence: Duration,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self::of(PATIENCE, SILENCE)
    }

    fn of(whole: Duration, silence: Duration) -> Self {
        Self { until: Instant::now() + whole, silence }
    }

    /// The next piece of what is sent.
    pub(super) async fn next<S: Stream + Unpin>(
        &self,
        pieces: &mut S,
    ) -> Result<Option<S::Item>, Error> {
        let until = self.until.min(Instant::now() + self.silence);
        timeout_at(until, pieces.next()).await.map_err(|_| Error::TooSlow)
    }
}

/// Reads a body of at most so many bytes.
pub(super) async fn read(payload: &mut Payload, at_most: usize) -> Result<BytesMut, Error> {
    read_with(&Patience::new(), payload, at_most).await
}

async fn read_with(
    patience: &Patience,
    payload: &mut Payload,
    at_most: usize,
) -> Result<BytesMut, Error> {
    let mut body = BytesMut::new();
    while let Some(chunk) = patience.next(payload).await? {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(PayloadError::Overflow) => return Err(too_large(at_most)),
            Err(err) => return Err(Error::Invalid(format!("The body could not be read: {err}."))),
        };
        if body.len() + chunk.len() > at_most {
            return Err(too_large(at_most));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_large(at_most: usize) -> Error {
    Error::TooLarge(format!("Keep it under {} KiB.", at_most / 1024))
}

/// Refuses a form one of whose texts has a NUL: not every database keeps one.
pub(super) fn without_nul<'a>(
    mut fields: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
) -> Result<(), Error> {
    match fields.find(|(name, text)| name.contains('\0') || text.contains('\0')) {
        Some((name, _)) => Err(nul(&format!("The field {}", name.replace('\0', "\u{FFFD}")))),
        None => Ok(()),
    }
}

/// Refuses JSON one of whose texts has a NUL.
pub(super) fn json_without_nul(json: &[u8]) -> Result<(), Error> {
    if nul_in_json(json).is_some() {
        return Err(nul("The body"));
    }
    Ok(())
}

fn nul(what: &str) -> Error {
    Error::Invalid(format!("{what} has a NUL character. Send it without."))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;

    fn payload(pieces: impl Stream<Item = Result<Bytes, PayloadError>> + 'static) -> Payload {
        Payload::Stream { payload: Box::pin(pieces) }
    }

    fn letter() -> Result<Bytes, PayloadError> {
        Ok(Bytes::from_static(b"a"))
    }

    #[tokio::test]
    async fn nobody_is_waited_for_without_end() {
        let millis = Duration::from_millis;
        let mut silent = payload(stream::iter([letter()]).chain(stream::pending()));
        let patience = Patience::of(millis(60_000), millis(20));
        assert!(matches!(read_with(&patience, &mut silent, 9).await, Err(Error::TooSlow)));

        let mut trickle = payload(stream::unfold((), async |()| {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((letter(), ()))
        }));
        let patience = Patience::of(millis(50), millis(60_000));
        assert!(matches!(read_with(&patience, &mut trickle, BODY_MAX).await, Err(Error::TooSlow)));
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_it_may_be_and_no_longer() {
        let letters = |count| payload(stream::iter(vec![letter(), letter(), letter()]).take(count));
        assert_eq!(read(&mut letters(2), 2).await.unwrap(), "aa");
        assert!(matches!(read(&mut letters(3), 2).await, Err(Error::TooLarge(_))));
    }

    #[test]
    fn a_body_that_says_it_is_too_long_is_not_waited_for() {
        let mut headers = header::HeaderMap::new();
        assert!(check_length(&headers, 9).is_ok());
        for (length, fits) in [("9", true), ("10", false), ("99999999999999", false)] {
            let value = header::HeaderValue::from_static(length);
            headers.insert(header::CONTENT_LENGTH, value);
            assert_eq!(check_length(&headers, 9).is_ok(), fits, "{length}");
        }
    }

    #[test]
    fn a_nul_is_found_in_a_form() {
        let of = |text: &'static str| without_nul(url::form_urlencoded::parse(text.as_bytes()));
        assert!(of("a=b&c=d%2500").is_ok());
        for text in ["a=%00", "a=b&c=d%00e", "%00=a", "a=\0"] {
            assert!(of(text).is_err(), "{text:?}");
        }
    }
}
