//! A member's own provider: theirs to manage, seen and used by nobody else.

use forge::{
    domain::session::SessionStatus,
    engine::sessions::{self, Change, New},
    store,
};
use reqwest::Method;
use serde_json::json;

use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
};

const KEY: &str = ScriptedModel::KEY;
const API: &str = "/api/v1/me/providers";

/// A Forge whose members' providers may lie on this very machine.
async fn at_home() -> TestApp {
    TestApp::start_with(|config| config.providers.allowed_hosts = vec!["127.0.0.1".into()]).await
}

#[actix_web::test]
async fn a_member_adds_tests_and_uses_a_provider_of_their_own() {
    let app = at_home().await;
    let (alice, root) = (app.person("alice").await, app.admin("root").await);
    let model = ScriptedModel::start().await;
    alice.get("/account/providers").await.assert_ok();
    alice.get("/account/providers/new").await.assert_ok();
    let url = model.url();
    let form = [("name", "Mine alone"), ("kind", "openai"), ("url", &url), ("key", KEY)];
    let made = alice.post("/account/providers", &form).await.assert_status(303);
    let path = made.headers["location"].to_str().unwrap().to_owned();
    assert!(path.starts_with("/account/providers/"), "{path}");

    let page = alice.get(&path).await.assert_ok();
    assert!(page.body.contains("Only yours") && !page.body.contains(KEY), "{}", page.body);
    let tested = alice.htmx_post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(tested.body.contains("The key works"), "{}", tested.body);
    let read = alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok();
    assert!(read.body.contains("scripted-small"), "{}", read.body);
    let chosen = [("shown", "scripted-small"), ("use", "scripted-small")];
    alice.post(&format!("{path}/models"), &chosen).await.assert_redirect(&path);

    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    model.push(Script::text("From my own."));
    app.prompt(&alice, &session, "Hello").await;
    app.until(&session, SessionStatus::Idle).await;
    assert_eq!(model.requests().len(), 1);

    // The administrator sees nothing of it: not the page, not the list, not the key, not the talk.
    root.get(&path).await.assert_status(404);
    let id = path.rsplit('/').next().unwrap();
    root.get(&format!("/providers/{id}")).await.assert_status(404);
    root.api.send(Method::GET, &format!("/api/v1/providers/{id}")).await.assert_status(404);
    root.api.send(Method::GET, &format!("{API}/{id}")).await.assert_status(404);
    for list in ["/providers", "/account/providers", "/"] {
        let page = root.get(list).await.assert_ok();
        assert!(!page.body.contains("Mine alone"), "{list}");
    }
    let listed = root.api.send(Method::GET, "/api/v1/providers").await.assert_ok();
    assert!(!listed.body.contains("Mine alone"));
    root.get(&format!("/sessions/{}", session.id)).await.assert_status(404);
    let audit = store::audit::page(&app.app.db, None, 100).await.unwrap();
    assert!(!format!("{audit:?}").contains(KEY));

    alice.post(&format!("{path}/delete"), &[]).await.assert_redirect("/account/providers");
    alice.get(&path).await.assert_status(404);
}

#[actix_web::test]
async fn nobody_elses_provider_can_be_chosen_for_a_session() {
    let app = at_home().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let theirs = app.provider_row_of(Some(&alice)).await;
    app.provider_row().await;
    let project = app.project(&bob, "atlas").await;
    let named = Some(format!("{}/model", theirs.id));
    let new = New { model: named.clone(), ..New::default() };
    let made = sessions::create(&app.app.engine, &bob.user, &project, new).await;
    assert!(made.is_err());
    let session = app.session(&bob, &project).await;
    assert_ne!(session.provider_id, Some(theirs.id));
    let change = Change { model: named, ..Change::default() };
    assert!(sessions::change(&app.app.engine, &bob.user, &session, change).await.is_err());
    // An administrator's own is no shared one either.
    let root = app.admin("root").await;
    let own = app.provider_row_of(Some(&root)).await;
    assert!(!bob.get("/").await.assert_ok().body.contains(&own.id.to_string()));
    bob.api.send(Method::DELETE, &format!("/api/v1/providers/{}", own.id)).await.assert_status(404);
}

#[actix_web::test]
async fn the_shared_ones_are_not_managed_through_the_door_of_ones_own() {
    let app = at_home().await;
    let (alice, root) = (app.person("alice").await, app.admin("root").await);
    let shared = app.provider_row().await;
    for person in [&alice, &root] {
        for path in ["", "/test", "/refresh", "/delete", "/disable"] {
            let path = format!("/account/providers/{}{path}", shared.id);
            person.post(&path, &[("name", "x")]).await.assert_status(404);
        }
        let path = format!("{API}/{}", shared.id);
        person.api.json(Method::PATCH, &path, &json!({"name": "x"})).await.assert_status(404);
        person.api.send(Method::DELETE, &path).await.assert_status(404);
    }
    assert_eq!(store::providers::shared(&app.app.db).await.unwrap(), [shared]);
}

#[actix_web::test]
async fn a_script_sets_up_a_provider_of_its_person() {
    let app = at_home().await;
    let alice = app.person("alice").await;
    let model = ScriptedModel::start().await;
    let body = json!({"name": "Mine", "kind": "openai", "url": model.url(), "key": KEY});
    let made = alice.api.json(Method::POST, API, &body).await.assert_status(201);
    assert!(!made.body.contains(KEY));
    let made = made.value();
    assert_eq!((&made["url"], &made["key_hint"]), (&json!(model.url()), &json!("cdef")));
    let one = format!("{API}/{}", made["id"].as_str().unwrap());
    let tested = alice.api.send(Method::POST, &format!("{one}/test")).await.assert_ok().value();
    assert_eq!(tested["ok"], true, "{tested}");
    alice.api.send(Method::POST, &format!("{one}/refresh")).await.assert_ok();
    let change = json!({"models": ["scripted-small"]});
    let changed = alice.api.json(Method::PATCH, &one, &change).await.assert_ok().value();
    assert_eq!(changed["models"], json!(["scripted-small"]));
    assert_eq!(alice.api.send(Method::GET, &one).await.assert_ok().value(), changed);
    let listed = alice.api.send(Method::GET, API).await.assert_ok().value();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    alice.api.send(Method::DELETE, &one).await.assert_status(204);
    alice.api.send(Method::GET, &one).await.assert_status(404);
}

#[actix_web::test]
async fn switched_off_they_are_kept_and_cannot_be_used() {
    let app = TestApp::start_with(|config| {
        config.providers.personal = false;
        config.providers.allowed_hosts = vec!["127.0.0.1".into()];
    })
    .await;
    let (alice, root) = (app.person("alice").await, app.admin("root").await);
    let model = ScriptedModel::start().await;
    let mut own = app.provider(&model).await;
    own.owner_id = Some(alice.user.id);
    let own = store::providers::update(&app.app.db, own).await.unwrap();
    let path = format!("/account/providers/{}", own.id);

    let page = alice.get(&path).await.assert_ok();
    assert!(page.body.contains("Switched off on this server"), "{}", page.body);
    assert!(root.get("/providers").await.body.contains("may not have providers of their own"));
    let url = model.url();
    let form = [("name", "x"), ("kind", "openai"), ("url", &url), ("key", KEY)];
    for path in ["/account/providers".to_owned(), path.clone(), format!("{path}/test")] {
        let answer = alice.post(&path, &form).await.assert_status(409);
        assert!(answer.body.contains("switched off"), "{path}: {}", answer.body);
    }
    let one = format!("{API}/{}", own.id);
    let tested = alice.api.send(Method::POST, &format!("{one}/test")).await.assert_ok().value();
    assert_eq!(tested["ok"], false);
    alice.api.send(Method::POST, &format!("{one}/refresh")).await.assert_status(409);
    assert_eq!(alice.api.send(Method::GET, &one).await.assert_ok().value()["disabled"], true);

    // Nothing is chosen of it, and a session that has it says why it cannot go on.
    let project = app.project(&alice, "atlas").await;
    let shared = app.provider(&ScriptedModel::start().await).await;
    let mut session = app.session(&alice, &project).await;
    assert_eq!(session.provider_id, Some(shared.id));
    let change =
        Change { model: Some(format!("{}/{}", own.id, session.model)), ..Change::default() };
    let refused = sessions::change(&app.app.engine, &alice.user, &session, change).await;
    assert!(refused.is_err());
    let write = store::journal::SessionChange {
        model: Some((own.id, session.model.clone())),
        ..store::journal::SessionChange::default()
    };
    let write = vec![store::journal::Write::Session(Box::new(write))];
    let now = app.app.clock.now();
    store::journal::record(&app.app.db, session.id, now, write).await.unwrap();
    session.provider_id = Some(own.id);
    app.prompt(&alice, &session, "Hello").await;
    app.until(&session, SessionStatus::Error).await;
    let error = app.messages(&session).await.pop().unwrap().message.error.unwrap();
    assert!(error["message"].as_str().unwrap().contains("switched off"), "{error}");
    assert!(model.requests().is_empty() && model.connections() == 0);

    alice.post(&format!("{path}/delete"), &[]).await.assert_redirect("/account/providers");
}
