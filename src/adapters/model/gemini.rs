//! `generateContent`: the format of Google's Gemini.
//!
//! Written from the public reference of the format (v1beta).

mod decoder;
mod schema;
mod wire;

use serde_json::Value;
use url::Url;

pub(super) use self::decoder::decoder;
use self::wire::{
    Body, Content, Declaration, FunctionCalling, FunctionCallingConfig, GenerationConfig, Part,
    Role, ThinkingConfig, Tools,
};
use super::{Kind, ModelInfo, address, images::Chosen, proof};
use crate::domain::conversation::{Call, Effort, Item, Reasoning, Request, ToolChoice};

/// What stands where a conversation must begin or end with the person and does not.
const GOES_ON: &str = "(The conversation goes on.)";

/// Goes with a call that this model did not make, for from version 3 on a call without a proof is
/// refused. The value is the one that the public reference names for this.
const NOT_ITS_OWN: &str = "skip_thought_signature_validator";

/// What people copy along with an address.
const TAILS: &[&str] = &["openai/chat/completions", "openai", "models"];

/// The address that a model is asked at. The key goes in a header, for addresses end up in logs.
pub(super) fn stream_url(entered: &str, model: &str) -> Result<Url, String> {
    let mut url = address::versioned(address::base(entered, TAILS)?, "v1beta", "models");
    let model = model.strip_prefix("models/").unwrap_or(model);
    url.path_segments_mut()
        .map_err(|()| "The address of the provider has no path.")?
        // As one piece, so that a name cannot lead elsewhere.
        .push(&format!("{model}:streamGenerateContent"));
    url.query_pairs_mut().append_pair("alt", "sse");
    Ok(url)
}

/// The address of the list of models.
pub(super) fn models_url(entered: &str) -> Result<Url, String> {
    let mut url = address::versioned(address::base(entered, TAILS)?, "v1beta", "models");
    url.query_pairs_mut().append_pair("pageSize", "1000");
    Ok(url)
}

/// The body of a request.
pub(super) fn body(request: &Request) -> serde_json::Result<Vec<u8>> {
    let mut tools: Vec<_> = request.tools.iter().collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let function_declarations: Vec<_> = tools
        .into_iter()
        .map(|it| Declaration {
            name: &it.name,
            description: &it.description,
            parameters: schema::parameters(&it.schema),
        })
        .collect();
    let forbidden = request.tools_allowed == ToolChoice::None && !function_declarations.is_empty();
    let tools = Some(Tools { function_declarations });
    let system = Some(request.system.as_str()).filter(|it| !it.trim().is_empty());
    serde_json::to_vec(&Body {
        system_instruction: system.map(|it| Content { role: None, parts: vec![Part::text(it)] }),
        tools: tools.filter(|it| !it.function_declarations.is_empty()).into_iter().collect(),
        generation_config: GenerationConfig {
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
            thinking_config: thinking(request),
        },
        contents: contents(request),
        tool_config: forbidden.then_some(FunctionCalling {
            function_calling_config: FunctionCallingConfig { mode: "NONE" },
        }),
    })
}

/// The version of a model of this maker: `(2, 5)` of `gemini-2.5-pro`.
fn version(model: &str) -> Option<(u32, u32)> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let version = name.strip_prefix("gemini-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// How a request asks for thought: with a level from version 3 on, with a budget in 2.5. Others
/// refuse the field.
fn thinking(request: &Request) -> Option<ThinkingConfig> {
    let version = version(&request.model).filter(|it| *it >= (2, 5))?;
    let mut config = ThinkingConfig { include_thoughts: true, ..ThinkingConfig::default() };
    let effort = match (request.effort, request.meta.reasoning) {
        (_, Some(false)) | (None, None) => return None,
        (None, Some(true)) => return Some(config),
        (Some(effort), _) => effort,
    };
    let small = request.model.contains("flash");
    if version >= (3, 0) {
        // The least that all of them take.
        config.thinking_level = Some(match effort {
            Effort::Off | Effort::Low => "low",
            // Not every large one knows a level between.
            Effort::Medium if !small => "high",
            Effort::Medium => "medium",
            Effort::High => "high",
        });
    } else {
        config.thinking_budget = Some(match effort {
            // The large one cannot be kept from thinking.
            Effort::Off if small => 0,
            Effort::Off => 128,
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High => 24_576,
        });
    }
    Some(config)
}

/// The contents: roles alternate, the person begins and ends, results follow their calls.
fn contents(request: &Request) -> Vec<Content<'_>> {
    let chosen = Chosen::of(Kind::Gemini, request);
    let mut contents: Vec<Content<'_>> = Vec::new();
    for (at, item) in request.items.iter().enumerate() {
        let (role, parts) = match item {
            Item::User { text, images } => {
                let mut parts: Vec<_> = chosen.images(at, images).map(Part::image).collect();
                let text = Some(text.as_str()).filter(|it| !it.trim().is_empty());
                parts.extend(text.map(Part::text));
                parts.extend(chosen.note(at).map(|it| Part::text(it.to_owned())));
                (Role::User, parts)
            }
            Item::Assistant { text, reasoning, calls } => {
                (Role::Model, answer(&request.model, text, reasoning.as_ref(), calls))
            }
            Item::Results(results) => (Role::User, results.iter().map(Part::result).collect()),
        };
        if parts.is_empty() {
            continue;
        }
        match contents.last_mut().filter(|it| it.role == Some(role)) {
            Some(last) => last.parts.extend(parts),
            None => contents.push(Content { role: Some(role), parts }),
        }
    }
    let goes_on = || Content { role: Some(Role::User), parts: vec![Part::text(GOES_ON)] };
    if contents.first().is_none_or(|it| it.role != Some(Role::User)) {
        contents.insert(0, goes_on());
    }
    if contents.last().is_some_and(|it| it.role != Some(Role::User)) {
        contents.push(goes_on());
    }
    contents
}

/// What the model said. A thought itself is never sent, only the proofs of it.
fn answer<'a>(
    model: &str,
    text: &'a str,
    reasoning: Option<&Reasoning>,
    calls: &'a [Call],
) -> Vec<Part<'a>> {
    let proof = reasoning.and_then(|it| proof::of_thought(Kind::Gemini, model, it));
    let mut parts = Vec::with_capacity(calls.len() + 1);
    if !text.trim().is_empty() {
        parts.push(Part::text(text).signed(proof));
    }
    let wants_proof = version(model).is_some_and(|it| it >= (3, 0));
    for (at, call) in calls.iter().enumerate() {
        let own = proof::of_call(Kind::Gemini, model, call.signature.as_ref());
        // Of calls that are made together the first carries the proof.
        let stand_in = Some(NOT_ITS_OWN).filter(|_| wants_proof && at == 0);
        parts.push(Part::call(call).signed(own.or(stand_in)));
    }
    parts
}

/// The models of a listing that answer, or `None` where it is none.
pub(super) fn models(list: &Value) -> Option<Vec<ModelInfo>> {
    let model = |it: &Value| {
        let name = it.get("name")?.as_str()?;
        let id = name.strip_prefix("models/").unwrap_or(name);
        let methods = it.get("supportedGenerationMethods").and_then(Value::as_array);
        let answers = |it: &Vec<Value>| it.iter().any(|it| it == "generateContent");
        if id.is_empty() || !methods.is_none_or(answers) {
            return None;
        }
        let number = |name: &str| it.get(name)?.as_u64().filter(|it| *it > 0);
        let shown = it.get("displayName").and_then(Value::as_str).unwrap_or(id);
        Some(ModelInfo {
            name: shown.to_owned(),
            context: number("inputTokenLimit"),
            output_limit: number("outputTokenLimit"),
            reasoning: it.get("thinking").and_then(Value::as_bool),
            ..ModelInfo::named(id)
        })
    };
    Some(list.get("models")?.as_array()?.iter().filter_map(model).collect())
}

#[cfg(test)]
mod tests;
