//! Whether a request has the public format of its provider, as strictly as the strictest reads it.
//! Here that of Chat Completions; the others have files of their own.
//!
//! It looks at bodies alone, and the tests of the request builders include it by its path.

#[path = "check/anthropic.rs"]
mod anthropic;
#[path = "check/gemini.rs"]
mod gemini;
#[path = "check/ollama.rs"]
mod ollama;

use std::collections::HashSet;

use serde_json::Value;

/// The formats, by the word for the kind of provider.
pub fn violations(kind: &str, model: &str, body: &Value) -> Vec<String> {
    let mut check = Check::default();
    match kind {
        "anthropic" => anthropic::body(&mut check, body),
        "gemini" => gemini::body(&mut check, model, body),
        "ollama" => ollama::body(&mut check, body),
        kind => check.body(kind == "openrouter", body),
    }
    check.found
}

#[derive(Default)]
struct Check {
    found: Vec<String>,
}

impl Check {
    fn that(&mut self, holds: bool, otherwise: impl Into<String>) {
        if !holds {
            self.found.push(otherwise.into());
        }
    }

    fn keys(&mut self, value: &Value, known: &[&str], place: &str) {
        let Some(fields) = value.as_object() else {
            return self.found.push(format!("{place} is no object"));
        };
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            self.found.push(format!("{place} has the unknown field {key}"));
        }
    }

    fn body(&mut self, router: bool, body: &Value) {
        let mut known = vec![
            "model",
            "messages",
            "stream",
            "stream_options",
            "max_tokens",
            "temperature",
            "tools",
            "tool_choice",
        ];
        match router {
            true => known.extend(["usage", "reasoning", "cache_control"]),
            false => known.extend(["max_completion_tokens", "reasoning_effort"]),
        }
        self.keys(body, &known, "the body");
        self.that(is_said(&body["model"]), "no model is named");
        self.that(body["stream"] == true, "the reply is not to be streamed");
        self.that(body["stream_options"]["include_usage"] == true, "no usage is asked for");
        for limit in ["max_tokens", "max_completion_tokens"] {
            let limit = body.get(limit);
            self.that(limit.is_none_or(|it| it.as_u64() > Some(0)), "the limit is no number");
        }
        self.tools(body);
        self.messages(router, body["messages"].as_array().map_or(&[], Vec::as_slice));
    }

    fn tools(&mut self, body: &Value) {
        let Some(tools) = body.get("tools") else {
            return self.that(body.get("tool_choice").is_none(), "a choice without tools");
        };
        let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
        self.that(!tools.is_empty(), "the list of tools is empty");
        let choice = body.get("tool_choice").map_or(Some("auto"), Value::as_str);
        self.that(matches!(choice, Some("auto" | "none" | "required")), "an unknown tool_choice");
        let mut before = "";
        for tool in tools {
            self.keys(tool, &["type", "function"], "a tool");
            let function = &tool["function"];
            self.keys(function, &["name", "description", "parameters", "strict"], "a function");
            let name = function["name"].as_str().unwrap_or_default();
            self.tool_name(name, before);
            self.that(tool["type"] == "function", "a tool is no function");
            let schema = &function["parameters"];
            self.that(schema["type"] == "object", format!("{name} takes no object"));
            before = name;
        }
    }

    fn tool_name(&mut self, name: &str, before: &str) {
        self.that(is_name(name), format!("the tool name {name:?} is not legal"));
        self.that(name > before, format!("the tool {name:?} is twice there or out of order"));
    }

    /// Words, or a list of words and images.
    fn content(&mut self, n: usize, content: &Value) {
        let Some(pieces) = content.as_array() else {
            return self.that(is_said(content), format!("message {n} is empty"));
        };
        self.that(!pieces.is_empty(), format!("message {n} is empty"));
        for piece in pieces {
            self.keys(piece, &["type", "text", "image_url"], "a piece");
            match piece["type"].as_str() {
                Some("text") => {
                    self.that(is_said(&piece["text"]), format!("message {n} has an empty piece"));
                }
                Some("image_url") => {
                    let url = piece["image_url"]["url"].as_str().unwrap_or_default();
                    let data =
                        url.strip_prefix("data:image/").and_then(|it| it.split_once(";base64,"));
                    self.that(data.is_some_and(|(_, it)| !it.is_empty()), "an image without data");
                }
                other => self.found.push(format!("message {n} has a piece {other:?}")),
            }
        }
    }

    fn messages(&mut self, router: bool, messages: &[Value]) {
        let mut ids = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for (n, message) in messages.iter().enumerate() {
            let role = message["role"].as_str().unwrap_or_default();
            let content = &message["content"];
            if role != "tool" && !open.is_empty() {
                self.found.push(format!("message {n} comes before the results of {open:?}"));
                open.clear();
            }
            match role {
                "system" => {
                    self.keys(message, &["role", "content"], "the system message");
                    self.that(n == 0, "a system message that is not the first");
                    self.that(is_said(content), "an empty system message");
                }
                "user" => {
                    self.keys(message, &["role", "content"], "a user message");
                    self.content(n, content);
                }
                "assistant" => {
                    let mut known = vec!["role", "content", "tool_calls"];
                    match router {
                        true => known.extend(["reasoning", "reasoning_details"]),
                        false => known.push("reasoning_content"),
                    }
                    self.keys(message, &known, "an assistant message");
                    let calls = message.get("tool_calls");
                    self.that(content.is_null() || is_said(content), format!("{n} is empty"));
                    self.that(!content.is_null() || calls.is_some(), format!("{n} says nothing"));
                    if let Some(calls) = calls {
                        open = self.calls(calls);
                        for id in &open {
                            self.that(
                                ids.insert(id.clone()),
                                format!("the id {id} is there twice"),
                            );
                        }
                    }
                }
                "tool" => {
                    self.keys(message, &["role", "content", "tool_call_id"], "a result");
                    self.that(is_said(content), format!("the result {n} is empty"));
                    let id = message["tool_call_id"].as_str().unwrap_or_default();
                    let called = open.iter().position(|it| it == id);
                    self.that(called.is_some(), format!("the result {n} answers no open call"));
                    called.map(|at| open.remove(at));
                }
                other => self.found.push(format!("message {n} has the role {other:?}")),
            }
        }
        self.that(open.is_empty(), format!("the calls {open:?} have no result"));
        let last = messages.last().map(|it| &it["role"]);
        self.that(last.is_some_and(|it| it == "user" || it == "tool"), "nobody waits for a reply");
    }

    fn calls(&mut self, calls: &Value) -> Vec<String> {
        let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
        self.that(!calls.is_empty(), "an empty list of calls");
        let mut ids = Vec::new();
        for call in calls {
            self.keys(call, &["id", "type", "function"], "a call");
            self.keys(&call["function"], &["name", "arguments"], "a called function");
            let id = call["id"].as_str().unwrap_or_default();
            let name = call["function"]["name"].as_str().unwrap_or_default();
            self.that(is_name(id) && is_name(name), format!("the call {id:?} of {name:?}"));
            self.that(call["type"] == "function", "a call of no function");
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments = serde_json::from_str::<Value>(arguments);
            self.that(arguments.is_ok_and(|it| it.is_object()), format!("the arguments of {id}"));
            ids.push(id.to_owned());
        }
        ids
    }
}

fn is_said(text: &Value) -> bool {
    text.as_str().is_some_and(|it| !it.trim().is_empty())
}

fn is_name(name: &str) -> bool {
    let legal = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(legal)
}
