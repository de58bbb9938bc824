//! The format of Ollama's chat.

use serde_json::Value;

use super::{Check, is_name, is_said};

pub(super) fn body(check: &mut Check, body: &Value) {
    let known = ["model", "stream", "truncate", "shift", "think", "options", "tools", "messages"];
    check.keys(body, &known, "the body");
    check.that(is_said(&body["model"]), "no model is named");
    check.that(body["stream"] == true, "the reply is not to be streamed");
    check.keys(&body["options"], &["num_ctx", "num_predict", "temperature"], "the options");
    check.that(body["options"]["num_ctx"].as_u64() > Some(0), "no size of the window");
    let think = &body["think"];
    let level = matches!(think.as_str(), Some("low" | "medium" | "high"));
    check.that(think.is_null() || think.is_boolean() || level, "a thinking of no kind");
    let mut before = "";
    for tool in body["tools"].as_array().into_iter().flatten() {
        check.keys(tool, &["type", "function"], "a tool");
        check.keys(&tool["function"], &["name", "description", "parameters"], "a function");
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        check.tool_name(name, before);
        before = name;
    }
    messages(check, body["messages"].as_array().map_or(&[], Vec::as_slice));
}

fn messages(check: &mut Check, messages: &[Value]) {
    let mut open: Vec<(&Value, &Value)> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            check.found.push(format!("message {n} comes before the results of {open:?}"));
            open.clear();
        }
        match role {
            "system" => {
                check.keys(message, &["role", "content"], "the system message");
                check.that(n == 0 && is_said(&message["content"]), "a system message");
            }
            "user" => {
                check.keys(message, &["role", "content", "images"], "a user message");
                let images = message.get("images").and_then(Value::as_array);
                let images = images.is_some_and(|it| it.iter().all(is_said));
                check.that(images || is_said(&message["content"]), format!("message {n} is empty"));
            }
            "assistant" => {
                let known = ["role", "content", "thinking", "tool_calls"];
                check.keys(message, &known, "an assistant message");
                let calls = message["tool_calls"].as_array();
                let said = calls.is_some() || is_said(&message["content"]);
                check.that(said, format!("message {n} says nothing"));
                for call in calls.into_iter().flatten() {
                    check.keys(call, &["id", "function"], "a call");
                    let function = &call["function"];
                    check.keys(function, &["name", "arguments"], "a called function");
                    let name = function["name"].as_str().unwrap_or_default();
                    check.that(is_name(name) && function["arguments"].is_object(), "a call");
                    open.push((&call["id"], &function["name"]));
                }
            }
            "tool" => {
                let known = ["role", "content", "tool_name", "tool_call_id"];
                check.keys(message, &known, "a result");
                check.that(is_said(&message["content"]), format!("the result {n} is empty"));
                let result = (&message["tool_call_id"], &message["tool_name"]);
                let at = open.iter().position(|it| *it == result);
                check.that(at.is_some(), format!("the result {n} answers no open call"));
                at.map(|at| open.remove(at));
            }
            other => check.found.push(format!("message {n} has the role {other:?}")),
        }
    }
    check.that(open.is_empty(), format!("the calls {open:?} have no result"));
}
