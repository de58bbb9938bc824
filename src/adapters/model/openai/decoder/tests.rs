use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::{
    super::super::{
        Progress,
        calls::MAX_ARGUMENTS,
        hearing::{self, Whole, calls, sizes},
    },
    *,
};
use crate::domain::model::{FaultKind, Reply};

#[test]
fn text_comes_as_deltas_and_as_a_whole() {
    let heard = hear(&stream(&[
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
        content("Hello"),
        content(" wörld"),
        finished("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}),
    ]));
    assert_eq!(heard.deltas, [Delta::Text("Hello".into()), Delta::Text(" wörld".into())]);
    let reply = heard.result.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Hello wörld", Finish::Stop));
    assert_eq!(reply.usage.unwrap().tokens, Tokens { input: 9, output: 2, ..Tokens::default() });
}

#[test]
fn a_call_is_put_together_and_announced_once() {
    let heard = hear(&stream(&[
        tool(json!({"index": 0, "id": "c1", "type": "function",
            "function": {"name": "read", "arguments": ""}})),
        tool(json!({"index": 0, "function": {"arguments": "{\"path\""}})),
        tool(json!({"index": 0, "function": {"arguments": ":\"a\"}"}})),
        finished("tool_calls"),
    ]));
    let expected = [
        Delta::CallStarted { index: 0, id: "c1".into(), name: "read".into() },
        Delta::CallArguments { index: 0, text: "{\"path\"".into() },
        Delta::CallArguments { index: 0, text: ":\"a\"}".into() },
    ];
    assert_eq!(heard.deltas, expected);
    let reply = heard.result.unwrap();
    assert_eq!(calls(&reply), [("c1", "read", "{\"path\":\"a\"}")]);
    assert_eq!(reply.finish, Finish::ToolCalls);
}

#[test]
fn two_calls_are_told_apart_whatever_the_server_numbers() {
    let piece = |index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut function = json!({"arguments": arguments});
        if let Some(name) = name {
            function["name"] = name.into();
        }
        let mut call = json!({"function": function});
        if let Some(index) = index {
            call["index"] = index.into();
        }
        if let Some(id) = id {
            call["id"] = id.into();
        }
        tool(call)
    };
    let cases: [(&str, Vec<Value>); 8] = [
        (
            "by the book",
            vec![
                piece(Some(0), Some("a"), Some("read"), ""),
                piece(Some(1), Some("b"), Some("grep"), "{\"y\""),
                piece(Some(0), None, None, "{\"x\":1}"),
                piece(Some(1), None, None, ":2}"),
            ],
        ),
        (
            "first index 1",
            vec![
                piece(Some(1), Some("a"), Some("read"), "{\"x\":1}"),
                piece(Some(2), Some("b"), Some("grep"), "{\"y\":2}"),
            ],
        ),
        (
            "all index 0 with new ids",
            vec![
                piece(Some(0), Some("a"), Some("read"), "{\"x\":1}"),
                piece(Some(0), Some("b"), Some("grep"), "{\"y\""),
                piece(Some(0), None, None, ":2}"),
            ],
        ),
        (
            "no index",
            vec![
                piece(None, Some("a"), Some("read"), ""),
                piece(None, None, None, "{\"x\":1}"),
                piece(None, Some("b"), Some("grep"), "{\"y\""),
                piece(None, None, None, ":2}"),
            ],
        ),
        (
            "no index, the id in each piece",
            vec![
                piece(None, Some("a"), Some("read"), "{\"x\""),
                piece(None, Some("b"), Some("grep"), "{\"y\""),
                piece(None, Some("a"), None, ":1}"),
                piece(None, Some("b"), None, ":2}"),
            ],
        ),
        (
            "id and name in each piece",
            vec![
                piece(Some(0), Some("a"), Some("read"), "{\"x\""),
                piece(Some(0), Some("a"), Some("read"), ":1}"),
                piece(Some(1), Some("b"), Some("grep"), "{\"y\":2}"),
            ],
        ),
        (
            "a new id in each piece, but no name",
            vec![
                piece(Some(0), Some("a"), Some("read"), "{\"x\""),
                piece(Some(0), Some("z"), None, ":1}"),
                piece(Some(1), Some("b"), Some("grep"), "{\"y\":2}"),
            ],
        ),
        (
            "the id after the first piece",
            vec![
                piece(Some(0), None, None, "{\"x\""),
                piece(Some(0), Some("a"), Some("read"), ":1}"),
                piece(Some(1), Some("b"), Some("grep"), "{\"y\":2}"),
            ],
        ),
    ];
    for (case, mut pieces) in cases {
        pieces.push(finished("tool_calls"));
        let reply: Reply = hear(&stream(&pieces)).result.unwrap();
        let expected = [("a", "read", "{\"x\":1}"), ("b", "grep", "{\"y\":2}")];
        assert_eq!(calls(&reply), expected, "{case}");
    }
}

#[test]
fn calls_without_ids_or_with_the_same_get_their_own() {
    let whole = |id: Value, index: u64| {
        tool(json!({"index": index, "id": id, "function": {"name": "read", "arguments": "{}"}}))
    };
    let none = [whole(json!(null), 0), whole(json!(null), 0), finished("stop")];
    let reply = hear(&stream(&none)).result.unwrap();
    assert_eq!(calls(&reply), [("call_1", "read", "{}"), ("call_2", "read", "{}")]);
    assert_eq!(reply.finish, Finish::ToolCalls);
    let same = [whole(json!("c"), 0), whole(json!("c"), 1), finished("stop")];
    let reply = hear(&stream(&same)).result.unwrap();
    assert_eq!(calls(&reply), [("c", "read", "{}"), ("c_2", "read", "{}")]);
}

#[test]
fn arguments_that_are_an_object_are_written_as_text() {
    let call = tool(json!({"id": "c", "function": {"name": "read", "arguments": {"a": 1}}}));
    let reply = hear(&stream(&[call, finished("stop")])).result.unwrap();
    assert_eq!(calls(&reply), [("c", "read", "{\"a\":1}")]);
}

#[test]
fn sloppy_framing_means_the_same() {
    let hello = content("Hello").to_string();
    let end = finished("stop").to_string();
    let plain = hear(format!("data: {hello}\n\ndata: {end}\n\ndata: [DONE]\n\n").as_bytes());
    for body in [
        format!("data: {hello}\r\n\r\ndata: {end}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!("data:{hello}\n\ndata:{end}\n\ndata:[DONE]\n\n"),
        format!("data: {hello}\ndata: {end}\ndata: [DONE]\n"),
        format!(": ping\n\ndata:\n\ndata: {hello}\n\nid: 7\nretry: 3\ndata: {end}\n\n"),
        format!("data: {hello}\n\ndata: {end}"),
        format!("event: message\ndata: {hello}\n\ndata: null\n\ndata: {end}\n\n"),
        format!(
            "\u{feff}data: {hello}\n\ndata: {{\"choices\":null}}\n\ndata: {{}}\n\ndata: {end}\n\n"
        ),
        format!("data: {}\n\ndata: {end}\n\n", hello.replacen('{', "{\ndata: ", 1)),
    ] {
        assert_eq!(hear(body.as_bytes()), plain, "{body}");
    }
}

#[test]
fn usage_is_found_wherever_it_is() {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens_details": {"reasoning_tokens": 4}});
    let mut in_content = content("x");
    in_content["usage"] = usage.clone();
    let mut in_choice = finished("stop");
    in_choice["choices"][0]["usage"] = usage.clone();
    let mut null_after = finished("stop");
    null_after["usage"] = json!(null);
    let expected =
        Tokens { input: 200, output: 10, reasoning: 4, cache_read: 800, ..Tokens::default() };
    for chunks in [
        vec![content("x"), finished("stop"), json!({"choices": [], "usage": usage})],
        vec![content("x"), finished("stop"), json!({"choices": null, "usage": usage})],
        vec![content("x"), finished("stop"), json!({"usage": usage})],
        vec![in_content, null_after],
        vec![content("x"), in_choice],
    ] {
        let used = hear(&stream(&chunks)).result.unwrap().usage.unwrap();
        assert_eq!(used.tokens, expected, "{chunks:?}");
        assert_eq!(used.raw, usage);
    }
}

#[test]
fn a_provider_that_does_not_account_is_not_taken_at_zero() {
    let zero = json!({"usage": {"prompt_tokens": 0, "completion_tokens": 0}});
    let reply = hear(&stream(&[content("x"), finished("stop"), zero])).result.unwrap();
    assert_eq!(reply.usage, None);
}

#[test]
fn what_was_thought_comes_once_under_either_name() {
    let chunk = |delta: Value| json!({"choices": [{"delta": delta}]});
    for delta in [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm", "content": ""}),
        json!({"reasoning": "hm", "reasoning_content": "hm"}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
    ] {
        let heard = hear(&stream(&[chunk(delta), content("x"), finished("stop")]));
        assert_eq!(heard.deltas, [Delta::Reasoning("hm".into()), Delta::Text("x".into())]);
        assert_eq!(heard.result.unwrap().reasoning.unwrap().text, "hm");
    }
}

#[test]
fn an_error_in_the_middle_is_a_fault_after_what_was_said() {
    let error = json!({"error": {"message": "Overloaded with sk-quoted-key", "code": 503}});
    let named = format!("data: {}\n\nevent: error\ndata: {}\n\n", content("x"), error["error"]);
    let bare = format!("data: {}\n\n{error}\n", content("x"));
    for body in [stream(&[content("x"), error.clone()]), named.into_bytes(), bare.into_bytes()] {
        let heard = hear(&body);
        assert_eq!(heard.deltas, [Delta::Text("x".into())]);
        let fault = heard.result.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Overload);
        assert_eq!(fault.provider_message.unwrap(), "Overloaded with ***");
    }
}

#[test]
fn a_stream_without_a_reply_is_a_fault() {
    let done = b"data: [DONE]\n\n".to_vec();
    let stop = stream(&[finished("stop")]);
    for body in [vec![], done, stop, stream(&[]), b": ping\n\n: ping\n\n".to_vec()] {
        assert_eq!(hear(&body).result.unwrap_err().kind, FaultKind::Stream);
    }
    let fault = hear(format!("data: {}\n\n", content("half a")).as_bytes()).result.unwrap_err();
    assert!(fault.message.contains("broke off"), "{}", fault.message);
    assert!(hear(b"data: <html>\n\n").result.unwrap_err().message.contains("no JSON"));
}

#[test]
fn a_reply_that_is_no_stream_is_read_all_the_same() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "Hello"},
        "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    for body in [body.to_string(), format!("{body:#}")] {
        let heard = hear(body.as_bytes());
        assert_eq!(heard.deltas, [Delta::Text("Hello".into())]);
        assert_eq!(heard.result.unwrap().text, "Hello");
    }
    let fault = hear(br#"{"error": {"message": "nope"}}"#).result.unwrap_err();
    assert_eq!(fault.provider_message.as_deref(), Some("nope"));
}

#[test]
fn a_reply_at_its_limit_may_be_empty_and_one_that_is_filtered_is_told() {
    let filtered = [finished("content_filter")];
    let fault = hear(&stream(&filtered)).result.unwrap_err();
    assert!(!fault.retryable() && fault.message.contains("declined to answer"), "{fault:?}");
    let half = hear(&stream(&[content("half"), filtered[0].clone()])).result.unwrap();
    assert_eq!((half.text.as_str(), half.finish), ("half", Finish::ContentFilter));
    for (reason, finish) in [("length", Finish::Length), ("odd", Finish::Other("odd".into()))] {
        assert_eq!(hear(&stream(&[finished(reason)])).result.unwrap().finish, finish);
    }
}

#[test]
fn arguments_without_end_are_cut_as_at_a_limit() {
    let more = "x".repeat(MAX_ARGUMENTS / 2);
    let first = tool(json!({"index": 0, "id": "c", "function": {"name": "w", "arguments": more}}));
    let next = tool(json!({"index": 0, "function": {"arguments": more}}));
    let last = tool(json!({"index": 0, "function": {"arguments": "x"}}));
    let reply = hear(&stream(&[first, next, last, finished("tool_calls")])).result.unwrap();
    assert_eq!(reply.finish, Finish::Length);
    assert_eq!(reply.calls[0].arguments.len(), MAX_ARGUMENTS);
}

#[test]
fn nothing_is_waited_for_after_the_end_but_usage_is_after_the_last_word() {
    let mut decoder = decoder();
    let mut said = VecDeque::new();
    let mut push = |body: &[u8]| {
        decoder.push(body, &mut said).unwrap();
        decoder.progress()
    };
    assert_eq!(push(format!("data: {}\n\n", content("x")).as_bytes()), Progress::Open);
    assert_eq!(push(format!("data: {}\n\n", finished("stop")).as_bytes()), Progress::Said);
    assert_eq!(push(b"data: [DONE]\n"), Progress::Done);
}

#[test]
fn a_delta_is_there_with_its_line_end() {
    let mut said = VecDeque::new();
    decoder().push(format!("data: {}\n", content("x")).as_bytes(), &mut said).unwrap();
    assert_eq!(said, [Delta::Text("x".into())]);
}

proptest! {
    #[test]
    fn the_result_is_the_same_however_the_bytes_are_cut(
        chunks in prop::collection::vec(chunk(), 0..12),
        ends in prop::sample::select(vec!["\n", "\r\n"]),
        sizes in sizes(),
    ) {
        let mut body = String::new();
        for chunk in &chunks {
            body.push_str(&format!("data: {chunk}{ends}{ends}"));
        }
        let whole = hear(body.as_bytes());
        prop_assert_eq!(hear_in_pieces(body.as_bytes(), &sizes), whole);
    }

    #[test]
    fn garbage_never_panics_and_means_the_same_however_it_is_cut(
        body in prop::collection::vec(prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"event: error\n".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,".to_vec()),
            chunk().prop_map(|it| format!("data: {it}\n").into_bytes()),
            prop::collection::vec(any::<u8>(), 0..12),
        ], 0..20),
        sizes in sizes(),
    ) {
        let body = body.concat();
        prop_assert_eq!(hear_in_pieces(&body, &sizes), hear(&body));
    }
}

fn chunk() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec![json!(null), json!("a"), json!("b"), json!("")]);
    let name = prop::sample::select(vec![json!(null), json!("read"), json!("grep")]);
    let index = prop::sample::select(vec![json!(null), json!(0), json!(1), json!("x")]);
    prop_oneof![
        "[a-zé🦀\"\\\\ ]{0,6}".prop_map(|it| content(&it)),
        (index, id, name, "[{}\":ax1]{0,5}").prop_map(|(index, id, name, arguments)| tool(
            json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
        )),
        Just(finished("stop")),
        Just(json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1.0}})),
        Just(json!({"choices": [null, {"delta": null}, {"index": 1, "delta": {"content": "b"}}]})),
        Just(json!({"error": {"message": "no"}})),
    ]
    .prop_map(|it| it.to_string())
}

fn hear(body: &[u8]) -> Whole {
    hearing::hear(Kind::Openai, body)
}

fn hear_in_pieces(body: &[u8], sizes: &[usize]) -> Whole {
    hearing::hear_in_pieces(Kind::Openai, body, sizes)
}

fn decoder() -> Box<dyn Decode> {
    hearing::a_decoder(Kind::Openai)
}

fn stream(chunks: &[Value]) -> Vec<u8> {
    let lines: String = chunks.iter().map(|it| format!("data: {it}\n\n")).collect();
    format!("{lines}data: [DONE]\n\n").into_bytes()
}

fn content(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

fn tool(call: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
}

fn finished(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[test]
fn what_openrouter_wants_back_is_kept_as_it_came_and_its_bill_is_read() {
    let chunk = |delta: Value| json!({"choices": [{"delta": delta}]});
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "x", "signature": null});
    let mut signed = text(".");
    signed["signature"] = "sig".into();
    let sealed = json!({"type": "reasoning.encrypted", "data": "AbC", "index": 1});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.000_123,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}});
    let body = stream(&[
        chunk(json!({"reasoning": "Hm", "reasoning_details": [text("Hm")]})),
        chunk(json!({"reasoning_details": [signed]})),
        chunk(json!({"reasoning_details": [sealed]})),
        content("x"),
        finished("stop"),
        json!({"choices": [], "usage": usage}),
    ]);
    let reply = hearing::hear(Kind::Openrouter, &body).result.unwrap();
    let thought = reply.reasoning.unwrap();
    assert_eq!(thought.text, "Hm.");
    let kept = thought.signature.unwrap();
    let kept: Value = serde_json::from_str(kept.strip_prefix("openrouter:").unwrap()).unwrap();
    let whole = json!({"type": "reasoning.text", "text": "Hm.", "index": 0, "format": "x",
        "signature": "sig"});
    assert_eq!(kept, json!([whole, {"type": "reasoning.encrypted", "data": "AbC", "index": 1}]));
    let used = reply.usage.unwrap();
    let tokens =
        Tokens { input: 10, cache_read: 60, cache_write: 30, output: 10, ..Tokens::default() };
    assert_eq!((used.tokens, used.cost_micros), (tokens, Some(123)));

    let other = hear(&body).result.unwrap();
    assert_eq!(other.reasoning.unwrap().signature, None, "another kind has no such pieces");
    assert_eq!(
        hear(&stream(&[content("x"), finished("error")])).result.unwrap_err().kind,
        FaultKind::Stream
    );
}
