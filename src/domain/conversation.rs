//! A conversation as every provider's format is built from it.
//!
//! What is stored may be torn: a crash leaves a call without a result, a provider without ids
//! repeats them, a model sends arguments that are no JSON. Here it becomes a conversation that no
//! provider refuses. The items of a step depend on it and on what came before, never on what comes
//! after, so that a conversation that grows keeps its beginning, and provider caches hit.

mod files;
mod image;
mod size;

use std::{collections::HashMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    files::{Attached, prompt_item},
    image::{Image, ImageType},
    size::Size,
};
use super::{
    message::{self, Part, Role, ToolStatus, UnknownWord, words},
    provider::ModelMeta,
};

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub model: String,
    /// What is known of the model: what it takes, and where its limits are.
    pub meta: ModelMeta,
    pub system: String,
    pub items: Vec<Item>,
    pub tools: Vec<ToolSpec>,
    /// The most that the model may answer. A format that must name a limit takes the model's own
    /// where this is absent.
    pub max_output_tokens: Option<u32>,
    /// How much the model is to think; what it does by itself where this is absent.
    pub effort: Option<Effort>,
    pub temperature: Option<f32>,
    pub tools_allowed: ToolChoice,
}

/// How much a model is to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, or as little as the model can.
    Off,
    Low,
    Medium,
    High,
}

words! { Effort { Off => "off", Low => "low", Medium => "medium", High => "high" } }

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Whether the model may call tools. The tools are sent either way: the prefix stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
}

/// What somebody said. [`Item::Results`] always follows the assistant item with its calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// With words, images or both.
    User {
        text: String,
        images: Vec<Image>,
    },
    Assistant {
        text: String,
        reasoning: Option<Reasoning>,
        calls: Vec<Call>,
    },
    Results(Vec<CallResult>),
}

impl Item {
    /// What a person said, or `None` where that is nothing. Images come in here: what is stored of
    /// a prompt are its words, and who knows its attachments adds them.
    pub fn user(text: impl Into<String>, images: Vec<Image>) -> Option<Self> {
        let text = text.into();
        let said = !text.trim().is_empty() || !images.is_empty();
        said.then_some(Self::User { text, images })
    }

    /// How many bytes of text it has, roughly: what tokens are estimated from.
    pub fn bytes(&self) -> usize {
        match self {
            Self::User { text, images } => text.len() + images.len() * Image::AS_TEXT,
            Self::Assistant { text, reasoning, calls } => {
                let calls =
                    calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
                text.len() + reasoning.as_ref().map_or(0, |it| it.text.len()) + calls.sum::<usize>()
            }
            Self::Results(results) => results.iter().map(|result| result.output.len()).sum(),
        }
    }
}

/// What a model thought. The signature is valid for that model only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasoning {
    pub text: String,
    pub signature: Option<String>,
    pub model: String,
}

/// A tool call whose id and name every provider takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// Always an object.
    pub arguments: Value,
    pub signature: Option<Signature>,
}

/// The opaque proof of the thought behind a call, valid for the model that made it only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub text: String,
    pub model: String,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    pub id: String,
    pub name: String,
    /// Never empty, and bounded.
    pub output: String,
    pub ok: bool,
}

/// A stored message. `model` is the one that wrote it, as in [`Request::model`]; empty for a
/// person's.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub role: Role,
    pub model: &'a str,
    pub parts: &'a [Part],
}

/// The call ids of a conversation so far: what makes the next ones unique.
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    /// Every id in use, with the number that its next namesake is tried with.
    used: HashMap<String, u32>,
}

/// The most bytes of one tool result that are sent.
pub const MAX_OUTPUT: usize = 64 * 1_024;

/// The most bytes of arguments that were no object and are quoted in the result.
const MAX_QUOTED_ARGUMENTS: usize = 500;
const MAX_NAME: usize = 64;

const STOPPED: &str = "The call was stopped before it finished.";
const DENIED: &str = "The call was not allowed, so it was not run.";
const FAILED: &str = "The call failed.";
const NO_OUTPUT: &str = "(no output)";

/// The items of a whole conversation.
pub fn items(messages: &[Exchange<'_>]) -> Vec<Item> {
    let mut ids = CallIds::default();
    messages.iter().flat_map(|message| message_items(&mut ids, message)).collect()
}

/// The items of the next message of a conversation.
pub fn message_items(ids: &mut CallIds, message: &Exchange<'_>) -> Vec<Item> {
    match message.role {
        Role::User => {
            let text = joined(message.parts.iter().filter_map(text_of));
            Item::user(text, Vec::new()).into_iter().collect()
        }
        Role::Assistant => message
            .parts
            .split_inclusive(|part| matches!(part, Part::Step(_)))
            .flat_map(|step| step_items(ids, message.model, step))
            .collect(),
    }
}

/// The items of the next step of an answer: what the model said, and the results of its calls.
///
/// To be called once per step and in order, for each call takes its id out of `ids`.
pub fn step_items(ids: &mut CallIds, model: &str, parts: &[Part]) -> Vec<Item> {
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for call in parts.iter().filter_map(Part::tool) {
        let id = ids.take(&call.call_id);
        let name = legal(&call.tool, "unknown");
        // A call that is not sent back as it was made is not sent with the proof that it was.
        let (arguments, signature) = match &call.input {
            object @ Value::Object(_) => (object.clone(), call.signature.clone()),
            _ => (Value::Object(Map::new()), None),
        };
        let signature = signature.map(|text| Signature { text, model: model.to_owned() });
        results.push(CallResult {
            id: id.clone(),
            name: name.clone(),
            output: output_of(call),
            ok: call.status == ToolStatus::Done,
        });
        calls.push(Call { id, name, arguments, signature });
    }
    let text = joined(parts.iter().filter_map(text_of));
    if text.is_empty() && calls.is_empty() {
        return Vec::new();
    }
    let assistant = Item::Assistant { text, reasoning: reasoning_of(parts, model), calls };
    if results.is_empty() { vec![assistant] } else { vec![assistant, Item::Results(results)] }
}

impl CallIds {
    /// A legal id that no call before had: the given one where it is.
    fn take(&mut self, wanted: &str) -> String {
        let wanted = legal(wanted, "call");
        let Some(&next) = self.used.get(&wanted) else {
            self.used.insert(wanted.clone(), 2);
            return wanted;
        };
        for number in next.. {
            let suffix = format!("_{number}");
            // Legal names are ASCII, so that any cut is between characters.
            let stem = &wanted[..wanted.len().min(MAX_NAME - suffix.len())];
            let renamed = format!("{stem}{suffix}");
            if !self.used.contains_key(&renamed) {
                self.used.insert(wanted, number.saturating_add(1));
                self.used.insert(renamed.clone(), 2);
                return renamed;
            }
        }
        wanted
    }
}

/// The name as `[A-Za-z0-9_-]{1,64}`, which every provider takes.
fn legal(name: &str, otherwise: &str) -> String {
    let legal = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    let name: String = name.trim().chars().take(MAX_NAME).map(legal).collect();
    if name.is_empty() { otherwise.to_owned() } else { name }
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(it) => Some(&it.text),
        _ => None,
    }
}

fn reasoning_of(parts: &[Part], model: &str) -> Option<Reasoning> {
    let thoughts = || {
        parts.iter().filter_map(|part| match part {
            Part::Reasoning(it) => Some(it),
            _ => None,
        })
    };
    let text = joined(thoughts().map(|it| it.text.as_str()));
    let signature = thoughts().filter_map(|it| it.signature.clone()).next_back();
    (!text.is_empty() || signature.is_some()).then(|| Reasoning {
        text,
        signature,
        model: model.to_owned(),
    })
}

/// The texts as paragraphs, without those that are only space and without space at the end.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for text in texts.map(str::trim_end).filter(|it| !it.is_empty()) {
        if !all.is_empty() {
            all.push_str("\n\n");
        }
        all.push_str(text);
    }
    all
}

fn output_of(call: &message::ToolCall) -> String {
    let error = call.error.as_deref().map(str::trim).filter(|it| !it.is_empty());
    let reason = match call.status {
        ToolStatus::Done => error,
        ToolStatus::Error => error.or(call.output.trim().is_empty().then_some(FAILED)),
        ToolStatus::Denied => Some(error.unwrap_or(DENIED)),
        ToolStatus::Aborted => Some(error.unwrap_or(STOPPED)),
        ToolStatus::Pending | ToolStatus::Running => Some(STOPPED),
    };
    let mut output = bounded(&call.output, MAX_OUTPUT);
    if output.trim().is_empty() {
        output.clear();
    }
    if let Some(reason) = reason.filter(|it| !output.contains(it)) {
        if !output.is_empty() {
            output.push('\n');
        }
        output.push_str(&bounded(reason, MAX_OUTPUT / 16));
    }
    if !call.input.is_object() && !call.input.is_null() {
        let sent = call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned);
        output.push_str("\nThe arguments were no JSON object: ");
        output.push_str(&bounded(&sent, MAX_QUOTED_ARGUMENTS));
    }
    if output.trim().is_empty() { NO_OUTPUT.to_owned() } else { output }
}

/// The text, or its beginning and end with a note of what was left out between.
fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(limit / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n… {left_out} bytes left out …\n{tail}")
}

#[cfg(test)]
mod tests;
