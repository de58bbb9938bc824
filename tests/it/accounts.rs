//! Signing in and out, and what people may do with accounts.

use crate::support::{PASSWORD, TestApp};

#[actix_web::test]
async fn who_knows_the_password_gets_in_and_out() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let browser = app.stranger();
    let wrong = browser.post("/sign-in", &[("login", "alice"), ("password", "nope")]).await;
    assert!(wrong.assert_status(422).body.contains("Login or password is wrong"));
    browser
        .post("/sign-in", &[("login", "Alice"), ("password", PASSWORD)])
        .await
        .assert_redirect("/");
    browser.post("/sign-out", &[]).await.assert_redirect("/sign-in");
}
