//! The lists of models that the scripted model has, in each format.

use serde_json::{Value, json};

use super::{ScriptedModel, dialect::Dialect, script::Script};

/// The answer to a request that is no chat; `None` where nothing is there.
pub(super) fn answer(
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Option<Script> {
    let named = |name: &str| headers.iter().any(|it| it.0 == name);
    let models = ScriptedModel::MODELS;
    let (dialect, list) = match (method, path) {
        ("GET", "/v1/models?limit=1000") => {
            let model = |id| {
                json!({"type": "model", "id": id, "display_name": id,
                "max_input_tokens": 200_000, "max_tokens": 64_000,
                "capabilities": {"image_input": {"supported": true}}})
            };
            (Dialect::Anthropic, json!({"data": models.map(model), "has_more": false}))
        }
        ("GET", "/v1/models") => {
            let model = |id| json!({"id": id, "object": "model", "owned_by": "scripted"});
            (Dialect::Openai, json!({"object": "list", "data": models.map(model)}))
        }
        // Open to everybody.
        ("GET", "/api/v1/models") => {
            let model = |id| {
                json!({"id": id, "name": id, "context_length": 128_000,
                "pricing": {"prompt": "0.000002", "completion": "0.000008"},
                "architecture": {"input_modalities": ["text"]},
                "supported_parameters": ["tools", "reasoning"]})
            };
            return Some(Script::fault(200, json!({"data": models.map(model)})));
        }
        ("GET", "/api/v1/key") => (Dialect::Openrouter, json!({"data": {"label": "scripted"}})),
        ("GET", "/v1beta/models?pageSize=1000") => {
            let model = |id| {
                json!({"name": format!("models/{id}"), "inputTokenLimit": 1_000_000,
                "outputTokenLimit": 65_536, "thinking": true,
                "supportedGenerationMethods": ["generateContent"]})
            };
            (Dialect::Gemini, json!({"models": models.map(model)}))
        }
        ("GET", "/api/tags") => {
            let model = |id| json!({"name": id, "model": id});
            (Dialect::Ollama, json!({"models": models.map(model)}))
        }
        ("POST", "/api/show") => {
            let asked = serde_json::from_slice::<Value>(body).unwrap_or_default();
            if !models.iter().any(|it| asked["model"] == *it) {
                return Some(Script::fault(404, json!({"error": "model not found"})));
            }
            let shown = json!({"capabilities": ["completion", "tools"],
                "model_info": {"scripted.context_length": 40_960}});
            (Dialect::Ollama, shown)
        }
        _ => return None,
    };
    // A list has no body that could be declared as something else.
    let wrong = dialect.violations(headers);
    let wrong = wrong.iter().find(|it| named("content-type") || !it.contains("declared"));
    Some(match wrong {
        Some(_) => Script::fault(401, dialect.error("Incorrect API key provided")),
        None => Script::fault(200, list),
    })
}
