//! What users of such systems have reported of providers and streams, case by case. The numbers are
//! those of the list of cases; what takes a whole run is in `runner/faults.rs`.

use std::time::{Duration, Instant};

use forge::{
    adapters::model::{
        Endpoint, Kind, Limits, ModelInfo, Models,
        recorded::{Whole, body, hear},
    },
    domain::{
        conversation::{
            Call, CallIds, CallResult, Exchange, Item, Reasoning, Request, Signature, items,
            step_items,
        },
        message::{Part, Role, Text, ToolCall, ToolStatus},
        model::{Answer, Asked, Delta, Fault, FaultKind, Finish, Reply, classify},
        provider::ModelMeta,
        reach::Reach,
        secret::Secret,
    },
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
};

/// Chunks as server-sent events, with the end that most servers send.
fn events(chunks: &[Value]) -> String {
    let data = chunks.iter().map(|it| format!("data: {it}\n\n"));
    data.collect::<String>() + "data: [DONE]\n\n"
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn heard(kind: Kind, stream: &str) -> Whole {
    hear(kind, [stream.as_bytes()])
}

fn reply(kind: Kind, stream: &str) -> Reply {
    heard(kind, stream).result.unwrap()
}

fn fault(kind: Kind, stream: &str) -> (Vec<Delta>, Fault) {
    let whole = heard(kind, stream);
    (whole.deltas, whole.result.unwrap_err())
}

fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
    reply.calls.iter().map(|it| (it.id.as_str(), it.name.as_str(), it.arguments.as_str())).collect()
}

/// The body that a request for a model becomes.
fn sent(kind: Kind, model: &str, items: Vec<Item>) -> Value {
    let request = Request { model: model.into(), items, ..Request::default() };
    serde_json::from_slice(&body(kind, &request).unwrap()).unwrap()
}

fn user(text: &str) -> Item {
    Item::User { text: text.into(), images: Vec::new() }
}

/// What a reply becomes in the next request, with a result for each of its calls.
fn said(reply: &Reply, model: &str) -> Vec<Item> {
    let signature =
        |text: &Option<String>| text.clone().map(|text| Signature { text, model: model.into() });
    let calls = reply.calls.iter().map(|it| Call {
        id: it.id.clone(),
        name: it.name.clone(),
        arguments: serde_json::from_str(&it.arguments).unwrap_or(json!({})),
        signature: signature(&it.signature),
    });
    let results = reply.calls.iter().map(|it| CallResult {
        id: it.id.clone(),
        name: it.name.clone(),
        output: "out".into(),
        ok: true,
    });
    let reasoning = reply.reasoning.as_ref().map(|it| Reasoning {
        text: it.text.clone(),
        signature: it.signature.clone(),
        model: model.into(),
    });
    let (calls, results): (Vec<_>, Vec<_>) = (calls.collect(), results.collect());
    let mut items =
        vec![user("go"), Item::Assistant { text: reply.text.clone(), reasoning, calls }];
    items.extend((!results.is_empty()).then_some(Item::Results(results)));
    items.push(user("on"));
    items
}

#[test]
fn case_52_calls_without_an_index_or_with_a_wrong_one_are_told_apart() {
    let whole = |index: Option<u32>, id: &str, path: &str| {
        let arguments = json!({ "path": path }).to_string();
        let mut call = json!({"id": id, "function": {"name": "read", "arguments": arguments}});
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        chunk(json!({"tool_calls": [call]}), Value::Null)
    };
    let end = chunk(json!({}), json!("tool_calls"));
    // None at all, all the same with new ids, and the first one 1.
    for indexes in [[None, None], [Some(0), Some(0)], [Some(1), Some(2)]] {
        let stream =
            events(&[whole(indexes[0], "a", "1"), whole(indexes[1], "b", "2"), end.clone()]);
        let reply = reply(Kind::Openai, &stream);
        let expected = [("a", "read", r#"{"path":"1"}"#), ("b", "read", r#"{"path":"2"}"#)];
        assert_eq!(calls(&reply), expected, "{indexes:?}");
    }
}

#[test]
fn case_53_a_chunk_without_choices_says_nothing_and_its_usage_counts() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    for empty in [json!({"choices": null}), json!({"choices": []}), json!({"id": "x"}), Value::Null]
    {
        let mut last = json!({"choices": []});
        last["usage"] = usage.clone();
        let chunks = [empty.clone(), chunk(json!({"content": "Hi"}), json!("stop")), empty, last];
        let reply = reply(Kind::Openai, &events(&chunks));
        assert_eq!(reply.text, "Hi");
        let tokens = reply.usage.unwrap().tokens;
        assert_eq!((tokens.input, tokens.output), (7, 2));
    }
}

#[test]
fn case_54_data_needs_no_space_after_its_colon() {
    let stream =
        events(&[chunk(json!({"content": "Hi"}), json!("stop"))]).replace("data: ", "data:");
    assert_eq!(reply(Kind::Openai, &stream).text, "Hi");
}

#[test]
fn case_55_comments_and_empty_data_are_passed_over() {
    let stream = format!(
        ": keep-alive\n\ndata:\n\ndata: \n\n:\n\n{}",
        events(&[chunk(json!({"content": "Hi"}), json!("stop"))])
            .replace("data: [", ": x\n\ndata: [")
    );
    assert_eq!(reply(Kind::Openai, &stream).text, "Hi");
}

#[test]
fn case_56_line_ends_cuts_late_usage_and_a_missing_end_change_nothing() {
    let mut last = chunk(json!({"content": "✓ 🦀"}), json!("stop"));
    last["usage"] = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    let plain = events(&[chunk(json!({"content": "Hällo "}), Value::Null), last]);
    let whole = heard(Kind::Openai, &plain);
    let told = whole.result.as_ref().unwrap();
    assert_eq!((told.text.as_str(), told.usage.is_some()), ("Hällo ✓ 🦀", true));
    for stream in [
        plain.replace('\n', "\r\n"),
        plain.replace("data: [DONE]\n\n", ""),
        plain.replace('\n', "\r\n").replace("data: [DONE]\r\n\r\n", ""),
    ] {
        for size in [1, 2, 3, 7, stream.len()] {
            let pieces = stream.as_bytes().chunks(size);
            assert_eq!(hear(Kind::Openai, pieces), whole, "{size} {stream:?}");
        }
    }
}

#[test]
fn case_58_an_error_in_the_middle_of_a_stream_is_its_fault() {
    let error = json!({"error": {"message": "upstream has gone away", "code": 502}});
    for said in [None, Some("Half ")] {
        let mut chunks: Vec<_> =
            said.map(|it| chunk(json!({"content": it}), Value::Null)).into_iter().collect();
        chunks.push(error.clone());
        for kind in [Kind::Openai, Kind::Openrouter] {
            let (deltas, fault) = fault(kind, &events(&chunks));
            assert_eq!(
                deltas,
                said.map(|it| Delta::Text(it.into())).into_iter().collect::<Vec<_>>()
            );
            assert_eq!(fault.provider_message.as_deref(), Some("upstream has gone away"));
            assert_eq!((fault.kind, fault.retryable()), (FaultKind::Overload, true));
        }
    }
    let refused = json!({"error": {"message": "no", "type": "invalid_request_error", "code": 400}});
    assert!(!fault(Kind::Openai, &events(&[refused])).1.retryable());
}

#[test]
fn case_59_an_overloaded_event_is_a_fault_and_pings_and_surprises_are_none() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":\
                 {\"input_tokens\":3,\"output_tokens\":1}}}\n\n\
                 event: ping\ndata: {\"type\":\"ping\"}\n\n\
                 event: surprise\ndata: {\"type\":\"surprise\",\"index\":9,\"delta\":{}}\n\n\
                 event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
                 \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
                 event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\
                      \"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let (deltas, fault) = fault(Kind::Anthropic, &format!("{start}{overloaded}"));
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    assert_eq!((fault.kind, fault.retryable()), (FaultKind::Overload, true));
    let end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\
               \"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
               event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    assert_eq!(reply(Kind::Anthropic, &format!("{start}{end}")).text, "Hi");
}

#[test]
fn case_61_redacted_thinking_goes_back_untouched_and_to_its_model_only() {
    let block = r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix=="}"#;
    let data = |it: &str| format!("data: {it}\n\n");
    let stream = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        &format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(data)
    .concat();
    let reply = reply(Kind::Anthropic, &stream);
    let block: Value = serde_json::from_str(block).unwrap();
    let back = sent(Kind::Anthropic, "claude-sonnet-5", said(&reply, "claude-sonnet-5"));
    assert_eq!(back["messages"][1]["content"][0], block, "{back:#}");
    for (kind, model) in [
        (Kind::Anthropic, "claude-haiku-4-5"),
        (Kind::Openrouter, "claude-sonnet-5"),
        (Kind::Gemini, "claude-sonnet-5"),
    ] {
        let other = sent(kind, model, said(&reply, "claude-sonnet-5")).to_string();
        assert!(!other.contains("EmwKAhgBEgy3va3pzix"), "{kind} {model}: {other}");
    }
}

/// Two calls of the same tool that Gemini makes at once, with and without ids.
fn of_gemini(ids: [Option<&str>; 2]) -> String {
    let parts: Vec<_> = ids
        .into_iter()
        .zip(["1", "2"])
        .map(|(id, path)| {
            let mut call = json!({"name": "read", "args": {"path": path}});
            if let Some(id) = id {
                call["id"] = json!(id);
            }
            json!({"functionCall": call, "thoughtSignature": format!("c2lnbmF0dXJl{path}")})
        })
        .collect();
    let answer = json!({"candidates": [{"content": {"role": "model", "parts": parts},
        "finishReason": "STOP", "index": 0}]});
    format!("data: {answer}\r\n\r\n")
}

#[test]
fn case_63_the_signature_of_each_part_goes_back_with_it() {
    let reply = reply(Kind::Gemini, &of_gemini([None, None]));
    let back = sent(Kind::Gemini, "gemini-3-pro", said(&reply, "gemini-3-pro"));
    let parts = back["contents"][1]["parts"].as_array().unwrap();
    let signatures: Vec<_> = parts.iter().map(|it| &it["thoughtSignature"]).collect();
    assert_eq!(signatures, [&json!("c2lnbmF0dXJl1"), &json!("c2lnbmF0dXJl2")], "{back:#}");
    let other = sent(Kind::Gemini, "gemini-3-flash", said(&reply, "gemini-3-pro")).to_string();
    assert!(!other.contains("c2lnbmF0dXJl1"), "{other}");
}

#[test]
fn case_64_calls_of_one_name_get_ids_of_their_own_in_their_order() {
    for ids in [[None, None], [Some("a"), Some("a")], [Some("a"), None]] {
        let reply = reply(Kind::Gemini, &of_gemini(ids));
        let (one, two) = (&reply.calls[0], &reply.calls[1]);
        assert!(!one.id.is_empty() && !two.id.is_empty() && one.id != two.id, "{ids:?}");
        assert!(one.arguments.contains('1') && two.arguments.contains('2'), "{ids:?}");
        let back = sent(Kind::Gemini, "gemini-3-pro", said(&reply, "gemini-3-pro"));
        let named = |content: usize, what: &str| {
            let parts = back["contents"][content]["parts"].as_array().unwrap();
            parts.iter().filter_map(|it| it.get(what)?.get("id").cloned()).collect::<Vec<_>>()
        };
        assert_eq!(named(1, "functionCall").len(), 2, "{back:#}");
        assert_eq!(named(1, "functionCall"), named(2, "functionResponse"), "{back:#}");
    }
    let reply = reply(Kind::Gemini, &of_gemini([Some("g-1"), Some("g-2")]));
    let ids: Vec<_> = reply.calls.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["g-1", "g-2"], "the provider's own are kept");
}

#[test]
fn case_65_deepseek_gets_its_reasoning_back_and_nobody_else() {
    let stream = events(&[
        chunk(json!({"reasoning_content": "Hm."}), Value::Null),
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "a",
                "function": {"name": "read", "arguments": "{}"}}]}),
            json!("tool_calls"),
        ),
    ]);
    let reply = reply(Kind::Openai, &stream);
    for (from, to, wanted) in [
        ("deepseek-chat", "deepseek-chat", true),
        ("gpt-5.1", "gpt-5.1", false),
        ("deepseek-chat", "gpt-5.1", false),
    ] {
        let back = sent(Kind::Openai, to, said(&reply, from));
        let has = back["messages"][1].get("reasoning_content") == Some(&json!("Hm."));
        assert_eq!(has, wanted, "{from} {to}: {back:#}");
    }
}

#[test]
fn case_66_ollama_is_told_the_size_of_its_window_and_never_to_cut() {
    let window = |bytes: usize, context| {
        let meta = ModelMeta { context, ..ModelMeta::default() };
        let items = vec![user(&"x".repeat(bytes))];
        let request = Request { model: "m".into(), meta, items, ..Request::default() };
        serde_json::from_slice::<Value>(&body(Kind::Ollama, &request).unwrap()).unwrap()
    };
    let short = window(10, Some(131_072));
    assert!(short["options"]["num_ctx"].as_u64().unwrap() > 4_096, "{short}");
    assert_eq!(short["truncate"], false, "too long a prompt is an error and not half a prompt");
    assert!(window(400_000, Some(131_072))["options"]["num_ctx"].as_u64().unwrap() > 100_000);
    assert_eq!(window(400_000, Some(8_192))["options"]["num_ctx"], 8_192);

    let line =
        json!({"model": "m", "message": {"role": "assistant", "content": "Half"}, "done": false});
    let (deltas, fault) =
        fault(Kind::Ollama, &format!("{line}\n{{\"error\":\"out of memory\"}}\n"));
    assert_eq!(deltas, [Delta::Text("Half".into())]);
    assert_eq!(fault.provider_message.as_deref(), Some("out of memory"));
}

#[test]
fn case_68_nothing_that_is_empty_is_sent() {
    let call = Part::Tool(Box::new(ToolCall {
        call_id: "a".into(),
        tool: "read".into(),
        status: ToolStatus::Done,
        input: json!({}),
        output: "  \n".into(),
        ..ToolCall::default()
    }));
    let text = |text: &str| Part::Text(Text { text: text.into() });
    let (prompt, answer) = ([text("go")], [text(" \n "), call]);
    let (empty, more) = ([text("")], [text("on")]);
    let exchange =
        |role, parts| Exchange { role, model: if role == Role::User { "" } else { "m" }, parts };
    let items = items(&[
        exchange(Role::User, &prompt[..]),
        exchange(Role::Assistant, &answer[..]),
        exchange(Role::Assistant, &empty[..]),
        exchange(Role::User, &more[..]),
    ]);
    assert_eq!(step_items(&mut CallIds::default(), "m", &empty), []);
    for kind in Kind::ALL {
        let body = sent(kind, "m", items.clone());
        let mut blank = Vec::new();
        blanks(&body, &mut blank);
        assert_eq!(blank, Vec::<String>::new(), "{kind}: {body:#}");
        assert!(body.to_string().contains("(no output)"), "{kind}: {body:#}");
    }
}

/// The texts of a request that say nothing. Beside calls, two formats want an empty `content`.
fn blanks(body: &Value, found: &mut Vec<String>) {
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                let beside_calls = fields.contains_key("tool_calls");
                if matches!(name.as_str(), "text" | "content" | "output")
                    && value.as_str().is_some_and(|it| it.trim().is_empty())
                    && !beside_calls
                {
                    found.push(body.to_string());
                }
                blanks(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|it| blanks(it, found)),
        _ => {}
    }
}

#[test]
fn case_69_a_rate_limit_that_speaks_of_tokens_is_no_overflow() {
    let asked = Asked { provider: "Acme", model: Some("m"), key: None };
    for words in [
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
        "Rate limit reached: too many tokens, reduce the length of the messages or your prompt",
        "maximum context length: request too large for tokens per min (TPM)",
    ] {
        let body = json!({"error": {"message": words, "type": "tokens"}}).to_string();
        let answer = Answer { status: Some(429), retry_after: None, body: &body };
        let fault = classify(&answer, &asked);
        assert_eq!((fault.kind, fault.retryable()), (FaultKind::Rate, true), "{words}");
    }
}

#[test]
fn case_72_cached_tokens_are_counted_once() {
    let openai = events(&[{
        let mut last = chunk(json!({"content": "Hi"}), json!("stop"));
        last["usage"] = json!({"prompt_tokens": 1000, "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 800}});
        last
    }]);
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1000, "cachedContentTokenCount": 800,
            "candidatesTokenCount": 10}});
    let anthropic = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":200,\
        \"cache_read_input_tokens\":800,\"output_tokens\":1}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":10}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    for (kind, stream) in [
        (Kind::Openai, openai.as_str()),
        (Kind::Openrouter, openai.as_str()),
        (Kind::Gemini, &format!("data: {gemini}\n\n")),
        (Kind::Anthropic, anthropic),
    ] {
        let tokens = reply(kind, stream).usage.unwrap().tokens;
        assert_eq!((tokens.input, tokens.cache_read, tokens.output), (200, 800, 10), "{kind}");
    }
}

#[actix_web::test]
async fn case_74_without_a_network_it_starts_at_once_and_knows_models() {
    let started = Instant::now();
    let app = TestApp::start().await;
    // Addresses where nobody answers: nothing is asked of them at the start.
    app.provider_row().await;
    let alice = app.person("alice").await;
    alice.get("/").await.assert_ok();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let known = ModelInfo::named("claude-sonnet-4-5").completed("api.anthropic.com");
    assert!(known.context.is_some() && known.input_price.is_some(), "{known:?}");
    let models = Models::new(Limits::default()).unwrap();
    let endpoint = Endpoint {
        kind: Kind::Openai,
        name: "Acme".into(),
        url: "http://127.0.0.1:9/v1".into(),
        key: None,
        reach: Reach::Anywhere,
    };
    assert_eq!(models.list(&endpoint).await.unwrap_err().kind, FaultKind::Network);
}

#[tokio::test]
async fn case_75_an_address_is_joined_with_and_without_its_version_and_slash() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in Kind::ALL {
        let versions: &[&str] = match kind {
            Kind::Openai | Kind::Ollama => &["", "/v1"],
            Kind::Openrouter => &["", "/api", "/api/v1"],
            Kind::Anthropic => &["", "/v1"],
            Kind::Gemini => &["", "/v1beta"],
        };
        for version in versions {
            for slash in ["", "/", "//"] {
                let url = format!("{}{version}{slash}", server.origin());
                let what = format!("{kind} {url}");
                let key = Some(Secret::new(ScriptedModel::KEY));
                let endpoint =
                    Endpoint { kind, name: "Acme".into(), url, key, reach: Reach::Anywhere };
                let listed = models.list(&endpoint).await;
                assert!(listed.is_ok_and(|it| !it.is_empty()), "{what}");
                server.push(Script::text("ready"));
                let request = Request {
                    model: "scripted-small".into(),
                    items: vec![user("hi")],
                    ..Request::default()
                };
                let reply = models.stream(&endpoint, &request).await.expect(&what).reply().await;
                assert_eq!(reply.expect(&what).finish, Finish::Stop);
            }
        }
    }
}
