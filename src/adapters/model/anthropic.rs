//! Messages: the format of Anthropic.
//!
//! Written from the public reference of the format (version 2023-06-01).

mod claude;
mod decoder;
mod wire;

use serde_json::Value;
use url::Url;

pub(super) use self::decoder::decoder;
use self::{
    claude::Claude,
    wire::{Block, Body, Cache, Message, OutputConfig, Role, Thinking, Tool, ToolChoice as Choice},
};
use super::{Kind, ModelInfo, address, images::Chosen, proof, sorted::Sorted};
use crate::domain::conversation::{Call, Item, Reasoning, Request, ToolChoice};

/// The version of the format that requests name.
pub(super) const VERSION: &str = "2023-06-01";

/// The most that is asked for where the model allows more: room for a long file, and no more of
/// the window than that.
const MAX_OUTPUT: u64 = 32_000;

/// What every model allows that is not known otherwise.
const SAFE_OUTPUT: u64 = 8_192;

/// What stands where a conversation must begin or end with the person and does not.
const GOES_ON: &str = "(The conversation goes on.)";

/// How many of the newest turns of the person end in a mark, so that a cache may begin there.
const MARKED_TURNS: usize = 2;

/// The address that messages are sent to.
pub(super) fn messages_url(entered: &str) -> Result<Url, String> {
    url(entered, "messages")
}

/// The address of the list of models.
pub(super) fn models_url(entered: &str) -> Result<Url, String> {
    let mut url = url(entered, "models")?;
    url.query_pairs_mut().append_pair("limit", "1000");
    Ok(url)
}

fn url(entered: &str, path: &str) -> Result<Url, String> {
    Ok(address::versioned(address::base(entered, &["messages"])?, "v1", path))
}

/// Whether a model takes a temperature.
pub(super) fn takes_temperature(model: &str) -> bool {
    Claude::of(model).takes_temperature()
}

/// The body of a request.
pub(super) fn body(request: &Request) -> serde_json::Result<Vec<u8>> {
    let claude = Claude::of(&request.model);
    let mut tools: Vec<_> = request.tools.iter().collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let last = tools.len().saturating_sub(1);
    let mut tools: Vec<_> = tools
        .into_iter()
        .enumerate()
        .map(|(at, it)| Tool {
            name: &it.name,
            description: &it.description,
            input_schema: Sorted(&it.schema),
            cache_control: (at == last).then_some(Cache::EPHEMERAL),
        })
        .collect();
    let messages = messages(request);
    let no_arguments = serde_json::json!({"type": "object", "properties": {}});
    let called = |it: &Message<'_>| it.content.iter().any(|it| matches!(it, Block::ToolUse { .. }));
    let mut forbidden = request.tools_allowed == ToolChoice::None;
    if tools.is_empty() && messages.iter().any(called) {
        // A conversation with calls is refused where no tool is given.
        tools.push(Tool {
            name: "none",
            description: "Not to be called.",
            input_schema: Sorted(&no_arguments),
            cache_control: None,
        });
        forbidden = true;
    }
    let system = Some(request.system.as_str()).filter(|it| !it.trim().is_empty());
    let system = system.map(|text| [Block::text(text).marked()]);
    let effort = request.effort.filter(|_| request.meta.reasoning != Some(false));
    let max_tokens = max_tokens(request);
    let thinking = effort.and_then(|it| claude.thinking(it, max_tokens));
    // With a budget, calls that are being answered must begin with a thought of the model's own.
    let thinking = thinking
        .filter(|it| !matches!(it, Thinking::Enabled { .. }) || answers_a_thought(&messages));
    let thinks = matches!(thinking, Some(Thinking::Adaptive { .. } | Thinking::Enabled { .. }));
    serde_json::to_vec(&Body {
        model: &request.model,
        max_tokens,
        stream: true,
        output_config: effort
            .and_then(|it| claude.effort(it))
            .map(|effort| OutputConfig { effort }),
        temperature: request.temperature.filter(|_| !thinks && claude.takes_temperature()),
        thinking,
        tool_choice: (forbidden && !tools.is_empty()).then_some(Choice::None),
        tools,
        system: system.as_ref().map_or(&[][..], |it| it.as_slice()),
        messages,
    })
}

/// Whether the results at the end, where there are any, answer a message that begins with a
/// thought.
fn answers_a_thought(messages: &[Message<'_>]) -> bool {
    let [.., answer, last] = messages else { return true };
    let answers = matches!(last.content.first(), Some(Block::ToolResult { .. }));
    !answers || matches!(answer.content.first(), Some(Block::Opaque(_)))
}

fn max_tokens(request: &Request) -> u64 {
    let limit = request.meta.output_limit;
    match request.max_output_tokens.map(u64::from).filter(|it| *it > 0) {
        Some(asked) => asked.min(limit.unwrap_or(u64::MAX)),
        None => limit.map_or(SAFE_OUTPUT, |it| it.min(MAX_OUTPUT)),
    }
}

/// The messages: roles alternate, the person begins and ends, results come first in theirs.
fn messages(request: &Request) -> Vec<Message<'_>> {
    let chosen = Chosen::of(Kind::Anthropic, request);
    let mut messages: Vec<Message<'_>> = Vec::new();
    for (at, item) in request.items.iter().enumerate() {
        let (role, blocks) = match item {
            Item::User { text, images } => {
                let mut blocks: Vec<_> = chosen.images(at, images).map(Block::image).collect();
                let text = Some(text.as_str()).filter(|it| !it.trim().is_empty());
                blocks.extend(text.map(Block::text));
                blocks.extend(chosen.note(at).map(|it| Block::text(it.to_owned())));
                (Role::User, blocks)
            }
            Item::Assistant { text, reasoning, calls } => {
                (Role::Assistant, answer(&request.model, text, reasoning.as_ref(), calls))
            }
            Item::Results(results) => {
                let block = |it| Block::result(it);
                (Role::User, results.iter().map(block).collect())
            }
        };
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut().filter(|it| it.role == role) {
            Some(last) => last.content.extend(blocks),
            None => messages.push(Message { role, content: blocks }),
        }
    }
    let from_person = |content| Message { role: Role::User, content };
    if messages.first().is_none_or(|it| it.role != Role::User) {
        messages.insert(0, from_person(vec![Block::text(GOES_ON)]));
    }
    if messages.last().is_some_and(|it| it.role != Role::User) {
        messages.push(from_person(vec![Block::text(GOES_ON)]));
    }
    let turns = messages.iter_mut().rev().filter(|it| it.role == Role::User);
    for turn in turns.take(MARKED_TURNS) {
        if let Some(last) = turn.content.pop() {
            turn.content.push(last.marked());
        }
    }
    messages
}

/// What the model said, with the blocks of its thought where they were between its words.
fn answer<'a>(
    model: &str,
    text: &'a str,
    reasoning: Option<&Reasoning>,
    calls: &'a [Call],
) -> Vec<Block<'a>> {
    let thought = reasoning.and_then(|it| proof::json_of_thought(Kind::Anthropic, model, it));
    let mut rest = text;
    let mut open = calls.iter();
    let mut blocks = Vec::new();
    for entry in thought.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let (Some(block), Some(at)) = (entry.get("block"), entry.get("at")) else { continue };
        let place = |n: usize| at.get(n).and_then(Value::as_u64).unwrap_or(0) as usize;
        let before = place(0).saturating_sub(text.len() - rest.len()).min(rest.len());
        let (said, after) = rest.split_at(rest.floor_char_boundary(before));
        // A block of nothing but space is refused: it goes on into the next.
        if !said.trim().is_empty() {
            blocks.push(Block::text(said));
            rest = after;
        }
        let made = calls.len() - open.len();
        blocks.extend(open.by_ref().take(place(1).saturating_sub(made)).map(Block::call));
        blocks.push(Block::Opaque(block.clone()));
    }
    if !rest.trim().is_empty() {
        blocks.push(Block::text(rest));
    }
    blocks.extend(open.map(Block::call));
    blocks
}

/// The models of a listing, or `None` where it is none.
pub(super) fn models(list: &Value) -> Option<Vec<ModelInfo>> {
    let model = |it: &Value| {
        let id = it.get("id")?.as_str().filter(|it| !it.is_empty())?;
        let number = |name: &str| it.get(name)?.as_u64().filter(|it| *it > 0);
        let can = |name: &str| it.get("capabilities")?.get(name)?.get("supported")?.as_bool();
        let name = it.get("display_name").and_then(Value::as_str).unwrap_or(id);
        Some(ModelInfo {
            name: name.to_owned(),
            context: number("max_input_tokens"),
            output_limit: number("max_tokens"),
            reasoning: can("thinking"),
            images: can("image_input"),
            ..ModelInfo::named(id)
        })
    };
    Some(list.get("data")?.as_array()?.iter().filter_map(model).collect())
}

#[cfg(test)]
mod tests;
