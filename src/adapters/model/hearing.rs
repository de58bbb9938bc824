//! Hears streams in the tests of all formats.

use proptest::prelude::*;

pub use super::recorded::{KEY, Whole};
use super::{Decode, Kind, Peer, formats, recorded};
use crate::domain::{model::Reply, secret::Secret};

/// Hears a body that comes at once.
pub fn hear(kind: Kind, body: &[u8]) -> Whole {
    recorded::hear(kind, [body])
}

/// Hears a body that comes in pieces of these sizes, again and again.
pub fn hear_in_pieces(kind: Kind, mut body: &[u8], sizes: &[usize]) -> Whole {
    let mut sizes = sizes.iter().cycle();
    let pieces = std::iter::from_fn(|| {
        let size = sizes.next().map_or(1, |it| (*it).min(body.len()));
        let (piece, rest) = body.split_at(size);
        body = rest;
        (!piece.is_empty()).then_some(piece)
    });
    recorded::hear(kind, pieces)
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
