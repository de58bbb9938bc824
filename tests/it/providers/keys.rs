//! A key goes in and never comes out again.

use super::{
    add,
    fake::{Does, Fake},
};
use crate::support::{TestApp, log::captured};

const KEY: &str = "sk-never-seen-again-7f3a9c1e";

#[actix_web::test]
async fn case_45_a_key_is_in_no_page_error_log_audit_line_or_database_text() {
    let log = captured();
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    // A provider that repeats the key in its error, as some do.
    let error = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#);
    let fake = Fake::start(Does::answer("401 Unauthorized", "application/json", &error)).await;
    let path = add(&alice, &fake.origin(), KEY).await;

    let form = [("name", "x"), ("kind", "openai"), ("url", "ftp://wrong"), ("key", KEY)];
    let mut bodies = vec![
        alice.get("/providers").await,
        alice.get(&path).await,
        alice.get(&format!("{path}/models")).await,
        alice.post(&path, &form).await.assert_status(422),
        alice.htmx_post(&path, &form).await.assert_status(422),
        alice.post("/providers", &form).await.assert_status(422),
        alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok(),
    ];
    let form = [("name", "x"), ("kind", "openai"), ("url", &fake.origin()), ("key", KEY)];
    bodies.push(alice.htmx_post(&format!("{path}/test"), &form).await.assert_ok());
    bodies.push(alice.post(&format!("{path}/test"), &form).await.assert_ok());
    bodies.push(alice.post(&path, &form).await.assert_redirect(&path));
    assert!(bodies[6].body.contains("Incorrect API key provided: ***."), "{}", bodies[6].body);
    assert!(!fake.asked().is_empty());
    for answer in bodies {
        assert!(!answer.body.contains(KEY), "{}", answer.body);
        assert!(!format!("{:?}", answer.headers).contains(KEY));
    }

    let audit = forge::store::audit::page(&app.app.db, None, 100).await.unwrap();
    assert!(audit.iter().any(|it| it.action == "provider.created"));
    assert!(audit.iter().any(|it| it.action == "provider.changed"));
    assert!(!format!("{audit:?}").contains(KEY));

    let data = app.app.config.data.dir.clone();
    let files = std::fs::read_dir(data).unwrap().map(|it| it.unwrap().path());
    for file in files.filter(|it| it.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|it| it == KEY.as_bytes()));
    }
    let log = log.lock().unwrap();
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("model answered"), "the log was captured");
    assert!(!log.contains(KEY));
}
