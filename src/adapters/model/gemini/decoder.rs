//! Reads a streamed answer.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::Value;

use super::super::{
    Decode, Kind, Peer,
    calls::Piece,
    decoder::{Decoder, Format, Frame},
    heard::{Heard, Stop, number, other_finish},
    proof,
};
use crate::domain::{
    message::Tokens,
    model::{Delta, FaultKind, Finish},
};

/// A decoder of this format.
pub(in super::super) fn decoder(peer: Peer) -> Box<dyn Decode> {
    Box::new(Decoder::new(peer, Frame::Events, Content::default()))
}

#[derive(Default)]
struct Content {
    /// The proof that came with words, not with a call.
    proof: Option<String>,
    /// Counts calls: each comes whole, and often without an id.
    calls: u64,
}

impl Format for Content {
    fn chunk(
        &mut self,
        chunk: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        account(chunk.get("usageMetadata"), heard);
        let blocked = chunk.get("promptFeedback").map_or("", |it| word(it, "blockReason"));
        if !matches!(blocked, "" | "BLOCK_REASON_UNSPECIFIED") {
            let blocked: String = blocked.chars().take(40).collect();
            let told = format!(
                "{} does not answer this prompt ({blocked}). Change the prompt, or choose another \
                 model.",
                heard.peer.provider
            );
            let fault = heard.peer.fault(FaultKind::BadRequest).told(told);
            return Err(Stop::Fault(Box::new(fault)));
        }
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let first = |it: &&Value| it.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        for candidate in candidates.into_iter().flatten().filter(first) {
            let parts = candidate.get("content").and_then(|it| it.get("parts")?.as_array());
            for part in parts.into_iter().flatten() {
                self.part(part, heard, said)?;
            }
            ended(candidate, heard)?;
        }
        Ok(())
    }

    fn signature(&mut self) -> Option<String> {
        self.proof.take().map(|it| proof::bound(Kind::Gemini, &it))
    }
}

impl Content {
    fn part(
        &mut self,
        part: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop> {
        let sealed = ["thoughtSignature", "thought_signature"].iter().map(|it| word(part, it));
        let sealed = sealed.into_iter().find(|it| !it.is_empty());
        let call = part.get("functionCall").filter(|it| it.is_object());
        let Some(call) = call else {
            if let Some(sealed) = sealed {
                self.proof = Some(sealed.to_owned());
            }
            let text = word(part, "text");
            let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
            return if thought { heard.think(text, said) } else { heard.say(text, said) };
        };
        let signature = sealed.map(|it| proof::bound(Kind::Gemini, it));
        let arguments = match call.get("args") {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(arguments) => Cow::Owned(arguments.to_string()),
        };
        self.calls += 1;
        let piece = Piece {
            index: Some(self.calls),
            id: Some(word(call, "id")).filter(|it| !it.is_empty()),
            name: Some(word(call, "name")).filter(|it| !it.is_empty()),
            arguments,
            signature: signature.as_deref(),
        };
        heard.call(piece, said)
    }
}

fn ended(candidate: &Value, heard: &mut Heard) -> Result<(), Stop> {
    let finish = match word(candidate, "finishReason") {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" | "MODEL_ARMOR" => Finish::ContentFilter,
        // The model wrote a call that is none. Another try mostly goes well.
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE" => {
            let told = format!(
                "The model wrote a tool call that {} could not read. Send the prompt again; if it \
                 stays so, choose another model.",
                heard.peer.provider
            );
            let fault = heard.peer.fault(FaultKind::Stream).told(told);
            let said = word(candidate, "finishMessage");
            let fault = fault.quoting(said, &heard.peer.asked());
            return Err(Stop::Fault(Box::new(fault)));
        }
        other => other_finish(other),
    };
    heard.finish = Some(finish);
    Ok(())
}

/// Notes what was used. Here the prompt contains what was read from the cache, and thoughts come
/// beside the answer. Every number is the whole so far.
fn account(usage: Option<&Value>, heard: &mut Heard) {
    let Some(usage) = usage else { return };
    let number = |name: &str| number(usage, &[name]).unwrap_or(0);
    let prompt = number("promptTokenCount").saturating_add(number("toolUsePromptTokenCount"));
    let cached = number("cachedContentTokenCount").min(prompt);
    let reasoning = number("thoughtsTokenCount");
    let tokens = Tokens {
        input: prompt - cached,
        output: number("candidatesTokenCount").saturating_add(reasoning),
        reasoning,
        cache_read: cached,
        ..Tokens::default()
    };
    heard.account(tokens, usage);
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
