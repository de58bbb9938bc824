use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::domain::{
    conversation::{CallResult, Effort, Image, ImageType, ToolSpec},
    provider::ModelMeta,
};

#[test]
fn an_address_is_joined_however_it_was_entered() {
    for entered in [
        "https://api.anthropic.com",
        "https://api.anthropic.com/v1/",
        "https://api.anthropic.com/v1/messages",
    ] {
        let url = messages_url(entered).unwrap();
        assert_eq!(url.as_str(), "https://api.anthropic.com/v1/messages", "{entered}");
    }
    let list = models_url("https://h/anthropic").unwrap();
    assert_eq!(list.as_str(), "https://h/anthropic/v1/models?limit=1000");
    assert!(messages_url("api.anthropic.com").is_err());
}

#[test]
fn a_request_has_the_public_format() {
    let image = Image { mime: ImageType::Png, data: "AAAA".into() };
    let request = Request {
        model: "claude-sonnet-4-5".into(),
        system: "Be brief.".into(),
        items: vec![
            user("hi"),
            Item::user("look", vec![image]).unwrap(),
            called("", &["c1", "c2"], None),
            results(&["c1", "c2"]),
            called("Done.", &[], None),
            user("go on"),
        ],
        tools: vec![tool("write"), tool("read")],
        effort: Some(Effort::Low),
        temperature: Some(0.5),
        ..Request::default()
    };
    let mark = json!({"type": "ephemeral"});
    let schema = json!({"type": "object"});
    let image = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": SAFE_OUTPUT,
        "stream": true,
        "thinking": {"type": "enabled", "budget_tokens": 4_096},
        "tools": [
            {"name": "read", "description": "…", "input_schema": schema},
            {"name": "write", "description": "…", "input_schema": schema, "cache_control": mark},
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "hi"},
                {"type": "image", "source": image},
                {"type": "text", "text": "look"},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {"a": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "out"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "out", "is_error": true,
                    "cache_control": mark},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            {"role": "user", "content": [
                {"type": "text", "text": "go on", "cache_control": mark},
            ]},
        ],
    });
    assert_eq!(sent(&request), expected);
}

#[test]
fn a_thought_goes_back_where_it_stood_and_to_its_model_only() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": text});
    let redacted = json!({"type": "redacted_thinking", "data": "AbC"});
    let kept = json!([
        {"at": [0, 0], "block": thinking("one")},
        {"at": [3, 0], "block": redacted},
        {"at": [99, 1], "block": thinking("two")},
    ]);
    let reasoning = Reasoning {
        text: "one\n\ntwo".into(),
        signature: Some(format!("anthropic:{kept}")),
        model: "m".into(),
    };
    let items =
        vec![user("hi"), called("Hé!", &["c1", "c2"], Some(reasoning)), results(&["c1", "c2"])];
    let request = Request { model: "m".into(), items, ..Request::default() };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"a": 1}});
    let expected = json!([
        thinking("one"),
        {"type": "text", "text": "Hé"},
        redacted,
        {"type": "text", "text": "!"},
        call("c1"),
        thinking("two"),
        call("c2"),
    ]);
    assert_eq!(sent(&request)["messages"][1]["content"], expected);
    let other = sent(&Request { model: "other".into(), ..request });
    let expected = json!([{"type": "text", "text": "Hé!"}, call("c1"), call("c2")]);
    assert_eq!(other["messages"][1]["content"], expected);
}

#[test]
fn a_conversation_that_nobody_of_the_people_begins_or_ends_is_made_one() {
    let items = vec![called("a", &[], None), called("b", &[], None)];
    let messages = &sent(&Request { items, ..Request::default() })["messages"];
    let roles: Vec<_> = messages.as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[1]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_budget_for_thought_waits_until_the_calls_of_another_model_are_answered() {
    let mut request = Request {
        model: "claude-haiku-4-5".into(),
        items: vec![user("hi"), called("", &["c1"], None), results(&["c1"])],
        effort: Some(Effort::High),
        max_output_tokens: Some(30_000),
        ..Request::default()
    };
    assert_eq!(sent(&request).get("thinking"), None);
    let items = [called("Done.", &[], None), user("And now?")];
    request.items.extend(items);
    assert_eq!(sent(&request)["thinking"]["budget_tokens"], 15_000);
}

#[test]
fn the_limit_is_the_models_own_within_reason() {
    let asked = |limit, asked| {
        let meta = ModelMeta { output_limit: limit, ..ModelMeta::default() };
        sent(&Request { meta, max_output_tokens: asked, ..Request::default() })["max_tokens"]
            .clone()
    };
    assert_eq!(asked(None, None), SAFE_OUTPUT);
    assert_eq!(asked(Some(128_000), None), MAX_OUTPUT);
    assert_eq!(asked(Some(4_096), None), 4_096);
    assert_eq!(asked(Some(4_096), Some(9_000)), 4_096);
    assert_eq!(asked(None, Some(256)), 256);
}

#[test]
fn a_list_of_models_says_limits_and_what_a_model_can() {
    let list = json!({"data": [
        {"id": "claude-x", "type": "model", "display_name": "Claude X", "max_input_tokens": 1_000,
            "max_tokens": 100, "capabilities": {"image_input": {"supported": true},
                "thinking": {"supported": false}}},
        {"id": "claude-y", "max_input_tokens": null},
        {},
    ]});
    let expected = ModelInfo {
        name: "Claude X".into(),
        context: Some(1_000),
        output_limit: Some(100),
        reasoning: Some(false),
        images: Some(true),
        ..ModelInfo::named("claude-x")
    };
    assert_eq!(models(&list).unwrap(), [expected, ModelInfo::named("claude-y")]);
    assert_eq!(models(&json!({"models": []})), None);
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

fn user(text: &str) -> Item {
    Item::user(text, Vec::new()).unwrap()
}

fn called(text: &str, ids: &[&str], reasoning: Option<Reasoning>) -> Item {
    let call = |id: &&str| Call {
        id: (*id).into(),
        name: "read".into(),
        arguments: json!({"a": 1}),
        signature: None,
    };
    Item::Assistant { text: text.into(), reasoning, calls: ids.iter().map(call).collect() }
}

/// Results of which the first went well.
fn results(ids: &[&str]) -> Item {
    let result = |(at, id): (usize, &&str)| CallResult {
        id: (*id).into(),
        name: "read".into(),
        output: "out".into(),
        ok: at == 0,
    };
    Item::Results(ids.iter().enumerate().map(result).collect())
}

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object"});
    ToolSpec { name: name.into(), description: "…".into(), schema }
}
