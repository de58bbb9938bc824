//! Budgets: what they stop, what they say, and who sets them.

use std::time::Duration;

use chrono::TimeDelta;
use forge::{
    domain::{budget::Subject, session::SessionStatus},
    store::{self, entity::session::Model as Session},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Person, TestApp,
    model::{Gate, Script, ScriptedModel},
};

/// Tokens of an answer that is as long as it may be, up to ten thousand.
fn long(body: &Value) -> Script {
    let most = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
    Script::text("Done.").usage(1_000, 0, most.unwrap_or(10_000).min(10_000))
}

/// What such an answer costs: a thousand tokens in, ten thousand out.
const COST: i64 = 82_000;

async fn set(by: &Person, budget: Value) -> Value {
    by.api.json(Method::POST, "/api/v1/budgets", &budget).await.assert_status(201).value()
}

/// Waits until a session rests.
async fn rests(app: &TestApp, session: &Session) -> Session {
    for _ in 0..2_000 {
        let now = store::sessions::with_project(&app.app.db, session.id).await.unwrap().unwrap().0;
        if !now.status.is_active() && !app.app.engine.runs.is_running(session.id) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the session does not rest");
}

/// Why a session's last answer has failed.
async fn why(app: &TestApp, session: &Session) -> (String, String) {
    let error = app.messages(session).await.pop().unwrap().message.error.unwrap();
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

async fn spent(app: &TestApp, of: Subject) -> i64 {
    store::usage::spent(&app.app.db, of, 0..i64::MAX).await.unwrap()
}

#[actix_web::test]
async fn sessions_at_the_same_time_cannot_together_overspend() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    app.provider(&model).await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let project = app.project(&alice, "atlas").await;
    set(&root, json!({"scope": "everyone", "period": "day", "limit": 0.5})).await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(app.session(&alice, &project).await);
    }
    let prompts = sessions.iter().map(|session| app.prompt(&alice, session, "Do it"));
    futures_util::future::join_all(prompts).await;
    let (mut done, mut refused) = (0, 0);
    for session in &sessions {
        match rests(&app, session).await.status {
            SessionStatus::Idle => done += 1,
            SessionStatus::Error => {
                let (code, message) = why(&app, session).await;
                assert_eq!(code, "budget", "{message}");
                assert!(message.starts_with("Your daily budget of $0.50 does not"), "{message}");
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    let spent = spent(&app, Subject::User(alice.user.id)).await;
    assert!(spent <= 500_000, "{spent} were spent");
    // What is set aside for a call is given back after it, so that most of it can be spent.
    assert!(done >= 5 && refused >= 10, "{done} went on, {refused} did not");
    assert_eq!(model.requests().len(), done);
    assert_eq!(spent > 5 * COST, done > 5, "the last of them had to keep it short");
    let left = alice.api.get("/api/v1/budgets").await.assert_ok().value();
    assert_eq!(left["items"][0]["held"], 0.0);
}

#[actix_web::test]
async fn a_budget_says_what_is_left_and_starts_anew_where_the_person_is() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    app.provider(&model).await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let you = [("name", "Alice"), ("time_zone", "Europe/Berlin")];
    alice.post("/account", &you).await.assert_redirect("/account");
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    set(&root, json!({"scope": "user", "subject": "alice", "period": "day", "limit": 0.1})).await;
    app.prompt(&alice, &session, "One").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    assert!(page.contains("$0.018 of $0.10 left today"), "{page}");

    app.prompt(&alice, &session, "Two").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Error);
    assert_eq!(model.requests().len(), 1, "the call was not made");
    let (code, message) = why(&app, &session).await;
    assert_eq!(code, "budget");
    for part in [
        "Your daily budget of $0.10 does not allow another call: $0.018 is left",
        "It starts anew on 2 January 2026 at 00:00 (Europe/Berlin).",
        "ask an administrator to raise it",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    assert!(page.contains("does not allow another call"), "{page}");
    let usage = alice.get("/usage").await.assert_ok().body;
    assert!(usage.contains("You: $0.10 a day") && usage.contains("$0.018 left"), "{usage}");

    // Also to an administrator elsewhere it is the day of the person.
    let seen = root.api.get("/api/v1/budgets").await.assert_ok().value();
    assert_eq!(seen["items"][0]["resets_at"], "2026-01-01T23:00:00Z");

    // One minute to midnight there, then one after.
    app.clock.advance(TimeDelta::minutes(13 * 60 + 59));
    app.prompt(&alice, &session, "Three").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Error);
    app.clock.advance(TimeDelta::minutes(2));
    app.prompt(&alice, &session, "Four").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);
    assert_eq!(model.requests().len(), 2);
}

#[actix_web::test]
async fn a_tight_budget_makes_the_answer_short_and_is_not_overspent() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    app.provider(&model).await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    let id = session.id.to_string();
    set(&alice, json!({"scope": "session", "subject": id, "period": "total", "limit": 0.06})).await;
    app.prompt(&alice, &session, "Do it").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);
    let spent = spent(&app, Subject::Session(session.id)).await;
    assert!((20_000..=60_000).contains(&spent), "{spent}");
    app.prompt(&alice, &session, "Again").await;
    rests(&app, &session).await;
    let (_, message) = why(&app, &session).await;
    assert!(message.contains("for this session") && message.contains("does not start anew"));
    let usage = alice.api.get(&format!("/api/v1/sessions/{id}/usage")).await.assert_ok().value();
    assert_eq!(usage["steps"], 1);
    assert_eq!(usage["budgets"][0]["limit"], 0.06);
    assert_eq!(usage["budgets"][0]["resets_at"], Value::Null);
}

#[actix_web::test]
async fn an_unknown_price_is_no_credit() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    let mut provider = app.provider(&model).await;
    provider.meta = json!({"version": 1, "models": {}});
    store::providers::update(&app.app.db, provider).await.unwrap();
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    let wish = json!({"scope": "project", "subject": project.id.to_string(), "period": "month",
        "limit": 5});
    let budget = set(&alice, wish).await;
    app.prompt(&alice, &session, "Do it").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Error);
    let (code, message) = why(&app, &session).await;
    assert_eq!(code, "budget");
    let said = "The monthly budget of $5.00 for the project atlas does not allow models whose \
                price is not known";
    assert!(message.contains(said) && message.contains("$5.00 is left"), "{message}");
    assert!(model.requests().is_empty());

    let path = format!("/api/v1/budgets/{}", budget["id"].as_str().unwrap());
    let allow = json!({"allow_unknown_prices": true});
    alice.api.json(Method::PATCH, &path, &allow).await.assert_ok();
    app.prompt(&alice, &session, "Do it").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);
    assert_eq!(alice.api.get(&path).await.assert_ok().value()["left"], 5.0);
}

#[actix_web::test]
async fn what_is_set_aside_for_a_call_is_waited_for() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let (one, other) = (app.session(&alice, &project).await, app.session(&alice, &project).await);
    let subject = project.id.to_string();
    let wish = json!({"scope": "project", "subject": subject, "period": "week", "limit": 0.1});
    set(&alice, wish).await;
    let gate = Gate::default();
    model.push(Script::text("Slow").usage(1_000, 0, 10).gate(&gate));
    model.push(Script::text("Quick").usage(1_000, 0, 10));
    app.prompt(&alice, &one, "Do it").await;
    gate.reached().await;
    app.prompt(&alice, &other, "Do it").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(model.requests().len(), 1, "all of it is set aside for the first");
    let held = alice.api.get("/api/v1/budgets").await.assert_ok().value();
    assert_eq!((&held["items"][0]["held"], &held["items"][0]["left"]), (&json!(0.1), &json!(0.0)));
    gate.open();
    assert_eq!(rests(&app, &one).await.status, SessionStatus::Idle);
    assert_eq!(rests(&app, &other).await.status, SessionStatus::Idle);

    // Who stops does not wait.
    let gate = Gate::default();
    model.push(Script::text("Slow").usage(1_000, 0, 10).gate(&gate));
    app.prompt(&alice, &one, "Do it").await;
    gate.reached().await;
    app.prompt(&alice, &other, "Do it").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    app.app.engine.runs.abort(other.id).await;
    app.until(&other, SessionStatus::Aborted).await;
    gate.open();
    rests(&app, &one).await;
    assert_eq!(model.requests().len(), 3);
}

#[actix_web::test]
async fn a_persons_own_budget_takes_the_place_of_everyones() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    app.provider(&model).await;
    let (root, alice, bob) =
        (app.admin("root").await, app.person("alice").await, app.person("bob").await);
    set(&root, json!({"scope": "everyone", "period": "day", "limit": 0.001})).await;
    let subject = alice.user.id.to_string();
    set(&root, json!({"scope": "user", "subject": subject, "period": "day", "limit": 5})).await;
    for (person, name, status) in
        [(&alice, "atlas", SessionStatus::Idle), (&bob, "borealis", SessionStatus::Error)]
    {
        let project = app.project(person, name).await;
        let session = app.session(person, &project).await;
        app.prompt(person, &session, "Do it").await;
        assert_eq!(rests(&app, &session).await.status, status, "{name}");
    }
}

#[actix_web::test]
async fn budgets_are_set_by_whom_they_belong_to() {
    let app = TestApp::start().await;
    let (root, alice, bob) =
        (app.admin("root").await, app.person("alice").await, app.person("bob").await);
    let project = app.project(&alice, "atlas").await;
    let of_project = json!({"scope": "project", "subject": project.id.to_string(),
        "period": "day", "limit": 5});
    let post =
        async |by: &Person, body: &Value| by.api.json(Method::POST, "/api/v1/budgets", body).await;
    for (field, change) in [
        ("scope", json!({"scope": "everyone"})),
        ("scope", json!({"scope": "user", "subject": "alice"})),
        ("subject", json!({"subject": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})),
        ("subject", json!({"scope": "session", "subject": "nonsense"})),
        ("limit", json!({"limit": 0})),
        ("limit", json!({"limit": -5})),
        ("limit", json!({"limit": 1e300})),
        ("limit", json!({"limit": 1_000_001})),
    ] {
        let mut body = of_project.clone();
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = post(&alice, &body).await.assert_status(422);
        assert!(answer.value()["errors"][field].is_string(), "{body}: {}", answer.body);
    }
    let answer = post(&bob, &of_project).await.assert_status(422);
    assert!(answer.body.contains("There is no such project"), "{}", answer.body);

    // The owner's own is theirs alone; what an administrator sets the owner cannot take away.
    let own = post(&alice, &of_project).await.assert_status(201).value();
    post(&alice, &of_project).await.assert_status(409);
    let imposed = post(&root, &of_project).await.assert_status(201).value();
    let path = |budget: &Value| format!("/api/v1/budgets/{}", budget["id"].as_str().unwrap());
    for (person, budget) in [(&alice, &imposed), (&root, &own), (&bob, &own), (&bob, &imposed)] {
        let change = json!({"limit": 1_000});
        person.api.json(Method::PATCH, &path(budget), &change).await.assert_status(404);
        person.api.send(Method::DELETE, &path(budget)).await.assert_status(404);
    }
    let seen = alice.api.get("/api/v1/budgets").await.assert_ok().value();
    assert_eq!(seen["items"].as_array().unwrap().len(), 2);
    assert_eq!(bob.api.get("/api/v1/budgets").await.assert_ok().value()["items"], json!([]));
    let page = alice.get("/usage").await.assert_ok().body;
    assert_eq!(page.matches("Project atlas: $5.00 a day</b>").count(), 2);
    assert_eq!(page.matches("/remove").count(), 1, "{page}");

    // By form, as the page does.
    let target = format!("project:{}", project.id);
    let form = [("target", target.as_str()), ("period", "month"), ("limit", "12.50")];
    alice.post("/budgets", &form).await.assert_redirect("/usage");
    let wrong = [("target", target.as_str()), ("period", "week"), ("limit", "-1")];
    alice.post("/budgets", &wrong).await.assert_status(422);
    let id = own["id"].as_str().unwrap();
    alice.post(&format!("/budgets/{id}"), &[("limit", "7")]).await.assert_redirect("/usage");
    assert_eq!(alice.api.get(&path(&own)).await.assert_ok().value()["limit"], 7.0);
    alice.post(&format!("/budgets/{id}/remove"), &[]).await.assert_redirect("/usage");
    alice.api.get(&path(&own)).await.assert_status(404);
    let log = store::audit::page(&app.app.db, None, 100).await.unwrap();
    let changed: Vec<_> =
        log.iter().filter(|it| it.subject_id.as_deref() == Some(id)).map(|it| &it.action).collect();
    assert_eq!(changed, ["budget.removed", "budget.changed", "budget.created"]);
}

#[actix_web::test]
async fn a_budget_can_be_set_for_any_session_and_all_budgets_are_shown() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let project = app.project(&alice, "atlas").await;
    app.provider_row().await;
    let first = app.session(&alice, &project).await;
    for _ in 0..101 {
        let session = app.session(&alice, &project).await;
        let subject = session.id.to_string();
        let wish = json!({"scope": "session", "subject": subject, "period": "total", "limit": 5});
        set(&alice, wish).await;
    }
    let page = alice.get("/usage").await.assert_ok().body;
    assert!(!page.contains(&format!("session:{}", first.id)), "it is not among the newest");
    let session = alice.get(&format!("/sessions/{}", first.id)).await.assert_ok().body;
    let link = format!("/usage?budget={}", first.id);
    assert!(session.contains(&link), "{session}");
    let page = alice.get(&link).await.assert_ok().body;
    let option = format!("value=\"session:{}\" selected", first.id);
    assert_eq!(page.matches(&option).count(), 1, "{page}");
    bob.get(&link).await.assert_status(404);
    alice.get("/usage?budget=nonsense").await.assert_status(404);

    assert_eq!(page.matches("/remove\"").count(), 100);
    let more = page.split("after=").nth(1).unwrap().split('#').next().unwrap();
    let rest = alice.get(&format!("/usage?after={more}")).await.assert_ok().body;
    assert_eq!(rest.matches("/remove\"").count(), 1);
    assert!(!rest.contains("More budgets"));
}

#[actix_web::test]
async fn a_change_of_the_time_zone_starts_no_budget_anew() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    model.fallback(long);
    app.provider(&model).await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    set(&root, json!({"scope": "everyone", "period": "day", "limit": 0.1})).await;
    let to = async |zone: Value| {
        let body = json!({ "time_zone": zone });
        alice.api.json(Method::PATCH, "/api/v1/me", &body).await.assert_ok();
    };
    let seen = async || alice.api.get("/api/v1/budgets").await.value()["items"][0].clone();
    // Before anything was spent, it is a matter of where the person is.
    to(json!("Asia/Tokyo")).await;
    assert_eq!(seen().await["resets_at"], "2026-01-01T15:00:00Z");
    app.prompt(&alice, &session, "One").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);

    // Eight in the evening in Tokyo; elsewhere the day has just begun, or begins within the hour.
    app.clock.advance(TimeDelta::hours(2));
    for zone in ["Pacific/Kiritimati", "Pacific/Auckland", "Asia/Kamchatka", "Asia/Tokyo"] {
        to(json!(zone)).await;
        let budget = seen().await;
        assert_eq!(budget["spent"], 0.082, "{zone}");
        assert!(budget["resets_at"].as_str().unwrap() >= "2026-01-01T15:00:00Z", "{budget}");
        app.prompt(&alice, &session, "More").await;
        assert_eq!(rests(&app, &session).await.status, SessionStatus::Error, "{zone}");
    }
    assert_eq!(model.requests().len(), 1);
    to(Value::Null).await;
    assert_eq!(seen().await["spent"], 0.082);
    // At last it does.
    app.clock.advance(TimeDelta::days(2));
    assert_eq!(seen().await["spent"], 0.0);
    app.prompt(&alice, &session, "More").await;
    assert_eq!(rests(&app, &session).await.status, SessionStatus::Idle);
}
