//! Reads a streamed chat: one JSON value a line.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::Value;

use super::super::{
    Decode, Peer,
    calls::Piece,
    decoder::{Decoder, Format, Frame},
    heard::{Heard, Stop, number, other_finish},
};
use crate::domain::{
    message::Tokens,
    model::{Delta, Finish},
};

/// A decoder of this format.
pub(in super::super) fn decoder(peer: Peer) -> Box<dyn Decode> {
    Box::new(Decoder::new(peer, Frame::Lines, Chat::default()))
}

#[derive(Default)]
struct Chat {
    /// Counts calls: each comes whole, and from older servers without an id.
    calls: u64,
}

impl Format for Chat {
    fn chunk(
        &mut self,
        chunk: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        let message = chunk.get("message").unwrap_or(&Value::Null);
        heard.think(word(message, "thinking"), said)?;
        heard.say(word(message, "content"), said)?;
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let function = call.get("function").unwrap_or(&Value::Null);
            let arguments = match function.get("arguments") {
                None | Some(Value::Null) => Cow::Borrowed(""),
                Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                Some(arguments) => Cow::Owned(arguments.to_string()),
            };
            self.calls += 1;
            let piece = Piece {
                index: Some(self.calls),
                id: Some(word(call, "id")).filter(|it| !it.is_empty()),
                name: Some(word(function, "name")).filter(|it| !it.is_empty()),
                arguments,
                signature: None,
            };
            heard.call(piece, said)?;
        }
        if chunk.get("done").and_then(Value::as_bool) != Some(true) {
            return Ok(());
        }
        let number = |name: &str| number(chunk, &[name]).unwrap_or(0);
        let tokens = Tokens {
            input: number("prompt_eval_count"),
            output: number("eval_count"),
            ..Tokens::default()
        };
        heard.account(tokens, &account(chunk));
        heard.finish = Some(match word(chunk, "done_reason") {
            "" | "stop" => Finish::Stop,
            "length" => Finish::Length,
            other => other_finish(other),
        });
        heard.stop()
    }
}

/// The provider's account, without what it said.
fn account(chunk: &Value) -> Value {
    let counts = chunk.as_object().into_iter().flatten();
    counts.filter(|(_, it)| it.is_number()).map(|(name, it)| (name.clone(), it.clone())).collect()
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
