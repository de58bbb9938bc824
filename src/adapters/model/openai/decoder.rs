//! Reads a streamed reply of Chat Completions.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::{Value, json};

use super::{
    super::{
        Decode, Kind, Peer,
        calls::Piece,
        decoder::{Decoder, Format, Frame},
        heard::{Heard, MAX_TEXT, Stop, number, other_finish},
        proof,
    },
    text,
};
use crate::domain::{
    message::Tokens,
    model::{Delta, Finish},
};

/// A decoder of this format.
pub(in super::super) fn decoder(kind: Kind, peer: Peer) -> Box<dyn Decode> {
    let chat = Chat { kind, details: Vec::new(), bytes: 0 };
    Box::new(Decoder::new(peer, Frame::Events, chat))
}

struct Chat {
    kind: Kind,
    /// What `OpenRouter` wants back of a thought: pieces, of which some are sealed.
    details: Vec<Value>,
    bytes: usize,
}

impl Format for Chat {
    fn chunk(
        &mut self,
        chunk: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        account(chunk.get("usage"), heard);
        account(chunk.get("x_groq").and_then(|it| it.get("usage")), heard);
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = |it: &&Value| it.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        for choice in choices.into_iter().flatten().filter(first) {
            account(choice.get("usage"), heard);
            let error = choice.get("error").filter(|it| it.is_object());
            if let Some(error) = error {
                return Err(Stop::Error(json!({ "error": error })));
            }
            let delta = ["delta", "message"].iter().find_map(|name| choice.get(name));
            if let Some(delta) = delta.filter(|it| it.is_object()) {
                self.delta(delta, heard, said)?;
            }
            match text(choice, "finish_reason") {
                None => {}
                Some("error") => {
                    return Err(Stop::Error(json!({ "error": "The reply ended with an error." })));
                }
                Some(reason) => heard.finish = Some(finish(reason)),
            }
        }
        Ok(())
    }

    fn signature(&mut self) -> Option<String> {
        let details = std::mem::take(&mut self.details);
        (!details.is_empty()).then(|| proof::bound(self.kind, &Value::Array(details).to_string()))
    }
}

impl Chat {
    fn delta(
        &mut self,
        delta: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        let details = details.filter(|_| self.kind == Kind::Openrouter);
        for detail in details.into_iter().flatten().filter(|it| it.is_object()) {
            self.detail(detail, heard)?;
        }
        // Some servers write the same thought under both names.
        if let Some(more) = text(delta, "reasoning_content").or_else(|| text(delta, "reasoning")) {
            heard.think(more, said)?;
        } else {
            for detail in details.into_iter().flatten() {
                let more = text(detail, "text").or_else(|| text(detail, "summary"));
                heard.think(more.unwrap_or_default(), said)?;
            }
        }
        if let Some(more) = text(delta, "content").or_else(|| text(delta, "refusal")) {
            heard.say(more, said)?;
        }
        for piece in delta.get("content").and_then(Value::as_array).into_iter().flatten() {
            heard.say(text(piece, "text").unwrap_or_default(), said)?;
            for thought in piece.get("thinking").and_then(Value::as_array).into_iter().flatten() {
                heard.think(text(thought, "text").unwrap_or_default(), said)?;
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let nothing = Value::Null;
            let function = call.get("function").unwrap_or(&nothing);
            let arguments = match function.get("arguments") {
                Some(object @ Value::Object(_)) => Cow::Owned(object.to_string()),
                _ => Cow::Borrowed(text(function, "arguments").unwrap_or_default()),
            };
            let piece = Piece {
                index: call.get("index").and_then(Value::as_u64),
                id: text(call, "id"),
                name: text(function, "name"),
                arguments,
                signature: None,
            };
            heard.call(piece, said)?;
        }
        Ok(())
    }

    /// Keeps a piece of what must go back. Text comes in many, which are one.
    fn detail(&mut self, detail: &Value, heard: &mut Heard) -> Result<(), Stop> {
        self.bytes += detail.to_string().len();
        if self.bytes > MAX_TEXT {
            return heard.cut();
        }
        let grows = ["reasoning.text", "reasoning.summary"];
        let same = |last: &Value| {
            let kind = text(detail, "type").filter(|it| grows.contains(it));
            kind.is_some() && text(last, "type") == kind && last.get("index") == detail.get("index")
        };
        let last = self.details.last_mut().filter(|it| same(it)).and_then(Value::as_object_mut);
        let (Some(last), Some(detail)) = (last, detail.as_object()) else {
            self.details.push(detail.clone());
            return Ok(());
        };
        for (name, value) in detail.iter().filter(|(_, value)| !value.is_null()) {
            match (last.get_mut(name), value) {
                (Some(Value::String(before)), Value::String(more))
                    if name == "text" || name == "summary" =>
                {
                    before.push_str(more);
                }
                _ => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(())
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "end_turn" | "eos" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        other => other_finish(other),
    }
}

/// Notes what was used. Here the prompt contains what was read from and written to the cache, so
/// that it is taken out once.
fn account(usage: Option<&Value>, heard: &mut Heard) {
    let Some(usage) = usage else { return };
    let number = |path: &[&str]| number(usage, path);
    let prompt = number(&["prompt_tokens"]).unwrap_or(0);
    let output = number(&["completion_tokens"]).unwrap_or(0);
    let cached = number(&["prompt_tokens_details", "cached_tokens"])
        .or_else(|| number(&["prompt_cache_hit_tokens"]))
        .unwrap_or(0)
        .min(prompt);
    let written = number(&["prompt_tokens_details", "cache_write_tokens"]).unwrap_or(0);
    let written = written.min(prompt - cached);
    let reasoning = number(&["completion_tokens_details", "reasoning_tokens"]).unwrap_or(0);
    let tokens = Tokens {
        input: prompt - cached - written,
        output,
        reasoning: reasoning.min(output),
        cache_read: cached,
        cache_write: written,
        ..Tokens::default()
    };
    heard.account(tokens, usage);
    if let Some(used) = heard.usage.as_mut().filter(|it| it.tokens == tokens) {
        used.cost_micros = cost(usage).or(used.cost_micros);
    }
}

/// What `OpenRouter` charged, in micro-dollars. With a key of one's own at the maker, the maker's
/// bill comes on top of its own.
fn cost(usage: &Value) -> Option<i64> {
    let dollars = usage.get("cost")?.as_f64()?;
    let own_key = usage.get("is_byok").and_then(Value::as_bool) == Some(true);
    let upstream = usage
        .get("cost_details")
        .and_then(|it| it.get("upstream_inference_cost")?.as_f64())
        .filter(|_| own_key)
        .unwrap_or(0.0);
    // Rounded up, but not because of the last digit of a binary fraction.
    let micros = ((dollars + upstream) * 1e6 - 1e-3).ceil().max(0.0);
    (0.0..1e15).contains(&micros).then_some(micros as i64)
}

#[cfg(test)]
mod tests;
