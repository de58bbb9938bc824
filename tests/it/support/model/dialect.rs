//! The formats that the scripted model answers in.

use serde_json::{Value, json};

use super::Shared;

/// A format, by where it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Openai,
    Openrouter,
    Ollama,
    Anthropic,
    Gemini,
}

impl Dialect {
    /// The dialect that is meant with a path, and the model where the path names it.
    pub fn at(path: &str) -> Option<(Self, Option<String>)> {
        let gemini = path
            .strip_prefix("/v1beta/models/")
            .and_then(|it| it.strip_suffix(":streamGenerateContent?alt=sse"));
        Some(match path {
            "/v1/chat/completions" => (Self::Openai, None),
            "/api/v1/chat/completions" => (Self::Openrouter, None),
            "/api/chat" => (Self::Ollama, None),
            "/v1/messages" => (Self::Anthropic, None),
            _ => (Self::Gemini, Some(gemini?.to_owned())),
        })
    }

    /// The word for the kind of provider.
    pub fn word(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Openrouter => "openrouter",
            Self::Ollama => "ollama",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// What is wrong with the headers of a request.
    pub fn violations(self, headers: &[(String, String)]) -> Vec<String> {
        let has = |name: &str, value: &str| headers.iter().any(|it| it.0 == name && it.1 == value);
        let bearer = format!("Bearer {}", super::ScriptedModel::KEY);
        let mut found = Vec::new();
        let authorized = match self {
            Self::Openai | Self::Openrouter | Self::Ollama => has("authorization", &bearer),
            Self::Anthropic => has("x-api-key", super::ScriptedModel::KEY),
            Self::Gemini => has("x-goog-api-key", super::ScriptedModel::KEY),
        };
        if !authorized {
            found.push("the key is missing or wrong".to_owned());
        }
        if self == Self::Anthropic && !has("anthropic-version", "2023-06-01") {
            found.push("no version of the format is named".to_owned());
        }
        if !headers.iter().any(|it| it.0 == "content-type" && it.1.contains("json")) {
            found.push("the body is not declared as JSON".to_owned());
        }
        found
    }

    /// An error as this provider tells it.
    pub fn error(self, message: &str) -> Value {
        let kind = "invalid_request_error";
        match self {
            Self::Openai | Self::Openrouter => json!({"error": {"message": message, "type": kind}}),
            Self::Ollama => json!({ "error": message }),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Self::Gemini => {
                json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
            }
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream; charset=utf-8",
        }
    }
}

/// Tells an answer in a format. Each piece is the bytes of one chunk.
pub(super) struct Voice<'a> {
    pub dialect: Dialect,
    pub number: usize,
    pub shared: &'a Shared,
    /// The block that is open, and how many there were.
    open: Option<&'static str>,
    blocks: usize,
    thoughts: bool,
}

impl<'a> Voice<'a> {
    pub fn new(dialect: Dialect, number: usize, shared: &'a Shared) -> Self {
        Self { dialect, number, shared, open: None, blocks: 0, thoughts: false }
    }

    /// The proof that goes with a thought of this answer.
    fn proof(&self) -> String {
        format!("proof-{}-{}", self.dialect.word(), self.number)
    }

    /// What comes before everything.
    pub fn begin(&mut self, usage: &Value) -> Vec<String> {
        if self.dialect != Dialect::Anthropic {
            return Vec::new();
        }
        let (prompt, cached, _) = counts(usage);
        let usage = json!({"input_tokens": prompt - cached, "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0, "output_tokens": 1});
        let message = json!({"id": format!("msg_{}", self.number), "role": "assistant",
            "content": [], "usage": usage});
        vec![
            event(&json!({"type": "message_start", "message": message})),
            event(&json!({"type": "ping"})),
        ]
    }

    /// A word or a thought, as Chat Completions tell it.
    pub fn delta(&mut self, delta: &Value) -> Vec<String> {
        let text = delta["content"].as_str();
        let thought = delta["reasoning_content"].as_str();
        match self.dialect {
            Dialect::Openai => vec![self.choice(delta)],
            Dialect::Openrouter => match thought {
                Some(thought) => {
                    let mut detail = json!({"type": "reasoning.text", "text": thought, "index": 0,
                        "format": "scripted-v1"});
                    if !self.thoughts {
                        detail["signature"] = self.proof().into();
                    }
                    self.thoughts = true;
                    vec![self.choice(&json!({"reasoning": thought, "reasoning_details": [detail]}))]
                }
                None => vec![self.choice(delta)],
            },
            Dialect::Ollama => {
                let message = json!({"role": "assistant", "content": text.unwrap_or_default(),
                    "thinking": thought.unwrap_or_default()});
                vec![line(&json!({"model": "x", "message": message, "done": false}))]
            }
            Dialect::Anthropic => {
                let (kind, empty, delta) = match thought {
                    Some(thought) => (
                        "thinking",
                        json!({"type": "thinking", "thinking": "", "signature": ""}),
                        json!({"type": "thinking_delta", "thinking": thought}),
                    ),
                    None => (
                        "text",
                        json!({"type": "text", "text": ""}),
                        json!({"type": "text_delta", "text": text.unwrap_or_default()}),
                    ),
                };
                let mut pieces = Vec::new();
                if self.open != Some(kind) {
                    pieces.extend(self.close());
                    pieces.push(event(&json!({"type": "content_block_start",
                        "index": self.blocks, "content_block": empty})));
                    self.open = Some(kind);
                }
                pieces.push(self.block_delta(&delta));
                pieces
            }
            Dialect::Gemini => vec![match thought {
                Some(thought) => self.part(json!({"text": thought, "thought": true})),
                None => self.part(json!({"text": text.unwrap_or_default()})),
            }],
        }
    }

    /// A call, with its arguments as JSON text.
    pub fn call(&mut self, index: usize, tool: &str, arguments: &str) -> Vec<String> {
        let id = {
            let mut state = self.shared.state();
            state.calls += 1;
            format!("call_scripted_{}", state.calls)
        };
        let whole =
            || serde_json::from_str::<Value>(arguments).unwrap_or_else(|_| json!(arguments));
        match self.dialect {
            Dialect::Openai | Dialect::Openrouter => {
                let first = json!({"index": index, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": ""}});
                let mut pieces = vec![self.choice(&json!({"tool_calls": [first]}))];
                for piece in cut(arguments) {
                    let more = json!({"index": index, "function": {"arguments": piece}});
                    pieces.push(self.choice(&json!({"tool_calls": [more]})));
                }
                pieces
            }
            Dialect::Ollama => {
                let call =
                    json!({"function": {"index": index, "name": tool, "arguments": whole()}});
                let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                vec![line(&json!({"model": "x", "message": message, "done": false}))]
            }
            Dialect::Anthropic => {
                let mut pieces: Vec<_> = self.close().into_iter().collect();
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                pieces.push(event(&json!({"type": "content_block_start", "index": self.blocks,
                    "content_block": block})));
                self.open = Some("tool_use");
                for piece in cut(arguments) {
                    let delta = json!({"type": "input_json_delta", "partial_json": piece});
                    pieces.push(self.block_delta(&delta));
                }
                pieces
            }
            Dialect::Gemini => {
                let mut part = json!({"functionCall": {"name": tool, "args": whole()}});
                if index == 0 {
                    part["thoughtSignature"] = self.proof().into();
                }
                vec![self.part(part)]
            }
        }
    }

    /// What comes after everything.
    pub fn end(&mut self, reason: &str, usage: &Value) -> Vec<String> {
        let (prompt, cached, output) = counts(usage);
        let finish = |stop: &str, calls: &str, length: &str| {
            match reason {
                "stop" => stop,
                "tool_calls" => calls,
                "length" => length,
                other => other,
            }
            .to_owned()
        };
        match self.dialect {
            Dialect::Openai | Dialect::Openrouter => {
                let choice = json!({"index": 0, "delta": {}, "finish_reason": reason});
                let mut pieces = vec![self.chunk(&json!([choice]), &Value::Null)];
                if !usage.is_null() {
                    let mut usage = usage.clone();
                    if self.dialect == Dialect::Openrouter {
                        usage["cost"] = 0.25.into();
                    }
                    pieces.push(self.chunk(&json!([]), &usage));
                }
                pieces.push("data: [DONE]\n\n".to_owned());
                pieces
            }
            Dialect::Ollama => vec![line(&json!({"model": "x", "message": {"content": ""},
                "done": true, "done_reason": finish("stop", "stop", "length"),
                "prompt_eval_count": prompt, "eval_count": output}))],
            Dialect::Anthropic => {
                let reason = finish("end_turn", "tool_use", "max_tokens");
                let mut pieces: Vec<_> = self.close().into_iter().collect();
                pieces.push(event(&json!({"type": "message_delta",
                    "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}})));
                pieces.push(event(&json!({"type": "message_stop"})));
                pieces
            }
            Dialect::Gemini => {
                let candidate = json!({"index": 0, "finishReason":
                    finish("STOP", "STOP", "MAX_TOKENS")});
                vec![data(&json!({"candidates": [candidate], "usageMetadata": {
                    "promptTokenCount": prompt, "cachedContentTokenCount": cached,
                    "candidatesTokenCount": output, "totalTokenCount": prompt + output}}))]
            }
        }
    }

    fn close(&mut self) -> Vec<String> {
        let mut pieces = Vec::new();
        if self.open == Some("thinking") {
            let delta = json!({"type": "signature_delta", "signature": self.proof()});
            pieces.push(self.block_delta(&delta));
        }
        if self.open.take().is_some() {
            pieces.push(event(&json!({"type": "content_block_stop", "index": self.blocks})));
            self.blocks += 1;
        }
        pieces
    }

    fn block_delta(&self, delta: &Value) -> String {
        event(&json!({"type": "content_block_delta", "index": self.blocks, "delta": delta}))
    }

    fn part(&self, part: Value) -> String {
        data(&json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}))
    }

    fn choice(&self, delta: &Value) -> String {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        self.chunk(&json!([choice]), &Value::Null)
    }

    fn chunk(&self, choices: &Value, usage: &Value) -> String {
        let model = self.shared.state().requests[self.number].body["model"].clone();
        data(&json!({"id": format!("chatcmpl-{}", self.number), "created": 1_700_000_000,
            "object": "chat.completion.chunk", "model": model, "choices": choices, "usage": usage}))
    }
}

/// Prompt, what of it was cached, and output.
fn counts(usage: &Value) -> (u64, u64, u64) {
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
    let number = |name: &str| usage[name].as_u64().unwrap_or(0);
    (number("prompt_tokens").max(cached), cached, number("completion_tokens"))
}

fn cut(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, after) = text.split_at(text.ceil_char_boundary(16.min(text.len())));
        pieces.push(piece);
        text = after;
    }
    pieces
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
