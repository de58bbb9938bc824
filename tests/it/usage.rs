//! The ledger: a line for each call of a model, and the sums that people see of it.

mod unfinished;

use std::time::Duration;

use chrono::{DateTime, Utc};
use forge::{
    domain::{budget::Subject, provider::Kind, session::SessionStatus, token::Scope},
    store::{
        self,
        entity::{project::Model as Project, session::Model as Session, usage::Model as Line},
    },
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Browser, Person, TestApp,
    model::{Gate, Script, ScriptedModel},
};

/// Somebody's session on a project of theirs.
struct Desk {
    person: Person,
    project: Project,
    session: Session,
}

impl Desk {
    async fn of(app: &TestApp, person: Person, project: &str) -> Self {
        let project = app.project(&person, project).await;
        let session = app.session(&person, &project).await;
        Self { person, project, session }
    }

    async fn ask(&self, app: &TestApp, model: &ScriptedModel, answer: Script) {
        model.push(answer);
        app.prompt(&self.person, &self.session, "Do it").await;
        app.until(&self.session, SessionStatus::Idle).await;
    }
}

/// All lines of a session.
async fn lines(app: &TestApp, session: &Session) -> Vec<Line> {
    let of = Subject::Session(session.id);
    store::usage::lines(&app.app.db, of, 0..i64::MAX, 1_000).await.unwrap()
}

/// The rows that the API gives somebody.
async fn rows(by: &Browser, query: &str) -> Vec<Value> {
    let answer = by.get(&format!("/api/v1/usage?{query}")).await.assert_ok();
    answer.value()["items"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn each_step_is_put_down_with_the_providers_own_account_and_the_prices() {
    for (kind, own) in [
        (Kind::Openai, "prompt_tokens"),
        (Kind::Openrouter, "prompt_tokens"),
        (Kind::Ollama, "prompt_eval_count"),
        (Kind::Anthropic, "input_tokens"),
        (Kind::Gemini, "promptTokenCount"),
    ] {
        let app = TestApp::start().await;
        let model = ScriptedModel::start().await;
        let provider = app.provider_of(kind, &model).await;
        let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
        model.push(Script::new().call("list", json!({"path": "."})).usage(1_000, 0, 100));
        desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;

        let lines = lines(&app, &desk.session).await;
        assert_eq!(lines.len(), 2, "{kind}");
        for line in lines {
            assert_eq!((line.input, line.output), (1_000, 100), "{kind}");
            // OpenRouter says what it charges; for the others the price of the model is known.
            let cost = if kind == Kind::Openrouter { 250_000 } else { 2_800 };
            assert_eq!(line.cost_micros, Some(cost), "{kind}");
            assert!(line.raw.as_ref().unwrap()[own].is_u64(), "{kind}: {:?}", line.raw);
            assert_eq!(line.prices["input"], 2_000_000, "{kind}");
            assert_eq!(line.prices["charged"].is_i64(), kind == Kind::Openrouter, "{kind}");
            assert_eq!((line.user_login.as_str(), line.outcome.as_str()), ("alice", "done"));
            assert_eq!((line.provider_id, line.provider_name.as_str()), (provider.id, "Scripted"));
            assert!(!line.estimated);
        }
    }
}

#[actix_web::test]
async fn cached_tokens_are_counted_once() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 400, 100)).await;
    let line = lines(&app, &desk.session).await.remove(0);
    assert_eq!((line.input, line.cache_read, line.output), (600, 400, 100));
    let row = rows(&desk.person.api, "by=model").await.remove(0);
    assert_eq!((&row["input"], &row["cache_read"]), (&json!(600), &json!(400)));
}

#[actix_web::test]
async fn absurd_numbers_of_a_provider_are_not_believed() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    for _ in 0..2 {
        let most = 9_000_000_000_000_000_000;
        desk.ask(&app, &model, Script::text("Done.").usage(most, 0, 100)).await;
    }
    let lines = lines(&app, &desk.session).await;
    let counted: Vec<_> = lines.iter().map(|line| (line.input, line.cost_micros)).collect();
    assert_eq!(counted, [(1_000_000_000, Some(2_000_000_800)); 2]);
}

#[actix_web::test]
async fn an_unknown_price_is_said_and_is_not_zero() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let mut provider = app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    provider.meta = json!({"version": 1, "models": {}});
    store::providers::update(&app.app.db, provider).await.unwrap();
    desk.ask(&app, &model, Script::text("Done.").without_usage()).await;

    let lines = lines(&app, &desk.session).await;
    assert_eq!(lines[1].cost_micros, None);
    assert!(lines[1].estimated && lines[1].raw.is_none() && lines[1].input > 0);
    let row = rows(&desk.person.api, "by=project").await.remove(0);
    assert_eq!((&row["calls"], &row["unknown_price_calls"]), (&json!(2), &json!(1)));
    assert_eq!((&row["estimated_calls"], &row["cost"]), (&json!(1), &json!(0.0028)));
    let page = desk.person.get("/usage").await.assert_ok().body;
    assert!(page.contains("Price unknown: 1 call<"), "{page}");
    assert!(page.contains("at least under $0.01") && page.contains("1 estimated"), "{page}");
}

#[actix_web::test]
async fn a_reply_that_somebody_stops_is_put_down_with_what_it_wrote() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    let gate = Gate::default();
    model.push(Script::text("Half of a long answer").gate(&gate).say(" and more"));
    app.prompt(&desk.person, &desk.session, "Do it").await;
    gate.reached().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    app.app.engine.runs.abort(desk.session.id).await;
    let session = app.until(&desk.session, SessionStatus::Aborted).await;
    let line = lines(&app, &session).await.remove(0);
    assert_eq!((line.outcome.as_str(), line.estimated, line.output), ("aborted", true, 6));
    assert!(line.cost_micros.unwrap() > 0);
    assert_eq!(session.summary["cost_micros"].as_i64(), line.cost_micros);
    assert_eq!(session.summary["steps"], 0);
}

#[actix_web::test]
async fn a_reply_that_breaks_off_is_put_down_where_the_provider_has_said_what_it_took() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider_of(Kind::Anthropic, &model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    model.push(Script::text("Half").usage(1_000, 0, 100).cut());
    app.prompt(&desk.person, &desk.session, "Do it").await;
    model.push(Script::text("Whole").usage(1_000, 0, 100));
    for _ in 0..500 {
        app.app.engine.runs.retry_now(desk.session.id);
        tokio::time::sleep(Duration::from_millis(10)).await;
        if model.requests().len() == 2 {
            break;
        }
    }
    let session = app.until(&desk.session, SessionStatus::Idle).await;
    let lines = lines(&app, &session).await;
    let outcomes: Vec<_> = lines.iter().map(|line| (line.outcome.as_str(), line.input)).collect();
    assert_eq!(outcomes, [("failed", 1_000), ("done", 1_000)]);
    let cost: i64 = lines.iter().filter_map(|line| line.cost_micros).sum();
    assert_eq!(session.summary["cost_micros"], cost);
    assert_eq!(session.summary["steps"], 1);
}

#[actix_web::test]
async fn members_see_their_own_and_administrators_all() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let root = app.admin("root").await;
    let alice = Desk::of(&app, app.person("alice").await, "atlas").await;
    let bob = Desk::of(&app, app.person("bob").await, "borealis").await;
    for desk in [&alice, &bob] {
        desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    }
    let users = async |by: &Browser, query: &str| {
        let rows = rows(by, &format!("by=user{query}")).await;
        rows.iter().map(|row| row["user"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(users(&alice.person.api, "").await, ["alice"]);
    assert_eq!(users(&alice.person.api, "&who=everyone").await, ["alice"]);
    assert_eq!(users(&root.api, "").await, ["alice", "bob"]);
    assert_eq!(users(&root.api, "&who=you").await, [""; 0]);
    // Without the scope admin a token of an administrator sees what a member would.
    let token = app.token(&root.user, Scope::Write).await;
    let write = Browser { token: Some(token), ..app.stranger() };
    assert_eq!(users(&write, "").await, [""; 0]);

    for path in ["/usage", "/usage?who=everyone", "/usage.csv", "/usage.csv?who=everyone"] {
        let theirs = alice.person.get(path).await.assert_ok().body;
        assert!(theirs.contains("atlas") && !theirs.contains("borealis"), "{path}: {theirs}");
        let all = root.get(path).await.assert_ok().body;
        assert!(all.contains("atlas") && all.contains("borealis"), "{path}: {all}");
    }
}

#[actix_web::test]
async fn the_ledger_outlives_what_it_tells_of() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let provider = app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    let db = &app.app.db;
    let renamed =
        store::projects::rename(db, desk.project.clone(), "newer".into(), app.app.clock.now());
    renamed.await.unwrap();
    app.clock.advance(chrono::TimeDelta::minutes(1));
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    let row = rows(&desk.person.api, "by=project").await.remove(0);
    assert_eq!((&row["project"], &row["calls"]), (&json!("newer"), &json!(2)));

    let path = format!("/api/v1/projects/{}", desk.project.id);
    desk.person.api.send(Method::DELETE, &path).await.assert_ok();
    store::providers::delete(db, provider).await.unwrap();
    let row = rows(&desk.person.api, "by=project,provider,model").await.remove(0);
    assert_eq!((&row["project"], &row["provider"]), (&json!("newer"), &json!("Scripted")));
    assert_eq!((&row["calls"], &row["cost"]), (&json!(2), &json!(0.0056)));
}

#[actix_web::test]
async fn the_table_for_spreadsheets_has_no_formulas() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "=cmd, \"x\"").await;
    desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    let answer = desk.person.get("/usage.csv?from=2026-01-01&to=2026-01-02").await.assert_ok();
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8");
    let disposition = answer.headers["content-disposition"].to_str().unwrap();
    assert_eq!(disposition, "attachment; filename=\"forge-usage-2026-01-01-2026-01-02.csv\"");
    let lines: Vec<&str> = answer.body.lines().collect();
    assert_eq!(lines.len(), 2, "{}", answer.body);
    assert!(lines[0].starts_with("day,person,project,provider,model,calls,input_tokens,"));
    let model = desk.session.model;
    assert_eq!(
        lines[1],
        format!(
            "2026-01-01,alice,\"'=cmd, \"\"x\"\"\",Scripted,{model},1,1000,0,0,100,0,0.002800,0,0"
        )
    );
}

#[actix_web::test]
async fn days_are_those_of_the_person_also_where_the_clocks_change() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    app.provider(&model).await;
    let desk = Desk::of(&app, app.person("alice").await, "atlas").await;
    let you = [("name", "Alice"), ("email", ""), ("time_zone", "Europe/Berlin")];
    desk.person.post("/account", &you).await.assert_redirect("/account");
    let wrong = [("name", "Alice"), ("time_zone", "Mars/Olympus")];
    let refused = desk.person.post("/account", &wrong).await.assert_status(422).body;
    assert!(refused.contains("There is no such time zone"), "{refused}");

    // 23:30 before the night of the change, 23:30 on its day, and 00:30 on the next.
    for at in ["2026-03-28T22:30:00Z", "2026-03-29T21:30:00Z", "2026-03-29T22:30:00Z"] {
        let at: DateTime<Utc> = at.parse().unwrap();
        app.clock.advance(at - app.app.clock.now());
        desk.ask(&app, &model, Script::text("Done.").usage(1_000, 0, 100)).await;
    }
    let days = async |from: &str, to: &str| {
        let rows = rows(&desk.person.api, &format!("by=day&from={from}&to={to}")).await;
        let day = |row: &Value| (row["day"].as_str().unwrap().to_owned(), row["calls"].as_i64());
        rows.iter().map(day).collect::<Vec<_>>()
    };
    let of = |day: &str| (format!("2026-03-{day}"), Some(1));
    assert_eq!(days("2026-03-28", "2026-03-30").await, [of("28"), of("29"), of("30")]);
    assert_eq!(days("2026-03-29", "2026-03-29").await, [of("29")]);
    assert_eq!(days("2025-06-01", "2026-03-28").await, [of("28")]);
}

#[actix_web::test]
async fn what_is_asked_for_is_bounded() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    for (query, field) in [
        ("from=2024-01-01&to=2026-01-01", "from"),
        ("from=2026-01-02&to=2026-01-01", "from"),
        ("from=yesterday", "from"),
        ("to=9999999-01-01", "to"),
        ("to=1900-01-01", "to"),
        ("who=bob", "who"),
        ("by=day,secret", "by"),
    ] {
        let answer = alice.api.get(&format!("/api/v1/usage?{query}")).await.assert_status(422);
        assert!(answer.value()["errors"][field].is_string(), "{query}: {}", answer.body);
    }
    let empty = alice.get("/usage").await.assert_ok().body;
    assert!(empty.contains("Nothing was used in these days"));
    alice.get("/usage?from=2024-12-01&to=2026-01-01").await.assert_ok();
}
