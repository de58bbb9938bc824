//! The chat format of Ollama.
//!
//! Ollama speaks Chat Completions too, but takes neither a size of the window nor whether to think
//! there: `num_ctx` and `think` are passed over in silence, and a prompt that is longer than the
//! window that the server chose is cut without a word. Its own `/api/chat`, one JSON value a line,
//! takes both, so that is what is spoken here. (Known as ollama issue 16814; its documentation of
//! the compatible endpoint says the same.)

mod decoder;
mod wire;

use serde_json::Value;
use url::Url;

pub(super) use self::decoder::decoder;
use self::wire::{Body, CalledFunction, Function, Message, Options, Think, Tool, ToolCall};
use super::{Kind, ModelInfo, address, images::Chosen, sorted::Sorted};
use crate::domain::conversation::{Effort, Item, Request, ToolChoice};

/// What people copy along with an address.
const TAILS: &[&str] = &["api/chat", "v1/chat/completions", "v1", "api"];

/// The smallest window that is asked for. Below it no agent works, and each change of the size
/// makes the server load the model again.
const SMALLEST_WINDOW: u64 = 16_384;

/// Room for the answer in the window.
const ROOM: u64 = 4_096;

/// The address that chats are sent to.
pub(super) fn chat_url(entered: &str) -> Result<Url, String> {
    url(entered, "chat")
}

/// The address of the list of models.
pub(super) fn tags_url(entered: &str) -> Result<Url, String> {
    url(entered, "tags")
}

/// Where a model is described.
pub(super) fn show_url(entered: &str) -> Result<Url, String> {
    url(entered, "show")
}

fn url(entered: &str, path: &str) -> Result<Url, String> {
    let mut url = address::base(entered, TAILS)?;
    let below = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{below}/api/{path}"));
    Ok(url)
}

/// The body of a request.
pub(super) fn body(request: &Request) -> serde_json::Result<Vec<u8>> {
    let mut tools: Vec<_> = request.tools.iter().collect();
    // A model that has no tools refuses them, and there is no way to forbid their use.
    if request.meta.tools == Some(false) || request.tools_allowed == ToolChoice::None {
        tools.clear();
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let tools = tools
        .into_iter()
        .map(|it| Tool {
            kind: "function",
            function: Function {
                name: &it.name,
                description: &it.description,
                parameters: Sorted(&it.schema),
            },
        })
        .collect();
    let chosen = Chosen::of(Kind::Ollama, request);
    let mut messages = Vec::with_capacity(request.items.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(Message::System { content: &request.system });
    }
    for (at, item) in request.items.iter().enumerate() {
        messages_of(request, &chosen, (at, item), &mut messages);
    }
    serde_json::to_vec(&Body {
        model: &request.model,
        stream: true,
        // Better an error than a prompt that was cut in silence.
        truncate: false,
        shift: false,
        think: think(request),
        options: Options {
            num_ctx: window(request),
            num_predict: request.max_output_tokens,
            temperature: request.temperature,
        },
        tools,
        messages,
    })
}

fn messages_of<'a>(
    request: &Request,
    chosen: &Chosen,
    (at, item): (usize, &'a Item),
    messages: &mut Vec<Message<'a>>,
) {
    match item {
        Item::User { text, images } => {
            let mut content = text.trim_end().to_owned();
            if let Some(note) = chosen.note(at) {
                if !content.is_empty() {
                    content.push('\n');
                }
                content.push_str(note);
            }
            let images = chosen.images(at, images).map(|it| &*it.data).collect();
            messages.push(Message::User { content, images });
        }
        Item::Assistant { text, reasoning, calls } => {
            let thinking = reasoning
                .as_ref()
                .filter(|it| !calls.is_empty() && it.model == request.model)
                .map(|it| it.text.as_str())
                .filter(|it| !it.is_empty());
            let tool_calls = calls
                .iter()
                .map(|it| ToolCall {
                    id: &it.id,
                    function: CalledFunction { name: &it.name, arguments: Sorted(&it.arguments) },
                })
                .collect();
            messages.push(Message::Assistant { content: text, thinking, tool_calls });
        }
        Item::Results(results) => messages.extend(results.iter().map(|it| Message::Tool {
            content: &it.output,
            tool_name: &it.name,
            tool_call_id: &it.id,
        })),
    }
}

/// The window that this conversation needs: a power of two, so that it seldom changes, and at most
/// what the model has. A window costs memory whether it is used or not.
fn window(request: &Request) -> u64 {
    let tools = request
        .tools
        .iter()
        .map(|it| it.name.len() + it.description.len() + it.schema.to_string().len());
    let bytes = request.system.len()
        + tools.sum::<usize>()
        + request.items.iter().map(Item::bytes).sum::<usize>();
    let answer = request.max_output_tokens.map_or(ROOM, u64::from);
    // Code has fewer than four bytes a token.
    let needed = (bytes as u64 / 3).saturating_add(answer);
    let window = needed.max(SMALLEST_WINDOW).checked_next_power_of_two().unwrap_or(needed);
    window.min(request.meta.context.unwrap_or(u64::MAX))
}

/// Whether to think. A model that cannot refuses the field, so that it is only sent where somebody
/// asked for it.
fn think(request: &Request) -> Option<Think> {
    let effort = request.effort.filter(|_| request.meta.reasoning != Some(false))?;
    if !request.model.to_ascii_lowercase().contains("gpt-oss") {
        return Some(Think::Whether(effort != Effort::Off));
    }
    // This one cannot be kept from it, and knows how much instead.
    Some(Think::Level(match effort {
        Effort::Off | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }))
}

/// The ids of the models that are there, or `None` where it is no list.
pub(super) fn tags(list: &Value) -> Option<Vec<ModelInfo>> {
    let id = |it: &Value| {
        let id = it.get("model").or_else(|| it.get("name"))?.as_str()?;
        (!id.is_empty()).then(|| ModelInfo::named(id))
    };
    Some(list.get("models")?.as_array()?.iter().filter_map(id).collect())
}

/// What a description says of a model.
pub(super) fn described(mut model: ModelInfo, shown: &Value) -> ModelInfo {
    let info = shown.get("model_info").and_then(Value::as_object);
    let context = info.into_iter().flatten().find(|(name, _)| name.ends_with(".context_length"));
    model.context = context.and_then(|(_, it)| it.as_u64()).filter(|it| *it > 0);
    if let Some(can) = shown.get("capabilities").and_then(Value::as_array) {
        let has = |word: &str| Some(can.iter().any(|it| it == word));
        model.tools = has("tools");
        model.images = has("vision");
        model.reasoning = has("thinking");
    }
    model
}

#[cfg(test)]
mod tests;
