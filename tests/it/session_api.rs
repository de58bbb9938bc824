//! Sessions through the JSON API, their stream of events included.

use std::time::Duration;

use forge::domain::session::SessionStatus;
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Person, TestApp,
    model::{Gate, Script, ScriptedModel},
    session::{MODEL, folder},
};

#[actix_web::test]
async fn a_whole_session_through_the_api() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let provider = app.provider(&model).await;
    let sessions = format!("/api/v1/projects/{}/sessions", project.id);
    let wish = json!({"name": "Mine", "model": format!("{}/{MODEL}", provider.id), "max_steps": 5});
    let session = alice.api.json(Method::POST, &sessions, &wish).await.assert_status(201).value();
    let at = |rest: &str| format!("/api/v1/sessions/{}{rest}", session["id"].as_str().unwrap());
    assert_eq!(session["status"], "idle");

    std::fs::write(folder(&project).join("a.txt"), "one\n").unwrap();
    model.push(Script::new().call("read", json!({"path": "a.txt"})));
    model.push(
        Script::new()
            .call("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "two"})),
    );
    model.push(Script::new().call("write", json!({"path": "new/b.txt", "content": "b\n"})));
    model.push(
        Script::new().call("todo_write", json!({"todos": [{"text": "rest", "status": "done"}]})),
    );
    model.push(Script::text("Done."));
    let sent = alice.api.json(Method::POST, &at("/prompt"), &json!({"text": "Do it"})).await;
    let sent = sent.assert_status(202).value();
    assert_eq!(sent["queued"], false);
    settled(&alice, &at("")).await;

    let messages = alice.api.get(&at("/messages")).await.assert_ok().value();
    assert_eq!(messages["items"].as_array().unwrap().len(), 2);
    assert_eq!(messages["items"][0]["parts"][0]["data"]["text"], "Do it");
    assert_eq!(messages["items"][1]["error"], Value::Null);
    let todos = alice.api.get(&at("/todos")).await.assert_ok().value();
    assert_eq!(todos["items"][0]["status"], "done");
    let usage = alice.api.get(&at("/usage")).await.assert_ok().value();
    assert_eq!(usage["steps"], 5);
    assert!(usage["cost"].as_f64().unwrap() > 0.0);
    let diff = alice.api.get(&at("/diff")).await.assert_ok().value();
    let files: Vec<_> =
        diff["files"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
    assert!(files.contains(&json!("a.txt")) && files.contains(&json!("new/b.txt")), "{files:?}");
    assert!(diff.to_string().contains("-one\\n+two"), "{diff}");

    let undo = json!({"message_id": sent["message_id"]});
    let undone = alice.api.json(Method::POST, &at("/undo"), &undo).await.assert_ok().value();
    assert_eq!(undone["conflicts"], json!([]));
    assert_eq!(std::fs::read_to_string(folder(&project).join("a.txt")).unwrap(), "one\n");
    assert!(!folder(&project).join("new").exists());
    alice.api.json(Method::POST, &at("/redo"), &json!({})).await.assert_ok();
    assert_eq!(std::fs::read_to_string(folder(&project).join("a.txt")).unwrap(), "two\n");
    assert_eq!(std::fs::read_to_string(folder(&project).join("new/b.txt")).unwrap(), "b\n");

    // What a person changed since is named, and not touched unless that is asked for.
    std::fs::write(folder(&project).join("a.txt"), "mine\n").unwrap();
    let undone = alice.api.json(Method::POST, &at("/undo"), &undo).await.assert_ok().value();
    assert_eq!(undone["conflicts"][0]["path"], "a.txt");
    assert_eq!(std::fs::read_to_string(folder(&project).join("a.txt")).unwrap(), "mine\n");

    alice.api.send(Method::DELETE, &at("")).await.assert_status(204);
    alice.api.get(&at("")).await.assert_status(404);
}

#[actix_web::test]
async fn whoever_connects_gets_what_is_open_and_then_the_rest_once() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    let gate = Gate::default();
    model.push(Script::text("Grüße an ").gate(&gate).say("alle ✓ hier"));
    app.prompt(&alice, &session, "Say it").await;
    gate.reached().await;

    let path = format!("/api/v1/sessions/{}/events", session.id);
    let mut late = Events::follow(&alice, &path, None).await;
    let open = late.next().await;
    assert_eq!((open.name.as_str(), open.id), ("part", None));
    let mut text = open.data["data"]["text"].as_str().unwrap().to_owned();
    gate.open();
    let mut seen = Vec::new();
    let closed = loop {
        let event = late.next().await;
        match event.name.as_str() {
            "delta" => {
                assert_eq!(event.data["at"], text.chars().count(), "no hole and nothing twice");
                text.push_str(event.data["text"].as_str().unwrap());
            }
            "part" if event.data["type"] == "text" => break event,
            _ => {}
        }
        seen.extend(event.id);
    };
    assert_eq!(text, "Grüße an alle ✓ hier");
    assert_eq!(closed.data["data"]["text"], "Grüße an alle ✓ hier");
    app.until(&session, SessionStatus::Idle).await;

    // Resumed after an event, everything stored since comes, in order and once.
    let mut again = Events::follow(&alice, &path, Some(0)).await;
    let mut ids = Vec::new();
    loop {
        let event = again.next().await;
        ids.extend(event.id);
        if event.name == "session" && event.data["status"] == "idle" {
            break;
        }
    }
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[actix_web::test]
async fn a_stream_ends_when_its_person_is_disabled() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let admin = app.admin("root").await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    let path = format!("/api/v1/sessions/{}/events", session.id);
    let mut events = Events::follow(&alice, &path, None).await;
    let user = format!("/api/v1/users/{}", alice.user.id);
    admin.api.json(Method::PATCH, &user, &json!({"disabled": true})).await.assert_ok();
    assert!(events.ended().await, "the stream goes on");
}

#[actix_web::test]
async fn bad_bodies_change_nothing_and_say_what_is_wrong() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    let prompt = format!("/api/v1/sessions/{}/prompt", session.id);
    let long = "x".repeat(200_001);
    for (body, field) in [
        (json!({"text": "  "}), "text"),
        (json!({ "text": long }), "text"),
        (json!({"text": "hi", "agent": "nobody"}), "agent"),
        (json!({"text": "hi", "model": "nonsense"}), "model"),
        (
            json!({"text": "hi", "model": format!("{}/nothing", session.provider_id.unwrap())}),
            "model",
        ),
    ] {
        let answer = alice.api.json(Method::POST, &prompt, &body).await.assert_status(422);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert!(answer.value()["errors"][field].is_string(), "{field}: {}", answer.body);
    }
    for body in [json!({}), json!({"text": 5}), json!({"text": "hi", "extra": 1}), json!([])] {
        alice.api.json(Method::POST, &prompt, &body).await.assert_status(422);
    }
    let form = alice.api.request(Method::POST, &prompt).body("text=hi");
    crate::support::Answer::to(form).await.assert_status(415);
    assert_eq!(app.messages(&session).await.len(), 0);
    assert_eq!(model.requests().len(), 0);
}

async fn settled(person: &Person, path: &str) {
    for _ in 0..1_000 {
        let session = person.api.get(path).await.assert_ok().value();
        if !["running", "waiting"].contains(&session["status"].as_str().unwrap()) {
            assert_eq!(session["status"], "idle");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the session does not settle");
}

/// A stream of events, as a program reads it.
struct Events {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
}

#[derive(Debug)]
struct Event {
    name: String,
    id: Option<i64>,
    data: Value,
}

impl Events {
    async fn follow(person: &Person, path: &str, after: Option<i64>) -> Self {
        let mut request = person.api.request(Method::GET, path);
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut events = Self { body: Box::pin(response.bytes_stream()), text: String::new() };
        // The first comment says that nothing is missed from here on.
        while !events.text.contains("\n\n") {
            events.read().await;
        }
        events
    }

    async fn next(&mut self) -> Event {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                if let Some(name) = field("event: ") {
                    return Event {
                        name: name.to_owned(),
                        id: field("id: ").map(|id| id.parse().unwrap()),
                        data: serde_json::from_str(field("data: ").unwrap()).unwrap(),
                    };
                }
                continue;
            }
            assert!(self.read().await, "the stream has ended");
        }
    }

    async fn ended(&mut self) -> bool {
        while self.read().await {}
        true
    }

    async fn read(&mut self) -> bool {
        let next = tokio::time::timeout(Duration::from_secs(10), self.body.next()).await;
        match next.expect("nothing came for ten seconds") {
            Some(Ok(bytes)) => {
                self.text.push_str(std::str::from_utf8(&bytes).unwrap());
                true
            }
            Some(Err(_)) | None => false,
        }
    }
}
