//! Hears streams in the tests of all formats.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{Decode, Kind, Peer, formats};
use crate::domain::{
    model::{Delta, Fault, Reply},
    secret::Secret,
};

/// The key that is in every fault's way.
pub const KEY: &str = "sk-quoted-key";

/// All that came of a stream.
#[derive(Debug, PartialEq)]
pub struct Whole {
    pub deltas: Vec<Delta>,
    pub result: Result<Reply, Fault>,
}

/// Hears a body that comes at once.
pub fn hear(kind: Kind, body: &[u8]) -> Whole {
    hear_in_pieces(kind, body, &[usize::MAX])
}

/// Hears a body that comes in pieces of these sizes, again and again.
pub fn hear_in_pieces(kind: Kind, mut body: &[u8], sizes: &[usize]) -> Whole {
    let mut decoder = a_decoder(kind);
    let mut said = VecDeque::new();
    let mut sizes = sizes.iter().cycle();
    let mut failed = None;
    while !body.is_empty() && failed.is_none() {
        let size = sizes.next().map_or(1, |it| (*it).min(body.len()));
        failed = decoder.push(&body[..size], &mut said).err();
        body = &body[size..];
    }
    let failed = failed.or_else(|| decoder.end(&mut said).err());
    let result = failed.map_or_else(|| Ok(decoder.reply()), Err);
    Whole { deltas: said.into(), result }
}

pub fn a_decoder(kind: Kind) -> Box<dyn Decode> {
    let key = Some(Secret::new(KEY));
    formats::decoder(kind, Peer { provider: "Acme".into(), model: Some("m".into()), key })
}

/// Sizes of the pieces that a body is cut into.
pub fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..40_usize, 1..20)
}

/// The calls of a reply: id, name and arguments.
pub fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
    reply.calls.iter().map(|it| (it.id.as_str(), it.name.as_str(), it.arguments.as_str())).collect()
}
