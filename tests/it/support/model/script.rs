//! What the scripted model answers.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::watch;

/// An answer, told in the order in which it is sent.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Of an answer that is no stream.
    pub(super) body: Option<String>,
    pub(super) acts: Vec<Act>,
    pub(super) pace: Duration,
    /// The size of the pieces that the bytes are sent in.
    pub(super) piece: usize,
    pub(super) usage: Option<Value>,
    finish: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    Delta(Value),
    /// A call, with its arguments as JSON text.
    Call(String, String),
    /// The last chunks, where they are not to come at the very end.
    Finish,
    Raw(Vec<u8>),
    Gate(Gate),
    /// Headers wait for this.
    Hold(Gate),
    Cut,
    Stall,
}

/// Where an answer waits until the test lets it go on.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(watch::Sender<bool>, watch::Sender<bool>)>);

impl Gate {
    /// Lets answers through, from now on.
    pub fn open(&self) {
        self.0.1.send_replace(true);
    }

    /// Waits until an answer has come to the gate.
    pub async fn reached(&self) {
        let reached = async { self.0.0.subscribe().wait_for(|it| *it).await.is_ok() };
        if !matches!(tokio::time::timeout(super::LIMIT, reached).await, Ok(true)) {
            panic!("no answer has come to the gate");
        }
    }

    pub(super) async fn pass(&self) {
        self.0.0.send_replace(true);
        let _ = self.0.1.subscribe().wait_for(|it| *it).await;
    }
}

impl Script {
    /// An answer that says nothing yet.
    pub fn new() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: None,
            acts: Vec::new(),
            pace: Duration::ZERO,
            piece: usize::MAX,
            usage: None,
            finish: None,
        }
    }

    /// An answer that says this, word by word.
    pub fn text(text: &str) -> Self {
        Self::new().say(text)
    }

    /// An answer that is an error.
    pub fn fault(status: u16, body: Value) -> Self {
        Self { status, body: Some(body.to_string()), ..Self::new() }
    }

    /// An answer that is a page.
    pub fn page(status: u16, html: &str) -> Self {
        let html = Self { status, body: Some(html.to_owned()), ..Self::new() };
        html.header("content-type", "text/html; charset=utf-8")
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Says more, word by word.
    pub fn say(mut self, text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| Act::Delta(json!({"content": word})));
        self.acts.extend(words);
        self
    }

    /// Thinks, word by word.
    pub fn think(mut self, text: &str) -> Self {
        let delta = |word| Act::Delta(json!({"reasoning_content": word}));
        self.acts.extend(text.split_inclusive(' ').map(delta));
        self
    }

    /// Calls a tool. The arguments come in pieces; a string is sent as it is, also if it is no JSON.
    pub fn call(mut self, tool: &str, arguments: Value) -> Self {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        self.acts.push(Act::Call(tool.to_owned(), arguments));
        self
    }

    /// Accounts for tokens, of which `cached` are part of `prompt`. Without this they are counted
    /// from bytes.
    pub fn usage(mut self, prompt: u64, cached: u64, output: u64) -> Self {
        self.usage = Some(json!({
            "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        }));
        self
    }

    /// Accounts for nothing.
    pub fn without_usage(mut self) -> Self {
        self.usage = Some(Value::Null);
        self
    }

    /// Ends for this reason instead of the usual one.
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Waits this long before each chunk.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Sends the bytes in pieces of this size.
    pub fn pieces(mut self, size: usize) -> Self {
        self.piece = size;
        self
    }

    /// Waits here until the gate is opened.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.acts.push(Act::Gate(gate.clone()));
        self
    }

    /// Sends not even a status before the gate is opened.
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.acts.insert(0, Act::Hold(gate.clone()));
        self
    }

    /// Sends these bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.acts.push(Act::Raw(bytes.to_vec()));
        self
    }

    /// Sends an error although the status was 200, and ends.
    pub fn error(self, error: &Value) -> Self {
        let event = format!("data: {}\n\n", json!({ "error": error }));
        self.raw(event.as_bytes()).ended()
    }

    /// Ends properly here, so that what follows comes after the end.
    pub fn done(mut self) -> Self {
        self.acts.push(Act::Finish);
        self
    }

    /// Cuts the connection here.
    pub fn cut(mut self) -> Self {
        self.acts.push(Act::Cut);
        self
    }

    /// Says nothing more here, and leaves the connection open.
    pub fn stall(mut self) -> Self {
        self.acts.push(Act::Stall);
        self
    }

    /// Ends the body here, without a last chunk.
    pub fn ended(mut self) -> Self {
        self.acts.push(Act::Raw(Vec::new()));
        self
    }

    pub(super) fn finish_reason(&self) -> &str {
        let calls = self.acts.iter().any(|act| matches!(act, Act::Call(..)));
        self.finish.as_deref().unwrap_or(if calls { "tool_calls" } else { "stop" })
    }

    /// Whether the script says itself how it ends.
    pub(super) fn ends_itself(&self) -> bool {
        let finishes = |act: &Act| matches!(act, Act::Finish | Act::Cut | Act::Stall);
        let ended = matches!(self.acts.last(), Some(Act::Raw(bytes)) if bytes.is_empty());
        ended || self.acts.iter().any(finishes)
    }
}
