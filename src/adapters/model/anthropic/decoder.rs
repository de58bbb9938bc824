//! Reads a streamed message.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::{Map, Value, json};

use super::super::{
    Decode, Kind, Peer,
    calls::Piece,
    decoder::{Decoder, Format, Frame},
    heard::{Heard, MAX_TEXT, Stop, number, other_finish},
    proof,
};
use crate::domain::{
    message::Tokens,
    model::{Delta, Finish},
};

/// A decoder of this format.
pub(in super::super) fn decoder(peer: Peer) -> Box<dyn Decode> {
    Box::new(Decoder::new(peer, Frame::Events, Messages::default()))
}

#[derive(Default)]
struct Messages {
    /// The blocks of the thought, each with how much text and how many calls came before it.
    thoughts: Vec<Thought>,
    /// Bytes of the thoughts.
    bytes: usize,
    /// The account as far as it is known; later events complete it.
    usage: Map<String, Value>,
}

struct Thought {
    index: Option<u64>,
    at: (usize, usize),
    block: Map<String, Value>,
}

impl Format for Messages {
    fn chunk(
        &mut self,
        chunk: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        let index = chunk.get("index").and_then(Value::as_u64);
        match word(chunk, "type") {
            "message_start" => {
                let message = chunk.get("message").unwrap_or(&Value::Null);
                self.account(message.get("usage"), heard);
                self.whole(message, heard, said)
            }
            "content_block_start" => match chunk.get("content_block") {
                Some(block) => self.block(index, block, heard, said),
                None => Ok(()),
            },
            "content_block_delta" => match chunk.get("delta") {
                Some(delta) => self.delta(index, delta, heard, said),
                None => Ok(()),
            },
            "message_delta" => {
                self.account(chunk.get("usage"), heard);
                self.ended(chunk.get("delta"), heard);
                Ok(())
            }
            "message_stop" => heard.stop(),
            // The whole message at once, from a server that does not stream.
            "message" => {
                self.whole(chunk, heard, said)?;
                self.account(chunk.get("usage"), heard);
                self.ended(Some(chunk), heard);
                heard.stop()
            }
            // `ping`, `content_block_stop`, and what is yet to be invented.
            _ => Ok(()),
        }
    }

    fn signature(&mut self) -> Option<String> {
        // Without its signature a thought is refused when it comes back.
        let sealed = |it: &Thought| {
            it.block.contains_key("data")
                || it
                    .block
                    .get("signature")
                    .and_then(Value::as_str)
                    .is_some_and(|it| !it.is_empty())
        };
        let thoughts = std::mem::take(&mut self.thoughts);
        let kept: Vec<_> = thoughts
            .into_iter()
            .filter(sealed)
            .map(|it| json!({"at": [it.at.0, it.at.1], "block": it.block}))
            .collect();
        (!kept.is_empty()).then(|| proof::bound(Kind::Anthropic, &Value::Array(kept).to_string()))
    }
}

impl Messages {
    fn whole(
        &mut self,
        message: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            self.block(Some(index as u64), block, heard, said)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        index: Option<u64>,
        block: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        match word(block, "type") {
            "text" => heard.say(word(block, "text"), said),
            "thinking" | "redacted_thinking" => {
                self.grow(block.to_string().len(), heard)?;
                let at = (heard.text.len(), heard.calls.len());
                let block = block.as_object().cloned().unwrap_or_default();
                let text = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
                // Another block is another paragraph.
                if !heard.reasoning.is_empty() && block.contains_key("thinking") {
                    heard.think("\n\n", said)?;
                }
                heard.think(text, said)?;
                self.thoughts.push(Thought { index, at, block });
                Ok(())
            }
            "tool_use" => {
                let input =
                    block.get("input").filter(|it| it.as_object().is_some_and(|it| !it.is_empty()));
                let piece = Piece {
                    index,
                    id: Some(word(block, "id")).filter(|it| !it.is_empty()),
                    name: Some(word(block, "name")).filter(|it| !it.is_empty()),
                    arguments: input.map_or(Cow::Borrowed(""), |it| Cow::Owned(it.to_string())),
                    signature: None,
                };
                heard.call(piece, said)
            }
            _ => Ok(()),
        }
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        match word(delta, "type") {
            "text_delta" => heard.say(word(delta, "text"), said),
            "thinking_delta" => {
                let more = word(delta, "thinking");
                self.append(index, "thinking", more, heard)?;
                heard.think(more, said)
            }
            "signature_delta" => self.append(index, "signature", word(delta, "signature"), heard),
            "input_json_delta" => {
                let more = word(delta, "partial_json");
                if more.is_empty() {
                    return Ok(());
                }
                heard.call(Piece { index, arguments: more.into(), ..Piece::default() }, said)
            }
            _ => Ok(()),
        }
    }

    /// Adds to a field of the thought that is open.
    fn append(
        &mut self,
        index: Option<u64>,
        field: &str,
        more: &str,
        heard: &mut Heard,
    ) -> Result<(), Stop> {
        self.grow(more.len(), heard)?;
        if self.thoughts.last().is_none_or(|it| it.index != index) {
            // Its start did not come.
            let at = (heard.text.len(), heard.calls.len());
            let mut block = Map::new();
            block.insert("type".into(), "thinking".into());
            block.insert("thinking".into(), "".into());
            self.thoughts.push(Thought { index, at, block });
        }
        if let Some(last) = self.thoughts.last_mut() {
            match last.block.get_mut(field) {
                Some(Value::String(text)) => text.push_str(more),
                _ => drop(last.block.insert(field.into(), more.into())),
            }
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize, heard: &mut Heard) -> Result<(), Stop> {
        self.bytes += bytes;
        if self.bytes > MAX_TEXT { heard.cut() } else { Ok(()) }
    }

    /// Notes what was used. Here input, reads of the cache and writes to it do not overlap, and
    /// every number is the whole so far.
    fn account(&mut self, usage: Option<&Value>, heard: &mut Heard) {
        let Some(Value::Object(usage)) = usage else { return };
        for (name, value) in usage.iter().filter(|(_, value)| !value.is_null()).take(32) {
            // Some servers say zero at the end of what they said at the beginning.
            let known = self.usage.get(name).and_then(Value::as_f64).is_some_and(|it| it > 0.0);
            if self.usage.len() < 64 && !(known && value.as_f64() == Some(0.0)) {
                self.usage.insert(name.clone(), value.clone());
            }
        }
        let usage = Value::Object(self.usage.clone());
        let number = |name: &str| number(&usage, &[name]).unwrap_or(0);
        let tokens = Tokens {
            input: number("input_tokens"),
            output: number("output_tokens"),
            cache_read: number("cache_read_input_tokens"),
            cache_write: number("cache_creation_input_tokens"),
            ..Tokens::default()
        };
        heard.account(tokens, &usage);
    }

    fn ended(&mut self, delta: Option<&Value>, heard: &mut Heard) {
        let reason = delta.map_or("", |it| word(it, "stop_reason"));
        let finish = match reason {
            "" => return,
            "end_turn" | "stop_sequence" => Finish::Stop,
            "tool_use" => Finish::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::ContentFilter,
            // `pause_turn` too: it comes only with tools that the provider runs itself.
            other => other_finish(other),
        };
        heard.finish = Some(finish);
    }
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
