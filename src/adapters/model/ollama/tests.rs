use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::domain::{
    conversation::{Call, CallResult, Image, ImageType, Reasoning, ToolSpec},
    provider::ModelMeta,
};

#[test]
fn an_address_is_joined_however_it_was_entered() {
    for entered in [
        "http://h:11434",
        "http://h:11434/v1/",
        "http://h:11434/api",
        "http://h:11434/api/chat",
        "http://h:11434/v1/chat/completions",
    ] {
        assert_eq!(chat_url(entered).unwrap().as_str(), "http://h:11434/api/chat", "{entered}");
    }
    assert_eq!(tags_url("https://h/ollama").unwrap().as_str(), "https://h/ollama/api/tags");
}

#[test]
fn a_request_has_the_public_format() {
    let image = Image { mime: ImageType::Png, data: "AAAA".into() };
    let reasoning = Reasoning { text: "hm".into(), signature: None, model: "qwen3".into() };
    let call = Call {
        id: "c1".into(),
        name: "read".into(),
        arguments: json!({"b": 1, "a": 2}),
        signature: None,
    };
    let result =
        CallResult { id: "c1".into(), name: "read".into(), output: "out".into(), ok: false };
    let request = Request {
        model: "qwen3".into(),
        system: "Be brief.".into(),
        items: vec![
            Item::user("look", vec![image]).unwrap(),
            Item::Assistant { text: String::new(), reasoning: Some(reasoning), calls: vec![call] },
            Item::Results(vec![result]),
        ],
        tools: vec![tool("read")],
        effort: Some(Effort::High),
        max_output_tokens: Some(100),
        temperature: Some(0.5),
        ..Request::default()
    };
    let expected = json!({
        "model": "qwen3",
        "stream": true,
        "truncate": false,
        "shift": false,
        "think": true,
        "options": {"num_ctx": 16_384, "num_predict": 100, "temperature": 0.5},
        "tools": [{"type": "function", "function":
            {"name": "read", "description": "…", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look", "images": ["AAAA"]},
            {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
                {"id": "c1", "function": {"name": "read", "arguments": {"a": 2, "b": 1}}}]},
            {"role": "tool", "content": "out", "tool_name": "read", "tool_call_id": "c1"},
        ],
    });
    assert_eq!(sent(&request), expected);
}

#[test]
fn the_window_holds_the_conversation_and_is_never_larger_than_the_models() {
    let window = |bytes: usize, context| {
        let meta = ModelMeta { context, ..ModelMeta::default() };
        let items = vec![Item::user("x".repeat(bytes), vec![]).unwrap()];
        sent(&Request { meta, items, ..Request::default() })["options"]["num_ctx"].clone()
    };
    assert_eq!(window(10, None), 16_384);
    assert_eq!(window(90_000, Some(131_072)), 65_536);
    assert_eq!(window(900_000, Some(131_072)), 131_072);
    assert_eq!(window(10, Some(8_192)), 8_192);
}

#[test]
fn tools_and_thought_are_asked_of_models_that_have_them() {
    let meta = |tools, reasoning| ModelMeta { tools, reasoning, ..ModelMeta::default() };
    let request = Request {
        tools: vec![tool("read")],
        effort: Some(Effort::Off),
        meta: meta(Some(false), Some(false)),
        ..Request::default()
    };
    let plain = sent(&request);
    assert_eq!((plain.get("tools"), plain.get("think")), (None, None));
    let able = Request { meta: meta(None, Some(true)), ..request.clone() };
    assert_eq!(sent(&able)["think"], false);
    assert_eq!(sent(&able)["tools"].as_array().unwrap().len(), 1);
    let levels = Request { model: "gpt-oss:20b".into(), ..able };
    assert_eq!(sent(&levels)["think"], "low");
}

#[test]
fn a_model_is_described_by_what_it_shows() {
    let list = json!({"models": [{"name": "a:latest", "model": "a:latest"}, {}]});
    let listed = tags(&list).unwrap();
    assert_eq!(listed, [ModelInfo::named("a:latest")]);
    let shown = json!({"capabilities": ["completion", "tools", "thinking"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}});
    let expected = ModelInfo {
        context: Some(40_960),
        tools: Some(true),
        images: Some(false),
        reasoning: Some(true),
        ..ModelInfo::named("a:latest")
    };
    assert_eq!(described(listed[0].clone(), &shown), expected);
    assert_eq!(described(listed[0].clone(), &json!({})), listed[0]);
    assert_eq!(tags(&json!({"data": []})), None);
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object"});
    ToolSpec { name: name.into(), description: "…".into(), schema }
}
