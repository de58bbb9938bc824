//! The format of Messages.

use std::collections::HashSet;

use serde_json::Value;

use super::{Check, is_name, is_said};

pub(super) fn body(check: &mut Check, body: &Value) {
    let known = [
        "model",
        "max_tokens",
        "stream",
        "thinking",
        "output_config",
        "temperature",
        "tools",
        "system",
        "messages",
        "tool_choice",
    ];
    check.keys(body, &known, "the body");
    check.that(is_said(&body["model"]), "no model is named");
    check.that(body["stream"] == true, "the reply is not to be streamed");
    let most = body["max_tokens"].as_u64().unwrap_or(0);
    check.that(most > 0, "max_tokens is required");
    thinking(check, body, most);
    tools(check, body);
    if let Some(system) = body.get("system") {
        let blocks = system.as_array().map_or(&[][..], Vec::as_slice);
        check.that(!blocks.is_empty(), "an empty system prompt");
        for block in blocks {
            check.keys(block, &["type", "text", "cache_control"], "a system block");
            check.that(block["type"] == "text" && is_said(&block["text"]), "an empty system block");
        }
    }
    messages(check, body);
    let marks = body.to_string().matches("\"cache_control\":").count();
    check.that(marks <= 4, format!("{marks} marks for the cache"));
}

fn thinking(check: &mut Check, body: &Value, most: u64) {
    let thinking = &body["thinking"];
    let on = match thinking["type"].as_str() {
        None => return check.that(thinking.is_null(), "a thinking of no type"),
        Some("disabled") => false,
        Some("adaptive") => {
            check.keys(thinking, &["type", "display"], "the thinking");
            true
        }
        Some("enabled") => {
            let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
            check.that((1_024..most).contains(&budget), format!("a budget of {budget} in {most}"));
            true
        }
        Some(other) => return check.found.push(format!("a thinking {other:?}")),
    };
    check.that(!on || body.get("temperature").is_none(), "a temperature for a model that thinks");
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if let ([.., answer, last], "enabled") = (messages, thinking["type"].as_str().unwrap_or("")) {
        let first = |it: &Value| it["content"][0]["type"].as_str().unwrap_or("").to_owned();
        let thought = first(last) != "tool_result" || first(answer).contains("thinking");
        check.that(thought, "calls that begin with no thought");
    }
}

fn tools(check: &mut Check, body: &Value) {
    let Some(tools) = body.get("tools") else {
        return check.that(body.get("tool_choice").is_none(), "a choice without tools");
    };
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    check.that(!tools.is_empty(), "the list of tools is empty");
    let choice = &body["tool_choice"]["type"];
    check.that(choice.is_null() || choice == "none" || choice == "auto", "an unknown tool_choice");
    let mut before = "";
    for tool in tools {
        check.keys(tool, &["name", "description", "input_schema", "cache_control"], "a tool");
        let name = tool["name"].as_str().unwrap_or_default();
        check.tool_name(name, before);
        check.that(tool["input_schema"]["type"] == "object", format!("{name} takes no object"));
        before = name;
    }
}

fn messages(check: &mut Check, body: &Value) {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut before = "assistant";
    for (n, message) in messages.iter().enumerate() {
        check.keys(message, &["role", "content"], "a message");
        let role = message["role"].as_str().unwrap_or_default();
        let turn = matches!((before, role), ("assistant", "user") | ("user", "assistant"));
        check.that(turn, format!("message {n} of {role:?} follows one of {before:?}"));
        before = role;
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        check.that(!blocks.is_empty(), format!("message {n} is empty"));
        let mut others = false;
        let mut called = Vec::new();
        for block in blocks {
            let kind = block["type"].as_str().unwrap_or_default();
            match (role, kind) {
                (_, "text") => {
                    check.keys(block, &["type", "text", "cache_control"], "a text");
                    check.that(is_said(&block["text"]), format!("message {n} has an empty text"));
                    others = true;
                }
                ("user", "image") => {
                    check.keys(block, &["type", "source", "cache_control"], "an image");
                    let source = &block["source"];
                    check.keys(source, &["type", "media_type", "data"], "a source");
                    check.that(source["type"] == "base64" && is_said(&source["data"]), "no image");
                    others = true;
                }
                ("user", "tool_result") => {
                    let known = ["type", "tool_use_id", "content", "is_error", "cache_control"];
                    check.keys(block, &known, "a result");
                    check.that(!others, format!("message {n} has a result after something else"));
                    check.that(is_said(&block["content"]), format!("a result in {n} is empty"));
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    let at = open.iter().position(|it| *it == id);
                    check.that(at.is_some(), format!("the result {id} answers no open call"));
                    at.map(|at| open.remove(at));
                }
                ("assistant", "tool_use") => {
                    check.keys(block, &["type", "id", "name", "input"], "a call");
                    let id = block["id"].as_str().unwrap_or_default();
                    check.that(is_name(id), format!("the id {id:?}"));
                    check.that(
                        is_name(block["name"].as_str().unwrap_or_default()),
                        "a call of nothing",
                    );
                    check.that(block["input"].is_object(), format!("the input of {id}"));
                    check.that(ids.insert(id.to_owned()), format!("the id {id} is there twice"));
                    called.push(id);
                }
                ("assistant", "thinking") => {
                    check.keys(block, &["type", "thinking", "signature"], "a thought");
                    check.that(block["thinking"].is_string(), "a thought without text");
                    check.that(is_said(&block["signature"]), "a thought without signature");
                }
                ("assistant", "redacted_thinking") => {
                    check.keys(block, &["type", "data"], "a sealed thought");
                    check.that(is_said(&block["data"]), "a sealed thought without data");
                }
                (role, kind) => check.found.push(format!("a {kind:?} of {role:?}")),
            }
        }
        check.that(open.is_empty(), format!("the calls {open:?} have no result"));
        open = called;
    }
    check.that(open.is_empty(), format!("the calls {open:?} have no result"));
    check.that(before == "user", "nobody waits for a reply");
    check.that(ids.is_empty() || body.get("tools").is_some(), "calls without a tool");
}
