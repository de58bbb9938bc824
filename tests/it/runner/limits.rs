//! How a run ends that would not end by itself: its limits, and agents that go in circles.

use forge::{
    domain::session::SessionStatus,
    store::{self, asks},
};
use serde_json::{Value, json};

use super::{ONCE, Stage, folder};
use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
};

/// The last message that the model was sent, where a person says it.
fn last_said(request: &Value) -> String {
    let last = request["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "user", "{last}");
    last["content"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn at_the_last_step_the_model_is_told_to_sum_up_without_tools() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let path = format!("/api/v1/sessions/{}", session.id);
    let change = json!({"max_steps": 1});
    alice.api.json(reqwest::Method::PATCH, &path, &change).await.assert_ok();
    model.push(Script::new().call("list", json!({})));
    model.push(Script::text("That much is done."));
    app.prompt(alice, session, "Look around").await;
    app.until(session, SessionStatus::Idle).await;
    let requests = model.requests();
    let last = &requests.last().unwrap().body;
    assert!(last_said(last).contains("its limit of 1 steps"), "{last}");
    assert_eq!(last["tool_choice"], "none");
    assert_eq!(stage.texts().await.last().unwrap(), "That much is done.");
}

#[actix_web::test]
async fn at_its_limit_of_cost_an_answer_is_summed_up() {
    let app = TestApp::start_with(|config| config.agent.max_cost = Some(0.0)).await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    std::fs::write(folder(&project).join("a.txt"), "a\n").unwrap();
    // It calls a tool all the same, and is not heard.
    model.push(Script::text("I stop here.").call("read", json!({"path": "a.txt"})));
    app.prompt(&alice, &session, "Read it").await;
    app.until(&session, SessionStatus::Idle).await;
    let request = model.requests().pop().unwrap().body;
    assert!(last_said(&request).contains("its limit of $0.00"), "{request}");
    assert_eq!(model.requests().len(), 1);
}

#[actix_web::test]
async fn an_agent_in_circles_is_asked_about_and_then_stopped_and_the_session_goes_on() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for name in ["a.txt", "b.txt"] {
        std::fs::write(stage.folder().join(name), name).unwrap();
    }
    model.fallback(|request| {
        let messages = request["messages"].as_array().unwrap();
        if messages.iter().any(|it| it["content"] == "Do something else") {
            return Script::text("Here I am.");
        }
        let made = messages.iter().filter(|it| it["role"] == "tool").count();
        let name = ["a.txt", "b.txt"][made % 2];
        Script::new().call("read", json!({ "path": name }))
    });
    app.prompt(alice, session, "Read them").await;
    app.until(session, SessionStatus::Waiting).await;
    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    assert_eq!(ask.data["repeated"], true);
    assert_eq!(stage.calls().await.len(), 5);
    stage.answer(ONCE).await;
    app.until(session, SessionStatus::Error).await;
    let last = app.messages(session).await.pop().unwrap().message;
    assert_eq!(last.error.unwrap()["code"], "circles");
    let made = stage.calls().await.len();
    assert!((9..=11).contains(&made), "{made}");

    app.prompt(alice, session, "Do something else").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.texts().await.last().unwrap(), "Here I am.");
    let row = store::sessions::with_project(&app.app.db, session.id).await.unwrap().unwrap().0;
    assert_eq!(row.status, SessionStatus::Idle);
}
