//! Chat Completions: the format of `OpenAI`, of `OpenRouter`, and of most others beside their own.
//!
//! Written from the public reference of the format, and read with the liberties that servers of it
//! are known to take.

mod decoder;
mod listing;
mod wire;

use serde_json::{Value, json};
use url::Url;

use self::wire::{
    Body, Cache, CalledFunction, Content, Effort as EffortField, Include, Message, Piece,
    StreamOptions, Tool, ToolCall,
};
pub(super) use self::{
    decoder::decoder,
    listing::{models, openrouter_models},
};
use super::{Kind, address, images::Chosen, proof, sorted::Sorted};
use crate::domain::conversation::{Effort, Item, Reasoning, Request, ToolChoice};

const CHAT: &str = "chat/completions";

/// The address that chats are sent to, from the one that a person entered: with or without a slash
/// at the end, `/v1`, or the whole path.
pub(super) fn chat_url(kind: Kind, entered: &str) -> Result<Url, String> {
    url(kind, entered, CHAT)
}

/// The address of the list of models.
pub(super) fn models_url(kind: Kind, entered: &str) -> Result<Url, String> {
    url(kind, entered, "models")
}

/// Where `OpenRouter` says what it knows of a key. Its list of models is open to everybody.
pub(super) fn key_url(entered: &str) -> Result<Url, String> {
    url(Kind::Openrouter, entered, "key")
}

fn url(kind: Kind, entered: &str, path: &str) -> Result<Url, String> {
    let version = if kind == Kind::Openrouter { "api/v1" } else { "v1" };
    Ok(address::versioned(address::base(entered, &[CHAT])?, version, path))
}

/// The body of a request. Its bytes up to the last message are the beginning of the next step's.
pub(super) fn body(kind: Kind, request: &Request) -> serde_json::Result<Vec<u8>> {
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
    let chosen = Chosen::of(kind, request);
    let mut messages = Vec::with_capacity(request.items.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(Message::System { content: &request.system });
    }
    for (at, item) in request.items.iter().enumerate() {
        messages_of(kind, request, &chosen, (at, item), &mut messages)?;
    }
    let family = Family::of(&request.model);
    let openai = kind == Kind::Openai;
    let new_limit = openai && family.thinks();
    let asked = request.effort.filter(|_| request.meta.reasoning != Some(false));
    serde_json::to_vec(&Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        usage: (!openai).then_some(Include { include: true }),
        max_completion_tokens: request.max_output_tokens.filter(|_| new_limit),
        max_tokens: request.max_output_tokens.filter(|_| !new_limit),
        temperature: request.temperature.filter(|_| !new_limit),
        reasoning_effort: if openai { family.effort(request, !tools.is_empty()) } else { None },
        reasoning: asked.filter(|_| !openai).map(|it| EffortField { effort: router_word(it) }),
        // Of what it serves, only Anthropic's models want to be told.
        cache_control: (kind == Kind::Openrouter && request.model.starts_with("anthropic/"))
            .then_some(Cache { kind: "ephemeral" }),
        tools,
        messages,
        tool_choice,
    })
}

fn messages_of<'a>(
    kind: Kind,
    request: &Request,
    chosen: &Chosen,
    (at, item): (usize, &'a Item),
    messages: &mut Vec<Message<'a>>,
) -> serde_json::Result<()> {
    match item {
        Item::User { text, images } => {
            messages.push(Message::User { content: content(chosen, at, text, images) });
        }
        Item::Assistant { text, reasoning, calls } => {
            let mut tool_calls = Vec::with_capacity(calls.len());
            for call in calls {
                let arguments = serde_json::to_string(&Sorted(&call.arguments))?;
                let function = CalledFunction { name: &call.name, arguments };
                tool_calls.push(ToolCall { id: &call.id, kind: "function", function });
            }
            let reasoning = reasoning.as_ref();
            let details = reasoning
                .filter(|_| kind == Kind::Openrouter)
                .and_then(|it| proof::json_of_thought(kind, &request.model, it));
            let read_back = reasoning
                .filter(|_| details.is_none() && !tool_calls.is_empty())
                .filter(|it| wants_reasoning_back(it, &request.model))
                .map(|it| it.text.as_str());
            messages.push(Message::Assistant {
                content: Some(text.as_str()).filter(|it| !it.is_empty()),
                reasoning_content: read_back.filter(|_| kind == Kind::Openai),
                reasoning: read_back.filter(|_| kind == Kind::Openrouter),
                reasoning_details: details,
                tool_calls,
            });
        }
        Item::Results(results) => messages.extend(
            results.iter().map(|it| Message::Tool { tool_call_id: &it.id, content: &it.output }),
        ),
    }
    Ok(())
}

fn content<'a>(
    chosen: &Chosen,
    at: usize,
    text: &'a str,
    images: &'a [crate::domain::conversation::Image],
) -> Content<'a> {
    if images.is_empty() {
        return Content::Text(text);
    }
    let mut pieces: Vec<_> = chosen.images(at, images).map(Piece::image).collect();
    let note = chosen.note(at).map(str::to_owned);
    let text = Some(text).filter(|it| !it.trim().is_empty());
    pieces.extend(text.map(|it| Piece::Text { text: it.into() }));
    pieces.extend(note.map(|it| Piece::Text { text: it.into() }));
    Content::Pieces(pieces)
}

/// `DeepSeek`'s models want to read what they thought before they called a tool; others refuse the
/// field.
fn wants_reasoning_back(reasoning: &Reasoning, model: &str) -> bool {
    reasoning.model == model
        && !reasoning.text.is_empty()
        && model.to_ascii_lowercase().contains("deepseek")
}

fn router_word(effort: Effort) -> &'static str {
    match effort {
        Effort::Off => "none",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Whether a model always thinks, and so takes no temperature.
pub(super) fn thinks(model: &str) -> bool {
    Family::of(model).thinks()
}

/// Whether a model that is given tools can be told how much to think.
pub(super) fn takes_effort(model: &str) -> bool {
    !Family::of(model).is_silent()
}

/// Which of `OpenAI`'s models a name is, for what these take differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// `o1` and those after it.
    O,
    /// `gpt-5` and those after it, with the number behind the point.
    Gpt(u32, u32),
    Other,
}

impl Family {
    fn of(model: &str) -> Self {
        let model = model.rsplit('/').next().unwrap_or(model);
        let number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            text[..digits].parse::<u32>().ok()
        };
        if let Some(version) = model.strip_prefix("gpt-") {
            let minor = version.split_once('.').and_then(|(_, it)| number(it)).unwrap_or(0);
            return number(version)
                .filter(|it| *it >= 5)
                .map_or(Self::Other, |major| Self::Gpt(major, minor));
        }
        model.strip_prefix('o').and_then(number).map_or(Self::Other, |_| Self::O)
    }

    /// Whether it thinks. Those that do refuse `max_tokens` and a temperature; other servers know
    /// nothing else.
    fn thinks(self) -> bool {
        self != Self::Other
    }

    /// From here on Chat Completions takes tools only from a model that does not think.
    fn is_silent(self) -> bool {
        matches!(self, Self::Gpt(major, minor) if (major, minor) >= (5, 4))
    }

    fn effort(self, request: &Request, with_tools: bool) -> Option<&'static str> {
        if self.is_silent() && with_tools {
            return Some("none");
        }
        if !self.thinks() && request.meta.reasoning != Some(true) {
            return None;
        }
        Some(match request.effort? {
            Effort::Off => match self {
                Self::Gpt(5, 0) => "minimal",
                Self::Gpt(..) => "none",
                Self::O | Self::Other => "low",
            },
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        })
    }
}

/// A text of a value, where it says anything.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests;
