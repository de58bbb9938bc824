//! Reads a streamed reply, in bytes that are cut anywhere.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    super::{
        Decode, Peer, Progress,
        sse::{Line, Lines, MAX_LINE, TooLong},
    },
    calls::Calls,
};
use crate::domain::{
    message::Tokens,
    model::{Answer, Delta, Fault, FaultKind, Finish, Reply, Thought, Usage, classify},
};

/// The most bytes of text, and of reasoning; a reply that is longer is ended here as one that
/// reached its limit.
const MAX_TEXT: usize = 4 * 1_024 * 1_024;

/// The longest account of a provider that is kept.
const MAX_USAGE: usize = 4_096;

/// See [`Decode`].
pub struct Decoder {
    lines: Lines,
    heard: Heard,
}

impl Decoder {
    pub fn new(peer: Peer) -> Self {
        Self { lines: Lines::default(), heard: Heard::new(peer) }
    }
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], said: &mut VecDeque<Delta>) -> Result<(), Fault> {
        if self.heard.done {
            return Ok(());
        }
        let Self { lines, heard } = self;
        match lines.push(bytes, |line| heard.line(&line, said)) {
            Ok(()) | Err(Stop::Done) => Ok(()),
            Err(stop) => Err(heard.fault(stop)),
        }
    }

    fn progress(&self) -> Progress {
        match (self.heard.done, &self.heard.finish) {
            (true, _) => Progress::Done,
            (false, Some(_)) => Progress::Said,
            (false, None) => Progress::Open,
        }
    }

    fn end(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Fault> {
        let Self { lines, heard } = self;
        let last = match lines.last() {
            Some(line) if !heard.done => heard.line(&line, said),
            _ => Ok(()),
        };
        match last.and_then(|()| heard.end(said)) {
            Ok(()) | Err(Stop::Done) => heard.check(),
            Err(stop) => Err(heard.fault(stop)),
        }
    }

    fn reply(self: Box<Self>) -> Reply {
        let heard = self.heard;
        let calls = heard.calls.into_raw();
        let finish = match heard.finish {
            None | Some(Finish::Stop) if !calls.is_empty() => Finish::ToolCalls,
            finish => finish.unwrap_or(Finish::Stop),
        };
        let thought = Thought { text: heard.reasoning, signature: None };
        Reply {
            text: heard.text,
            reasoning: (!thought.text.is_empty()).then_some(thought),
            calls,
            finish,
            usage: heard.usage,
        }
    }
}

/// Why no more lines are read.
enum Stop {
    Done,
    TooLong,
    NoJson,
    Error(Value),
}

impl From<TooLong> for Stop {
    fn from(TooLong: TooLong) -> Self {
        Self::TooLong
    }
}

/// What was heard so far.
struct Heard {
    peer: Peer,
    text: String,
    reasoning: String,
    calls: Calls,
    finish: Option<Finish>,
    usage: Option<Usage>,
    done: bool,
    /// The data of the event that is being read, where it was no JSON line by line.
    data: Vec<u8>,
    event_is_error: bool,
    /// The beginning of a body that is no stream of events.
    foreign: Vec<u8>,
}

impl Heard {
    fn new(peer: Peer) -> Self {
        Self {
            peer,
            text: String::new(),
            reasoning: String::new(),
            calls: Calls::default(),
            finish: None,
            usage: None,
            done: false,
            data: Vec::new(),
            event_is_error: false,
            foreign: Vec::new(),
        }
    }

    fn line(&mut self, line: &Line<'_>, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        match *line {
            Line::Data(data) if self.data.is_empty() => {
                let trimmed = data.trim_ascii();
                match trimmed {
                    b"" => Ok(()),
                    b"[DONE]" => self.stop(),
                    // Not only at the blank line that ends the event: that may come much later.
                    _ => match json(trimmed) {
                        Some(chunk) => self.chunk(&chunk, said),
                        None => self.keep(data),
                    },
                }
            }
            Line::Data(data) => self.keep(data),
            Line::Event(name) => {
                self.event_is_error = name == b"error";
                Ok(())
            }
            Line::Blank => {
                let event = self.event(said);
                self.event_is_error = false;
                event
            }
            Line::Ignored => Ok(()),
            Line::Foreign(line) => {
                if self.foreign.len() + line.len() > MAX_LINE {
                    return Err(Stop::TooLong);
                }
                self.foreign.extend_from_slice(line);
                self.foreign.push(b'\n');
                Ok(())
            }
        }
    }

    fn keep(&mut self, data: &[u8]) -> Result<(), Stop> {
        if self.data.len() + data.len() > MAX_LINE {
            return Err(Stop::TooLong);
        }
        self.data.extend_from_slice(data);
        self.data.push(b'\n');
        Ok(())
    }

    /// An event whose data went over several lines.
    fn event(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() {
            return Ok(());
        }
        match json(&data) {
            Some(chunk) => self.chunk(&chunk, said),
            None if self.event_is_error => {
                Err(Stop::Error(String::from_utf8_lossy(&data).into_owned().into()))
            }
            None => Err(Stop::NoJson),
        }
    }

    /// What is left when nothing more comes: an open event, or a body that is no stream.
    fn end(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        self.event(said)?;
        match json(&std::mem::take(&mut self.foreign)) {
            Some(body) => self.chunk(&body, said),
            None => Ok(()),
        }
    }

    fn chunk(&mut self, chunk: &Value, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        let error = chunk.get("error").filter(|it| !it.is_null());
        if error.is_some() || self.event_is_error {
            return Err(Stop::Error(chunk.clone()));
        }
        self.account(chunk.get("usage"));
        self.account(chunk.get("x_groq").and_then(|it| it.get("usage")));
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = |it: &&Value| it.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        for choice in choices.into_iter().flatten().filter(first) {
            self.account(choice.get("usage"));
            let delta = ["delta", "message"].iter().find_map(|name| choice.get(name));
            if let Some(delta) = delta.filter(|it| it.is_object()) {
                self.delta(delta, said)?;
            }
            match choice.get("finish_reason").and_then(Value::as_str) {
                None | Some("") => {}
                Some(reason) => self.finish = Some(finish(reason)),
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        // Some servers write the same thought under both names.
        if let Some(more) = text("reasoning_content").or_else(|| text("reasoning")) {
            self.think(more, said)?;
        }
        if let Some(more) = text("content").or_else(|| text("refusal")) {
            self.say(more, said)?;
        }
        for piece in delta.get("content").and_then(Value::as_array).into_iter().flatten() {
            if let Some(more) = piece.get("text").and_then(Value::as_str) {
                self.say(more, said)?;
            }
            for thought in piece.get("thinking").and_then(Value::as_array).into_iter().flatten() {
                if let Some(more) = thought.get("text").and_then(Value::as_str) {
                    self.think(more, said)?;
                }
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            if self.calls.add(call, said).is_err() {
                return self.cut();
            }
        }
        Ok(())
    }

    fn say(&mut self, more: &str, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        if self.text.len() + more.len() > MAX_TEXT {
            return self.cut();
        }
        self.text.push_str(more);
        said.push_back(Delta::Text(more.to_owned()));
        Ok(())
    }

    fn think(&mut self, more: &str, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        if self.reasoning.len() + more.len() > MAX_TEXT {
            return self.cut();
        }
        self.reasoning.push_str(more);
        said.push_back(Delta::Reasoning(more.to_owned()));
        Ok(())
    }

    fn account(&mut self, usage: Option<&Value>) {
        self.usage = usage.and_then(read_usage).or(self.usage.take());
    }

    fn stop(&mut self) -> Result<(), Stop> {
        self.done = true;
        Err(Stop::Done)
    }

    /// Ends a reply that is longer than any reply has a reason to be.
    fn cut(&mut self) -> Result<(), Stop> {
        self.finish = Some(Finish::Length);
        self.stop()
    }

    /// Whether what was heard is a whole reply.
    fn check(&self) -> Result<(), Fault> {
        if !self.done && self.finish.is_none() {
            return Err(self.peer.fault(FaultKind::Stream));
        }
        let written = self.usage.as_ref().is_some_and(|it| it.tokens.output > 0);
        let nothing = self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty();
        if nothing && !written && matches!(self.finish, None | Some(Finish::Stop)) {
            return Err(self.peer.fault(FaultKind::Stream).told(format!(
                "{} sent an empty reply. Send the prompt again; if it stays so, choose another \
                 model.",
                self.peer.provider
            )));
        }
        Ok(())
    }

    fn fault(&self, stop: Stop) -> Fault {
        let told = match stop {
            Stop::Error(said) => {
                let body = said.to_string();
                let answer = Answer { status: None, retry_after: None, body: &body };
                return classify(&answer, &self.peer.asked());
            }
            Stop::TooLong => "a line that is too long",
            Stop::NoJson | Stop::Done => "something that is no JSON",
        };
        self.peer.fault(FaultKind::Stream).told(format!(
            "{} sent {told}. Check its address and kind, then send the prompt again.",
            self.peer.provider
        ))
    }
}

/// The value, read with replacement characters where the bytes are no UTF-8.
fn json(bytes: &[u8]) -> Option<Value> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text).ok(),
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(bytes)).ok(),
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "end_turn" | "eos" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        other => Finish::Other(other.chars().take(40).collect()),
    }
}

/// The account of what was used. Here the prompt contains what was read from the cache, so that
/// it is taken out once.
fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |path: &[&str]| {
        let value = path.iter().try_fold(usage, |value, name| value.get(name))?;
        // Some servers count in floating point; a cast of a negative number gives 0.
        value.as_u64().or_else(|| value.as_f64().map(|it| it as u64))
    };
    let prompt = number(&["prompt_tokens"]).unwrap_or(0);
    let output = number(&["completion_tokens"]).unwrap_or(0);
    if prompt == 0 && output == 0 {
        return None;
    }
    let cached = number(&["prompt_tokens_details", "cached_tokens"])
        .or_else(|| number(&["prompt_cache_hit_tokens"]))
        .unwrap_or(0)
        .min(prompt);
    let reasoning = number(&["completion_tokens_details", "reasoning_tokens"]).unwrap_or(0);
    let tokens = Tokens {
        input: prompt - cached,
        output,
        reasoning: reasoning.min(output),
        cache_read: cached,
        ..Tokens::default()
    };
    let raw = if usage.to_string().len() > MAX_USAGE { Value::Null } else { usage.clone() };
    Some(Usage { tokens, raw })
}

#[cfg(test)]
mod tests;
