//! Tries to get in, and to stay in, past what ends all sign-ins.

use std::time::Duration;

use forge::{
    app::{
        Actor,
        accounts::{self, AccountError},
    },
    store::{self, sign_ins, users},
};
use reqwest::Method;

use crate::support::{Answer, PASSWORD, TestApp, session::waiting, stream::PageStream};

const CREDENTIALS: [(&str, &str); 2] = [("login", "alice"), ("password", PASSWORD)];

#[actix_web::test]
async fn a_made_up_login_counts_for_itself_alone() {
    let app = TestApp::start_with(|config| {
        config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    app.person("alice").await;
    let from = async |address: &str, login: &str, password: &str| {
        let form = [("login", login), ("password", password)];
        let post = app.stranger().request(Method::POST, "/sign-in").form(&form);
        Answer::to(post.header("x-forwarded-for", address)).await.status
    };
    assert_eq!(from("192.0.2.1", "alice", PASSWORD).await, 303);
    for _ in 0..6 {
        assert_eq!(from("203.0.113.5", "alice at 192.0.2.1", "a guess").await, 422);
    }
    assert_eq!(from("203.0.113.5", "alice at 192.0.2.1", "a guess").await, 429);
    assert_eq!(from("192.0.2.1", "alice", PASSWORD).await, 303);
}

#[actix_web::test]
async fn what_a_browser_follows_ends_when_it_signs_out() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let session = waiting(&app, &alice).await.session;
    let mut stream =
        PageStream::connect(&alice, &format!("/sessions/{}/events", session.id), None).await;
    alice.post("/sign-out", &[]).await.assert_redirect("/sign-in");
    let end = async { while stream.next().await.is_some() {} };
    // Long before the stream would look by itself.
    tokio::time::timeout(Duration::from_secs(5), end).await.unwrap();
}

#[actix_web::test]
async fn a_sign_in_under_way_does_not_outlive_the_password() {
    // Slow enough that the password changes while it is looked at.
    let app = TestApp::start_with(|config| {
        (config.accounts.argon2_memory_kib, config.accounts.argon2_passes) = (16 << 10, 40);
    })
    .await;
    let alice = app.person("alice").await;
    let late = app.stranger();
    let sign_in = late.post("/sign-in", &CREDENTIALS);
    let change = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let db = &app.app.db;
        let new = |user: &mut store::entity::user::Model| user.password_hash = "new".to_owned();
        users::update(db, alice.user.id, new).await.unwrap().unwrap();
        sign_ins::delete_of(db, alice.user.id).await.unwrap();
    };
    tokio::join!(sign_in, change);
    let page = late.get("/account").await;
    assert_eq!(page.status, 303, "it was shown the password of before");
    let left = sign_ins::of(&app.app.db, alice.user.id, app.app.clock.now()).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[actix_web::test]
async fn a_sign_in_is_stored_only_for_who_may_come_in() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let (db, now) = (&app.app.db, app.app.clock.now());
    let row = sign_ins::of(db, alice.user.id, now).await.unwrap().remove(0);
    let kept = async |shown: Option<&str>| {
        sign_ins::delete_of(db, alice.user.id).await.unwrap();
        sign_ins::save(db, row.clone(), shown, now).await.unwrap();
        sign_ins::find(db, &row.id, now).await.unwrap().is_some()
    };
    let user = users::find(db, alice.user.id).await.unwrap().unwrap();
    let proof = sign_ins::proof(&user);
    assert!(kept(Some(&proof)).await);
    assert!(!kept(None).await);
    assert!(!kept(Some("of another")).await);
    users::update(db, user.id, |user| user.disabled_at = Some(now)).await.unwrap().unwrap();
    assert!(!kept(Some(&proof)).await);
}

#[actix_web::test]
async fn of_two_changes_of_a_password_at_once_one_is_made() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let user = users::find(&app.app.db, alice.user.id).await.unwrap().unwrap();
    let by = Actor { user: Some(user.id), ip: None };
    let change = async |new: &str| {
        accounts::change_password(&app.app, &user, PASSWORD.into(), new.into(), &by).await
    };
    change("battery staple").await.unwrap();
    // Begun with what was read before that.
    assert!(matches!(change("staple battery").await, Err(AccountError::Fields(_))));
    let form = [("login", "alice"), ("password", "battery staple")];
    app.stranger().post("/sign-in", &form).await.assert_redirect("/");
}
