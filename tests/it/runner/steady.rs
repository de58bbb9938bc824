//! What must hold however things fall together: answers that come at a bad moment, people who hang
//! up or lose their account, providers that go, rules that change.

use std::time::Duration;

use forge::{
    domain::{
        ids::PartId,
        message::{Part, ToolStatus},
        session::{Queued, SessionStatus},
        trust::Trust,
        undo::Force,
    },
    engine::{
        self,
        runner::{Decided, News},
        sessions::{self, Change},
        undo,
    },
    store::{self, asks},
};
use reqwest::Method;
use serde_json::json;

use super::{ONCE, Stage, eventually};
use crate::support::{
    TestApp,
    model::{Gate, Script, ScriptedModel},
};

#[actix_web::test]
async fn a_call_that_waits_for_the_database_does_not_hold_up_its_run() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let (db, runs) = (&app.app.db, &app.app.engine.runs);
    rules(&stage, json!([{"tool": "write", "pattern": "*", "action": "ask"}])).await;
    model.push(
        Script::new()
            .call("write", json!({"path": "a.txt", "content": "one\n"}))
            .call("bash", json!({"command": "touch no.txt"})),
    );
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Write it").await;
    app.until(session, SessionStatus::Waiting).await;
    let parts: Vec<PartId> =
        asks::open_in(db, session.id).await.unwrap().iter().map(|ask| ask.part_id).collect();
    let decided = |part: usize, allowed| {
        let (message, login, rule) = (None, "alice".to_owned(), None);
        News::Decided(Decided { part: parts[part], allowed, message, login, rule })
    };

    // In this order: we write, the run notes that the call starts, we write, the call writes, the
    // run notes the next answer.
    let first = db.begin().await.unwrap();
    assert!(runs.tell(session.id, decided(0, true)));
    pause().await;
    let second = tokio::spawn({
        let db = db.clone();
        async move { db.begin().await }
    });
    pause().await;
    first.rollback().await.unwrap();
    let second = second.await.unwrap().unwrap();
    pause().await;
    assert!(runs.tell(session.id, decided(1, false)));
    pause().await;
    second.rollback().await.unwrap();

    app.until(session, SessionStatus::Idle).await;
    assert_eq!(std::fs::read_to_string(stage.folder().join("a.txt")).unwrap(), "one\n");
    let calls = stage.calls().await;
    assert_eq!((calls[0].status, calls[1].status), (ToolStatus::Done, ToolStatus::Denied));
}

#[actix_web::test]
async fn a_command_cannot_send_git_to_another_folder() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let git = stage.folder().join(".git");
    let init = ["-c", "init.defaultBranch=main", "init", "-q"];
    let init = std::process::Command::new("git").args(init).current_dir(stage.folder()).status();
    assert!(init.unwrap().success());
    rules(&stage, json!([{"tool": "bash", "pattern": "*", "action": "allow"}])).await;
    model.push(Script::new().call("bash", json!({"command": "echo ../evil > .git/commondir"})));
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Move it").await;
    app.until(session, SessionStatus::Waiting).await;
    stage.answer(ONCE).await;
    app.until(session, SessionStatus::Idle).await;
    assert!(git.join("HEAD").is_file() && !git.join("commondir").exists());
    let call = stage.calls().await.remove(0);
    assert_eq!(call.verdict.unwrap().action, "allow", "it was the sandbox that kept it");
}

#[actix_web::test]
async fn what_somebody_asked_for_is_done_though_they_hang_up() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let engine = &app.app.engine;
    let file = stage.folder().join("a.txt");
    model.push(Script::new().call("write", json!({"path": "a.txt", "content": "one\n"})));
    model.push(Script::new().call("bash", json!({"command": "touch b.txt"})));
    model.push(Script::text("Done."));

    // Each of these waits for its moment when its request ends.
    let moment = engine.runs.moment(session.id).await;
    hang_up(sessions::prompt(engine, &alice.user, session, "Do it", Queued::Queue)).await;
    drop(moment);
    app.until(session, SessionStatus::Waiting).await;

    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    let moment = engine.runs.moment(session.id).await;
    hang_up(engine::asks::answer(engine, ask, &alice.user, ONCE)).await;
    drop(moment);
    let session = &app.until(session, SessionStatus::Idle).await;
    assert!(file.exists() && stage.folder().join("b.txt").exists());

    let prompt = app.messages(session).await.remove(0).message;
    let moment = engine.runs.moment(session.id).await;
    hang_up(undo::undo(engine, session, &prompt, Force::Ask)).await;
    drop(moment);
    eventually("it is undone", || !file.exists()).await;
    // The files go first, then the messages are marked.
    let rests = engine.runs.moment(session.id).await;
    assert!(app.messages(session).await.iter().all(|it| it.message.reverted_at.is_some()));
    hang_up(undo::redo(engine, session, Force::Ask)).await;
    drop(rests);
    eventually("it is brought back", || file.exists()).await;
    drop(engine.runs.moment(session.id).await);
    assert!(app.messages(session).await.iter().all(|it| it.message.reverted_at.is_none()));
}

#[actix_web::test]
async fn each_prompt_that_waits_is_answered_as_things_are_then() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    let db = &app.app.db;
    std::fs::write(stage.folder().join("AGENTS.md"), "Speak in riddles.").unwrap();
    let mut provider = store::providers::of(db, alice.user.id).await.unwrap().remove(0);
    provider.models = json!(ScriptedModel::MODELS);
    let provider = store::providers::update(db, provider).await.unwrap();
    let gates = [Gate::default(), Gate::default()];
    model.push(Script::new().gate(&gates[0]).say("one"));
    model.push(Script::new().gate(&gates[1]).say("two"));
    for text in ["first", "second", "third"] {
        app.prompt(alice, session, text).await;
    }
    gates[0].reached().await;

    let small = Some(format!("{}/{}", provider.id, ScriptedModel::MODELS[1]));
    let change = Change { model: small, ..Change::default() };
    sessions::change(&app.app.engine, &alice.user, session, change).await.unwrap();
    let now = app.app.clock.now();
    store::projects::set_trust(db, project.clone(), Trust::Untrusted, now).await.unwrap();
    gates[0].open();
    gates[1].reached().await;
    let requests = model.requests();
    let said = |request: usize| requests[request].body.to_string();
    assert_eq!(requests[0].body["model"], ScriptedModel::MODELS[0]);
    assert_eq!(requests[1].body["model"], ScriptedModel::MODELS[1]);
    assert!(said(0).contains("Speak in riddles.") && !said(1).contains("Speak in riddles."));

    let off = store::entity::provider::Model { disabled_at: Some(now), ..provider };
    store::providers::update(db, off).await.unwrap();
    gates[1].open();
    app.until(session, SessionStatus::Error).await;
    assert_eq!(model.requests().len(), 2);
    assert_eq!(stage.texts().await, ["first", "one", "second", "two"]);
    assert_eq!(store::messages::queued(db, session.id).await.unwrap().len(), 1, "it is kept");
    let last = app.messages(session).await.pop().unwrap().message;
    assert!(last.error.unwrap()["message"].as_str().unwrap().contains("switched off"));
}

#[actix_web::test]
async fn a_call_that_waited_behind_an_ask_obeys_the_rules_as_they_are_by_then() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(
        Script::new()
            .call("bash", json!({"command": "touch one.txt"}))
            .call("write", json!({"path": "two.txt", "content": "two"})),
    );
    model.push(Script::text("Well."));
    app.prompt(alice, session, "Do both").await;
    app.until(session, SessionStatus::Waiting).await;
    rules(&stage, json!([{"tool": "write", "pattern": "two.txt", "action": "deny"}])).await;
    stage.answer(ONCE).await;
    app.until(session, SessionStatus::Idle).await;
    assert!(stage.folder().join("one.txt").exists() && !stage.folder().join("two.txt").exists());
    let call = stage.calls().await.remove(1);
    assert_eq!(call.status, ToolStatus::Error);
    assert!(call.error.unwrap().contains("The rules have changed while this call waited"));
}

#[actix_web::test]
async fn a_call_that_waited_behind_a_command_obeys_the_rules_as_they_are_by_then() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    rules(&stage, json!([{"tool": "bash", "pattern": "*", "action": "allow"}])).await;
    let wait = "touch started.txt; until [ -e go.txt ]; do sleep 0.05; done";
    model.push(
        Script::new()
            .call("bash", json!({ "command": wait }))
            .call("write", json!({"path": "two.txt", "content": "two"})),
    );
    model.push(Script::text("Well."));
    app.prompt(alice, session, "Do both").await;
    eventually("the command runs", || stage.folder().join("started.txt").exists()).await;
    rules(&stage, json!([{"tool": "write", "pattern": "two.txt", "action": "deny"}])).await;
    std::fs::write(stage.folder().join("go.txt"), "").unwrap();
    app.until(session, SessionStatus::Idle).await;
    assert!(!stage.folder().join("two.txt").exists());
    assert_eq!(stage.calls().await.remove(1).status, ToolStatus::Error);
}

#[actix_web::test]
async fn who_is_switched_off_has_no_agents_at_work() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let engine = &app.app.engine;
    let root = app.admin("root").await;
    let gate = Gate::default();
    model.push(Script::text("Half").gate(&gate));
    app.prompt(alice, session, "Do it").await;
    gate.reached().await;
    root.post(&format!("/admin/users/{}/disable", alice.user.id), &[]).await;
    assert!(!engine.runs.is_running(session.id));
    app.until(session, SessionStatus::Aborted).await;

    // A prompt that was on its way when that happened.
    sessions::prompt(engine, &alice.user, session, "More", Queued::Queue).await.unwrap();
    app.until(session, SessionStatus::Error).await;
    assert_eq!(model.requests().len(), 1);
    let last = app.messages(session).await.pop().unwrap().message;
    let why = last.error.unwrap()["message"].as_str().unwrap().to_owned();
    assert!(why.contains("account") && why.contains("switched off"), "{why}");
}

#[actix_web::test]
async fn an_answer_whose_provider_is_gone_closes_the_reply() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let waiting = crate::support::session::waiting(&app, &alice).await;
    engine::runner::repair(&app.app.engine).await.unwrap();
    let provider = store::providers::of(&app.app.db, alice.user.id).await.unwrap().remove(0);
    store::providers::delete(&app.app.db, provider).await.unwrap();

    let path = format!("/api/v1/asks/{}", waiting.ask);
    alice.api.json(Method::POST, &path, &json!({"reply": "once"})).await.assert_ok();
    let session = app.until(&waiting.session, SessionStatus::Aborted).await;
    eventually("its run is over", || !app.app.engine.runs.is_running(session.id)).await;
    let reply = app.messages(&session).await.remove(1);
    assert!(reply.message.completed_at.is_some());
    let why = reply.message.error.unwrap();
    assert_eq!(why["code"], "provider");
    let Part::Tool(call) = Part::read("tool", reply.parts[0].data.clone()).unwrap() else {
        panic!()
    };
    assert_eq!(call.status, ToolStatus::Aborted);

    // With a model that is there it goes on.
    let model = ScriptedModel::start().await;
    let provider = app.provider(&model).await;
    let named = Some(format!("{}/{}", provider.id, ScriptedModel::MODELS[0]));
    let change = Change { model: named, ..Change::default() };
    sessions::change(&app.app.engine, &alice.user, &session, change).await.unwrap();
    model.push(Script::text("Here I am."));
    model.push(Script::text("And the one that waited."));
    app.prompt(&alice, &session, "Go on").await;
    model.wait_for_requests(1).await;
    app.until(&session, SessionStatus::Idle).await;
}

/// Asks for something and hangs up while it waits.
async fn hang_up<T>(request: impl Future<Output = T>) {
    assert!(tokio::time::timeout(Duration::from_millis(50), request).await.is_err());
}

/// Long enough that whoever can get in line has done so.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(150)).await;
}

/// Replaces the rules of the project.
pub(super) async fn rules(stage: &Stage, rules: serde_json::Value) {
    let path = format!("/api/v1/projects/{}/rules", stage.project.id);
    stage.alice.api.json(Method::PUT, &path, &rules).await.assert_ok();
}
