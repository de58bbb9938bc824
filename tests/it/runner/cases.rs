//! Runs that others have seen go wrong.

use std::time::Duration;

use forge::{
    domain::{message::ToolStatus, session::SessionStatus},
    engine::sessions,
    store::{self, messages},
};
use reqwest::Method;
use serde_json::json;

use super::{Stage, eventually, running};
use crate::support::model::{Gate, Script};

#[actix_web::test]
async fn case_18_a_call_that_was_cut_off_is_not_run_whatever_is_said_of_the_end() {
    let whole = || json!({"path": "new.txt", "content": "half of it"});
    for (reason, cut) in [("length", false), ("length", true), ("tool_calls", true)] {
        let stage = Stage::set().await;
        let Stage { app, model, alice, session, .. } = &stage;
        let script = match cut {
            false => Script::new().call("write", whole()).finish(reason),
            true => {
                let mut text = whole().to_string();
                text.truncate(text.len() - 5);
                let chunk = |delta: serde_json::Value, finish: Option<&str>| {
                    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1,
                        "model": "m", "choices": [choice]});
                    format!("data: {chunk}\n\n").into_bytes()
                };
                let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "write", "arguments": text}}]});
                let bytes = [chunk(call, None), chunk(json!({}), Some(reason))].concat();
                Script::new().raw(&bytes).done()
            }
        };
        model.push(script);
        model.push(Script::text("In pieces, then."));
        app.prompt(alice, session, "Write it").await;
        app.until(session, SessionStatus::Idle).await;
        assert!(!stage.folder().join("new.txt").exists(), "{reason}, {cut}");
        let call = stage.calls().await.remove(0);
        assert_eq!(call.status, ToolStatus::Error, "{reason}, {cut}");
        let told = model.requests()[1].body.to_string();
        assert!(told.contains(call.error.unwrap().split('\n').next().unwrap()), "{told}");
    }
}

#[actix_web::test]
async fn twenty_sessions_at_once_store_all_that_they_do() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, project, .. } = &stage;
    model.fallback(|body| {
        let messages = body["messages"].as_array().unwrap();
        let name = messages.iter().rfind(|it| it["role"] == "user").unwrap()["content"].to_string();
        let name: String = name.chars().filter(char::is_ascii_digit).collect();
        let path = format!("{name}.txt");
        match messages.iter().filter(|it| it["role"] == "tool").count() {
            0 => Script::text("I write. ").call("write", json!({"path": path, "content": name})),
            1 => Script::new().call("read", json!({"path": path})),
            _ => Script::text("Done."),
        }
    });
    let mut sessions = Vec::new();
    for number in 0..20 {
        let session = app.session(alice, project).await;
        app.prompt(alice, &session, &format!("Write {number}")).await;
        sessions.push(session);
    }
    for (number, session) in sessions.iter().enumerate() {
        app.until(session, SessionStatus::Idle).await;
        let content = std::fs::read_to_string(stage.folder().join(format!("{number}.txt")));
        assert_eq!(content.unwrap(), number.to_string());
        let answer = app.messages(session).await.remove(1);
        let kinds: Vec<_> = answer.parts.iter().map(|part| part.kind.as_str()).collect();
        assert_eq!(kinds, ["text", "tool", "step", "tool", "step", "text", "step"]);
        assert_eq!(answer.message.error, None);
    }
    assert_eq!(model.take_violations(), Vec::<String>::new());
}

#[actix_web::test]
async fn ten_thousand_words_are_one_row() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let text = "word ".repeat(10_000);
    model.push(Script::text(&text).pieces(5));
    app.prompt(alice, session, "Talk").await;
    let session = app.until(session, SessionStatus::Idle).await;
    let answer = app.messages(&session).await.remove(1);
    assert_eq!(answer.parts.len(), 2, "the text and its step");
    assert_eq!(answer.parts[0].data["text"].as_str().map(str::len), Some(text.len()));
    assert!(session.seq < 100, "{} changes were stored", session.seq);
}

#[actix_web::test]
async fn a_session_in_which_a_command_runs_is_stopped_and_deleted() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::new().call("bash", json!({"command": "sleep 91.7733"})));
    app.prompt(alice, session, "Wait").await;
    eventually("the command runs", || running("sleep 91.7733")).await;
    let path = format!("/api/v1/sessions/{}", session.id);
    let deleted = alice.api.send(Method::DELETE, &path);
    let deleted = tokio::time::timeout(Duration::from_secs(10), deleted).await.unwrap();
    deleted.assert_status(204);
    eventually("the command is gone", || !running("sleep 91.7733")).await;
    let db = &app.app.db;
    assert!(store::sessions::with_project(db, session.id).await.unwrap().is_none());
    assert!(messages::page(db, session.id, None, 10).await.unwrap().is_empty());
    alice.api.get(&path).await.assert_status(404);
}

#[actix_web::test]
async fn a_stop_at_the_very_end_of_an_answer_keeps_the_queue() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let gate = Gate::default();
    model.push(Script::text("One.").gate(&gate));
    model.fallback(|_| Script::text("Another."));
    app.prompt(alice, session, "First").await;
    app.prompt(alice, session, "Second").await;
    // The run cannot come to its end while somebody holds the moment.
    let engine = &app.app.engine;
    model.wait_for_requests(1).await;
    let moment = engine.runs.moment(session.id).await;
    gate.open();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stops = sessions::abort(engine, session);
    let lets_go = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(moment);
    };
    let (stopped, ()) = tokio::join!(stops, lets_go);
    assert!(stopped.unwrap());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!engine.runs.is_running(session.id));
    assert_eq!(model.requests().len(), 1, "the prompt that waits was not sent");
    assert_eq!(messages::queued(&app.app.db, session.id).await.unwrap().len(), 1);
}

#[actix_web::test]
async fn prompts_that_wait_are_put_in_another_order_and_sent_in_it() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let gate = Gate::default();
    model.push(Script::text("One.").gate(&gate));
    model.fallback(|_| Script::text("Another."));
    for text in ["first", "a", "b", "c"] {
        app.prompt(alice, session, text).await;
    }
    let path = format!("/api/v1/sessions/{}/queue", session.id);
    let waiting = || async {
        let queue = alice.api.get(&path).await.assert_ok().value();
        let items = queue["items"].as_array().unwrap().clone();
        let row = |it: &serde_json::Value| {
            let text = it["parts"][0]["data"]["text"].as_str().unwrap().to_owned();
            (text, it["id"].as_str().unwrap().to_owned())
        };
        items.iter().map(row).collect::<Vec<_>>()
    };
    let texts = |rows: Vec<(String, String)>| rows.into_iter().map(|row| row.0).collect::<String>();
    let rows = waiting().await;
    let place = json!({ "place": 0 });
    let path = format!("/api/v1/queue/{}", rows[2].1);
    alice.api.json(Method::PATCH, &path, &place).await.assert_status(204);
    assert_eq!(texts(waiting().await), "cab");
    let queue = alice.htmx_post(&format!("/queue/{}/move", rows[0].1), &[("place", "99")]).await;
    assert!(queue.assert_ok().body.contains("Move queued prompt up"));
    assert_eq!(texts(waiting().await), "cba");
    alice.api.json(Method::PATCH, &path, &json!({ "place": -1 })).await.assert_status(422);

    gate.open();
    for _ in 0..400 {
        if model.requests().len() == 4 && !app.app.engine.runs.is_running(session.id) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let said: Vec<String> =
        stage.texts().await.into_iter().filter(|it| it.len() < 3 || it == "first").collect();
    assert_eq!(said, ["first", "c", "b", "a"]);
    let sent = model.requests().pop().unwrap().body["messages"].as_array().unwrap().clone();
    let asked = sent.iter().filter(|it| it["role"] == "user").map(|it| it["content"].clone());
    assert_eq!(asked.collect::<Vec<_>>(), ["first", "c", "b", "a"]);
}
