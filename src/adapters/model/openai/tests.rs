use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::domain::conversation::{Call, CallResult, ToolSpec};

#[test]
fn an_address_is_joined_however_it_was_entered() {
    for (entered, expected) in [
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        (" https://api.openai.com/v1/ ", "https://api.openai.com/v1/chat/completions"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions/", "http://h:1/v1/chat/completions"),
        ("https://h/openai/v1", "https://h/openai/v1/chat/completions"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        ("https://h/vault", "https://h/vault/v1/chat/completions"),
        ("https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2"),
    ] {
        assert_eq!(chat_url(entered).unwrap().as_str(), expected, "{entered}");
    }
    assert_eq!(models_url("http://h/v1/chat/completions").unwrap().as_str(), "http://h/v1/models");
    for bad in ["", "api.openai.com", "ftp://h/v1", "file:///etc/passwd"] {
        assert!(chat_url(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_request_has_the_public_format() {
    let request = Request {
        model: "gpt-4o".into(),
        system: "Be brief.".into(),
        items: vec![user("hi"), called("c1", json!({"b": 1, "a": {"d": 1, "c": 2}})), result("c1")],
        tools: vec![tool("write"), tool("read")],
        max_output_tokens: Some(100),
        tools_allowed: ToolChoice::Auto,
    };
    let function = |name: &str| {
        json!({"type": "function", "function": {
            "name": name, "description": "…", "parameters": {"type": "object"},
        }})
    };
    let expected = json!({
        "model": "gpt-4o",
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 100,
        "tools": [function("read"), function("write")],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [{
                "id": "c1", "type": "function",
                "function": {"name": "read", "arguments": r#"{"a":{"c":2,"d":1},"b":1}"#},
            }]},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ],
    });
    assert_eq!(sent(&request), expected);
}

#[test]
fn a_step_begins_with_the_bytes_of_the_step_before() {
    let mut request = Request {
        system: "s".into(),
        tools: vec![tool("b"), tool("a")],
        items: vec![user("hi")],
        ..Request::default()
    };
    let before = body(&request).unwrap();
    request.tools.reverse();
    request.items.extend([called("c1", json!({})), result("c1")]);
    request.tools_allowed = ToolChoice::None;
    let after = body(&request).unwrap();
    let shared = before.len() - b"]}".len();
    assert_eq!(before[..shared], after[..shared]);
    assert!(String::from_utf8(after).unwrap().ends_with(r#"}],"tool_choice":"none"}"#));
}

#[test]
fn a_history_with_calls_always_has_a_tool() {
    let items = vec![user("hi"), called("c1", json!({})), result("c1")];
    let sent = sent(&Request { items, ..Request::default() });
    assert_eq!(sent["tool_choice"], "none");
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn reasoning_models_get_the_limit_under_its_new_name() {
    for (model, new) in [
        ("o3-mini", true),
        ("gpt-5.1", true),
        ("openai/gpt-5", true),
        ("gpt-4o", false),
        ("gpt-oss-120b", false),
        ("olmo-2", false),
        ("llama3", false),
    ] {
        let request =
            Request { model: model.into(), max_output_tokens: Some(9), ..Request::default() };
        let (new_field, old_field) = ("max_completion_tokens", "max_tokens");
        let (given, other) = if new { (new_field, old_field) } else { (old_field, new_field) };
        assert_eq!(sent(&request)[given], 9, "{model}");
        assert_eq!(sent(&request).get(other), None, "{model}");
    }
}

#[test]
fn reasoning_goes_back_only_to_the_models_that_want_it() {
    for (model, from, expected) in
        [("deepseek-chat", "deepseek-chat", true), ("deepseek-chat", "x", false), ("x", "x", false)]
    {
        let Item::Assistant { text, calls, .. } = called("c", json!({})) else { unreachable!() };
        let reasoning = Some(Reasoning { text: "hm".into(), signature: None, model: from.into() });
        let items = vec![Item::Assistant { text, calls, reasoning }, result("c")];
        let sent = sent(&Request { model: model.into(), items, ..Request::default() });
        assert_eq!(sent["messages"][0].get("reasoning_content").is_some(), expected, "{model}");
    }
}

#[test]
fn a_list_of_models_is_read_in_its_usual_shapes() {
    let list = json!({"object": "list", "data": [
        {"id": "a", "object": "model"},
        {"id": "b", "context_length": 8192, "name": "Model B"},
        {"id": "c", "max_model_len": 4096, "capabilities": {"function_calling": true}},
        {"id": "d", "context_window": 0},
        {"nonsense": 1},
        null,
    ]});
    let models = models(&list).unwrap();
    let b = ModelInfo { name: "Model B".into(), context: Some(8_192), ..ModelInfo::named("b") };
    let c = ModelInfo { context: Some(4_096), tools: Some(true), ..ModelInfo::named("c") };
    assert_eq!(models, [ModelInfo::named("a"), b, c, ModelInfo::named("d")]);
    assert_eq!(super::models(&json!([{"id": "a"}])).unwrap().len(), 1);
    assert_eq!(super::models(&json!({"error": "x"})), None);
}

proptest! {
    #[test]
    fn the_list_reader_never_panics(text in r#"[\[\]{}",:a-z0-9]{0,40}"#) {
        if let Ok(value) = serde_json::from_str(&text) {
            let _ = models(&value);
        }
    }
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

fn user(text: &str) -> Item {
    Item::User { text: text.into() }
}

fn called(id: &str, arguments: Value) -> Item {
    let calls = vec![Call { id: id.into(), name: "read".into(), arguments }];
    Item::Assistant { text: String::new(), reasoning: None, calls }
}

fn result(id: &str) -> Item {
    let (id, name, output) = (id.into(), "read".into(), "out".into());
    Item::Results(vec![CallResult { id, name, output, ok: true }])
}

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object"});
    ToolSpec { name: name.into(), description: "…".into(), schema }
}
