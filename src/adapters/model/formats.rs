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
use crate::domain::{conversation::Request, provider::ModelMeta};

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

/// Whether a model can be told how much to think, as far as is known.
pub fn takes_effort(kind: Kind, model: &str, meta: &ModelMeta) -> bool {
    meta.reasoning == Some(true) && (kind != Kind::Openai || openai::takes_effort(model))
}

/// The highest temperature that a model takes; `None` where it takes none.
pub fn highest_temperature(kind: Kind, model: &str) -> Option<f32> {
    match kind {
        Kind::Openai if openai::thinks(model) => None,
        Kind::Anthropic if !anthropic::takes_temperature(model) => None,
        Kind::Anthropic => Some(1.0),
        Kind::Openai | Kind::Openrouter | Kind::Ollama | Kind::Gemini => Some(2.0),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_what_the_model_takes() {
        let thinks = ModelMeta { reasoning: Some(true), ..ModelMeta::default() };
        for (kind, model, effort, temperature) in [
            (Kind::Openai, "gpt-4o", true, Some(2.0)),
            (Kind::Openai, "o3", true, None),
            (Kind::Openai, "gpt-5.1", true, None),
            (Kind::Openai, "gpt-6.1-terra", false, None),
            (Kind::Openrouter, "openai/gpt-6.1-terra", true, Some(2.0)),
            (Kind::Anthropic, "claude-sonnet-4-5", true, Some(1.0)),
            (Kind::Anthropic, "claude-opus-5-5", true, None),
            (Kind::Gemini, "gemini-3-pro", true, Some(2.0)),
            (Kind::Ollama, "qwen3:8b", true, Some(2.0)),
        ] {
            assert_eq!(takes_effort(kind, model, &thinks), effort, "{kind} {model}");
            assert_eq!(highest_temperature(kind, model), temperature, "{kind} {model}");
            assert!(!takes_effort(kind, model, &ModelMeta::default()), "{kind} {model}");
        }
    }
}
