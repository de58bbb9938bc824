//! What nobody sends by accident: bodies that grow, texts that no database keeps, posts from elsewhere.

use std::io::Write as _;

use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Browser, PASSWORD, TestApp};

const FORM: &str = "application/x-www-form-urlencoded";
const CREDENTIALS: [(&str, &str); 2] = [("login", "alice"), ("password", PASSWORD)];

async fn post(browser: &Browser, path: &str, kind: &str, body: &[u8]) -> Answer {
    let post = browser.request(Method::POST, path).header("content-type", kind);
    Answer::to(post.body(body.to_owned())).await
}

#[actix_web::test]
async fn a_body_is_not_unpacked() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(b"login=alice&password=").unwrap();
    packed.write_all(&vec![b'a'; 64 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    let stranger = app.stranger();
    for (browser, path, kind) in [
        (&stranger, "/sign-in", FORM),
        (&stranger, "/nothing", FORM),
        (&alice.browser, "/projects", FORM),
        (&alice.browser, "/sessions", "multipart/form-data; boundary=X"),
        (&alice.api, "/api/v1/tokens", "application/json"),
    ] {
        for coding in ["gzip", "br", "zstd", "deflate", "identity, gzip"] {
            let post = browser.request(Method::POST, path).header("content-type", kind);
            let post = post.header("content-encoding", coding).body(packed.clone());
            let answer = Answer::to(post).await.assert_status(415);
            assert!(answer.body.contains("Content-Encoding"), "{path}: {}", answer.body);
        }
    }
    let plain = stranger.request(Method::POST, "/sign-in").header("content-encoding", "identity");
    Answer::to(plain.form(&CREDENTIALS)).await.assert_redirect("/");
}

#[actix_web::test]
async fn no_text_from_outside_has_a_nul() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let stranger = app.stranger();
    for (path, body) in [
        ("/sign-in", "login=a%00b&password=x"),
        ("/account", "name=a%00b&email="),
        ("/account/tokens", "name=a%00b&scope=read&ends="),
        ("/admin/users", "name=a%00b&login=bob&email=&password=correct+horse&admin=false"),
    ] {
        let browser = if path == "/sign-in" { &stranger } else { &alice.browser };
        let answer = post(browser, path, FORM, body.as_bytes()).await.assert_status(422);
        assert!(answer.body.contains("has a NUL character"), "{path}: {}", answer.body);
    }
    let piece = b"--X\r\ncontent-disposition: form-data; name=\"text\"\r\n\r\na\0b\r\n--X--\r\n";
    let kind = "multipart/form-data; boundary=X";
    let answer = post(&alice, "/sessions", kind, piece).await.assert_status(422);
    assert!(answer.body.contains("The field text has a NUL character"), "{}", answer.body);
    let token = json!({ "name": "a\0b", "scope": "read" });
    let answer = alice.api.json(Method::POST, "/api/v1/tokens", &token).await.assert_status(422);
    assert!(answer.body.contains("The body has a NUL character"), "{}", answer.body);
    let token = json!({ "name": r"a\u0000b", "scope": "read" });
    alice.api.json(Method::POST, "/api/v1/tokens", &token).await.assert_status(201);
    alice.get("/models?project=a%00b").await.assert_status(404);
    alice.post("/account/sign-ins/a%00b/end", &[]).await.assert_status(404);
}

#[actix_web::test]
async fn a_form_that_cannot_be_read_is_told_in_one_sentence() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let stranger = app.stranger();
    for (body, told) in [
        (&b"login=alice"[..], "The form could not be read: missing field `password`.<"),
        (b"login=a&login=b", "The form could not be read: duplicate field `login`.<"),
        (b"login=\xff", "The form could not be read: it is not UTF-8.<"),
    ] {
        let answer = post(&stranger, "/sign-in", FORM, body).await.assert_status(422);
        assert!(answer.body.contains(told), "{}", answer.body);
    }
}

#[actix_web::test]
async fn a_page_that_says_it_is_elsewhere_cannot_post_here() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let own = format!("{}/account?tab=1", app.base);
    for (referer, status) in [
        ("https://evil.example/", 403),
        ("about:blank", 403),
        ("not an address", 403),
        (own.as_str(), 303),
    ] {
        let post = alice.request(Method::POST, "/account").header("referer", referer);
        Answer::to(post.form(&[("name", "Alice")])).await.assert_status(status);
    }
    let odd = alice.request(Method::POST, "/account").header("origin", &b"\xff"[..]);
    Answer::to(odd.form(&[("name", "Alice")])).await.assert_status(403);
}
