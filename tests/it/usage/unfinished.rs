//! Calls that brought no whole reply cost all the same.

use std::time::Duration;

use forge::{
    domain::{
        budget::Subject,
        message::{Part, Text},
        session::SessionStatus,
    },
    engine::runner,
    store::{
        self,
        journal::{self, Write},
    },
};
use reqwest::Method;
use serde_json::json;

use super::{Desk, lines};
use crate::support::{
    TestApp,
    model::{Gate, Script, ScriptedModel},
};

/// A Forge with a model, and somebody with a session.
async fn desk() -> (TestApp, ScriptedModel, Desk) {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    (app, model, desk)
}

/// Tries again at once, until the session rests.
async fn hurry(app: &TestApp, desk: &Desk) {
    for _ in 0..1_000 {
        app.app.engine.runs.retry_now(desk.session.id);
        tokio::time::sleep(Duration::from_millis(10)).await;
        if !app.app.engine.runs.is_running(desk.session.id) {
            return;
        }
    }
    panic!("the session does not rest");
}

#[actix_web::test]
async fn a_reply_that_breaks_off_costs_what_it_wrote_where_the_provider_says_nothing() {
    let (app, model, desk) = desk().await;
    model.push(Script::text("Half of a long answer").cut());
    model.push(Script::text("Half of a call").call("list", json!({"path": "."})).cut());
    model.push(Script::fault(503, json!({"error": {"message": "overloaded"}})));
    model.push(Script::text("Whole").usage(1_000, 0, 100));
    app.prompt(&desk.person, &desk.session, "Do it").await;
    hurry(&app, &desk).await;
    let session = app.until(&desk.session, SessionStatus::Idle).await;
    let lines = lines(&app, &session).await;
    let told = lines.iter().map(|line| (line.outcome.as_str(), line.estimated));
    // What the provider refused before it wrote anything costs nothing.
    let expected = [("failed", true), ("failed", true), ("done", false)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(lines[0].output, 6);
    assert!(lines[0].input > 1_000, "the tools are sent too: {}", lines[0].input);
    assert!(lines[1].output > 6, "{}", lines[1].output);
    let cost: i64 = lines.iter().filter_map(|line| line.cost_micros).sum();
    assert_eq!(session.summary["cost_micros"], cost);
}

#[actix_web::test]
async fn a_call_that_somebody_stops_costs_its_arguments() {
    let (app, model, desk) = desk().await;
    let gate = Gate::default();
    let content = "word ".repeat(2_000);
    let call = Script::new().call("write", json!({"path": "a.txt", "content": content}));
    model.push(call.gate(&gate).say("never"));
    app.prompt(&desk.person, &desk.session, "Do it").await;
    gate.reached().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    app.app.engine.runs.abort(desk.session.id).await;
    let session = app.until(&desk.session, SessionStatus::Aborted).await;
    let line = lines(&app, &session).await.remove(0);
    assert_eq!((line.outcome.as_str(), line.estimated), ("aborted", true));
    assert!(line.output >= 2_500, "{}", line.output);
}

#[actix_web::test]
async fn calls_are_counted_where_the_provider_says_nothing() {
    let (app, model, desk) = desk().await;
    let content = "word ".repeat(2_000);
    let call = json!({"path": "a.txt", "content": content});
    model.push(Script::new().call("read", call).without_usage());
    desk.ask(&app, &model, Script::text("Done.").without_usage()).await;
    let lines = lines(&app, &desk.session).await;
    assert!(lines[0].output >= 2_500, "{}", lines[0].output);
    assert!(lines[1].input >= lines[0].input + 2_500, "{} {}", lines[0].input, lines[1].input);
}

#[actix_web::test]
async fn replies_that_break_off_do_not_escape_a_budget() {
    let (app, model, desk) = desk().await;
    // Ten thousand tokens, which cost $0.08.
    model.fallback(|_| Script::text(&"word ".repeat(8_000)).cut());
    let id = desk.session.id.to_string();
    let budget = json!({"scope": "session", "subject": id, "period": "total", "limit": 0.2});
    let made = desk.person.api.json(Method::POST, "/api/v1/budgets", &budget).await;
    made.assert_status(201);
    app.prompt(&desk.person, &desk.session, "Do it").await;
    hurry(&app, &desk).await;
    let error = app.messages(&desk.session).await.pop().unwrap().message.error.unwrap();
    assert_eq!(error["code"], "budget", "{error}");
    assert!(model.requests().len() <= 3, "{}", model.requests().len());
}

#[actix_web::test]
async fn a_reply_that_the_end_of_the_server_cut_off_costs_what_was_stored_of_it() {
    let (app, model, desk) = desk().await;
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    let before = lines(&app, &desk.session).await.remove(0);

    // As a killed server leaves it: the answer is open, and some of its text is stored.
    let mut last = app.messages(&desk.session).await.pop().unwrap();
    last.message.completed_at = None;
    let mut row = last.parts.pop().unwrap();
    row.id = forge::domain::ids::PartId::mint(app.app.clock.now(), app.app.entropy.as_ref());
    row.position += 1;
    let part = Part::Text(Text { text: "x".repeat(4_000) });
    (row.kind, row.data) = (part.kind().to_owned(), part.data());
    let writes = vec![
        Write::Message(Box::new(last.message)),
        Write::Part(Box::new(row)),
        Write::status(SessionStatus::Running),
    ];
    let now = app.app.clock.now();
    journal::record(&app.app.db, desk.session.id, now, writes).await.unwrap();
    runner::repair(&app.app.engine).await.unwrap();

    let session = app.until(&desk.session, SessionStatus::Aborted).await;
    let lines = lines(&app, &session).await;
    assert_eq!(lines.len(), 2);
    let line = &lines[1];
    assert_eq!((line.outcome.as_str(), line.estimated, line.output), ("aborted", true, 1_000));
    assert!(line.input >= 1_000, "{}", line.input);
    assert_eq!((&line.model, &line.prices), (&before.model, &before.prices));
    let spent = before.cost_micros.unwrap() + line.cost_micros.unwrap();
    assert_eq!(session.summary["cost_micros"], spent);
    let of = Subject::Session(session.id);
    assert_eq!(store::usage::spent(&app.app.db, of, 0..i64::MAX).await.unwrap(), spent);
    // Once, however often the server starts.
    runner::repair(&app.app.engine).await.unwrap();
    assert_eq!(super::lines(&app, &session).await.len(), 2);
}
