//! Chat Completions: the format of `OpenAI`, and of most others beside their own.
//!
//! Written from the public reference of the format, and read with the liberties that servers of it
//! are known to take.

mod calls;
mod decoder;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use url::Url;

pub(super) use self::decoder::Decoder;
use super::ModelInfo;
use crate::domain::conversation::{Item, Reasoning, Request, ToolChoice};

const CHAT: &str = "chat/completions";

/// The address that chats are sent to, from the one that a person entered: with or without a slash
/// at the end, `/v1`, or the whole path.
pub(super) fn chat_url(entered: &str) -> Result<Url, String> {
    url(entered, CHAT)
}

/// The address of the list of models.
pub(super) fn models_url(entered: &str) -> Result<Url, String> {
    url(entered, "models")
}

fn url(entered: &str, path: &str) -> Result<Url, String> {
    let entered = entered.trim();
    let mut url = Url::parse(entered)
        .ok()
        .filter(|it| matches!(it.scheme(), "http" | "https") && it.has_host())
        .ok_or("The address of the provider must begin with http:// or https://.")?;
    url.set_fragment(None);
    let base = url.path().trim_end_matches('/');
    let base = match base.strip_suffix(CHAT) {
        Some(base) => base.trim_end_matches('/').to_owned(),
        None if base.split('/').any(is_version) => base.to_owned(),
        None => format!("{base}/v1"),
    };
    url.set_path(&format!("{base}/{path}"));
    Ok(url)
}

/// Whether a piece of a path is a version: `v1`, `v1beta`.
fn is_version(piece: &str) -> bool {
    piece.strip_prefix('v').is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
}

/// The body of a request. Its bytes up to the last message are the beginning of the next step's.
pub(super) fn body(request: &Request) -> serde_json::Result<Vec<u8>> {
    let mut tools: Vec<_> = request.tools.iter().collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let mut tools: Vec<_> = tools
        .into_iter()
        .map(|it| Tool::new(&it.name, &it.description, Sorted(&it.schema)))
        .collect();
    let mut tool_choice = (request.tools_allowed == ToolChoice::None).then_some("none");
    let no_arguments = json!({"type": "object", "properties": {}});
    if tools.is_empty() {
        let calls =
            |item: &Item| matches!(item, Item::Assistant { calls, .. } if !calls.is_empty());
        if request.items.iter().any(calls) {
            // Some servers refuse a conversation with calls where no tool is given.
            tools.push(Tool::new("none", "Not to be called.", Sorted(&no_arguments)));
            tool_choice = Some("none");
        } else {
            tool_choice = None;
        }
    }
    let mut messages = Vec::with_capacity(request.items.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(Message::System { content: &request.system });
    }
    for item in &request.items {
        messages_of(item, &request.model, &mut messages)?;
    }
    let new_limit = takes_completion_limit(&request.model);
    serde_json::to_vec(&Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens: request.max_output_tokens.filter(|_| new_limit),
        max_tokens: request.max_output_tokens.filter(|_| !new_limit),
        tools,
        messages,
        tool_choice,
    })
}

fn messages_of<'a>(
    item: &'a Item,
    model: &str,
    messages: &mut Vec<Message<'a>>,
) -> serde_json::Result<()> {
    match item {
        Item::User { text } => messages.push(Message::User { content: text }),
        Item::Assistant { text, reasoning, calls } => {
            let mut tool_calls = Vec::with_capacity(calls.len());
            for call in calls {
                let arguments = serde_json::to_string(&Sorted(&call.arguments))?;
                let function = CalledFunction { name: &call.name, arguments };
                tool_calls.push(ToolCall { id: &call.id, kind: "function", function });
            }
            let replayed = reasoning
                .as_ref()
                .filter(|it| !tool_calls.is_empty() && wants_reasoning_back(it, model));
            messages.push(Message::Assistant {
                content: Some(text.as_str()).filter(|it| !it.is_empty()),
                reasoning_content: replayed.map(|it| it.text.as_str()),
                tool_calls,
            });
        }
        Item::Results(results) => messages.extend(
            results.iter().map(|it| Message::Tool { tool_call_id: &it.id, content: &it.output }),
        ),
    }
    Ok(())
}

/// `DeepSeek`'s models want to read what they thought before they called a tool; others refuse the
/// field.
fn wants_reasoning_back(reasoning: &Reasoning, model: &str) -> bool {
    reasoning.model == model
        && !reasoning.text.is_empty()
        && model.to_ascii_lowercase().contains("deepseek")
}

/// `OpenAI`'s reasoning models refuse `max_tokens`; other servers know nothing else.
fn takes_completion_limit(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text[..digits].parse::<u32>().ok()
    };
    model.strip_prefix("gpt-").and_then(number).is_some_and(|it| it >= 5)
        || model.strip_prefix('o').and_then(number).is_some()
}

/// The models of a listing, or `None` where it is none.
pub(super) fn models(list: &Value) -> Option<Vec<ModelInfo>> {
    let models = list.get("data").or_else(|| list.get("models")).unwrap_or(list).as_array()?;
    Some(models.iter().filter_map(model).collect())
}

fn model(it: &Value) -> Option<ModelInfo> {
    let text = |name: &str| it.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let number = |names: &[&str]| {
        names.iter().find_map(|name| it.get(name)?.as_u64()).filter(|number| *number > 0)
    };
    let can = |name: &str| it.get("capabilities")?.get(name)?.as_bool();
    let id = text("id").or_else(|| text("name"))?;
    Some(ModelInfo {
        name: text("display_name").or_else(|| text("name")).unwrap_or(id).to_owned(),
        context: number(&[
            "context_length",
            "context_window",
            "max_model_len",
            "max_context_length",
        ]),
        output_limit: number(&["max_completion_tokens", "max_output_tokens"]),
        tools: can("function_calling"),
        images: can("vision"),
        ..ModelInfo::named(id)
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
    /// Behind the messages, because it changes at the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Sorted<'a>,
}

impl<'a> Tool<'a> {
    fn new(name: &'a str, description: &'a str, parameters: Sorted<'a>) -> Self {
        Self { kind: "function", function: Function { name, description, parameters } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// A value that is written with its keys in order, however a database gave them back.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().map(|(k, v)| (k, Sorted(v))).collect();
                serializer.collect_map(fields)
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Sorted)),
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests;
