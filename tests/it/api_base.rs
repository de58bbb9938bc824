//! What every part of the JSON API has in common.

use std::collections::{BTreeMap, BTreeSet};

use forge::web::routes::{Access, table};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::support::{Answer, Browser, TestApp};

/// Checks that it is a problem document, and returns it.
#[track_caller]
fn problem(answer: Answer, status: u16) -> Value {
    let answer = answer.assert_status(status);
    assert_eq!(answer.headers[CONTENT_TYPE], "application/problem+json");
    let problem = answer.value();
    assert_eq!(problem["status"], status);
    assert_eq!(problem["type"], "about:blank");
    assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
    problem
}

#[actix_web::test]
async fn the_document_describes_each_route_and_no_other() {
    let mut routes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in table().iter().filter(|entry| entry.path.starts_with("/api/")) {
        let methods = routes.entry(entry.path.to_owned()).or_default();
        methods.insert(entry.method.as_str().to_ascii_lowercase());
    }
    let app = TestApp::start().await;
    app.admin("root").await;
    let document = app.stranger().get("/api/v1/openapi.json").await.assert_ok().value();
    let mut described: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
        described.insert(path.clone(), methods.cloned().collect());
    }
    assert_eq!(described, routes);
}

#[actix_web::test]
async fn the_document_is_whole() {
    let app = TestApp::start().await;
    app.admin("root").await;
    let document = app.stranger().get("/api/v1/openapi.json").await.assert_ok().value();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(schemes["token"]["scheme"], "bearer");
    assert_eq!(schemes["cookie"]["in"], "cookie");

    let mut references = Vec::new();
    collect("$ref", &document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
    let mut ids = Vec::new();
    collect("operationId", &document, &mut ids);
    let unique: BTreeSet<_> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");

    for entry in table().iter().filter(|entry| entry.path.starts_with("/api/")) {
        let method = entry.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][entry.path][&method];
        let what = format!("{method} {}", entry.path);
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{what}");
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let named = |name: &str| parameters.iter().any(|one| one["name"] == name);
        assert_eq!(named("id"), entry.path.contains("{id}"), "{what}");
        assert_eq!(named("Idempotency-Key"), entry.creates, "{what}");
        if entry.access != Access::Anyone {
            for status in ["401", "403", "429", "503"] {
                let problem = &answers[status]["content"]["application/problem+json"];
                assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{what}");
            }
        }
        if entry.path.contains("{id}") {
            assert!(answers.contains_key("404"), "{what}");
        }
        if operation.get("requestBody").is_some() {
            for status in ["413", "415", "422"] {
                assert!(answers.contains_key(status), "{what} {status}");
            }
        }
    }
}

/// All values under a key, anywhere.
fn collect(key: &str, value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get(key).cloned());
            object.values().for_each(|value| collect(key, value, found));
        }
        Value::Array(array) => array.iter().for_each(|value| collect(key, value, found)),
        _ => {}
    }
}

#[actix_web::test]
async fn what_goes_wrong_is_a_problem_document() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    problem(root.api.get("/api/v1/nothing").await, 404);
    problem(root.api.get("/api/nothing").await, 404);
    problem(root.api.get("/api/v1/users/nonsense").await, 404);
    problem(app.stranger().get("/api/v1/me").await, 401);
    let bad = Browser { token: Some("forge_guess".into()), ..app.stranger() };
    problem(bad.get("/api/v1/me").await, 401);
    let wrong = root.api.send(Method::PUT, "/api/v1/users").await;
    assert_eq!(wrong.headers["allow"], "GET, POST, HEAD");
    problem(wrong, 405);

    let post = |body: &'static str, kind: &'static str| {
        let post = root.api.request(Method::POST, "/api/v1/users").header(CONTENT_TYPE, kind);
        Answer::to(post.body(body))
    };
    problem(post("login=x", "application/x-www-form-urlencoded").await, 415);
    problem(post("{", "application/json").await, 422);
    problem(post("[]", "application/json").await, 422);
    let huge =
        root.api.request(Method::POST, "/api/v1/users").header(CONTENT_TYPE, "application/json");
    problem(Answer::to(huge.body(vec![b' '; (1 << 20) + 1])).await, 413);
}

#[actix_web::test]
async fn each_field_that_does_not_fit_is_named() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let errors = async |body: Value| {
        let answer = root.api.json(Method::POST, "/api/v1/users", &body).await;
        problem(answer, 422)["errors"].clone()
    };
    let all = json!({ "login": "-", "name": " ", "email": "nowhere", "password": "short" });
    let named = errors(all).await;
    let keys: Vec<_> = named.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["email", "login", "name", "password"]);
    assert_eq!(
        errors(json!({ "login": "ada" })).await,
        json!({ "name": "This field is missing." })
    );
    let unknown = json!({ "login": "ada", "name": "Ada", "root": true });
    assert_eq!(errors(unknown).await, json!({ "root": "There is no such field." }));
    let typed = json!({ "login": 5, "name": "Ada" });
    assert_eq!(
        errors(typed).await,
        json!({ "login": "Invalid type: integer `5`, expected a string." })
    );
}

#[actix_web::test]
async fn an_admin_does_with_people_what_the_pages_do() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let body = json!({ "login": "ada", "name": "Ada", "email": "ada@example.org" });
    let ada = root.api.json(Method::POST, "/api/v1/users", &body).await.assert_status(201).value();
    assert_eq!(ada["admin"], false);
    assert!(ada.get("password_hash").is_none() && ada.get("password").is_none());
    let path = format!("/api/v1/users/{}", ada["id"].as_str().unwrap());
    assert_eq!(root.api.get(&path).await.assert_ok().value(), ada);

    let sign_in = async || {
        let form = [("login", "ada"), ("password", "battery staple")];
        app.stranger().post("/sign-in", &form).await.status.as_u16()
    };
    assert_eq!(sign_in().await, 422, "nobody has given her a password");
    let change = json!({ "password": "battery staple", "email": null, "admin": true });
    let changed = root.api.json(Method::PATCH, &path, &change).await.assert_ok().value();
    assert_eq!((&changed["email"], &changed["admin"]), (&Value::Null, &json!(true)));
    assert_eq!(changed["name"], "Ada", "what is left out stays");
    assert_eq!(sign_in().await, 303);
    let null = root.api.json(Method::PATCH, &path, &json!({ "name": null })).await;
    assert!(problem(null, 422)["errors"]["name"].is_string());

    let again = root.api.json(Method::POST, "/api/v1/users", &body).await;
    assert_eq!(problem(again, 422)["errors"]["login"], "Somebody has this login already.");
    root.api.send(Method::DELETE, &path).await.assert_status(204);
    problem(root.api.get(&path).await, 404);
}

#[actix_web::test]
async fn lists_come_in_pages() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    for n in 0..4 {
        let body = json!({ "login": format!("user{n}"), "name": "User" });
        root.api.json(Method::POST, "/api/v1/users", &body).await.assert_status(201);
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/users?limit=2".to_owned();
    loop {
        let page = root.api.get(&path).await.assert_ok().value();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|user| user["login"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/users?limit=2&cursor={next}");
    }
    assert_eq!(seen, ["root", "user0", "user1", "user2", "user3"]);
    for bad in ["limit=0", "limit=201", "limit=x"] {
        let answer = root.api.get(&format!("/api/v1/users?{bad}")).await;
        assert!(problem(answer, 422)["errors"]["limit"].is_string(), "{bad}");
    }
    let answer = root.api.get("/api/v1/users?cursor=x").await;
    assert!(problem(answer, 422)["errors"]["cursor"].is_string());
}

#[actix_web::test]
async fn a_request_with_a_key_is_done_once() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let bob = app.admin("bob").await;
    let post = |who: &Browser, key: &str, body: Value| {
        let post = who.request(Method::POST, "/api/v1/tokens").header("idempotency-key", key);
        Answer::to(post.json(&body))
    };
    let body = json!({ "name": "ci", "scope": "read" });
    let first = post(&root.api, "key-1", body.clone()).await.assert_status(201);
    let again = post(&root.api, "key-1", body.clone()).await.assert_status(201);
    assert_eq!(first.body, again.body);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let others = post(&bob.api, "key-1", body.clone()).await.assert_status(201);
    assert_ne!(others.body, first.body, "a key is a person's own");
    problem(post(&root.api, "key-1", json!({ "name": "cd", "scope": "read" })).await, 422);
    problem(post(&root.api, &"k".repeat(256), body.clone()).await, 422);

    let tokens = root.api.get("/api/v1/tokens").await.value();
    let named: Vec<_> = tokens["items"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(named, ["test", "ci"], "one was made");

    // What was refused may be sent again, put right.
    problem(post(&root.api, "key-2", json!({ "name": "", "scope": "read" })).await, 422);
    post(&root.api, "key-2", body).await.assert_status(201);
    let file = std::fs::read(app.app.config.data.dir.join("forge.db")).unwrap();
    let wal = std::fs::read(app.app.config.data.dir.join("forge.db-wal")).unwrap_or_default();
    let token = first.value()["token"].as_str().unwrap().to_owned();
    for bytes in [file, wal] {
        let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
        assert!(!found, "the token is stored in the clear");
    }
}

#[actix_web::test]
async fn the_same_key_at_the_same_time_is_done_once() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let post = || {
        let body = json!({ "login": "ada", "name": "Ada", "password": "battery staple" });
        let post = root.api.request(Method::POST, "/api/v1/users").header("idempotency-key", "k");
        Answer::to(post.json(&body))
    };
    let answers = futures_util::future::join_all((0..4).map(|_| post())).await;
    for answer in &answers {
        assert!(matches!(answer.status.as_u16(), 201 | 409), "{}: {}", answer.status, answer.body);
    }
    assert!(answers.iter().any(|answer| answer.status == 201));
    post().await.assert_status(201);
}

#[actix_web::test]
async fn a_token_makes_no_stronger_ones() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let body = json!({ "name": "w", "scope": "write" });
    let made =
        root.api.json(Method::POST, "/api/v1/tokens", &body).await.assert_status(201).value();
    let write = Browser { token: made["token"].as_str().map(Into::into), ..app.stranger() };
    let wish = json!({ "name": "a", "scope": "admin" });
    let refused = write.json(Method::POST, "/api/v1/tokens", &wish).await;
    assert!(problem(refused, 422)["errors"]["scope"].is_string());
    let past = json!({ "name": "p", "scope": "read", "expires_at": "2020-01-01T00:00:00Z" });
    let refused = write.json(Method::POST, "/api/v1/tokens", &past).await;
    assert!(problem(refused, 422)["errors"]["expires_at"].is_string());
    let path = format!("/api/v1/tokens/{}", made["id"].as_str().unwrap());
    root.api.send(Method::DELETE, &path).await.assert_status(204);
    problem(write.get("/api/v1/me").await, 401);
}

#[actix_web::test]
async fn a_request_that_names_no_host_is_told_so_and_health_answers_it() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let app = TestApp::start().await;
    app.person("alice").await;
    let address = app.base.strip_prefix("http://").unwrap();
    let ask = async |lines: &str| {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{lines}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.to_lowercase()
    };
    for path in ["/health/live", "/health/ready"] {
        let answer = ask(&format!("GET {path} HTTP/1.0")).await;
        assert!(answer.starts_with("http/1.0 200"), "{path}: {answer}");
        let by_address = "HTTP/1.1\r\nConnection: close\r\nHost: 10.0.0.7";
        let answer = ask(&format!("GET {path} {by_address}")).await;
        assert!(answer.starts_with("http/1.1 200"), "{path}: {answer}");
    }
    let page = ask("GET / HTTP/1.0").await;
    assert!(page.starts_with("http/1.0 400") && page.contains("text/plain"), "{page}");
    assert!(page.contains("no host header") && !page.contains("<html"), "{page}");
    let api = ask("GET /api/v1/me HTTP/1.0").await;
    assert!(api.starts_with("http/1.0 400"), "{api}");
    assert!(api.contains("application/problem+json") && api.contains("\"status\":400"), "{api}");
    // Another name is still not ours.
    let other = ask("GET / HTTP/1.1\r\nConnection: close\r\nHost: evil.example").await;
    assert!(other.starts_with("http/1.1 422"), "{other}");
}
