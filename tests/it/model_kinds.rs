//! One conversation over all kinds of providers.

use std::time::Duration;

use forge::{
    adapters::model::{Endpoint, Kind, Limits, Models},
    domain::{
        conversation::{
            CallIds, Effort, Exchange, Image, ImageType, Item, Request, ToolSpec, items, step_items,
        },
        message::{Part, Reasoning, Role, Step, Text, Tokens, ToolCall, ToolStatus},
        model::{Fault, FaultKind, Finish, RawCall, Reply, parse_arguments},
        provider::ModelMeta,
        reach::Reach,
        secret::Secret,
    },
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::model::{Outcome, Script, ScriptedModel};

/// The model that is asked, of each kind; of Gemini one that wants proofs of its calls.
const MODEL: &str = "gemini-3-scripted";

#[tokio::test]
async fn one_conversation_goes_over_all_kinds() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in Kind::ALL {
        let mut request = asks();
        let mut ids = CallIds::default();
        server.push(
            Script::new()
                .think("Two files, then. ")
                .say("Reading both. ")
                .call("read", json!({"path": "ä.rs"}))
                .call("read", json!({"path": "b.rs"}))
                .usage(1_000, 800, 10),
        );
        let reply = whole(&models, &server, kind, &request).await.unwrap();
        assert_eq!(reply.text, "Reading both. ", "{kind}");
        assert_eq!(reply.reasoning.as_ref().unwrap().text, "Two files, then. ", "{kind}");
        assert_eq!(reply.finish, Finish::ToolCalls, "{kind}");
        let paths: Vec<_> = reply.calls.iter().map(|it| arguments(it)["path"].clone()).collect();
        assert_eq!(paths, ["ä.rs", "b.rs"], "{kind}");
        assert_ne!(reply.calls[0].id, reply.calls[1].id, "{kind}");
        let used = reply.usage.as_ref().unwrap();
        let (input, cache_read) = if kind == Kind::Ollama { (1_000, 0) } else { (200, 800) };
        let tokens = Tokens { input, cache_read, output: 10, ..Tokens::default() };
        assert_eq!(used.tokens, tokens, "{kind}");
        let charged = (kind == Kind::Openrouter).then_some(250_000);
        assert_eq!(used.cost_micros, charged, "{kind}");

        // An error in between changes nothing of what is sent next.
        request.items.extend(step_items(&mut ids, MODEL, &parts_of(&reply)));
        server.push(Script::fault(503, json!({"error": {"message": "overloaded"}})));
        let fault = whole(&models, &server, kind, &request).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Overload, "{kind}");
        server.push(Script::text("Both are empty."));
        let reply = whole(&models, &server, kind, &request).await.unwrap();
        assert_eq!((reply.text.as_str(), &reply.finish), ("Both are empty.", &Finish::Stop));

        let asked = server.requests();
        let last = &asked[asked.len() - 1];
        assert_eq!(last.raw, asked[asked.len() - 2].raw, "{kind}");
        assert_eq!(last.dialect.word(), kind.to_string());
        let first = asked.len() - 3;
        let proof = format!("proof-{kind}-{first}");
        let has_proofs = matches!(kind, Kind::Anthropic | Kind::Gemini | Kind::Openrouter);
        assert_eq!(last.body.to_string().contains(&proof), has_proofs, "{kind}: {:#}", last.body);
        assert!(last.body.to_string().contains("AAAA"), "{kind} is shown no image");

        // The same session goes on with every other kind.
        request.items.extend(step_items(&mut ids, MODEL, &parts_of(&reply)));
        request.items.push(Item::user("Thank you.", Vec::new()).unwrap());
        for other in Kind::ALL {
            let another = if other == kind { "another-model" } else { MODEL };
            let request = Request { model: another.into(), ..request.clone() };
            server.push(Script::text("Gladly."));
            let reply = whole(&models, &server, other, &request).await.unwrap();
            assert_eq!(reply.text, "Gladly.", "from {kind} to {other}");
            let asked = server.requests();
            let body = asked[asked.len() - 1].body.to_string();
            assert!(!body.contains(&proof), "a proof of {kind} went to {other}: {body}");
        }
    }
}

#[tokio::test]
async fn the_parts_of_a_session_carry_what_a_provider_wants_back() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in [Kind::Anthropic, Kind::Gemini, Kind::Openrouter] {
        server.push(Script::new().think("Hm. ").call("read", json!({"path": "a"})));
        let reply = whole(&models, &server, kind, &asks()).await.unwrap();
        let proof = format!("proof-{kind}-{}", server.requests().len() - 1);
        let prompt = [Part::Text(Text { text: "hi".into() })];
        // As a row gives them back.
        let parts: Vec<Part> =
            parts_of(&reply).iter().map(|it| Part::read(it.kind(), it.data()).unwrap()).collect();
        let history = [
            Exchange { role: Role::User, model: "", parts: &prompt },
            Exchange { role: Role::Assistant, model: MODEL, parts: &parts },
        ];
        server.push(Script::text("Done."));
        let request = Request { items: items(&history), ..asks() };
        whole(&models, &server, kind, &request).await.unwrap();
        let asked = server.requests();
        let body = asked[asked.len() - 1].body.to_string();
        assert!(body.contains(&proof), "{kind}: {body}");
    }
}

#[tokio::test]
async fn a_proof_that_is_refused_is_left_out_once_and_then_the_fault_is_told() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    let refused = || {
        let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
        let error = json!({"type": "invalid_request_error", "message": message});
        Script::fault(400, json!({"type": "error", "error": error}))
    };
    let kind = Kind::Anthropic;
    server.push(Script::new().think("Hm. ").call("read", json!({"path": "a"})));
    let reply = whole(&models, &server, kind, &asks()).await.unwrap();
    let mut request = asks();
    request.items.extend(step_items(&mut CallIds::default(), MODEL, &parts_of(&reply)));
    server.push(refused());
    server.push(Script::text("Done."));
    assert_eq!(whole(&models, &server, kind, &request).await.unwrap().text, "Done.");
    let asked = server.requests();
    assert!(asked[1].body.to_string().contains("proof-") && asked.len() == 3);
    assert!(!asked[2].body.to_string().contains("proof-"));
    server.push(refused());
    server.push(refused());
    let fault = whole(&models, &server, kind, &request).await.unwrap_err();
    assert_eq!((fault.kind, server.requests().len()), (FaultKind::BadRequest, 5));
}

#[tokio::test]
async fn every_kind_is_tested_and_lists_its_models() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in Kind::ALL {
        let listed = models.list(&endpoint(&server, kind)).await.unwrap();
        let ids: Vec<_> = listed.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ScriptedModel::MODELS, "{kind}");
        let context = match kind {
            Kind::Openai => None,
            Kind::Openrouter => Some(128_000),
            Kind::Ollama => Some(40_960),
            Kind::Anthropic => Some(200_000),
            Kind::Gemini => Some(1_000_000),
        };
        assert_eq!(listed[0].context, context, "{kind}");
        let price = (kind == Kind::Openrouter).then_some(2_000_000);
        assert_eq!(listed[0].input_price, price, "{kind}");
        server.push(Script::text("ready"));
        let tested = models.test(&endpoint(&server, kind), Some("scripted-small")).await.unwrap();
        assert_eq!(tested.models, Some(2), "{kind}");

        let wrong = Endpoint { key: Some(Secret::new("sk-wrong-1")), ..endpoint(&server, kind) };
        let fault = models.test(&wrong, None).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Auth, "{kind}");
        assert!(!format!("{fault:?}").contains("sk-wrong"), "{kind}");
    }
}

#[tokio::test]
async fn a_cut_connection_and_an_error_in_the_middle_are_faults_of_every_kind() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in Kind::ALL {
        server.push(Script::text("half ").call("write", json!({"path": "a"})).cut());
        let fault = whole(&models, &server, kind, &asks()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Network, "{kind}");

        server.push(Script::text("half ").ended());
        let fault = whole(&models, &server, kind, &asks()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Stream, "{kind}");

        let error = json!({"error": {"message": format!("overloaded, {}", ScriptedModel::KEY)}});
        let event = match kind {
            Kind::Ollama => format!("{error}\n"),
            _ => format!("event: error\ndata: {error}\n\n"),
        };
        server.push(Script::text("half ").raw(event.as_bytes()).ended());
        let fault = whole(&models, &server, kind, &asks()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Overload, "{kind}");
        assert_eq!(fault.provider_message.as_deref(), Some("overloaded, ***"), "{kind}");

        // Bytes that come one by one mean the same.
        let script = Script::text("Hällo ").call("write", json!({"content": "a\n\"b\" 🦀"}));
        server.push(script.usage(9, 0, 9).pieces(1));
        let reply = whole(&models, &server, kind, &asks()).await.unwrap();
        assert_eq!(arguments(&reply.calls[0]), json!({"content": "a\n\"b\" 🦀"}), "{kind}");
        let last = server.requests().len() - 1;
        assert_eq!(server.wait_for_outcome(last).await, Outcome::Answered, "{kind}");
    }
}

#[tokio::test]
async fn a_model_without_eyes_is_told_of_the_image() {
    let server = ScriptedModel::start().await;
    let models = Models::new(Limits::default()).unwrap();
    for kind in Kind::ALL {
        server.push(Script::text("I cannot see it."));
        let meta = ModelMeta { images: Some(false), ..ModelMeta::default() };
        let request = Request { meta, ..asks() };
        whole(&models, &server, kind, &request).await.unwrap();
        let asked = server.requests();
        let body = asked[asked.len() - 1].body.to_string();
        assert!(!body.contains("AAAA") && body.contains("does not read images"), "{kind}: {body}");
    }
}

#[tokio::test]
async fn what_a_provider_would_refuse_is_refused_here_too() {
    let server = ScriptedModel::start().await;
    // The client of the models brings the TLS provider.
    let _models = Models::new(Limits::default()).unwrap();
    let client = reqwest::Client::builder().build().unwrap();
    let text =
        |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
    let part = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let used = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "read", "input": {}}]});
    let called = json!({"role": "model", "parts": [
        {"functionCall": {"id": "a", "name": "read", "args": {}}}]});
    let anthropic = |messages: Value| json!({"model": "m", "max_tokens": 1, "stream": true, "messages": messages});
    let gemini = |contents: Value| json!({"generationConfig": {}, "contents": contents});
    let path = format!("/v1beta/models/{MODEL}:streamGenerateContent?alt=sse");
    for (path, body, says) in [
        ("/v1/messages", anthropic(json!([text("user", "a"), text("user", "b")])), "follows"),
        ("/v1/messages", anthropic(json!([text("user", " ")])), "empty text"),
        (
            "/v1/messages",
            anthropic(json!([text("user", "a"), used, text("user", "b")])),
            "no result",
        ),
        ("/v1/messages", json!({"model": "m", "stream": true, "messages": []}), "max_tokens"),
        (&path, gemini(json!([part("model", "a"), part("user", "b")])), "follows"),
        (&path, gemini(json!([part("user", "a"), called, part("user", "b")])), "and results"),
        (&path, gemini(json!([part("user", "a"), called])), "has no proof"),
        (
            "/api/chat",
            json!({"model": "m", "stream": true, "options": {}, "messages": []}),
            "window",
        ),
    ] {
        let call = client.post(format!("{}{path}", server.origin())).json(&body);
        assert_eq!(call.send().await.unwrap().status(), 400);
        let violations = server.take_violations();
        assert!(violations.iter().any(|it| it.contains(says)), "{says}: {violations:?}");
        assert!(violations.iter().any(|it| it.contains("the key")), "{violations:?}");
    }
}

fn endpoint(server: &ScriptedModel, kind: Kind) -> Endpoint {
    let key = Some(Secret::new(ScriptedModel::KEY));
    Endpoint { kind, name: "Acme".into(), url: server.origin(), key, reach: Reach::Anywhere }
}

/// A prompt with an image and two tools.
fn asks() -> Request {
    let tool = |name: &str| {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}},
            "required": ["path"], "additionalProperties": false});
        ToolSpec { name: name.into(), description: "…".into(), schema }
    };
    let image = Image { mime: ImageType::Png, data: "AAAA".into() };
    Request {
        model: MODEL.into(),
        system: "You are a test.".into(),
        items: vec![Item::user("Which of these?", vec![image]).unwrap()],
        tools: vec![tool("write"), tool("read")],
        effort: Some(Effort::Low),
        ..Request::default()
    }
}

fn arguments(call: &RawCall) -> Value {
    parse_arguments(&call.arguments).unwrap()
}

/// The parts that a runner would store of a reply whose calls went well.
fn parts_of(reply: &Reply) -> Vec<Part> {
    let call = |raw: &RawCall| ToolCall {
        call_id: raw.id.clone(),
        tool: raw.name.clone(),
        input: arguments(raw),
        signature: raw.signature.clone(),
        status: ToolStatus::Done,
        output: "(empty)".into(),
        ..ToolCall::default()
    };
    let thought = reply
        .reasoning
        .clone()
        .map(|it| Part::Reasoning(Reasoning { text: it.text, signature: it.signature }));
    let mut parts: Vec<_> = thought.into_iter().collect();
    parts.push(Part::Text(Text { text: reply.text.clone() }));
    parts.extend(reply.calls.iter().map(|raw| Part::Tool(Box::new(call(raw)))));
    parts.push(Part::Step(Step::default()));
    parts
}

async fn whole(
    models: &Models,
    server: &ScriptedModel,
    kind: Kind,
    request: &Request,
) -> Result<Reply, Fault> {
    let endpoint = endpoint(server, kind);
    let reply = async { models.stream(&endpoint, request).await?.reply().await };
    timeout(Duration::from_secs(10), reply).await.unwrap()
}
