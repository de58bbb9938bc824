//! What holds for the requests and the streams of every format, whatever is said in them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Kind,
    formats::body,
    hearing::{hear, hear_in_pieces, sizes},
};
use crate::domain::{
    conversation::{
        Call, CallResult, Effort, Image, ImageType, Item, Reasoning, Request, Signature,
        ToolChoice, ToolSpec,
    },
    model::{FaultKind, Finish, parse_arguments},
    provider::ModelMeta,
};

// The checks of the servers of the integration tests.
#[path = "../../../tests/it/support/model/check.rs"]
mod check;

const MODELS: [&str; 7] = [
    "m",
    "gpt-5.1",
    "claude-sonnet-5",
    "claude-haiku-4-5",
    "gemini-3-pro",
    "gemini-2.5-flash",
    "anthropic/claude-opus-4.5",
];

proptest! {
    #[test]
    fn every_request_has_the_public_format(request in request()) {
        for kind in Kind::ALL {
            let body = sent(kind, &request);
            let violations = check::violations(&kind.to_string(), &request.model, &body);
            prop_assert!(violations.is_empty(), "{} {:?}: {:#}", kind, violations, body);
        }
    }

    #[test]
    fn a_proof_goes_only_to_the_model_and_the_format_that_made_it(request in request()) {
        for kind in Kind::ALL {
            let text = sent(kind, &request).to_string();
            for other in Kind::ALL {
                for model in MODELS {
                    if (kind, request.model.as_str()) != (other, model) {
                        let proof = proof(other, model);
                        prop_assert!(!text.contains(&proof), "{} in {}: {}", proof, kind, text);
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_model_made_goes_back_to_it(request in request()) {
        for kind in [Kind::Anthropic, Kind::Gemini] {
            let text = sent(kind, &request).to_string();
            let proof = proof(kind, &request.model);
            let own = |item: &Item| match item {
                Item::Assistant { reasoning, text, calls } => {
                    let of_calls = kind == Kind::Gemini && calls.iter().any(|it| {
                        it.signature.as_ref().is_some_and(|it| {
                            it.model == request.model && it.text.ends_with(&proof)
                        })
                    });
                    let of_thought = reasoning.as_ref().is_some_and(|it| {
                        it.model == request.model
                            && it.signature.as_ref().is_some_and(|it| it.contains(&proof))
                    });
                    of_calls || (of_thought && (kind == Kind::Anthropic || !text.is_empty()))
                }
                _ => false,
            };
            prop_assert_eq!(text.contains(&proof), request.items.iter().any(own), "{}", text);
        }
    }

    #[test]
    fn a_stream_means_the_same_however_it_is_cut_and_framed(
        (kind, chunks) in (prop::sample::select(Kind::ALL.to_vec())).prop_flat_map(|kind| {
            (Just(kind), prop::collection::vec(chunk(kind), 0..12))
        }),
        sizes in sizes(),
        noise in any::<bool>(),
    ) {
        let plain = framed(kind, &chunks, "\n", false);
        let whole = hear(kind, &plain);
        for ends in ["\n", "\r\n"] {
            let other = framed(kind, &chunks, ends, noise);
            prop_assert_eq!(&hear_in_pieces(kind, &other, &sizes), &whole);
            prop_assert_eq!(&hear_in_pieces(kind, &other, &[1]), &whole);
        }
        if let Ok(reply) = whole.result {
            let mut ids: Vec<_> = reply.calls.iter().map(|it| &it.id).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), reply.calls.len(), "an id is there twice");
            if let Some(used) = reply.usage {
                prop_assert!(used.tokens.reasoning <= used.tokens.output);
            }
        }
    }

    #[test]
    fn garbage_is_a_reply_or_a_fault_and_never_a_panic(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        body in prop::collection::vec(prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"event: error\n".to_vec()),
            Just(b"\r\n".to_vec()),
            any_chunk().prop_map(|it| format!("data: {it}\n").into_bytes()),
            any_chunk().prop_map(|it| format!("{it}\n").into_bytes()),
            any_chunk().prop_map(|it| it.into_bytes()[..].iter().copied().take(20).collect()),
            prop::collection::vec(any::<u8>(), 0..12),
        ], 0..20),
        sizes in sizes(),
    ) {
        let body = body.concat();
        let whole = hear(kind, &body);
        prop_assert_eq!(hear_in_pieces(kind, &body, &sizes), whole);
    }

    #[test]
    fn a_stream_that_is_cut_off_runs_no_half_a_call(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        keep in 0.0..1.0_f64,
    ) {
        let chunks = a_call(kind);
        let body = framed(kind, &chunks, "\n", false);
        let body = &body[..(body.len() as f64 * keep) as usize];
        // What is told as whole is whole; all else is a fault.
        if let Ok(reply) = hear(kind, body).result {
            for call in reply.calls {
                let whole = parse_arguments(&call.arguments);
                prop_assert_eq!(whole, Ok(json!({"path": "a.rs", "content": "one\ntwo"})));
            }
        }
    }
}

#[test]
fn an_empty_stream_is_a_fault() {
    for kind in Kind::ALL {
        for body in [&b""[..], b"\n\n", b": ping\n\n"] {
            let fault = hear(kind, body).result.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Stream, "{kind} {body:?}");
        }
    }
}

#[test]
fn a_call_that_is_cut_at_the_limit_is_told_as_cut() {
    let call = json!({"content_block": {"type": "tool_use", "id": "c", "name": "write"},
        "type": "content_block_start", "index": 0});
    let half = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": "{\"path\": \"a"}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}});
    let chunks = [call, half, end].map(|it| it.to_string());
    let reply =
        hear(Kind::Anthropic, &framed(Kind::Anthropic, &chunks, "\n", false)).result.unwrap();
    assert_eq!(reply.finish, Finish::Length);
    assert!(parse_arguments(&reply.calls[0].arguments).is_err());
}

fn sent(kind: Kind, request: &Request) -> Value {
    serde_json::from_slice(&body(kind, request).unwrap()).unwrap()
}

/// The proof that a model of this kind would have made.
fn proof(kind: Kind, model: &str) -> String {
    format!("proof-{kind}-of-{model}-end")
}

fn a_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

fn a_model() -> impl Strategy<Value = String> {
    prop::sample::select(MODELS.map(str::to_owned).to_vec())
}

fn request() -> impl Strategy<Value = Request> {
    let effort = prop::option::of(prop::sample::select(vec![
        Effort::Off,
        Effort::Low,
        Effort::Medium,
        Effort::High,
    ]));
    let schema = prop::sample::select(vec![
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "x": 1}},
            "required": ["a"], "additionalProperties": false, "$schema": "s"}),
    ]);
    let tools = prop::collection::btree_map("[a-z_]{1,8}", schema, 0..3);
    let known = || prop::option::of(any::<bool>());
    let meta = (known(), known(), known(), prop::option::of(1..200_000_u64)).prop_map(
        |(tools, reasoning, images, limit)| ModelMeta {
            tools,
            reasoning,
            images,
            output_limit: limit,
            context: limit.map(|it| it * 2),
            ..ModelMeta::default()
        },
    );
    let limits = (prop::option::of(1..90_000_u32), prop::option::of(Just(0.5_f32)), any::<bool>());
    (a_model(), items(), tools, effort, meta, limits, "[ ]{0,1}|Be brief.").prop_map(
        |(model, items, tools, effort, meta, (max_output_tokens, temperature, none), system)| {
            let tools = tools.into_iter().map(|(name, schema)| ToolSpec {
                name,
                description: "…".into(),
                schema,
            });
            let tools_allowed = if none { ToolChoice::None } else { ToolChoice::Auto };
            let tools = tools.collect();
            Request {
                model,
                meta,
                system,
                items,
                tools,
                max_output_tokens,
                effort,
                temperature,
                tools_allowed,
            }
        },
    )
}

/// What the conversation that is stored can become, in its widest sense: it may begin and end with
/// anybody.
fn items() -> impl Strategy<Value = Vec<Item>> {
    let image = prop::sample::select(vec![ImageType::Png, ImageType::Gif, ImageType::Webp])
        .prop_map(|mime| Image { mime, data: "AAAA".into() });
    let words = || "[a-zé ]{1,9}".prop_filter("says something", |it| !it.trim().is_empty());
    let user = (words(), prop::collection::vec(image, 0..3));
    let user = user.prop_map(|(text, images)| vec![Item::User { text, images }]);
    let thought = prop::option::of((words(), a_kind(), a_model()));
    let call = (prop::option::of((a_kind(), a_model())), any::<bool>());
    let answer = (prop::option::of(words()), thought, prop::collection::vec(call, 0..4));
    let answer = answer.prop_filter_map("says nothing", |(text, thought, calls)| {
        let text = text.unwrap_or_default();
        if text.is_empty() && calls.is_empty() {
            return None;
        }
        let reasoning = thought.map(|(text, kind, model)| {
            let proof = proof(kind, &model);
            let kept = match kind {
                Kind::Anthropic => json!([{"at": [3, 1], "block":
                    {"type": "thinking", "thinking": "", "signature": proof}}])
                .to_string(),
                Kind::Openrouter => {
                    json!([{"type": "reasoning.encrypted", "data": proof}]).to_string()
                }
                _ => proof,
            };
            Reasoning { text, signature: Some(format!("{kind}:{kept}")), model }
        });
        let calls: Vec<_> = calls
            .into_iter()
            .map(|(signed, ok)| {
                let signature = signed.map(|(kind, model)| Signature {
                    text: format!("{kind}:{}", proof(kind, &model)),
                    model,
                });
                let arguments = json!({"path": "a"});
                (Call { id: String::new(), name: "read".into(), arguments, signature }, ok)
            })
            .collect();
        let results: Vec<_> = calls
            .iter()
            .map(|(_, ok)| CallResult {
                id: String::new(),
                name: "read".into(),
                output: "out".into(),
                ok: *ok,
            })
            .collect();
        let calls = calls.into_iter().map(|(call, _)| call).collect();
        let mut items = vec![Item::Assistant { text, reasoning, calls }];
        if !results.is_empty() {
            items.push(Item::Results(results));
        }
        Some(items)
    });
    let turns = prop::collection::vec(prop_oneof![user, answer], 0..7);
    // Two formats want somebody who waits; there it is the builder's work, here the person's.
    (turns, words()).prop_map(|(turns, last)| {
        let mut items: Vec<Item> = turns.into_iter().flatten().collect();
        items.push(Item::User { text: last, images: Vec::new() });
        let mut ids = (0..).map(|it| format!("call_{it}"));
        let mut open = Vec::new();
        for item in &mut items {
            match item {
                Item::Assistant { calls, .. } => {
                    for call in calls {
                        call.id = ids.next().unwrap();
                        open.push(call.id.clone());
                    }
                }
                Item::Results(results) => {
                    for (result, id) in results.iter_mut().zip(open.drain(..)) {
                        result.id = id;
                    }
                }
                Item::User { .. } => {}
            }
        }
        items
    })
}

/// The chunks as bytes, with what servers put between them.
fn framed(kind: Kind, chunks: &[String], ends: &str, noise: bool) -> Vec<u8> {
    let mut body = String::new();
    for chunk in chunks {
        match (kind, noise) {
            (Kind::Ollama, false) => body.push_str(&format!("{chunk}{ends}")),
            (Kind::Ollama, true) => body.push_str(&format!("{ends}{chunk}{ends}{ends}")),
            (_, false) => body.push_str(&format!("data: {chunk}{ends}{ends}")),
            (_, true) => body.push_str(&format!(
                ": keep-alive{ends}id: 1{ends}data:{ends}{ends}event: x{ends}data:{chunk}{ends}{ends}"
            )),
        }
    }
    body.into_bytes()
}

fn any_chunk() -> impl Strategy<Value = String> {
    a_kind().prop_flat_map(chunk)
}

/// One chunk of a stream, also with fields that are missing or of another type.
fn chunk(kind: Kind) -> BoxedStrategy<String> {
    let text = || "[a-zé🦀\"\\\\ ]{0,6}";
    let odd = || prop::sample::select(vec![json!(null), json!(0), json!(1), json!("x"), json!({})]);
    let count =
        || prop::sample::select(vec![json!(null), json!(0), json!(7), json!(3.0), json!(-1)]);
    let strategy: BoxedStrategy<Value> =
        match kind {
            Kind::Openai | Kind::Openrouter => prop_oneof![
                text().prop_map(|it| json!({"choices": [{"delta": {"content": it}}]})),
                (odd(), text()).prop_map(|(id, it)| json!({"choices": [{"delta": {
                "reasoning": it, "reasoning_details": [{"type": "reasoning.text", "text": it,
                    "index": id}]}}]})),
                (odd(), odd(), text()).prop_map(|(index, id, it)| json!({"choices": [{"delta": {
                "tool_calls": [{"index": index, "id": id,
                    "function": {"name": "read", "arguments": it}}]}}]})),
                odd().prop_map(|it| json!({"choices": [{"finish_reason": "stop", "delta": it}]})),
                (count(), count(), count()).prop_map(|(one, two, three)| json!({"usage": {
                "prompt_tokens": one, "completion_tokens": two, "cost": 0.1,
                "prompt_tokens_details": {"cached_tokens": three},
                "completion_tokens_details": {"reasoning_tokens": three}}})),
            ]
            .boxed(),
            Kind::Anthropic => {
                prop_oneof![
            count().prop_map(|it| json!({"type": "message_start", "message": {"usage":
                {"input_tokens": it, "cache_read_input_tokens": it, "output_tokens": 1}}})),
            (odd(), prop::sample::select(vec!["text", "thinking", "tool_use", "redacted_thinking"]))
                .prop_map(|(index, it)| json!({"type": "content_block_start", "index": index,
                    "content_block": {"type": it, "id": "a", "name": "read", "input": {},
                        "data": "x"}})),
            (odd(), text(), prop::sample::select(vec!["text_delta", "thinking_delta",
                "signature_delta", "input_json_delta"]))
                .prop_map(|(index, text, it)| json!({"type": "content_block_delta", "index": index,
                    "delta": {"type": it, "text": text, "thinking": text, "signature": text,
                        "partial_json": text}})),
            (count(), odd()).prop_map(|(count, it)| json!({"type": "message_delta", "delta":
                {"stop_reason": it}, "usage": {"output_tokens": count}})),
            Just(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
            Just(json!({"type": "message_stop"})),
            Just(json!({"type": "ping"})),
        ]
                .boxed()
            }
            Kind::Gemini => prop_oneof![
                (text(), any::<bool>()).prop_map(|(it, thought)| json!({"candidates": [{"content":
                {"parts": [{"text": it, "thought": thought}]}}]})),
                (odd(), odd()).prop_map(|(id, args)| json!({"candidates": [{"content": {"parts": [
                {"functionCall": {"id": id, "name": "read", "args": args},
                    "thoughtSignature": "s"}]}}]})),
                (count(), count()).prop_map(|(one, two)| json!({"usageMetadata": {
                "promptTokenCount": one, "cachedContentTokenCount": two,
                "candidatesTokenCount": one, "thoughtsTokenCount": two}})),
                prop::sample::select(vec!["STOP", "MAX_TOKENS", "SAFETY", "ODD"])
                    .prop_map(|it| json!({"candidates": [{"finishReason": it}]})),
                odd().prop_map(|it| json!({"candidates": it, "promptFeedback": it})),
            ]
            .boxed(),
            Kind::Ollama => prop_oneof![
                (text(), text()).prop_map(|(it, thought)| json!({"message": {"content": it,
                "thinking": thought}, "done": false})),
                (odd(), odd()).prop_map(|(id, arguments)| json!({"message": {"tool_calls": [
                {"id": id, "function": {"name": "read", "arguments": arguments}}]}})),
                (count(), odd()).prop_map(|(count, it)| json!({"done": true, "done_reason": it,
                "prompt_eval_count": count, "eval_count": count})),
                odd().prop_map(|it| json!({"message": it})),
            ]
            .boxed(),
        };
    prop_oneof![
        9 => strategy,
        1 => Just(json!({"error": {"message": "no"}})),
    ]
    .prop_map(|it| it.to_string())
    .boxed()
}

/// A whole stream with one call.
fn a_call(kind: Kind) -> Vec<String> {
    let arguments = json!({"path": "a.rs", "content": "one\ntwo"});
    let text = arguments.to_string();
    let chunks = match kind {
        Kind::Openai | Kind::Openrouter => {
            let piece = |it: &str| {
                json!({"choices": [{"delta": {"tool_calls": [{"index": 0,
                "id": "c", "function": {"name": "write", "arguments": it}}]}}]})
            };
            vec![
                piece(&text[..9]),
                piece(&text[9..]),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            ]
        }
        Kind::Anthropic => {
            let piece = |it: &str| {
                json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": it}})
            };
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block":
                    {"type": "tool_use", "id": "c", "name": "write", "input": {}}}),
                piece(&text[..9]),
                piece(&text[9..]),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                json!({"type": "message_stop"}),
            ]
        }
        Kind::Gemini => vec![json!({"candidates": [{"finishReason": "STOP", "content": {"parts":
            [{"functionCall": {"name": "write", "args": arguments}}]}}]})],
        Kind::Ollama => vec![
            json!({"message": {"tool_calls": [{"function":
                {"name": "write", "arguments": arguments}}]}}),
            json!({"done": true, "done_reason": "stop"}),
        ],
    };
    chunks.iter().map(Value::to_string).collect()
}
