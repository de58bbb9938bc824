use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::domain::{
    conversation::{CallResult, Image, ImageType, Signature, ToolSpec},
    provider::ModelMeta,
};

#[test]
fn an_address_is_joined_and_holds_no_key() {
    for entered in [
        "https://g.example",
        "https://g.example/v1beta/",
        "https://g.example/v1beta/openai/",
        "https://g.example/v1beta/models",
    ] {
        let url = stream_url(entered, "models/gemini-2.5-pro").unwrap();
        let expected =
            "https://g.example/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
        assert_eq!(url.as_str(), expected, "{entered}");
    }
    let astray = stream_url("https://g.example", "../../x?y#z").unwrap();
    assert!(astray.path().starts_with("/v1beta/models/..%2F..%2Fx%3Fy%23z:"), "{astray}");
    let list = models_url("https://g.example").unwrap();
    assert_eq!(list.as_str(), "https://g.example/v1beta/models?pageSize=1000");
}

#[test]
fn a_request_has_the_public_format() {
    let image = Image { mime: ImageType::Jpeg, data: "AAAA".into() };
    let gif = Image { mime: ImageType::Gif, data: "AAAA".into() };
    let request = Request {
        model: "gemini-2.5-flash".into(),
        system: "Be brief.".into(),
        items: vec![
            Item::user("look", vec![image, gif]).unwrap(),
            called("Hm", &["c1", "c2"], "gemini-2.5-flash"),
            results(&["c1", "c2"]),
            Item::user("go on", vec![]).unwrap(),
        ],
        tools: vec![tool("write"), tool("read")],
        effort: Some(Effort::Off),
        max_output_tokens: Some(100),
        tools_allowed: ToolChoice::None,
        ..Request::default()
    };
    let declaration = |name: &str| json!({"name": name, "description": "…"});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [declaration("read"), declaration("write")]}],
        "generationConfig": {"maxOutputTokens": 100,
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 0}},
        "contents": [
            {"role": "user", "parts": [
                {"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}},
                {"text": "look"},
                {"text": "[An image was left out: its format is not read by this provider.]"},
            ]},
            {"role": "model", "parts": [
                {"text": "Hm"},
                {"functionCall": {"id": "c1", "name": "read", "args": {"a": 1}},
                    "thoughtSignature": "proof"},
                {"functionCall": {"id": "c2", "name": "read", "args": {"a": 1}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "out"}}},
                {"functionResponse": {"id": "c2", "name": "read", "response": {"error": "out"}}},
                {"text": "go on"},
            ]},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
    });
    assert_eq!(sent(&request), expected);
}

#[test]
fn a_call_of_another_model_has_a_stand_in_for_its_proof_where_one_is_wanted() {
    for (model, expected) in [
        ("gemini-3-pro-preview", json!(NOT_ITS_OWN)),
        ("gemini-3.8-flash", json!(NOT_ITS_OWN)),
        ("gemini-2.5-pro", json!(null)),
    ] {
        let items = vec![
            Item::user("hi", vec![]).unwrap(),
            called("", &["c1", "c2"], "another"),
            results(&["c1", "c2"]),
        ];
        let parts = &sent(&Request { model: model.into(), items, ..Request::default() })["contents"]
            [1]["parts"];
        assert_eq!(parts[0]["thoughtSignature"], expected, "{model}");
        assert_eq!(parts[1].get("thoughtSignature"), None, "{model}");
    }
}

#[test]
fn effort_becomes_a_level_or_a_budget() {
    let asked = |model: &str, effort, reasoning| {
        let meta = ModelMeta { reasoning, ..ModelMeta::default() };
        let request = Request { model: model.into(), effort, meta, ..Request::default() };
        sent(&request)["generationConfig"]["thinkingConfig"].clone()
    };
    let level = |it: &str| json!({"includeThoughts": true, "thinkingLevel": it});
    let budget = |it: u32| json!({"includeThoughts": true, "thinkingBudget": it});
    for (model, effort, reasoning, expected) in [
        ("gemini-3-pro-preview", Some(Effort::Off), None, level("low")),
        ("gemini-3-pro-preview", Some(Effort::Medium), None, level("high")),
        ("gemini-3.8-flash", Some(Effort::Medium), None, level("medium")),
        ("gemini-2.5-pro", Some(Effort::Off), None, budget(128)),
        ("gemini-2.5-flash", Some(Effort::High), None, budget(24_576)),
        ("gemini-2.5-flash", None, Some(true), json!({"includeThoughts": true})),
        ("gemini-2.5-flash", None, None, json!(null)),
        ("gemini-2.5-flash-image", Some(Effort::High), Some(false), json!(null)),
        ("gemini-2.0-flash", Some(Effort::High), None, json!(null)),
    ] {
        assert_eq!(asked(model, effort, reasoning), expected, "{model}");
    }
}

#[test]
fn a_list_of_models_has_those_that_answer() {
    let list = json!({"models": [
        {"name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1_000,
            "outputTokenLimit": 100, "thinking": true,
            "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
        {"displayName": "nothing"},
    ]});
    let expected = ModelInfo {
        name: "Gemini X".into(),
        context: Some(1_000),
        output_limit: Some(100),
        reasoning: Some(true),
        ..ModelInfo::named("gemini-x")
    };
    assert_eq!(models(&list).unwrap(), [expected]);
    assert_eq!(models(&json!({"data": []})), None);
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

/// Calls of which the first is signed, by `model`.
fn called(text: &str, ids: &[&str], model: &str) -> Item {
    let signature = Signature { text: "gemini:proof".into(), model: model.into() };
    let call = |(at, id): (usize, &&str)| Call {
        id: (*id).into(),
        name: "read".into(),
        arguments: json!({"a": 1}),
        signature: (at == 0).then(|| signature.clone()),
    };
    let calls = ids.iter().enumerate().map(call).collect();
    Item::Assistant { text: text.into(), reasoning: None, calls }
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
