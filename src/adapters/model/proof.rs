//! What a provider wants back unchanged, bound to the kind of provider that made it.
//!
//! A proof is valid for the model that made it only, and a model of the same name may be asked in
//! another format: then it is not sent either.

use serde_json::Value;

use super::Kind;
use crate::domain::conversation::{Item, Reasoning, Request, Signature};

/// The proof as it is kept.
pub(super) fn bound(kind: Kind, proof: &str) -> String {
    format!("{kind}:{proof}")
}

/// The proof of a thought for the model that is asked, where it made it.
pub(super) fn of_thought<'a>(kind: Kind, model: &str, thought: &'a Reasoning) -> Option<&'a str> {
    opened(kind, thought.signature.as_deref()?).filter(|_| thought.model == model)
}

/// The same, where the proof is JSON.
pub(super) fn json_of_thought(kind: Kind, model: &str, thought: &Reasoning) -> Option<Value> {
    serde_json::from_str(of_thought(kind, model, thought)?).ok()
}

/// The proof of a call for the model that is asked, where it made it.
pub(super) fn of_call<'a>(
    kind: Kind,
    model: &str,
    signature: Option<&'a Signature>,
) -> Option<&'a str> {
    let signature = signature.filter(|it| it.model == model)?;
    opened(kind, &signature.text)
}

/// The request without any proof; `None` where it has none.
pub(super) fn without(request: &Request) -> Option<Request> {
    let mut plain = request.clone();
    let mut any = false;
    for item in &mut plain.items {
        let Item::Assistant { reasoning, calls, .. } = item else { continue };
        if let Some(reasoning) = reasoning {
            any |= reasoning.signature.take().is_some();
        }
        for call in calls {
            any |= call.signature.take().is_some();
        }
    }
    any.then_some(plain)
}

fn opened(kind: Kind, kept: &str) -> Option<&str> {
    let (word, proof) = kept.split_once(':')?;
    (word.parse() == Ok(kind) && !proof.is_empty()).then_some(proof)
}
