use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{super::ModelInfo, *};
use crate::domain::{
    conversation::{Call, CallResult, Image, ImageType, ToolSpec},
    provider::ModelMeta,
};

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
        assert_eq!(chat_url(Kind::Openai, entered).unwrap().as_str(), expected, "{entered}");
    }
    assert_eq!(
        models_url(Kind::Openai, "http://h/v1/chat/completions").unwrap().as_str(),
        "http://h/v1/models"
    );
    for bad in ["", "api.openai.com", "ftp://h/v1", "file:///etc/passwd"] {
        assert!(chat_url(Kind::Openai, bad).is_err(), "{bad}");
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
        ..Request::default()
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
    let before = body(Kind::Openai, &request).unwrap();
    request.tools.reverse();
    request.items.extend([called("c1", json!({})), result("c1")]);
    request.tools_allowed = ToolChoice::None;
    let after = body(Kind::Openai, &request).unwrap();
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

#[test]
fn openrouter_is_found_below_its_folder() {
    for entered in [
        "https://openrouter.ai",
        "https://openrouter.ai/api",
        "https://openrouter.ai/api/v1/",
        "https://openrouter.ai/api/v1/chat/completions",
    ] {
        let url = chat_url(Kind::Openrouter, entered).unwrap();
        assert_eq!(url.as_str(), "https://openrouter.ai/api/v1/chat/completions", "{entered}");
    }
    assert_eq!(key_url("https://openrouter.ai").unwrap().path(), "/api/v1/key");
}

#[test]
fn what_openrouter_adds_is_sent_to_it_alone() {
    let details = json!([{"type": "reasoning.encrypted", "data": "AbC"}]);
    let Item::Assistant { text, calls, .. } = called("c", json!({})) else { unreachable!() };
    let reasoning = Some(Reasoning {
        text: "hm".into(),
        signature: Some(format!("openrouter:{details}")),
        model: "m".into(),
    });
    let items = vec![user("hi"), Item::Assistant { text, calls, reasoning }, result("c")];
    let request =
        Request { model: "m".into(), items, effort: Some(Effort::Off), ..Request::default() };
    let body = sent_to(Kind::Openrouter, &request);
    assert_eq!(body["messages"][1]["reasoning_details"], details);
    assert_eq!(body["reasoning"], json!({"effort": "none"}));
    assert_eq!(body["usage"], json!({"include": true}));
    assert_eq!(body.get("cache_control"), None);
    let claude = Request { model: "anthropic/claude-sonnet-5".into(), ..request.clone() };
    let marked = sent_to(Kind::Openrouter, &claude);
    assert_eq!(marked["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent(&claude).get("cache_control"), None);
    let plain = sent(&request);
    for field in ["reasoning", "usage", "reasoning_effort"] {
        assert_eq!(plain.get(field), None, "{field}");
    }
    assert_eq!(plain["messages"][1].get("reasoning_details"), None);
    let other = sent_to(Kind::Openrouter, &Request { model: "other".into(), ..request });
    assert_eq!(other["messages"][1].get("reasoning_details"), None);
}

#[test]
fn effort_and_temperature_go_to_the_models_that_take_them() {
    let asked = |model: &str, tools: bool, effort| {
        let request = Request {
            model: model.into(),
            effort,
            temperature: Some(0.5),
            tools: if tools { vec![tool("read")] } else { Vec::new() },
            ..Request::default()
        };
        let body = sent(&request);
        (body["reasoning_effort"].as_str().map(str::to_owned), body.get("temperature").is_some())
    };
    for (model, tools, effort, expected) in [
        ("o3", true, Some(Effort::High), (Some("high"), false)),
        ("o3", true, Some(Effort::Off), (Some("low"), false)),
        ("gpt-5", true, Some(Effort::Off), (Some("minimal"), false)),
        ("gpt-5.1", true, Some(Effort::Off), (Some("none"), false)),
        ("gpt-5.1", true, None, (None, false)),
        ("gpt-5.5", true, Some(Effort::High), (Some("none"), false)),
        ("gpt-6-sol", false, Some(Effort::High), (Some("high"), false)),
        ("gpt-4o", true, Some(Effort::High), (None, true)),
    ] {
        let (effort_word, temperature) = expected;
        let expected = (effort_word.map(str::to_owned), temperature);
        assert_eq!(asked(model, tools, effort), expected, "{model} {tools}");
    }
    let meta = ModelMeta { reasoning: Some(true), ..ModelMeta::default() };
    let own = Request { effort: Some(Effort::Low), meta, ..Request::default() };
    assert_eq!(sent(&own)["reasoning_effort"], "low");
}

#[test]
fn an_image_is_a_piece_of_the_message() {
    let image = Image { mime: ImageType::Png, data: "AAAA".into() };
    let items = vec![Item::user("look", vec![image.clone()]).unwrap()];
    let request = Request { items, ..Request::default() };
    let expected = json!([
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "look"},
    ]);
    assert_eq!(sent(&request)["messages"][0]["content"], expected);
    let meta = ModelMeta { images: Some(false), ..ModelMeta::default() };
    let blind = sent(&Request { meta, ..request });
    let note = "[An image was left out: this model does not read images.]";
    assert_eq!(blind["messages"][0]["content"][1], json!({"type": "text", "text": note}));
}

#[test]
fn openrouters_list_says_limits_prices_and_what_a_model_can() {
    let list = json!({"data": [{
        "id": "maker/model", "name": "Maker: Model", "context_length": 200_000,
        "architecture": {"input_modalities": ["text", "image"]},
        "pricing": {"prompt": "0.000003", "completion": "0.000015", "request": "0",
            "input_cache_read": "0.0000003", "input_cache_write": "-1"},
        "top_provider": {"max_completion_tokens": 64_000},
        "supported_parameters": ["tools", "temperature"],
    }, {"id": "bare"}, {}]});
    let expected = ModelInfo {
        name: "Maker: Model".into(),
        context: Some(200_000),
        output_limit: Some(64_000),
        tools: Some(true),
        reasoning: Some(false),
        images: Some(true),
        input_price: Some(3_000_000),
        output_price: Some(15_000_000),
        cache_read_price: Some(300_000),
        ..ModelInfo::named("maker/model")
    };
    assert_eq!(openrouter_models(&list).unwrap(), [expected, ModelInfo::named("bare")]);
}

proptest! {
    #[test]
    fn the_list_reader_never_panics(text in r#"[\[\]{}",:a-z0-9]{0,40}"#) {
        if let Ok(value) = serde_json::from_str(&text) {
            let _ = models(&value);
            let _ = openrouter_models(&value);
        }
    }
}

fn sent(request: &Request) -> Value {
    sent_to(Kind::Openai, request)
}

fn sent_to(kind: Kind, request: &Request) -> Value {
    serde_json::from_slice(&body(kind, request).unwrap()).unwrap()
}

fn user(text: &str) -> Item {
    Item::user(text, Vec::new()).unwrap()
}

fn called(id: &str, arguments: Value) -> Item {
    let calls = vec![Call { id: id.into(), name: "read".into(), arguments, signature: None }];
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
