//! Which format is whose.

use reqwest::{
    RequestBuilder,
    header::{self, HeaderName},
};
use serde_json::Value;
use url::Url;

use super::{
    Decode, Endpoint, Fault, FaultKind, Kind, ModelInfo, Peer, anthropic, gemini, ollama, openai,
};
use crate::domain::conversation::Request;

/// The address that a model is asked at.
pub(super) fn chat_url(kind: Kind, entered: &str, model: &str) -> Result<Url, String> {
    match kind {
        Kind::Openai | Kind::Openrouter => openai::chat_url(kind, entered),
        Kind::Ollama => ollama::chat_url(entered),
        Kind::Anthropic => anthropic::messages_url(entered),
        Kind::Gemini => gemini::stream_url(entered, model),
    }
}

/// The address of the list of models.
pub(super) fn list_url(kind: Kind, entered: &str) -> Result<Url, String> {
    match kind {
        Kind::Openai | Kind::Openrouter => openai::models_url(kind, entered),
        Kind::Ollama => ollama::tags_url(entered),
        Kind::Anthropic => anthropic::models_url(entered),
        Kind::Gemini => gemini::models_url(entered),
    }
}

/// The models of a list, or `None` where it is none.
pub(super) fn models(kind: Kind, list: &Value) -> Option<Vec<ModelInfo>> {
    match kind {
        Kind::Openai => openai::models(list),
        Kind::Openrouter => openai::openrouter_models(list),
        Kind::Ollama => ollama::tags(list),
        Kind::Anthropic => anthropic::models(list),
        Kind::Gemini => gemini::models(list),
    }
}

/// The body of a request.
pub(super) fn body(kind: Kind, request: &Request) -> serde_json::Result<Vec<u8>> {
    match kind {
        Kind::Openai | Kind::Openrouter => openai::body(kind, request),
        Kind::Ollama => ollama::body(request),
        Kind::Anthropic => anthropic::body(request),
        Kind::Gemini => gemini::body(request),
    }
}

/// What reads a reply.
pub(super) fn decoder(kind: Kind, peer: Peer) -> Box<dyn Decode> {
    match kind {
        Kind::Openai | Kind::Openrouter => openai::decoder(kind, peer),
        Kind::Ollama => ollama::decoder(peer),
        Kind::Anthropic => anthropic::decoder(peer),
        Kind::Gemini => gemini::decoder(peer),
    }
}

/// The type that a reply has.
pub(super) fn accepted(kind: Kind) -> &'static str {
    match kind {
        Kind::Ollama => "application/x-ndjson",
        Kind::Openai | Kind::Openrouter | Kind::Anthropic | Kind::Gemini => "text/event-stream",
    }
}

/// The call with its key, in the header of the kind: never in the address, which ends up in logs.
pub(super) fn authorized(
    endpoint: &Endpoint,
    call: RequestBuilder,
) -> Result<RequestBuilder, Fault> {
    let call = match endpoint.kind {
        Kind::Anthropic => call.header("anthropic-version", anthropic::VERSION),
        Kind::Openai | Kind::Openrouter | Kind::Ollama | Kind::Gemini => call,
    };
    let Some(key) = &endpoint.key else { return Ok(call) };
    let (name, value) = match endpoint.kind {
        Kind::Openai | Kind::Openrouter | Kind::Ollama => {
            (header::AUTHORIZATION, format!("Bearer {}", key.expose()))
        }
        Kind::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
        Kind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned()),
    };
    let mut value = header::HeaderValue::try_from(value).map_err(|_| {
        Peer::new(endpoint, None).fault(FaultKind::Auth).told(format!(
            "The key of {} contains characters that no key has. Enter it again.",
            endpoint.name
        ))
    })?;
    value.set_sensitive(true);
    Ok(call.header(name, value))
}
