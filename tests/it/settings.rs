//! Settings of the whole server, which hold at once.

use std::sync::Arc;

use forge::{
    adapters::model::SystemNames,
    app::App,
    domain::{session::SessionStatus, token::Scope},
    engine::settings,
    store,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Person, TestApp,
    model::{Script, ScriptedModel},
};

const API: &str = "/api/v1/settings/global";

async fn patch(by: &Person, change: Value) -> Value {
    by.api.json(Method::PATCH, API, &change).await.assert_ok().value()
}

#[actix_web::test]
async fn hosts_that_are_allowed_can_be_reached_at_once_and_no_longer_once_they_are_not() {
    let app = TestApp::start().await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let model = ScriptedModel::start().await;
    model.fallback(|_| Script::text("Done."));
    let mut own = app.provider(&model).await;
    own.owner_id = Some(alice.user.id);
    let own = store::providers::update(&app.app.db, own).await.unwrap();
    let test = format!("/api/v1/me/providers/{}/test", own.id);
    let tested = async || {
        let answer = alice.api.json(Method::POST, &test, &json!({})).await.assert_ok().value();
        (answer["ok"].as_bool().unwrap(), answer["detail"].as_str().unwrap().to_owned())
    };
    let (ok, detail) = tested().await;
    assert!(!ok && detail.contains("on the page Settings"), "{detail}");

    let set = patch(&root, json!({"allowed_hosts": ["127.0.0.1"]})).await;
    assert_eq!(set["values"], json!({"personal_providers": null, "allowed_hosts": ["127.0.0.1"]}));
    let effective = json!({
        "personal_providers": {"value": true, "from": "config"},
        "allowed_hosts": {"value": ["127.0.0.1"], "from": "global"},
    });
    assert_eq!(set["effective"], effective);
    assert!(tested().await.0);
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    app.prompt(&alice, &session, "Hello").await;
    app.until(&session, SessionStatus::Idle).await;

    // The connection that is open by now is not used either.
    let requests = model.requests().len();
    patch(&root, json!({"allowed_hosts": []})).await;
    assert!(!tested().await.0);
    app.prompt(&alice, &session, "Hello").await;
    app.until(&session, SessionStatus::Error).await;
    assert_eq!(model.requests().len(), requests);
}

#[actix_web::test]
async fn a_name_that_is_not_allowed_any_more_is_not_reached_by_an_open_connection() {
    let names = Arc::new(Localhost);
    let app = TestApp::start_with_names(|_| (), names).await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let model = ScriptedModel::start().await;
    let url = model.url().replace("127.0.0.1", "llm.internal");
    let body = json!({"name": "Mine", "kind": "openai", "url": url, "key": ScriptedModel::KEY});
    let made = alice.api.json(Method::POST, "/api/v1/me/providers", &body).await.value();
    let test = format!("/api/v1/me/providers/{}/test", made["id"].as_str().unwrap());
    let works =
        async || alice.api.send(Method::POST, &test).await.assert_ok().value()["ok"] == true;
    assert!(!works().await);
    patch(&root, json!({"allowed_hosts": ["LLM.internal."]})).await;
    assert!(works().await && works().await);
    let connections = model.connections();
    patch(&root, json!({"allowed_hosts": null})).await;
    assert!(!works().await);
    assert_eq!(model.connections(), connections);
}

/// Every name leads to this machine.
#[derive(Debug)]
struct Localhost;

impl forge::adapters::model::Names for Localhost {
    fn find(
        &self,
        _: String,
    ) -> futures_util::future::BoxFuture<'static, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(async { Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()]) })
    }
}

#[actix_web::test]
async fn providers_of_members_are_switched_off_and_on_by_a_script() {
    let app = TestApp::start().await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let body = json!({"name": "Mine", "kind": "openai", "url": "https://models.example.org"});
    let create = async || alice.api.json(Method::POST, "/api/v1/me/providers", &body).await;
    create().await.assert_status(201);
    let off = patch(&root, json!({"personal_providers": false})).await;
    assert_eq!(off["effective"]["personal_providers"], json!({"value": false, "from": "global"}));
    assert!(create().await.assert_status(409).body.contains("switched off"));
    let page = alice.get("/account/providers").await.assert_ok().body;
    assert!(page.contains("Switched off on this server"), "{page}");
    let on = patch(&root, json!({"personal_providers": null})).await;
    assert_eq!(on["effective"]["personal_providers"], json!({"value": true, "from": "config"}));
    create().await.assert_status(201);
    let log = store::audit::page(&app.app.db, None, 100).await.unwrap();
    let changes = log.iter().filter(|it| it.action == "settings.changed");
    let details: Vec<_> = changes.map(|it| it.detail.clone()).collect();
    assert_eq!(
        details,
        [json!({"personal_providers": null}), json!({"personal_providers": false})]
    );
}

#[actix_web::test]
async fn only_administrators_see_and_change_settings_and_what_is_wrong_changes_nothing() {
    let app = TestApp::start().await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    for path in [API, "/admin/settings"] {
        let by = if path == API { &alice.api } else { &alice.browser };
        by.get(path).await.assert_status(404);
    }
    alice.api.json(Method::PATCH, API, &json!({})).await.assert_status(404);
    alice.post("/admin/settings", &[("personal_providers", "true")]).await.assert_status(404);
    let write = crate::support::Browser {
        token: Some(app.token(&root.user, Scope::Write).await),
        ..app.stranger()
    };
    write.json(Method::PATCH, API, &json!({})).await.assert_status(403);

    let many = vec!["a.internal"; 201];
    for wrong in [
        json!({"allowed_hosts": ["http://llm.internal"]}),
        json!({"allowed_hosts": ["10.0.0.0/8"]}),
        json!({"allowed_hosts": ["*"], "personal_providers": false}),
        json!({"allowed_hosts": many}),
    ] {
        let answer = root.api.json(Method::PATCH, API, &wrong).await.assert_status(422);
        assert!(answer.value()["errors"]["allowed_hosts"].is_string(), "{}", answer.body);
    }
    let unknown = json!({"personal": false});
    assert!(!root.api.json(Method::PATCH, API, &unknown).await.status.is_success());
    let now = root.api.get(API).await.assert_ok().value();
    assert_eq!(now["values"], json!({"personal_providers": null, "allowed_hosts": null}));
}

#[actix_web::test]
async fn the_page_sets_what_differs_says_where_it_comes_from_and_resets_it() {
    let app = TestApp::start_with(|config| {
        config.providers.allowed_hosts = vec!["llm.internal".into()];
    })
    .await;
    let root = app.admin("root").await;
    let path = "/admin/settings";
    let page = root.get(path).await.assert_ok().body;
    assert!(page.contains("llm.internal</textarea>") && page.contains("value=\"true\" checked"));
    assert_eq!(page.matches("From the configuration").count(), 2, "{page}");
    assert!(!page.contains("Set here"));

    // An empty box is not sent: the switch goes off, and the hosts stay as they are.
    root.post(path, &[("allowed_hosts", "llm.internal")]).await.assert_redirect(path);
    let values = root.api.get(API).await.assert_ok().value();
    let expected = json!({"personal_providers": false, "allowed_hosts": null});
    assert_eq!(values["values"], expected);
    let page = root.get(path).await.assert_ok().body;
    assert!(page.contains("Set here") && page.contains("From the configuration"), "{page}");
    assert!(root.get("/providers").await.body.contains("may not have providers of their own"));

    let wrong = [("personal_providers", "true"), ("allowed_hosts", "b.internal\nhttp://x")];
    let page = root.post(path, &wrong).await.assert_status(422).body;
    assert!(
        page.contains("http://x is no host") && page.contains("b.internal\nhttp://x"),
        "{page}"
    );
    assert!(page.contains("value=\"true\" checked"), "what was entered stays: {page}");
    assert_eq!(root.api.get(API).await.value()["values"], expected);

    let reset = [("reset", "personal_providers"), ("allowed_hosts", "other")];
    root.post(path, &reset).await.assert_redirect(path);
    let values = root.api.get(API).await.assert_ok().value();
    assert_eq!(values["values"], json!({"personal_providers": null, "allowed_hosts": null}));
}

#[actix_web::test]
async fn what_is_set_outlives_the_server_and_is_followed_by_another_one() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    // Another server on the same database.
    let other = App::with_names(
        (*app.app.config).clone(),
        app.app.db.clone(),
        app.clock.clone(),
        app.app.entropy.clone(),
        env!("CARGO_BIN_EXE_forge").into(),
        Arc::new(SystemNames),
    );
    let other = other.await.unwrap();
    patch(&root, json!({"personal_providers": false})).await;
    assert!(other.providers().personal);
    settings::load(&other.engine).await.unwrap();
    assert!(!other.providers().personal && !app.app.providers().personal);
}
