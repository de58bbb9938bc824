//! The page of the sandbox, its part of the API, and what it says elsewhere.

use forge::config::SandboxMode;
use reqwest::Method;
use serde_json::json;

use crate::support::TestApp;

#[actix_web::test]
async fn administrators_see_what_holds_and_try_again() {
    let app = TestApp::start_with(|config| {
        let data = config.data.dir.clone();
        config.sandbox.package_caches.npm = Some(data.parent().unwrap().join("npm"));
        config.sandbox.caches = vec!["/proc/nowhere".into()];
        config.sandbox.readable = vec!["/nowhere".into(), "/usr".into()];
        config.sandbox.private_hosts = vec!["mirror.internal".into()];
    })
    .await;
    let root = app.admin("root").await;
    let page = root.get("/admin/sandbox").await.assert_ok().body;
    for text in [
        "in force",
        "Namespaces",
        "Landlock",
        "System call filter",
        "Limits",
        "A command can",
        "A command cannot",
        "How to get more",
        "npm_config_cache",
        "/proc/nowhere",
        "Missing",
        "Writable",
        "mirror.internal",
        "Kernel",
    ] {
        assert!(page.contains(text), "{text} is not on the page");
    }
    assert!(root.get("/admin/users").await.body.contains("href=\"/admin/sandbox\""));

    let path = "/admin/sandbox/probe";
    root.post(path, &[]).await.assert_redirect("/admin/sandbox");
    let panel = root.htmx_post(path, &[]).await.assert_ok().body;
    assert!(panel.starts_with("<div class=\"stack loose\" id=\"sandbox\""), "{panel}");
    assert!(panel.contains("Tried again just now"));
}

#[actix_web::test]
async fn scripts_of_administrators_read_the_same() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let found = root.api.get("/api/v1/sandbox").await.assert_ok().value();
    let mode = found["mode"].as_str().unwrap();
    assert!(["namespaces", "landlock"].contains(&mode), "{found}");
    assert_eq!(found["walls"][0]["works"], json!(mode == "namespaces"));
    let again = root.api.json(Method::POST, "/api/v1/sandbox/probe", &json!({})).await;
    assert_eq!(again.assert_ok().value()["mode"], found["mode"]);
    let alice = app.person("alice").await;
    alice.api.get("/api/v1/sandbox").await.assert_status(404);
}

#[actix_web::test]
async fn every_page_of_the_administrators_says_that_the_sandbox_is_off() {
    let app = TestApp::start_with(|config| config.sandbox.mode = SandboxMode::Off).await;
    let (root, alice) = (app.admin("root").await, app.person("alice").await);
    let user = format!("/admin/users/{}", alice.user.id);
    let provider = format!("/providers/{}", app.provider_row().await.id);
    for path in ["/admin/users", &user, "/providers", "/providers/new", &provider, "/rules"] {
        let page = root.get(path).await.assert_ok().body;
        assert!(page.contains("The sandbox is off"), "{path} says nothing");
    }
    let page = root.get("/admin/sandbox").await.assert_ok().body;
    assert!(page.contains("The sandbox is off"));
    assert!(page.contains("mode = &#34;required&#34;") || page.contains("mode = \"required\""));
    // It is none of a member's business, who could change nothing about it.
    let page = alice.get("/account").await.assert_ok().body;
    assert!(!page.contains("The sandbox is off"));

    let app = TestApp::start().await;
    let root = app.admin("root").await;
    assert!(!root.get("/admin/users").await.assert_ok().body.contains("The sandbox is off"));
}
