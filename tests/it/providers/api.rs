//! The JSON API of providers.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    fake::{Does, Fake},
    stored,
};
use crate::support::{Person, TestApp, model::ScriptedModel};

const PATH: &str = "/api/v1/providers";

#[actix_web::test]
async fn a_script_sets_up_a_provider_from_nothing_to_in_use() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;

    let body = json!({
        "name": "Scripted", "kind": "openai", "url": model.url(), "key": ScriptedModel::KEY,
    });
    let made = alice.api.json(Method::POST, PATH, &body).await.assert_status(201).value();
    assert_eq!(made["has_key"], true);
    assert_eq!(made["key_hint"], "cdef");
    assert!(made.get("key").is_none());
    assert_eq!(made["models"], json!([]));
    assert_eq!(made["disabled"], false);
    let one = format!("{PATH}/{}", made["id"].as_str().unwrap());

    let tested = alice.api.send(Method::POST, &format!("{one}/test")).await.assert_ok().value();
    assert_eq!(tested["ok"], true);
    assert!(tested["latency_ms"].is_u64() && tested["detail"].is_string());
    let listed = alice.api.send(Method::POST, &format!("{one}/refresh")).await.assert_ok().value();
    assert_eq!(listed["models"], json!(["scripted-large", "scripted-small"]));
    assert_eq!(listed["meta"]["scripted-small"]["context"], Value::Null);

    let meta = json!({ "scripted-small": { "context": 8192, "price_input": 0.15 } });
    let change = json!({ "models": ["scripted-small"], "meta": meta });
    let changed = alice.api.json(Method::PATCH, &one, &change).await.assert_ok().value();
    assert_eq!(changed["models"], json!(["scripted-small"]));
    assert_eq!(changed["meta"]["scripted-small"]["price_input"], 0.15);
    assert_eq!(changed["meta"]["scripted-large"]["price_input"], Value::Null);
    // What was entered by hand stays where the list does not know better.
    let again = alice.api.send(Method::POST, &format!("{one}/refresh")).await.assert_ok().value();
    assert_eq!(again["meta"]["scripted-small"]["context"], 8192);

    let page = alice.api.get(PATH).await.assert_ok().value();
    assert_eq!(page["items"][0]["id"], made["id"]);
    assert_eq!(page["items"][0]["meta"].as_object().unwrap().len(), 1, "of those in use");
    assert_eq!(page["next"], Value::Null);
    alice.api.send(Method::DELETE, &one).await.assert_status(204);
    alice.api.get(&one).await.assert_status(404);
}

#[actix_web::test]
async fn a_key_is_written_and_never_read() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let key = "sk-secret-0123456789abcdef";
    let one = create(&alice, key).await;
    let sealed = stored(&app, &alice).await[0].key.clone();

    for unchanged in [json!({}), json!({ "key": "••••••••cdef" }), json!({ "name": "Other" })]
    {
        let answer = alice.api.json(Method::PATCH, &one, &unchanged).await.assert_ok();
        assert!(!answer.body.contains(key));
        assert_eq!(stored(&app, &alice).await[0].key, sealed, "{unchanged}");
    }
    let answer = alice.api.json(Method::PATCH, &one, &json!({ "key": null })).await;
    assert!(answer.assert_status(422).value()["errors"]["key"].is_string());
    assert!(stored(&app, &alice).await[0].key.is_some());
    let answer = alice.api.json(Method::PATCH, &one, &json!({ "key": "" })).await.assert_ok();
    assert_eq!(
        (&answer.value()["has_key"], &answer.value()["key_hint"]),
        (&json!(false), &json!(null))
    );
    for path in [PATH.to_owned(), one.clone(), "/api/v1/openapi.json".into()] {
        assert!(!alice.api.get(&path).await.assert_ok().body.contains(key));
    }
    let wrong = json!({ "key": format!("{key} {key}") });
    let answer = alice.api.json(Method::PATCH, &one, &wrong).await.assert_status(422);
    assert!(!answer.body.contains(key));
}

#[actix_web::test]
async fn members_see_what_it_takes_to_choose_a_model() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let bob = app.person("bob").await;
    let one = create(&alice, "sk-secret-0123456789abcdef").await;
    let change = json!({ "models": ["m"], "meta": { "m": {}, "other": {} } });
    alice.api.json(Method::PATCH, &one, &change).await.assert_ok();

    for seen in [
        bob.api.get(&one).await.assert_ok().value(),
        bob.api.get(PATH).await.assert_ok().value()["items"][0].clone(),
    ] {
        assert_eq!(seen["models"], json!(["m"]));
        assert_eq!(seen["meta"].as_object().unwrap().len(), 1);
        assert_eq!(seen["has_key"], true);
        assert_eq!((&seen["url"], &seen["key_hint"]), (&Value::Null, &Value::Null));
    }
    alice.api.json(Method::PATCH, &one, &json!({ "disabled": true })).await.assert_ok();
    let seen = bob.api.get(&one).await.assert_ok().value();
    assert_eq!((&seen["disabled"], &seen["models"]), (&json!(true), &json!([])));
    assert_eq!(seen["name"], "Scripted");

    let body = json!({ "name": "x", "kind": "openai", "url": "http://127.0.0.1:1" });
    bob.api.json(Method::POST, PATH, &body).await.assert_status(404);
    bob.api.json(Method::PATCH, &one, &body).await.assert_status(404);
    bob.api.send(Method::DELETE, &one).await.assert_status(404);
    for action in ["test", "refresh"] {
        bob.api.send(Method::POST, &format!("{one}/{action}")).await.assert_status(404);
    }
    let row = stored(&app, &alice).await.remove(0);
    assert_eq!(row.name, "Scripted");
}

#[actix_web::test]
async fn what_does_not_fit_is_named_and_changes_nothing() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let good = json!({ "name": "x", "kind": "openai", "url": "http://127.0.0.1:1" });
    for (field, bad) in [
        ("name", json!("")),
        ("name", json!(7)),
        ("name", json!("x".repeat(81))),
        ("name", json!("a\u{7}b")),
        ("kind", json!("smoke")),
        ("url", json!("ftp://x")),
        ("url", json!("http://a:b@x")),
        ("url", json!("http://x/?a")),
        ("url", json!(["http://x"])),
        ("key", json!("a b")),
        ("key", json!("x".repeat(5_000))),
        ("models", json!([""])),
        ("models", json!(["x".repeat(201)])),
        ("models", json!(vec!["m"; 5_001])),
        ("models", json!("m")),
        ("meta", json!({ "m": { "price_input": -1 } })),
        ("meta", json!({ "m": { "price_input": 1e300 } })),
        ("meta", json!({ "m": { "context": 0 } })),
        ("meta.m.context", json!(null)),
        ("disabled", json!("yes")),
        ("owner_id", json!("01ARZ3NDEKTSV4RRFFQ69G5FAV")),
    ] {
        let mut body = good.clone();
        if field == "meta.m.context" {
            body["meta"] = json!({ "m": { "context": "many" } });
        } else {
            body[field] = bad;
        }
        let answer = alice.api.json(Method::POST, PATH, &body).await.assert_status(422);
        assert!(answer.value()["errors"][field].is_string(), "{field}: {}", answer.body);
    }
    for field in ["name", "kind", "url"] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().remove(field);
        let answer = alice.api.json(Method::POST, PATH, &body).await.assert_status(422);
        assert!(answer.value()["errors"][field].is_string(), "{}", answer.body);
    }
    assert!(stored(&app, &alice).await.is_empty());

    let one = create(&alice, "").await;
    let before = stored(&app, &alice).await;
    let half = json!({ "name": "Other", "url": "nowhere" });
    alice.api.json(Method::PATCH, &one, &half).await.assert_status(422);
    let test = format!("{one}/test");
    for body in
        [json!({ "model": 5 }), json!({ "modell": "x" }), json!({ "model": "x".repeat(201) })]
    {
        alice.api.json(Method::POST, &test, &body).await.assert_status(422);
    }
    assert_eq!(stored(&app, &alice).await, before);
}

#[actix_web::test]
async fn trouble_is_told_in_words() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let error = r#"{"error":{"message":"Bad key"}}"#;
    let fake = Fake::start(Does::answer("401 Unauthorized", "application/json", error)).await;
    let body = json!({ "name": "Fake", "kind": "openai", "url": fake.origin(), "key": "sk-x" });
    let made = alice.api.json(Method::POST, PATH, &body).await.assert_status(201).value();
    let one = format!("{PATH}/{}", made["id"].as_str().unwrap());

    let tested = alice.api.json(Method::POST, &format!("{one}/test"), &json!({})).await;
    let tested = tested.assert_ok().value();
    assert_eq!(tested["ok"], false);
    assert!(
        tested["detail"].as_str().unwrap().starts_with("The key was refused (401). Fake did not")
    );
    assert_eq!(tested["provider_message"], "Bad key");
    let refused = alice.api.send(Method::POST, &format!("{one}/refresh")).await.assert_status(409);
    assert!(refused.value()["detail"].as_str().unwrap().ends_with("The provider said: Bad key"));
}

#[actix_web::test]
async fn the_same_request_with_its_key_creates_one_provider() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let body = json!({ "name": "x", "kind": "openai", "url": "http://127.0.0.1:1" });
    let mut answers = Vec::new();
    for _ in 0..2 {
        let request = alice.api.request(Method::POST, PATH).header("idempotency-key", "k1");
        let answer = crate::support::Answer::to(request.json(&body)).await.assert_status(201);
        answers.push(answer.body);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(stored(&app, &alice).await.len(), 1);
}

async fn create(admin: &Person, key: &str) -> String {
    let body = json!({
        "name": "Scripted", "kind": "openai", "url": "http://127.0.0.1:9/v1", "key": key,
    });
    let made = admin.api.json(Method::POST, PATH, &body).await.assert_status(201).value();
    format!("{PATH}/{}", made["id"].as_str().unwrap())
}
