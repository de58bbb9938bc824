//! What holds for every stream and every request, whatever bytes they are made of.

#![allow(dead_code, unused_imports, reason = "parts of Forge, of which this calls a few")]

#[path = "../../src/domain"]
pub mod domain {
    pub mod catalogue;
    pub mod conversation;
    pub mod fault;
    pub mod ids;
    pub mod message;
    pub mod model;
    pub mod provider;
    pub mod reach;
    pub mod secret;
    pub mod session;
    pub mod text;
}

#[path = "../../src/adapters"]
pub mod adapters {
    pub mod model;
    pub mod reach;
}

#[path = "../../tests/it/support/model/check.rs"]
mod check;
mod invented;

pub use domain::provider::Kind;

use adapters::model::recorded::{self, KEY, Whole, hear, lines};
use domain::model::parse_arguments;

/// A stream means the same however it is cut, and ends in a whole reply or in a fault.
pub fn stream(kind: Kind, body: &[u8]) {
    let whole = hear(kind, [body]);
    assert_eq!(hear(kind, body.chunks(1)), whole, "byte by byte");
    assert_eq!(hear(kind, cut(body)), whole, "in pieces");
    match whole.result {
        Ok(reply) => {
            let mut ids: Vec<_> = reply.calls.iter().map(|it| &it.id).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), reply.calls.len(), "an id is there twice");
            for call in &reply.calls {
                let _ = parse_arguments(&call.arguments);
            }
            if let Some(used) = &reply.usage {
                assert!(used.tokens.reasoning <= used.tokens.output, "{used:?}");
            }
        }
        Err(fault) => {
            assert!(!fault.message.is_empty());
            assert!(!format!("{fault:?}").contains(KEY), "a fault quotes the key");
        }
    }
}

/// Lines are the same however they are cut.
pub fn event_lines(body: &[u8]) {
    let whole = lines([body]);
    assert_eq!(lines(body.chunks(1)), whole);
    assert_eq!(lines(cut(body)), whole);
}

/// Every conversation becomes a request of the public format, and the same one each time.
pub fn requests(bytes: &[u8]) {
    let request = invented::request(bytes);
    for kind in Kind::ALL {
        let body = recorded::body(kind, &request).expect("a request is JSON");
        assert_eq!(recorded::body(kind, &request).expect("a request is JSON"), body);
        let sent = serde_json::from_slice(&body).expect("a request is JSON");
        let wrong = check::violations(&kind.to_string(), &request.model, &sent);
        assert!(wrong.is_empty(), "{kind}: {wrong:?} {sent:#}");
    }
}

/// Pieces whose sizes the bytes themselves decide.
fn cut(mut body: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while let Some(&first) = body.first() {
        let (piece, rest) = body.split_at((usize::from(first) % 23 + 1).min(body.len()));
        pieces.push(piece);
        body = rest;
    }
    pieces
}
