use pretty_assertions::assert_eq;

use super::{
    super::super::hearing::{self, Whole, calls},
    *,
};
use crate::domain::model::FaultKind;

#[test]
fn text_thoughts_and_calls_come_as_deltas_and_as_a_whole() {
    let heard = hear(&[
        started(json!({"input_tokens": 100, "cache_read_input_tokens": 800,
            "cache_creation_input_tokens": 50, "output_tokens": 1})),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "ping"}),
        block(1, json!({"type": "redacted_thinking", "data": "AbC"})),
        block(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Hé"})),
        block(3, json!({"type": "tool_use", "id": "t1", "name": "read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "1}"})),
        block(4, json!({"type": "tool_use", "id": "t2", "name": "list", "input": {}})),
        json!({"type": "something_new", "index": 9}),
        ended("tool_use", json!({"output_tokens": 20})),
        json!({"type": "message_stop"}),
    ]);
    let expected = [
        Delta::Reasoning("Hm.".into()),
        Delta::Text("Hé".into()),
        Delta::CallStarted { index: 0, id: "t1".into(), name: "read".into() },
        Delta::CallArguments { index: 0, text: "{\"a\":".into() },
        Delta::CallArguments { index: 0, text: "1}".into() },
        Delta::CallStarted { index: 1, id: "t2".into(), name: "list".into() },
    ];
    assert_eq!(heard.deltas, expected);
    let reply = heard.result.unwrap();
    assert_eq!(calls(&reply), [("t1", "read", "{\"a\":1}"), ("t2", "list", "")]);
    assert_eq!((reply.text.as_str(), reply.finish), ("Hé", Finish::ToolCalls));
    let thought = reply.reasoning.unwrap();
    assert_eq!(thought.text, "Hm.");
    let kept = thought.signature.unwrap();
    let kept: Value = serde_json::from_str(kept.strip_prefix("anthropic:").unwrap()).unwrap();
    let expected = json!([
        {"at": [0, 0], "block": {"type": "thinking", "thinking": "Hm.", "signature": "sig"}},
        {"at": [0, 0], "block": {"type": "redacted_thinking", "data": "AbC"}},
    ]);
    assert_eq!(kept, expected);
    // What was read from the cache and written to it is no part of the input here.
    let tokens =
        Tokens { input: 100, cache_read: 800, cache_write: 50, output: 20, ..Tokens::default() };
    let used = reply.usage.unwrap();
    assert_eq!(used.tokens, tokens);
    assert_eq!(used.raw["output_tokens"], 20);
}

#[test]
fn each_reason_to_stop_has_its_finish() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::ContentFilter),
        ("pause_turn", Finish::Other("pause_turn".into())),
    ] {
        let text = block(0, json!({"type": "text", "text": "x"}));
        let reply = hear(&[text, ended(reason, json!({}))]).result.unwrap();
        assert_eq!(reply.finish, finish, "{reason}");
    }
}

#[test]
fn an_error_in_the_stream_is_sorted_by_its_type() {
    for (kind, expected) in [
        ("overloaded_error", FaultKind::Overload),
        ("api_error", FaultKind::Overload),
        ("rate_limit_error", FaultKind::Rate),
        ("invalid_request_error", FaultKind::BadRequest),
        ("authentication_error", FaultKind::Auth),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "No."}});
        let heard = hear(&[block(0, json!({"type": "text", "text": "half"})), error]);
        assert_eq!(heard.deltas, [Delta::Text("half".into())]);
        assert_eq!(heard.result.unwrap_err().kind, expected, "{kind}");
    }
}

#[test]
fn a_message_that_is_no_stream_is_read_all_the_same() {
    let body = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    let reply = hearing::hear(Kind::Anthropic, format!("{body:#}").as_bytes()).result.unwrap();
    assert_eq!(calls(&reply), [("t", "read", "{\"a\":1}")]);
    assert_eq!(reply.usage.unwrap().tokens.input, 3);
}

#[test]
fn a_thought_without_signature_is_shown_and_not_sent_back() {
    let reply = hear(&[
        block(0, json!({"type": "thinking", "thinking": "Hm."})),
        block(1, json!({"type": "text", "text": "x"})),
        ended("end_turn", json!({})),
    ]);
    let thought = reply.result.unwrap().reasoning.unwrap();
    assert_eq!((thought.text.as_str(), thought.signature), ("Hm.", None));
}

#[test]
fn a_stream_without_its_end_is_a_fault() {
    let heard = hear(&[block(0, json!({"type": "text", "text": "half"}))]);
    assert_eq!(heard.result.unwrap_err().kind, FaultKind::Stream);
}

fn hear(events: &[Value]) -> Whole {
    let body: String = events
        .iter()
        .map(|it| format!("event: {}\ndata: {it}\n\n", it["type"].as_str().unwrap_or_default()))
        .collect();
    hearing::hear(Kind::Anthropic, body.as_bytes())
}

fn started(usage: Value) -> Value {
    json!({"type": "message_start", "message": {"content": [], "usage": usage}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn ended(reason: &str, usage: Value) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
}
