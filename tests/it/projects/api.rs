//! Projects for scripts.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::*;

async fn create(person: &Person, body: Value) -> Answer {
    person.api.json(Method::POST, "/api/v1/projects", &body).await
}

#[actix_web::test]
async fn a_project_is_added_changed_and_removed() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "atlas", &[("AGENTS.md", "x")]);
    let made = create(&alice, json!({ "name": "Atlas", "path": path })).await.assert_status(201);
    let project = made.value();
    let id = project["id"].as_str().unwrap();
    assert_eq!(
        project,
        json!({
            "id": id, "owner_id": alice.user.id, "name": "Atlas", "path": path,
            "default_branch": "main", "instructions": ["AGENTS.md"], "trust_status": "untrusted",
            "created_at": "2026-01-01T09:00:00Z", "updated_at": "2026-01-01T09:00:00Z",
            "opened_at": null,
        })
    );
    let one = format!("/api/v1/projects/{id}");
    assert_eq!(alice.api.get(&one).await.assert_ok().value(), project);
    let renamed = alice.api.json(Method::PATCH, &one, &json!({ "name": "Birch" })).await;
    assert_eq!(renamed.assert_ok().value()["name"], "Birch");
    let refused = alice.api.json(Method::PATCH, &one, &json!({ "name": "" })).await;
    assert_eq!(refused.assert_status(422).value()["errors"]["name"], "Give it a name.");
    alice.api.json(Method::PATCH, &one, &json!({ "path": "/" })).await.assert_status(422);

    let trust = format!("{one}/trust");
    let trusted = alice.api.send(Method::POST, &trust).await.assert_ok().value();
    assert_eq!(trusted["trust_status"], "trusted");
    let body = json!({ "trust_status": "untrusted" });
    let untrusted = alice.api.json(Method::POST, &trust, &body).await.assert_ok().value();
    assert_eq!(untrusted["trust_status"], "untrusted");
    alice.api.json(Method::POST, &trust, &json!({ "trusted": false })).await.assert_status(422);

    alice.api.send(Method::DELETE, &one).await.assert_status(204);
    alice.api.get(&one).await.assert_status(404);
    assert!(path.join("AGENTS.md").is_file());
}

#[actix_web::test]
async fn a_clone_is_waited_for_and_a_key_makes_it_once() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let source = repository(&app, "source", &[("a", "a")]);
    let body = json!({ "clone_url": format!("file://{}", source.display()) });
    let request = || {
        let request = alice.api.request(Method::POST, "/api/v1/projects").json(&body);
        Answer::to(request.header("idempotency-key", "one"))
    };
    let first = request().await.assert_status(201).value();
    assert_eq!(first["name"], "source");
    assert!(Path::new(first["path"].as_str().unwrap()).join("a").is_file());
    assert_eq!(request().await.value(), first);
    assert_eq!(count(&app, &alice).await, 1);

    let empty = create(&alice, json!({ "name": "new", "empty": true })).await.assert_status(201);
    assert_eq!(empty.value()["default_branch"], "main");
    let list = alice.api.get("/api/v1/projects?limit=1").await.assert_ok().value();
    assert_eq!(list["items"], json!([first]));
    let next = format!("/api/v1/projects?limit=1&cursor={}", list["next"].as_str().unwrap());
    let rest = alice.api.get(&next).await.assert_ok().value();
    assert_eq!((&rest["items"][0]["name"], &rest["next"]), (&json!("new"), &Value::Null));
}

#[actix_web::test]
async fn what_is_refused_names_its_field() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let broken = folder(&app, "no-repository", &[]);
    for (body, field, sentence) in [
        (json!({ "path": "/etc" }), "path", "is not below"),
        (json!({ "path": app.folder.path().join("data") }), "path", "is not below"),
        (json!({ "clone_url": "ext::sh" }), "clone_url", "Give an address"),
        (json!({ "clone_url": "https://a:b@example.org/x" }), "clone_url", "Leave user name"),
        (json!({ "clone_url": format!("file://{}", broken.display()) }), "clone_url", "Git did"),
        (json!({ "clone_url": "http://127.0.0.1:1/x.git" }), "clone_url", "own network"),
        (json!({ "clone_url": "git@localhost:x.git" }), "clone_url", "sandbox.private_hosts"),
        (json!({ "empty": true }), "name", "Give it a name."),
        (json!({ "name": "x" }), "empty", "Give one of"),
        (json!({ "name": "x", "path": "/a", "empty": true }), "path", "Give one of"),
        (json!({ "name": "x\u{7}", "empty": true }), "name", "on one line"),
    ] {
        let answer = create(&alice, body.clone()).await.assert_status(422).value();
        let said = answer["errors"][field].as_str().unwrap_or_default();
        assert!(said.contains(sentence), "{body}: {answer}");
    }
    assert_eq!(count(&app, &alice).await, 0);
}

#[actix_web::test]
async fn files_and_the_work_tree_are_answered() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let files = [("src/公共.cpp", "int x;"), ("a\"b.txt", "x"), (".gitignore", "*.log")];
    let path = repository(&app, "atlas", &files);
    fs::write(path.join("build.log"), "x").unwrap();
    fs::write(path.join("bin"), [0, 1]).unwrap();
    fs::write(path.join("new\nline"), "x").unwrap();
    let project = add(&app, &alice, &path).await;
    let base = format!("/api/v1/projects/{}", project.id);
    let tree = alice.api.get(&format!("{base}/tree")).await.assert_ok().value();
    let entry = |name: &str, path: &str, kind: &str, ignored: bool| json!({ "name": name, "path": path, "kind": kind, "ignored": ignored, "link": false });
    assert_eq!(
        tree,
        json!({
            "path": "", "next": null, "left_out": 0,
            "items": [
                entry("src", "src", "folder", false),
                entry(".gitignore", ".gitignore", "file", false),
                entry("a\"b.txt", "a\"b.txt", "file", false),
                entry("bin", "bin", "file", false),
                entry("build.log", "build.log", "file", true),
                entry("new�line", "new\nline", "file", false),
            ],
        })
    );
    let sub = alice.api.get(&format!("{base}/tree?path=src")).await.assert_ok().value();
    assert_eq!(sub["items"][0]["path"], "src/公共.cpp");
    let file = alice.api.get(&format!("{base}/file?path=src%2F%E5%85%AC%E5%85%B1.cpp")).await;
    let text = json!({ "path": "src/公共.cpp", "size": 6, "kind": "text", "content": "int x;" });
    assert_eq!(file.assert_ok().value(), text);
    let binary = alice.api.get(&format!("{base}/file?path=bin")).await.assert_ok().value();
    assert_eq!((&binary["kind"], &binary["content"]), (&json!("binary"), &Value::Null));
    for path in ["..%2fx", "/etc/passwd", ".git/config", "missing"] {
        alice.api.get(&format!("{base}/file?path={path}")).await.assert_status(404);
        alice.api.get(&format!("{base}/tree?path={path}")).await.assert_status(404);
    }
    alice.api.get(&format!("{base}/file")).await.assert_status(422);

    let status = alice.api.get(&format!("{base}/status")).await.assert_ok().value();
    assert_eq!((&status["repository"], &status["branch"]), (&json!(true), &json!("main")));
    let changed = json!({ "path": "bin", "original": null, "index": "?", "worktree": "?" });
    assert_eq!(status["changes"][0], changed);
    assert_eq!(status["changes"][1]["path"], "new\nline");
}

#[actix_web::test]
async fn to_a_stranger_there_is_nothing() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let project = add(&app, &alice, &folder(&app, "atlas", &[("x", "x")])).await;
    let base = format!("/api/v1/projects/{}", project.id);
    for path in ["", "/tree", "/file?path=x", "/status"] {
        bob.api.get(&format!("{base}{path}")).await.assert_status(404);
        app.stranger().get(&format!("{base}{path}")).await.assert_status(401);
    }
    bob.api.send(Method::DELETE, &base).await.assert_status(404);
    bob.api.send(Method::POST, &format!("{base}/trust")).await.assert_status(404);
    bob.api.json(Method::PATCH, &base, &json!({ "name": "mine" })).await.assert_status(404);
    assert_eq!(bob.api.get("/api/v1/projects").await.value()["items"], json!([]));
}
