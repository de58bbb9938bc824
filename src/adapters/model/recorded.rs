//! What the formats make of bytes, without a connection: for benchmarks and fuzz targets.

use std::collections::VecDeque;

use super::{Kind, Peer, formats};
use crate::domain::{
    conversation::Request,
    model::{Delta, Fault, Reply},
    secret::Secret,
};

/// The key that the replies are said to have been asked for with. No fault may quote it.
pub const KEY: &str = "sk-quoted-key";

/// All that came of a stream.
#[derive(Debug, PartialEq)]
pub struct Whole {
    pub deltas: Vec<Delta>,
    pub result: Result<Reply, Fault>,
}

/// The body of a request.
pub fn body(kind: Kind, request: &Request) -> serde_json::Result<Vec<u8>> {
    formats::body(kind, request)
}

/// Hears a stream that comes in these pieces.
pub fn hear<'a>(kind: Kind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Whole {
    let (provider, model) = ("Acme".into(), Some("m".into()));
    let mut decoder = formats::decoder(kind, Peer { provider, model, key: Some(Secret::new(KEY)) });
    let mut said = VecDeque::new();
    let pushed = pieces.into_iter().try_for_each(|piece| decoder.push(piece, &mut said));
    let ended = pushed.and_then(|()| decoder.end(&mut said));
    let result = ended.map(|()| decoder.reply());
    Whole { deltas: said.into(), result }
}

/// The lines of an event stream, each as it is understood.
#[cfg(any(test, fuzzing))]
pub fn lines<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<String>> {
    use super::sse::{Lines, TooLong};
    let (mut lines, mut all) = (Lines::default(), Vec::new());
    for piece in pieces {
        let kept = lines.push(piece, |line| {
            all.push(format!("{line:?}"));
            Ok::<(), TooLong>(())
        });
        kept.ok()?;
    }
    all.extend(lines.last().map(|line| format!("{line:?}")));
    Some(all)
}
