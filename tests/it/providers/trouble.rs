//! What a person reads when a provider does not answer as it should.

use serde_json::json;
use tokio::net::TcpListener;

use super::{
    add, add_scripted,
    fake::{Does, Fake},
    save, stored,
};
use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
};

#[actix_web::test]
async fn a_test_says_that_it_works() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add_scripted(&alice, &model).await;
    let form = [("name", "Scripted"), ("kind", "openai"), ("url", &model.url()), ("key", "")];

    let answer = alice.htmx_post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(answer.body.starts_with("<div id=\"test\""), "{}", answer.body);
    assert!(answer.body.contains("The key works") && answer.body.contains("2 models listed"));
    let page = alice.post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(page.body.contains("The key works") && page.body.starts_with("<!doctype html>"));

    model.push(Script::text("ready"));
    let mut named = form.to_vec();
    named.push(("model", "scripted-small"));
    let answer = alice.htmx_post(&format!("{path}/test"), &named).await.assert_ok();
    assert!(answer.body.contains("scripted-small answers"), "{}", answer.body);
    assert_eq!(model.requests()[0].body["model"], "scripted-small");
}

#[actix_web::test]
async fn a_test_tries_what_is_entered_and_stores_nothing_of_it() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add(&alice, "http://127.0.0.1:9/v1", "sk-wrong-0123456789").await;
    let before = stored(&app, &alice).await;

    let form = [
        ("name", "Scripted"),
        ("kind", "openai"),
        ("url", &model.url()),
        ("key", ScriptedModel::KEY),
    ];
    let answer = alice.htmx_post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(answer.body.contains("The key works"));
    assert_eq!(stored(&app, &alice).await, before);
}

#[actix_web::test]
async fn a_wrong_key_and_a_missing_one_are_told_apart() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add(&alice, &model.url(), "sk-wrong-0123456789").await;

    let told = tested(&alice, &path, &model.url(), "").await;
    assert!(told.contains("The key was refused (401)"));
    assert!(told.contains("What the provider said") && told.contains("Incorrect API key"));
    save(&alice, &path, &[("remove_key", "yes")]).await.assert_redirect(&path);
    let told = tested(&alice, &path, &model.url(), "").await;
    assert!(told.contains("needs a key"), "{told}");
}

#[actix_web::test]
async fn a_model_that_is_not_there_is_named() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add_scripted(&alice, &model).await;
    model.push(Script::fault(
        404,
        json!({"error": {"message": "The model `gpt-none` does not exist", "code": "model_not_found"}}),
    ));

    let told = tested(&alice, &path, &model.url(), "gpt-none").await;
    assert!(told.contains("gpt-none was not found (404)"), "{told}");
    assert!(told.contains("has no model named"), "{told}");
}

#[actix_web::test]
async fn a_port_where_nobody_listens_is_not_reachable() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{free}/v1");
    let path = add(&alice, &url, "").await;

    let told = tested(&alice, &path, &url, "").await;
    assert!(told.contains("Not reachable"), "{told}");
    assert!(told.contains("Scripted cannot be reached. Check its address"), "{told}");
}

#[actix_web::test]
async fn every_other_answer_is_explained_too() {
    let app = TestApp::start_with(|config| config.agent.idle_seconds = 1).await;
    let alice = app.admin("alice").await;
    let json = "application/json";
    let limit = r#"{"error":{"message":"Slow down, please"}}"#;
    for (does, title, quote) in [
        (Does::answer("429 Too Many Requests", json, limit), "Too many requests", "Slow down"),
        (Does::answer("200 OK", "text/html", "<h1>Hi</h1>"), "Nothing was found", "web page"),
        (Does::answer("404 Not Found", "text/plain", "no"), "Nothing was found", "/v1"),
        (Does::answer("200 OK", json, "{\"a\":"), "cannot be read", "not with a list of models"),
        (Does::answer("200 OK", json, "[1, {}, \"<i>\"]"), "The key works", "0 models listed"),
        (Does::answer("503 Service Unavailable", json, "{}"), "a fault of its own", "503"),
        (Does::answer("302 Found\r\nlocation: http://127.0.0.1:1/", json, ""), "refused", "moved"),
        (Does::Flood, "cannot be read", "not with a list of models"),
        (Does::Nothing, "Not reachable", "1 second"),
        (Does::HangUp, "Not reachable", "failed"),
    ] {
        let fake = Fake::start(does).await;
        let path = add(&alice, &fake.origin(), "sk-0123456789abcdef").await;
        let told = tested(&alice, &path, &fake.origin(), "").await;
        assert!(told.contains(title), "{title}: {told}");
        assert!(told.contains(quote), "{quote}: {told}");
        assert!(!told.contains("prompt again") && !told.contains("<h1>"), "{told}");
    }
}

#[actix_web::test]
async fn a_list_that_cannot_be_read_leaves_the_old_one() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add_scripted(&alice, &model).await;
    let refresh = format!("{path}/refresh");
    alice.post(&refresh, &[]).await.assert_redirect(&path);
    save(&alice, &path, &[("key", "sk-wrong-0123456789")]).await.assert_redirect(&path);
    let before = stored(&app, &alice).await;

    let panel = alice.htmx_post(&refresh, &[]).await.assert_ok();
    assert!(panel.body.contains("The key was refused (401)"));
    assert!(panel.body.contains("stay as they were") && panel.body.contains("scripted-large"));
    let page = alice.post(&refresh, &[]).await.assert_ok();
    assert!(page.body.contains("The key was refused (401)"));
    assert_eq!(stored(&app, &alice).await, before);
}

async fn tested(admin: &crate::support::Person, path: &str, url: &str, model: &str) -> String {
    let form =
        [("name", "Scripted"), ("kind", "openai"), ("url", url), ("key", ""), ("model", model)];
    admin.htmx_post(&format!("{path}/test"), &form).await.assert_ok().body
}
