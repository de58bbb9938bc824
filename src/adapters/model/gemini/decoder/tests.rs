use pretty_assertions::assert_eq;
use serde_json::json;

use super::{
    super::super::hearing::{self, KEY, Whole, calls},
    *,
};

#[test]
fn text_thoughts_and_calls_come_as_deltas_and_as_a_whole() {
    let call =
        json!({"functionCall": {"name": "read", "args": {"a": 1}}, "thoughtSignature": "s1"});
    let same = json!({"functionCall": {"name": "read", "args": {"a": 1}}});
    let named = json!({"functionCall": {"id": "own", "name": "list"}});
    let heard = hear(&[
        parts(json!([{"text": "Hm.", "thought": true}])),
        parts(json!([{"text": "Hé"}, {"text": "", "thoughtSignature": "s0"}])),
        parts(json!([call, same])),
        parts(json!([named])),
        json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {
            "promptTokenCount": 1_000, "cachedContentTokenCount": 800, "candidatesTokenCount": 10,
            "thoughtsTokenCount": 5, "totalTokenCount": 1_015}}),
    ]);
    assert_eq!(heard.deltas[..2], [Delta::Reasoning("Hm.".into()), Delta::Text("Hé".into())]);
    let reply = heard.result.unwrap();
    let expected =
        [("call_1", "read", "{\"a\":1}"), ("call_2", "read", "{\"a\":1}"), ("own", "list", "")];
    assert_eq!(calls(&reply), expected);
    let proofs: Vec<_> = reply.calls.iter().map(|it| it.signature.as_deref()).collect();
    assert_eq!(proofs, [Some("gemini:s1"), None, None]);
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.reasoning.unwrap().signature.as_deref(), Some("gemini:s0"));
    let tokens =
        Tokens { input: 200, cache_read: 800, output: 15, reasoning: 5, ..Tokens::default() };
    assert_eq!(reply.usage.unwrap().tokens, tokens);
}

#[test]
fn each_reason_to_stop_has_its_finish() {
    for (reason, finish) in [
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::ContentFilter),
        ("RECITATION", Finish::ContentFilter),
        ("SOMETHING_NEW", Finish::Other("SOMETHING_NEW".into())),
    ] {
        let reply = hear(&[parts(json!([{"text": "x"}])), ended(reason)]).result.unwrap();
        assert_eq!(reply.finish, finish, "{reason}");
    }
}

#[test]
fn a_call_that_the_model_could_not_write_is_tried_again() {
    let mut last = ended("MALFORMED_FUNCTION_CALL");
    last["candidates"][0]["finishMessage"] = format!("Malformed: print({KEY})").into();
    let fault = hear(&[last]).result.unwrap_err();
    assert!(fault.retryable() && fault.message.contains("tool call"), "{fault:?}");
    assert_eq!(fault.provider_message.as_deref(), Some("Malformed: print(***)"));
}

#[test]
fn a_prompt_that_is_not_answered_is_told_and_not_tried_again() {
    let fault = hear(&[json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})])
        .result
        .unwrap_err();
    assert!(!fault.retryable() && fault.message.contains("PROHIBITED_CONTENT"), "{fault:?}");
}

#[test]
fn an_error_in_the_stream_and_a_list_instead_of_one_are_read() {
    let error = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    let heard = hear(&[parts(json!([{"text": "half"}])), error]);
    assert_eq!(heard.result.unwrap_err().kind, FaultKind::Overload);
    let list = json!([parts(json!([{"text": "a"}])), parts(json!([{"text": "b"}])), ended("STOP")]);
    let reply = hearing::hear(Kind::Gemini, format!("{list:#}").as_bytes()).result.unwrap();
    assert_eq!(reply.text, "ab");
}

fn hear(chunks: &[Value]) -> Whole {
    let body: String = chunks.iter().map(|it| format!("data: {it}\r\n\r\n")).collect();
    hearing::hear(Kind::Gemini, body.as_bytes())
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]})
}

fn ended(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}
