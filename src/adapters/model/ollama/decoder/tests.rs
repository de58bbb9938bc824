use pretty_assertions::assert_eq;
use serde_json::json;

use super::{
    super::super::{
        Kind,
        hearing::{self, Whole, calls},
    },
    *,
};
use crate::domain::model::FaultKind;

#[test]
fn text_thoughts_and_calls_come_as_deltas_and_as_a_whole() {
    let heard = hear(&[
        json!({"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": false}),
        json!({"message": {"content": "Hé"}, "done": false}),
        json!({"message": {"content": "", "tool_calls": [
            {"function": {"index": 0, "name": "read", "arguments": {"a": 1}}},
            {"id": "own", "function": {"name": "read", "arguments": {}}}]}, "done": false}),
        json!({"message": {"content": ""}, "done": true, "done_reason": "stop",
            "prompt_eval_count": 26, "eval_count": 9, "total_duration": 5}),
    ]);
    let expected = [
        Delta::Reasoning("Hm.".into()),
        Delta::Text("Hé".into()),
        Delta::CallStarted { index: 0, id: "call_1".into(), name: "read".into() },
        Delta::CallArguments { index: 0, text: "{\"a\":1}".into() },
        Delta::CallStarted { index: 1, id: "own".into(), name: "read".into() },
        Delta::CallArguments { index: 1, text: "{}".into() },
    ];
    assert_eq!(heard.deltas, expected);
    let reply = heard.result.unwrap();
    assert_eq!(calls(&reply), [("call_1", "read", "{\"a\":1}"), ("own", "read", "{}")]);
    assert_eq!(reply.finish, Finish::ToolCalls);
    let used = reply.usage.unwrap();
    assert_eq!(used.tokens, Tokens { input: 26, output: 9, ..Tokens::default() });
    assert_eq!(used.raw["total_duration"], 5);
}

#[test]
fn an_error_in_the_middle_is_a_fault_in_the_servers_words() {
    let heard = hear(&[
        json!({"message": {"content": "half"}}),
        json!({"error": "the input length exceeds the context length"}),
    ]);
    assert_eq!(heard.deltas, [Delta::Text("half".into())]);
    assert_eq!(heard.result.unwrap_err().kind, FaultKind::Overflow);
}

#[test]
fn a_body_that_is_no_chat_is_a_fault() {
    let heard = hearing::hear(Kind::Ollama, b"Ollama is running");
    assert!(heard.result.unwrap_err().message.contains("no JSON"));
    let cut = hear(&[json!({"message": {"content": "half"}, "done": false})]);
    assert_eq!(cut.result.unwrap_err().kind, FaultKind::Stream);
    let length = json!({"message": {"content": "x"}, "done": true, "done_reason": "length"});
    assert_eq!(hear(&[length]).result.unwrap().finish, Finish::Length);
}

fn hear(lines: &[Value]) -> Whole {
    let body: String = lines.iter().map(|it| format!("{it}\n")).collect();
    hearing::hear(Kind::Ollama, body.as_bytes())
}
