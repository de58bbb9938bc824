//! Models are asked over real connections.

use std::time::Duration;

use forge::{
    adapters::model::{Endpoint, Kind, Limits, ModelInfo, Models, ReplyStream},
    domain::{
        conversation::{CallIds, Exchange, Item, Request, ToolSpec, items, step_items},
        message::{Part, Role, Step, Text, Tokens, ToolCall, ToolStatus},
        model::{Delta, Fault, FaultKind, Finish, Reply, parse_arguments},
        reach::Reach,
        secret::Secret,
    },
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::time::timeout;

use crate::support::{
    log::captured,
    model::{Gate, Outcome, Script, ScriptedModel},
};

#[tokio::test]
async fn a_reply_is_there_while_it_still_streams() {
    let (server, models) = started().await;
    let gate = Gate::default();
    server.push(Script::new().think("Hm.").say("Hello ").gate(&gate).say("wörld").usage(9, 4, 2));
    let mut stream = models.stream(&endpoint(&server), &asks("hi")).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Delta::Reasoning("Hm.".into())));
    assert_eq!(next(&mut stream).await, Some(Delta::Text("Hello ".into())));
    gate.reached().await;
    gate.open();
    assert_eq!(next(&mut stream).await, Some(Delta::Text("wörld".into())));
    assert_eq!(next(&mut stream).await, None);
    let reply = stream.reply().await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Hello wörld", Finish::Stop));
    assert_eq!(reply.reasoning.unwrap().text, "Hm.");
    let tokens = Tokens { input: 5, cache_read: 4, output: 2, ..Tokens::default() };
    assert_eq!(reply.usage.unwrap().tokens, tokens);
    let request = &server.requests()[0];
    let agent = request.headers.iter().find(|(name, _)| name == "user-agent").unwrap();
    assert!(agent.1.starts_with("forge/"), "{agent:?}");
    assert_eq!(server.wait_for_outcome(0).await, Outcome::Answered);
}

#[tokio::test]
async fn steps_share_a_connection_and_the_beginning_of_their_bytes() {
    let (server, models) = started().await;
    server.fallback(|body| match body["messages"].as_array().map_or(0, Vec::len) {
        0..8 => Script::text("Reading. ").call("read", json!({"path": "src/ünï.rs"})),
        _ => Script::text("Done."),
    });
    let mut request = asks("go");
    let mut ids = CallIds::default();
    for _ in 0..8 {
        let reply = whole(&models, &server, &request).await.unwrap();
        if reply.calls.is_empty() {
            break;
        }
        let parts = parts_of(&reply);
        request.items.extend(step_items(&mut ids, &request.model, &parts));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        let shared = pair[0].raw.len() - b"]}".len();
        assert_eq!(pair[0].raw[..shared], pair[1].raw[..shared]);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn what_a_crash_left_behind_is_taken_by_a_strict_provider() {
    let (server, models) = started().await;
    server.push(Script::text("Going on."));
    let torn = |id: &str, status| {
        let (call_id, tool) = (id.to_owned(), "functions.bash".to_owned());
        Part::Tool(Box::new(ToolCall { call_id, tool, status, ..ToolCall::default() }))
    };
    let answer = [
        Part::Text(Text { text: " ".into() }),
        torn("a|b", ToolStatus::Done),
        torn("", ToolStatus::Running),
        Part::Step(Step::default()),
        torn("a|b", ToolStatus::Pending),
    ];
    let prompt = [Part::Text(Text { text: "go on".into() })];
    let history = [
        Exchange { role: Role::User, model: "", parts: &prompt },
        Exchange { role: Role::Assistant, model: "m", parts: &answer },
        Exchange { role: Role::User, model: "", parts: &prompt },
        Exchange { role: Role::User, model: "", parts: &prompt },
    ];
    let request = Request { items: items(&history), ..asks("") };
    assert_eq!(whole(&models, &server, &request).await.unwrap().text, "Going on.");
}

#[tokio::test]
async fn bytes_that_come_one_by_one_mean_the_same() {
    let (server, models) = started().await;
    let script = Script::text("Hällo 🦀 ").call("write", json!({"content": "a\n\"b\" 🦀"}));
    server.push(script.clone().usage(9, 0, 9));
    server.push(script.usage(9, 0, 9).pieces(1).pace(Duration::from_millis(1)));
    let one = whole(&models, &server, &asks("hi")).await.unwrap();
    let mut other = whole(&models, &server, &asks("hi")).await.unwrap();
    assert_ne!(one.calls[0].id, other.calls[0].id);
    other.calls[0].id.clone_from(&one.calls[0].id);
    assert_eq!(one, other);
    let arguments = parse_arguments(&one.calls[0].arguments);
    assert_eq!(arguments, Ok(json!({"content": "a\n\"b\" 🦀"})));
}

#[tokio::test]
async fn every_refusal_is_explained_and_never_shows_the_key() {
    let (server, models) = started().await;
    let key = ScriptedModel::KEY;
    let error = |code: &str, message: &str| json!({"error": {"code": code, "type": code, "message": format!("{message} ({key})")}});
    for (status, body, kind, says) in [
        (400, error("invalid_value", "Bad field."), FaultKind::BadRequest, "refused the request"),
        (400, error("context_length_exceeded", "Long."), FaultKind::Overflow, "longer than"),
        (401, error("invalid_api_key", "Wrong."), FaultKind::Auth, "did not accept the key"),
        (403, error("forbidden", "No."), FaultKind::Auth, "does not allow this"),
        (404, error("model_not_found", "None."), FaultKind::NotFound, "no model named “scripted"),
        (404, json!("no route"), FaultKind::NotFound, "nothing at this address"),
        (429, error("insufficient_quota", "Pay."), FaultKind::Quota, "out of credit"),
        (429, error("rate_limit_exceeded", "tokens"), FaultKind::Rate, "no more requests"),
        (503, error("overloaded", "Busy."), FaultKind::Overload, "overloaded"),
        (302, json!({}), FaultKind::BadRequest, "has moved"),
    ] {
        server.push(Script::fault(status, body).header("retry-after", "7"));
        let fault = models.stream(&endpoint(&server), &asks("hi")).await.unwrap_err();
        assert_eq!((fault.kind, fault.status), (kind, Some(status)), "{fault:?}");
        assert!(fault.message.contains(says), "{}", fault.message);
        assert_eq!(fault.retry_after, Some(Duration::from_secs(7)));
        assert_hides_the_key(&fault);
    }
    server.push(Script::page(200, "<h1>Welcome</h1>"));
    let fault = models.stream(&endpoint(&server), &asks("hi")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert!(fault.message.contains("web page"), "{}", fault.message);
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let (server, models) = started().await;
    let elsewhere = ScriptedModel::start().await;
    let target = format!("{}/chat/completions", elsewhere.url());
    server.push(Script::fault(307, json!({})).header("location", &target));
    let fault = models.stream(&endpoint(&server), &asks("hi")).await.unwrap_err();
    assert!(fault.message.contains("moved"), "{}", fault.message);
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_told_without_what_it_contains() {
    let models = Models::new(Limits::default()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url =
        format!("http://me:{}@127.0.0.1:{port}/v1?key={}", ScriptedModel::KEY, ScriptedModel::KEY);
    let closed = Endpoint { url, ..endpoint_at("") };
    for fault in [
        models.stream(&closed, &asks("hi")).await.unwrap_err(),
        models.list(&closed).await.unwrap_err(),
    ] {
        assert_eq!(fault.kind, FaultKind::Network);
        assert!(fault.message.contains("Acme cannot be reached"), "{}", fault.message);
        assert_hides_the_key(&fault);
    }
    let odd = Endpoint { key: Some(Secret::new("sk-line\nbreak-in-it")), ..closed };
    let fault = models.stream(&odd, &asks("hi")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Auth);
    assert!(!format!("{fault:?}").contains("break-in-it"));
}

#[tokio::test]
async fn a_cut_connection_is_a_fault_after_what_was_said() {
    let (server, models) = started().await;
    server.push(Script::text("half a ").call("write", json!({"path": "a"})).cut());
    let mut stream = models.stream(&endpoint(&server), &asks("hi")).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Delta::Text("half ".into())));
    let fault = stream.reply().await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Network);
    assert!(fault.retryable());
    assert_hides_the_key(&fault);

    server.push(Script::text("half").ended());
    let fault = whole(&models, &server, &asks("hi")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Stream);
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_told_in_the_providers_words() {
    let (server, models) = started().await;
    let error = json!({"message": format!("GPU on fire, {}", ScriptedModel::KEY), "code": 502});
    server.push(Script::text("half ").error(&error));
    let fault = whole(&models, &server, &asks("hi")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Overload);
    assert_eq!(fault.provider_message.as_deref(), Some("GPU on fire, ***"));
}

#[tokio::test]
async fn silence_is_ended_before_and_in_the_middle_of_a_reply() {
    let server = ScriptedModel::start().await;
    let models = patient_for(Duration::from_millis(50));
    let gate = Gate::default();
    server.push(Script::text("never").hold(&gate));
    server.push(Script::text("half").stall());
    for request in 0..2 {
        let fault = whole(&models, &server, &asks("hi")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Network);
        assert!(fault.message.contains("said nothing for"), "{}", fault.message);
        assert_eq!(server.wait_for_outcome(request).await, Outcome::Aborted);
    }
}

#[tokio::test]
async fn the_end_of_a_reply_is_not_the_end_of_its_connection() {
    let server = ScriptedModel::start().await;
    let models = patient_for(Duration::from_millis(500));
    server.push(Script::text("all said").done().stall());
    let last_word = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]});
    let last_word = format!("data: {last_word}\n\n");
    server.push(Script::new().raw(last_word.as_bytes()).stall());
    server.push(Script::new().raw(last_word.as_bytes()).cut());
    for expected in ["all said", "x", "x"] {
        assert_eq!(whole(&models, &server, &asks("hi")).await.unwrap().text, expected);
    }
}

#[tokio::test]
async fn who_stops_listening_ends_the_call_at_the_provider() {
    let (server, models) = started().await;
    let gate = Gate::default();
    server.push(Script::text("and so on ").gate(&gate));
    let mut stream = models.stream(&endpoint(&server), &asks("hi")).await.unwrap();
    assert!(next(&mut stream).await.is_some());
    gate.reached().await;
    drop(stream);
    assert_eq!(server.wait_for_outcome(0).await, Outcome::Aborted);

    let held = Gate::default();
    server.push(Script::text("never").hold(&held));
    let (endpoint, request) = (endpoint(&server), asks("hi"));
    let asked = models.stream(&endpoint, &request);
    tokio::select! {
        _ = asked => panic!("it answers"),
        () = held.reached() => {}
    }
    assert_eq!(server.wait_for_outcome(1).await, Outcome::Aborted);
}

#[tokio::test]
async fn a_provider_is_tested_and_its_models_are_listed() {
    let (server, models) = started().await;
    let listed = models.list(&endpoint(&server)).await.unwrap();
    let expected: Vec<_> = ScriptedModel::MODELS.into_iter().map(ModelInfo::named).collect();
    assert_eq!(listed, expected);
    assert_eq!(models.test(&endpoint(&server), None).await.unwrap().models, Some(2));

    server.push(Script::text("ready"));
    let tested = models.test(&endpoint(&server), Some("scripted-small")).await.unwrap();
    assert_eq!(tested.models, Some(2));
    assert_eq!(server.wait_for_requests(1).await[0].body["model"], "scripted-small");

    let wrong = Secret::new("sk-wrong-key-1234");
    let wrong = Endpoint { key: Some(wrong), ..endpoint(&server) };
    let fault = models.test(&wrong, None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Auth);
    assert!(!format!("{fault:?}{wrong:?}").contains("sk-wrong"));
    let none = Endpoint { key: None, ..endpoint(&server) };
    assert!(models.list(&none).await.unwrap_err().message.contains("needs a key"));
    let astray = Endpoint { url: format!("{}/v2", server.url()), ..endpoint(&server) };
    assert_eq!(models.list(&astray).await.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test]
async fn what_no_provider_would_take_is_refused_here_too() {
    let (server, models) = started().await;
    let gap = Item::Results(Vec::new());
    let mut request = asks(" ");
    request.items.push(gap);
    let fault = whole(&models, &server, &request).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::BadRequest);
    assert!(server.take_violations()[0].contains("empty"));
    server.push(Script::text("x").without_usage().finish("length"));
    let reply = whole(&models, &server, &asks("hi")).await.unwrap();
    assert_eq!((reply.finish, reply.usage), (Finish::Length, None));
}

#[tokio::test]
async fn a_torn_conversation_is_refused_with_its_fault() {
    let (server, _models) = started().await;
    let client = reqwest::Client::builder().build().unwrap();
    let user = json!({"role": "user", "content": "hi"});
    let call = |id: &str, arguments: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "read", "arguments": arguments}}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    for (messages, says) in [
        (json!([user, call("a", "{}")]), "have no result"),
        (json!([user, call("a", "{}"), user]), "before the results"),
        (json!([user, call("a", "{}"), result("b")]), "answers no open call"),
        (json!([user, call("a", "{}"), result("a"), result("a")]), "answers no open call"),
        (json!([user, call("a", "{}"), result("a"), call("a", "{}"), result("a")]), "twice"),
        (json!([user, call("a b", "{}"), result("a b")]), "the call"),
        (json!([user, call("a", "{\"path"), result("a")]), "the arguments"),
        (json!([user, {"role": "assistant", "content": " "}, user]), "is empty"),
        (json!([user, {"role": "robot", "content": "x"}]), "the role"),
        (json!([user, {"role": "assistant", "content": "x"}]), "nobody waits"),
        (json!([]), "nobody waits"),
    ] {
        let body = json!({"model": "m", "stream": true, "messages": messages,
            "stream_options": {"include_usage": true}});
        let url = format!("{}/chat/completions", server.url());
        let call = client.post(url).bearer_auth(ScriptedModel::KEY).json(&body);
        assert_eq!(call.send().await.unwrap().status(), 400);
        let violations = server.take_violations();
        assert!(violations.iter().any(|it| it.contains(says)), "{says}: {violations:?}");
    }
}

#[tokio::test]
async fn the_key_is_in_no_trace() {
    let log = captured();
    let (server, models) = started().await;
    server.push(Script::fault(401, json!({"error": {"message": ScriptedModel::KEY}})));
    models.stream(&endpoint(&server), &asks("hi")).await.unwrap_err();
    server.push(Script::text("hi"));
    whole(&models, &server, &asks("hi")).await.unwrap();
    let text = String::from_utf8_lossy(&log.lock().unwrap()).into_owned();
    assert!(text.contains("model answered"));
    let at = text.find(ScriptedModel::KEY);
    assert!(at.is_none(), "{}", &text[at.unwrap().saturating_sub(300)..]);
}

async fn started() -> (ScriptedModel, Models) {
    (ScriptedModel::start().await, Models::new(Limits::default()).unwrap())
}

fn patient_for(idle: Duration) -> Models {
    Models::new(Limits { idle, ..Limits::default() }).unwrap()
}

fn endpoint(server: &ScriptedModel) -> Endpoint {
    endpoint_at(&server.url())
}

fn endpoint_at(url: &str) -> Endpoint {
    let key = Some(Secret::new(ScriptedModel::KEY));
    Endpoint {
        kind: Kind::Openai,
        name: "Acme".into(),
        url: url.into(),
        key,
        reach: Reach::Anywhere,
    }
}

fn asks(text: &str) -> Request {
    let tool = |name: &str| {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        ToolSpec { name: name.into(), description: "…".into(), schema }
    };
    Request {
        model: ScriptedModel::MODELS[0].into(),
        system: "You are a test.".into(),
        items: vec![Item::User { text: text.into(), images: Vec::new() }],
        tools: vec![tool("write"), tool("read")],
        max_output_tokens: Some(1_000),
        ..Request::default()
    }
}

/// The parts that a runner would store of a reply whose calls went well.
fn parts_of(reply: &Reply) -> Vec<Part> {
    let call = |raw: &forge::domain::model::RawCall| ToolCall {
        call_id: raw.id.clone(),
        tool: raw.name.clone(),
        input: parse_arguments(&raw.arguments).unwrap(),
        status: ToolStatus::Done,
        output: "fn main() {}".into(),
        ..ToolCall::default()
    };
    let mut parts = vec![Part::Text(Text { text: reply.text.clone() })];
    parts.extend(reply.calls.iter().map(|raw| Part::Tool(Box::new(call(raw)))));
    parts.push(Part::Step(Step::default()));
    parts
}

async fn whole(models: &Models, server: &ScriptedModel, request: &Request) -> Result<Reply, Fault> {
    let limit = Duration::from_secs(10);
    let reply = async { models.stream(&endpoint(server), request).await?.reply().await };
    timeout(limit, reply).await.unwrap()
}

async fn next(stream: &mut ReplyStream) -> Option<Delta> {
    timeout(Duration::from_secs(10), stream.next()).await.unwrap().unwrap()
}

fn assert_hides_the_key(fault: &Fault) {
    let texts = format!("{fault} {fault:?}");
    assert!(!texts.contains(ScriptedModel::KEY), "{texts}");
    assert!(!texts.contains("0123456789abcdef"), "{texts}");
}
