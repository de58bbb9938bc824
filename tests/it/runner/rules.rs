//! Asks that a new rule answers.

use forge::{
    domain::{message::ToolStatus, session::SessionStatus},
    store::{self, asks, entity::session::Model as Session},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::Stage;
use crate::support::{
    Person, TestApp,
    model::{Script, ScriptedModel},
    stream::PageStream,
};

#[actix_web::test]
async fn always_answers_every_ask_of_the_project_that_the_rule_covers() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    let (other, half) = (app.session(alice, project).await, app.session(alice, project).await);
    let elsewhere = app.project(alice, "elsewhere").await;
    let elsewhere = app.session(alice, &elsewhere).await;
    let two = Script::new()
        .call("bash", json!({"command": "make one"}))
        .call("bash", json!({"command": "make two"}));
    asked(&stage, session, two).await;
    asked(&stage, &other, command("make three")).await;
    asked(&stage, &half, command("make four && touch five.txt")).await;
    asked(&stage, &elsewhere, command("make six")).await;
    let page = alice.get(&format!("/sessions/{}", other.id)).await.assert_ok().body;
    let mut stream = PageStream::connect(alice, &PageStream::address(&page), None).await;
    stream.until(&["id=\"queue\""]).await;

    model.fallback(|_| Script::text("Made."));
    let first = open(alice, Some(session)).await.remove(0);
    let reply = json!({"reply": "always", "pattern": "make *"});
    let path = format!("/api/v1/asks/{}", first["id"].as_str().unwrap());
    let answered = alice.api.json(Method::POST, &path, &reply).await.assert_ok().value();
    assert_eq!(answered["reply"]["saved"][0]["pattern"], "make *");
    assert!(answered["reply"].get("rule").is_none(), "a person has looked at this one");

    stream.until(&["<b>Running</b><code>make three</code>"]).await;
    stream.until(&["make *", "Allowed by alice"]).await;
    stream.until(&["The agent is done."]).await;
    app.until(session, SessionStatus::Idle).await;
    app.until(&other, SessionStatus::Idle).await;
    let left: Vec<_> = open(alice, None).await.iter().map(subject).collect();
    assert_eq!(left, ["make four && touch five.txt", "make six"]);

    let settled = asks::changed_since(&app.app.db, other.id, 0).await.unwrap().remove(0);
    assert_eq!(settled.decided_by, Some(alice.user.id));
    let reply = settled.reply.unwrap();
    assert_eq!(reply["answer"], "always");
    assert!(reply["rule"].as_str().unwrap().contains("make *"), "{reply}");
    for call in stage.calls().await {
        let verdict = call.verdict.unwrap();
        assert_eq!(
            (verdict.action.as_str(), verdict.answered_by.as_deref()),
            ("allow", Some("alice"))
        );
    }
    let rule = stage.calls().await.remove(1).verdict.unwrap().rule;
    assert!(rule.contains("make *"), "{rule}");
}

#[actix_web::test]
async fn a_rule_that_is_written_answers_too() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    let denied = app.session(alice, project).await;
    asked(&stage, session, command("make one")).await;
    asked(&stage, &denied, command("touch two.txt")).await;
    model.fallback(|_| Script::text("Well."));

    let path = format!("/projects/{}/rules", project.id);
    let form = [("tool", "bash"), ("pattern", "make *"), ("action", "allow")];
    alice.post(&path, &form).await.assert_redirect(&path);
    app.until(session, SessionStatus::Idle).await;
    let verdict = stage.calls().await.remove(0).verdict.unwrap();
    assert!(verdict.rule.contains("make *") && verdict.answered_by.as_deref() == Some("alice"));
    assert_eq!(open(alice, None).await.len(), 1);

    let rules = json!({"items": [{"tool": "bash", "pattern": "touch *", "action": "deny"}]});
    let path = format!("/api/v1/projects/{}/rules", project.id);
    alice.api.json(Method::PUT, &path, &rules).await.assert_ok();
    app.until(&denied, SessionStatus::Idle).await;
    assert!(!stage.folder().join("two.txt").exists());
    let told = model.requests().last().unwrap().body.to_string();
    assert!(told.contains("A rule refuses this call") && told.contains("touch *"), "{told}");
}

#[actix_web::test]
async fn a_rule_for_everybody_answers_everywhere_and_its_no_wins() {
    let stage = Stage::set().await;
    let Stage { app, model, session, .. } = &stage;
    let (root, bob) = (app.admin("root").await, app.person("bob").await);
    let bobs = app.project(&bob, "bobs").await;
    let bobs = app.session(&bob, &bobs).await;
    asked(&stage, session, command("touch one.txt")).await;
    model.push(command("touch two.txt"));
    app.prompt(&bob, &bobs, "Do it").await;
    app.until(&bobs, SessionStatus::Waiting).await;
    model.fallback(|_| Script::text("Well."));

    // What a project allows is not allowed where everybody's rules say no.
    let deny = json!([{"tool": "bash", "pattern": "touch two*", "action": "deny"}]);
    root.api.json(Method::PUT, "/api/v1/rules", &deny).await.assert_ok();
    app.until(&bobs, SessionStatus::Idle).await;
    let settled = asks::changed_since(&app.app.db, bobs.id, 0).await.unwrap().remove(0);
    assert_eq!(settled.decided_by, Some(root.user.id));
    assert_eq!(settled.reply.unwrap()["answer"], "deny");
    assert_eq!(open(&stage.alice, Some(session)).await.len(), 1, "it is not about that one");

    model.push(command("touch one.txt && touch two.txt"));
    let both = app.session(&stage.alice, &stage.project).await;
    app.prompt(&stage.alice, &both, "Both").await;
    app.until(&both, SessionStatus::Idle).await;
    let path = format!("/api/v1/projects/{}/rules", stage.project.id);
    let allow = json!([{"tool": "bash", "pattern": "touch *", "action": "allow"}]);
    stage.alice.api.json(Method::PUT, &path, &allow).await.assert_ok();
    app.until(session, SessionStatus::Idle).await;
    assert!(stage.folder().join("one.txt").exists() && !stage.folder().join("two.txt").exists());
}

#[actix_web::test]
async fn what_an_agent_repeats_is_for_a_person_to_answer() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    std::fs::write(stage.folder().join("a.txt"), "one\n").unwrap();
    for _ in 0..3 {
        model.push(Script::new().call("read", json!({"path": "a.txt"})));
    }
    app.prompt(alice, session, "Look").await;
    app.until(session, SessionStatus::Waiting).await;
    let rules = json!([{"tool": "read", "pattern": "*", "action": "allow"}]);
    let path = format!("/api/v1/projects/{}/rules", project.id);
    alice.api.json(Method::PUT, &path, &rules).await.assert_ok();
    assert_eq!(open(alice, Some(session)).await.len(), 1);
    assert!(app.app.engine.runs.is_running(session.id));

    // What a rule refuses is refused also here.
    model.fallback(|_| Script::text("Well."));
    let rules = json!([{"tool": "read", "pattern": "*", "action": "deny"}]);
    alice.api.json(Method::PUT, &path, &rules).await.assert_ok();
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.calls().await.remove(2).status, ToolStatus::Denied);
}

#[actix_web::test]
async fn a_yes_does_not_stand_for_what_a_rule_refuses_by_then() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    asked(&stage, session, command("touch one.txt")).await;
    model.fallback(|_| Script::text("Well."));
    // Stored, and the open asks have not been looked at yet.
    let now = app.app.clock.now();
    let rule = store::entity::permission_rule::Model {
        id: forge::domain::ids::RuleId::mint(now, app.app.entropy.as_ref()),
        project_id: Some(project.id),
        tool: "bash".into(),
        pattern: "touch *".into(),
        action: "deny".into(),
        position: 0,
        created_by: Some(alice.user.id),
        created_at: now,
    };
    store::rules::append(&app.app.db, rule).await.unwrap();
    let first = open(alice, Some(session)).await.remove(0);
    let path = format!("/api/v1/asks/{}", first["id"].as_str().unwrap());
    alice.api.json(Method::POST, &path, &json!({"reply": "once"})).await.assert_ok();
    app.until(session, SessionStatus::Idle).await;
    assert!(!stage.folder().join("one.txt").exists());
    let error = stage.calls().await.remove(0).error.unwrap();
    assert!(error.contains("The rules have changed while this call waited"), "{error}");
}

#[actix_web::test]
async fn asks_that_outlived_the_server_are_answered_by_one_rule() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let waiting = crate::support::session::waiting(&app, &alice).await;
    let model = ScriptedModel::start().await;
    let mut provider = app.provider(&model).await;
    let old = waiting.session.provider_id.unwrap();
    provider.id = old;
    provider.key =
        Some(app.app.engine.vault.seal(&format!("provider:{old}"), ScriptedModel::KEY).unwrap());
    store::providers::update(&app.app.db, provider).await.unwrap();
    second_ask(&app, &waiting).await;
    forge::engine::runner::repair(&app.app.engine).await.unwrap();
    let session = app.until(&waiting.session, SessionStatus::Waiting).await;

    model.fallback(|_| Script::text("Made."));
    let rules = json!([{"tool": "bash", "pattern": "make *", "action": "allow"},
        {"tool": "bash", "pattern": "make", "action": "allow"}]);
    let path = format!("/api/v1/projects/{}/rules", session.project_id);
    alice.api.json(Method::PUT, &path, &rules).await.assert_ok();
    app.until(&session, SessionStatus::Idle).await;
    assert_eq!(open(&alice, None).await.len(), 0);
    let first = model.requests().remove(0).body;
    let results = first["messages"].as_array().unwrap();
    let results = results.iter().filter(|it| it["role"] == "tool").count();
    assert_eq!(results, 2, "{first}");
    let reply = app.messages(&session).await.remove(1);
    let calls = reply.parts.iter().filter(|part| part.kind == "tool");
    for part in calls {
        assert_eq!(part.data["status"], "done", "it ran: {}", part.data);
    }
}

/// Adds a second call that is asked about to the same reply.
async fn second_ask(app: &TestApp, waiting: &crate::support::session::Waiting) {
    use forge::{
        domain::{
            ids::{AskId, PartId},
            message::Part,
        },
        store::journal::{self, Write},
    };
    let (db, now, entropy) = (&app.app.db, app.app.clock.now(), app.app.entropy.as_ref());
    let mut row = store::messages::part(db, waiting.part).await.unwrap().unwrap();
    let Part::Tool(mut call) = Part::read(&row.kind, row.data).unwrap() else { panic!() };
    call.call_id = "call_2".into();
    call.input = json!({"command": "make again"});
    row.id = PartId::mint(now, entropy);
    row.data = Part::Tool(call).data();
    let mut ask = asks::open_in(db, waiting.session.id).await.unwrap().remove(0);
    ask.id = AskId::mint(now, entropy);
    ask.part_id = row.id;
    ask.data["subject"] = json!("make again");
    ask.data["input"] = json!({"command": "make again"});
    let writes = vec![Write::Part(Box::new(row)), Write::Ask(Box::new(ask))];
    journal::record(db, waiting.session.id, now, writes).await.unwrap();
}

fn command(text: &str) -> Script {
    Script::new().call("bash", json!({ "command": text }))
}

/// Has an agent ask in a session.
async fn asked(stage: &Stage, session: &Session, script: Script) {
    stage.model.push(script);
    stage.app.prompt(&stage.alice, session, "Do it").await;
    stage.app.until(session, SessionStatus::Waiting).await;
}

/// The open asks, of one session or of all.
async fn open(person: &Person, session: Option<&Session>) -> Vec<Value> {
    let query = session.map(|it| format!("?session={}", it.id)).unwrap_or_default();
    let answer = person.api.get(&format!("/api/v1/asks{query}")).await.assert_ok().value();
    answer["items"].as_array().unwrap().clone()
}

fn subject(ask: &Value) -> String {
    ask["data"]["subject"].as_str().unwrap().to_owned()
}
