//! Choosing a model and what it is told: favourites, search, effort, temperature, a steady prefix.

use std::collections::BTreeMap;

use forge::{
    domain::{
        provider::{Kind, Meta, ModelMeta},
        session::SessionStatus,
    },
    store::{self, entity::provider::Model as Provider},
};
use pretty_assertions::assert_eq;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Person, TestApp,
    model::{Script, ScriptedModel},
    session::{MODEL, folder, png},
};

/// Lets sessions use these models of a provider, all of which reason.
async fn offer(app: &TestApp, provider: &Provider, ids: &[String]) {
    let thinks = ModelMeta { reasoning: Some(true), ..ModelMeta::default() };
    let models: BTreeMap<_, _> = ids.iter().map(|id| (id.clone(), thinks.clone())).collect();
    let meta = serde_json::to_value(Meta { version: 1, models, ..Meta::default() }).unwrap();
    store::providers::change(&app.app.db, provider.id, |row| {
        row.models = json!(ids);
        row.meta = meta;
    })
    .await
    .unwrap();
}

#[actix_web::test]
async fn among_hundreds_a_model_is_found_liked_and_used() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let provider = app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    let mut ids: Vec<String> = (0..400).map(|it| format!("maker/model-{it:03}")).collect();
    ids.insert(0, MODEL.to_owned());
    offer(&app, &provider, &ids).await;

    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    assert!(page.matches("<option value=").count() < 80, "the list is bounded");
    let at = |query: &str| format!("/models?session={}&q={query}", session.id);
    let all = alice.get(&at("")).await.assert_ok().body;
    assert!(all.contains("60 of 401 are shown") && all.contains("price unknown"));
    let found = alice.get(&at("399+scripted")).await.assert_ok().body;
    assert_eq!(found.matches("data-model=").count(), 1, "{found}");

    let name = format!("{}/maker/model-399", provider.id);
    let id = session.id.to_string();
    let like = |favourite| {
        [("model", name.as_str()), ("favourite", favourite), ("session", id.as_str()), ("q", "")]
    };
    let liked = alice.htmx_post("/models/favourite", &like("true")).await.assert_ok().body;
    let first = liked.find("data-model=").unwrap();
    assert!(liked[first..].starts_with(&format!("data-model=\"{name}\"")), "it comes first");
    alice.htmx_post("/models/favourite", &like("true")).await.assert_ok();
    let bob = app.person("bob").await;
    let theirs = bob.get("/models").await.assert_ok().body;
    assert!(!theirs.contains("aria-pressed=\"true\""), "stars are one's own");
    bob.get(&at("")).await.assert_status(404);
    let page = alice.get(&format!("/sessions/{}", session.id)).await.body;
    assert!(page.contains("<optgroup label=\"Favourites\">"));

    alice
        .post(&format!("/sessions/{}/model", session.id), &[("model", &name)])
        .await
        .assert_redirect(&format!("/sessions/{}", session.id));
    let now = store::sessions::with_project(&app.app.db, session.id).await.unwrap().unwrap().0;
    assert_eq!(now.model, "maker/model-399");
    alice.post("/models/favourite", &like("false")).await.assert_status(303);
    let after = alice.get(&at("")).await.body;
    assert!(!after.contains("aria-pressed=\"true\"") && after.contains("used lately"));

    // What admins do not allow is neither found nor liked.
    let unknown = format!("{}/gone", provider.id);
    alice
        .post("/models/favourite", &[("model", &unknown), ("favourite", "true")])
        .await
        .assert_status(422);
    store::providers::change(&app.app.db, provider.id, |row| {
        row.disabled_at = Some(row.created_at);
    })
    .await
    .unwrap();
    assert!(alice.get(&at("")).await.body.contains("No model can be used yet"));
}

#[actix_web::test]
async fn a_script_likes_models_that_its_person_can_use() {
    const API: &str = "/api/v1/me/favourites";
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let provider = app.provider(&model).await;
    let ids: Vec<String> = ["b/c", "a"].map(str::to_owned).to_vec();
    offer(&app, &provider, &ids).await;
    let theirs = app.provider_row_of(Some(&bob)).await;
    let name = |id: &str| format!("{}/{id}", provider.id);
    let like =
        async |model: String| alice.api.json(Method::POST, API, &json!({ "model": model })).await;
    for id in ["b/c", "a", "a"] {
        let liked = like(name(id)).await.assert_status(201).value();
        assert_eq!(liked["model"], name(id));
    }
    for wrong in [name("gone"), format!("{}/model", theirs.id), "nonsense".into()] {
        let answer = like(wrong).await.assert_status(422);
        assert!(answer.value()["errors"]["model"].is_string(), "{}", answer.body);
    }
    let page = async |by: &Person, query: &str| {
        by.api.get(&format!("{API}{query}")).await.assert_ok().value()
    };
    let first = page(&alice, "?limit=1").await;
    assert_eq!(first["items"][0]["model"], name("a"));
    let cursor = first["next"].as_str().unwrap().replace('/', "%2F");
    let second = page(&alice, &format!("?limit=1&cursor={cursor}")).await;
    assert_eq!(
        (&second["items"][0]["model"], &second["next"]),
        (&json!(name("b/c")), &Value::Null)
    );
    assert_eq!(page(&bob, "").await["items"], json!([]));
    assert!(alice.get("/models").await.body.contains("aria-pressed=\"true\""));

    let one = format!("{API}?model={}", name("b/c").replace('/', "%2F"));
    bob.api.send(Method::DELETE, &one).await.assert_status(204);
    assert_eq!(page(&alice, "").await["items"].as_array().unwrap().len(), 2);
    for _ in 0..2 {
        alice.api.send(Method::DELETE, &one).await.assert_status(204);
    }
    assert_eq!(page(&alice, "").await["items"].as_array().unwrap().len(), 1);
    alice.api.send(Method::DELETE, API).await.assert_status(422);
}

#[actix_web::test]
async fn favourites_are_bounded() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let provider = app.provider(&ScriptedModel::start().await).await;
    let ids: Vec<String> = (0..501).map(|it| format!("m{it}")).collect();
    offer(&app, &provider, &ids).await;
    for (at, id) in ids.iter().enumerate() {
        let name = format!("{}/{id}", provider.id);
        let liked = forge::engine::models::like(&app.app.engine, alice.user.id, &name).await;
        assert_eq!(liked.is_ok(), at < 500, "{at}: {liked:?}");
    }
}

#[actix_web::test]
async fn effort_and_temperature_are_told_to_models_that_take_them() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    let provider = app.provider(&model).await;
    offer(&app, &provider, &[MODEL.to_owned(), "o3".to_owned()]).await;
    let sessions = format!("/api/v1/projects/{}/sessions", project.id);
    let named = |model: &str| format!("{}/{model}", provider.id);
    let wish = json!({"model": named(MODEL), "effort": "high", "temperature": 0.3});
    let made = alice.api.json(Method::POST, &sessions, &wish).await.assert_status(201).value();
    assert_eq!((made["effort"].as_str(), made["temperature"].as_f64()), (Some("high"), Some(0.3)));
    let id = made["id"].as_str().unwrap().to_owned();
    let at = format!("/api/v1/sessions/{id}");
    let page = format!("/sessions/{id}");
    let session = store::sessions::recent(&app.app.db, alice.user.id, 1).await.unwrap().remove(0);

    let ask = async |fields: &[(&str, &str)]| {
        model.push(Script::text("Yes."));
        alice.post(&format!("{page}/prompt"), fields).await.assert_redirect(&page);
        app.until(&session, SessionStatus::Idle).await;
        model.requests().pop().unwrap().body
    };
    let body = ask(&[("text", "One")]).await;
    assert_eq!((&body["reasoning_effort"], &body["temperature"]), (&json!("high"), &json!(0.3)));
    // The form of one model says nothing of another.
    let (large, o3) = (named(MODEL), named("o3"));
    let form = [("text", "Two"), ("model", large.as_str()), ("settings_for", large.as_str())];
    let body = ask(&[form.as_slice(), &[("effort", "low"), ("temperature", "")]].concat()).await;
    assert_eq!((&body["reasoning_effort"], &body["temperature"]), (&json!("low"), &Value::Null));
    let other = [("text", "Three"), ("model", o3.as_str()), ("settings_for", large.as_str())];
    let body = ask(&[other.as_slice(), &[("effort", "high"), ("temperature", "1")]].concat()).await;
    assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!("o3"), &json!("low")));

    let shown = alice.get(&format!("/models/settings?model={o3}&session={id}")).await.assert_ok();
    assert!(shown.body.contains("name=\"effort\"") && !shown.body.contains("name=\"temperature\""));
    for (change, field) in [
        (json!({"temperature": 0.5}), "temperature"),
        (json!({"model": large, "temperature": 2.5}), "temperature"),
        (json!({"effort": "huge"}), "effort"),
    ] {
        let refused = alice.api.json(Method::PATCH, &at, &change).await.assert_status(422).value();
        assert!(refused["errors"][field].is_string(), "{refused}");
    }
    let change = json!({"effort": null, "model": large, "temperature": 1});
    let changed = alice.api.json(Method::PATCH, &at, &change).await.assert_ok().value();
    assert_eq!((&changed["effort"], &changed["temperature"]), (&Value::Null, &json!(1.0)));
    store::providers::change(&app.app.db, provider.id, |row| row.meta = json!({"version": 1}))
        .await
        .unwrap();
    let refused = alice.api.json(Method::PATCH, &at, &json!({"effort": "low"})).await;
    assert!(
        refused.assert_status(422).body.contains("not known to take"),
        "nothing is known of it"
    );
}

#[actix_web::test]
async fn from_step_to_step_and_run_to_run_a_request_begins_like_the_one_before() {
    for kind in Kind::ALL {
        let app = TestApp::start().await;
        let model = ScriptedModel::start().await;
        let alice = app.person("alice").await;
        let project = app.project(&alice, "atlas").await;
        app.provider_of(kind, &model).await;
        std::fs::write(folder(&project).join("a.txt"), "one\n").unwrap();
        let session = app.session(&alice, &project).await;
        let prompt = format!("/sessions/{}/prompt", session.id);
        let image = png(2, 2);
        model.push(Script::new().think("Hm. ").say("Look.").call("read", json!({"path": "a.txt"})));
        model.push(Script::new().call("list", json!({})).call("read", json!({"path": "b"})));
        model.push(Script::text("Done.").usage(1_000, 900, 5));
        let files: [(&str, &str, &[u8]); 1] = [("attachments", "a.png", &image)];
        alice.upload(&prompt, &[("text", "What is it?")], &files).await.assert_status(303);
        app.until(&session, SessionStatus::Idle).await;
        // The next run knows the conversation from the database alone, and the clock went on.
        app.clock.advance(chrono::TimeDelta::hours(3));
        model.push(Script::text("Gladly."));
        app.prompt(&alice, &session, "Thank you").await;
        app.until(&session, SessionStatus::Idle).await;

        let asked = model.requests();
        assert_eq!(asked.len(), 4, "{kind}");
        for (before, after) in asked.iter().zip(&asked[1..]) {
            let (before, after) = (steady(&before.body), steady(&after.body));
            assert_eq!(before.1, after.1, "{kind}: what stands around the messages");
            let begins =
                after.0.len() >= before.0.len() && after.0[..before.0.len()] == before.0[..];
            assert!(begins, "{kind}: {:#?}\nis no beginning of\n{:#?}", before.0, after.0);
        }
        // Byte by byte, where no mark of a cache moves on: up to the end of the messages before.
        if kind != Kind::Anthropic {
            for (before, after) in asked.iter().zip(&asked[1..]) {
                let same = before.raw.iter().zip(&after.raw).take_while(|it| it.0 == it.1).count();
                let list = if kind == Kind::Gemini { "contents" } else { "messages" };
                let messages = before.body[list].to_string();
                let end = messages.rfind('}').unwrap();
                let raw = String::from_utf8_lossy(&before.raw);
                let start = raw.find(&format!("\"{list}\":")).unwrap() + list.len() + 3;
                assert!(same >= start + end.min(200), "{kind}: they part after {same} bytes");
            }
        }
        if kind != Kind::Ollama {
            let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
            assert!(page.contains("1,000 in, 900 of it cached"), "{kind}");
        }
    }
}

/// The messages of a request as texts, and all else; without the marks that say up to where a
/// cache is to be written, which move on with each step.
fn steady(body: &Value) -> (Vec<String>, Value) {
    let mut body = body.clone();
    unmark(&mut body);
    let list = if body.get("contents").is_some() { "contents" } else { "messages" };
    let messages = body[list].take();
    let texts = messages.as_array().unwrap().iter().map(Value::to_string).collect();
    (texts, body)
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}
