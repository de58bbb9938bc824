//! Signing in and out, and what people may do with accounts.

use chrono::TimeDelta;
use forge::{domain::token::Scope, store};
use reqwest::{
    Method,
    header::{RETRY_AFTER, SET_COOKIE},
};

use serde_json::{Value, json};

use crate::support::{Answer, Browser, PASSWORD, TestApp};

const CREDENTIALS: [(&str, &str); 2] = [("login", "alice"), ("password", PASSWORD)];

/// Whether somebody is signed in.
async fn is_in(browser: &Browser) -> bool {
    browser.get("/account").await.status == 200
}

#[actix_web::test]
async fn who_knows_the_password_gets_in_and_out() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let browser = app.stranger();
    assert!(!is_in(&browser).await);
    let by_name = [("login", "ALICE"), ("password", PASSWORD)];
    browser.post("/sign-in", &by_name).await.assert_redirect("/");
    assert!(is_in(&browser).await);
    browser.post("/sign-out", &[]).await.assert_redirect("/sign-in");
    assert!(!is_in(&browser).await);
    let by_address = [("login", "Alice@example.org"), ("password", PASSWORD)];
    browser.post("/sign-in", &by_address).await.assert_redirect("/");
    let user = store::users::by_login(&app.app.db, "alice").await.unwrap().unwrap();
    assert_eq!(user.last_login_at, Some(app.app.clock.now()));
}

#[actix_web::test]
async fn an_unknown_login_and_a_wrong_password_read_the_same() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let try_as = async |login: &str| {
        let form = [("login", login), ("password", "not the password")];
        let answer = app.stranger().post("/sign-in", &form).await.assert_status(422);
        assert!(answer.body.contains("role=\"alert\""));
        assert!(answer.body.contains(&format!("value=\"{login}\"")), "the login is kept");
        answer.body.replace(login, "LOGIN")
    };
    assert_eq!(try_as("alice").await, try_as("nobody").await);
}

#[actix_web::test]
async fn signing_in_renews_the_cookie() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let browser = app.stranger();
    let cookie = |answer: &Answer| answer.headers[SET_COOKIE].to_str().unwrap().to_owned();
    let first = cookie(&browser.post("/sign-in", &CREDENTIALS).await);
    let second = cookie(&browser.post("/sign-in", &CREDENTIALS).await);
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(second.contains(attribute), "{second}");
    }
    let value = |cookie: &str| cookie.split(';').next().unwrap().to_owned();
    assert_ne!(value(&first), value(&second));
    let old = app.stranger().request(Method::GET, "/account").header("cookie", value(&first));
    assert_eq!(Answer::to(old).await.status, 303, "the old one has ended");
}

#[actix_web::test]
async fn one_goes_on_to_where_one_wanted_but_not_elsewhere() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let browser = app.stranger();
    let sent = browser.get("/account?a=b").await;
    sent.assert_redirect("/sign-in?next=%2Faccount%3Fa%3Db");
    let page = browser.get("/sign-in?next=%2Faccount%3Fa%3Db").await;
    assert!(page.body.contains("name=\"next\" value=\"/account?a=b\""), "{}", page.body);
    for (next, to) in [("/account", "/account"), ("//evil.example/", "/"), ("https://e.x/", "/")] {
        let form = [CREDENTIALS[0], CREDENTIALS[1], ("next", next)];
        browser.post("/sign-in", &form).await.assert_redirect(to);
    }
}

#[actix_web::test]
async fn case_44_another_site_cannot_post_here() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let host = app.base.trim_start_matches("http://");
    for (header, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let post = alice.request(Method::POST, "/account").header(header, value);
        Answer::to(post.form(&[("name", "Mallory")])).await.assert_status(403);
    }
    let rebound = alice.request(Method::GET, "/account").header("host", "evil.example");
    Answer::to(rebound.header("x-forwarded-host", host)).await.assert_status(422);
    let here = alice.request(Method::POST, "/account").header("origin", app.base.as_str());
    Answer::to(here.form(&[("name", "Alice L"), ("email", "")])).await.assert_redirect("/account");
}

#[actix_web::test]
async fn every_answer_has_the_protecting_headers() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let icon = format!("/static/{}/favicon.svg", forge::web::assets::version());
    for (method, path, status) in [
        (Method::GET, "/account", 200),
        (Method::GET, "/sign-in", 200),
        (Method::GET, &icon, 200),
        (Method::GET, "/health/ready", 200),
        (Method::GET, "/nothing/here", 404),
        (Method::GET, "/api/v1/nothing", 404),
        (Method::GET, "/admin/users", 404),
        (Method::DELETE, "/account", 405),
        (Method::GET, "/api/v1/me", 200),
    ] {
        let answer = alice.send(method, path).await.assert_status(status);
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(header("x-request-id").len(), 26, "{path}");
    }
}

#[actix_web::test]
async fn guessing_gets_slower_and_ends_by_itself() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    alice.post("/sign-out", &[]).await;
    let browser = app.stranger();
    let wrong = [("login", "alice"), ("password", "a guess")];
    for _ in 0..5 {
        let answer = browser.post("/sign-in", &wrong).await.assert_status(422);
        assert!(answer.body.contains("Check both and try again."));
    }
    let answer = browser.post("/sign-in", &wrong).await.assert_status(422);
    assert!(answer.body.contains("try again in 1 s"), "{}", answer.body);
    let early = browser.post("/sign-in", &CREDENTIALS).await.assert_status(429);
    assert_eq!(early.headers[RETRY_AFTER], "1");
    assert!(early.body.contains("Try again in 1 s."));
    app.clock.advance(TimeDelta::seconds(1));
    browser.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
}

#[actix_web::test]
async fn a_stranger_cannot_keep_somebody_out_of_their_usual_place() {
    let app = TestApp::start_with(|config| {
        config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    app.person("alice").await;
    let from = async |address: &str, password: &str| {
        let form = [("login", "alice"), ("password", password)];
        let post = app.stranger().request(Method::POST, "/sign-in").form(&form);
        Answer::to(post.header("x-forwarded-for", format!("10.9.9.9, {address}"))).await.status
    };
    assert_eq!(from("192.0.2.1", PASSWORD).await, 303);
    for _ in 0..6 {
        assert_eq!(from("203.0.113.5", "a guess").await, 422);
    }
    assert_eq!(from("203.0.113.5", "a guess").await, 429);
    assert_eq!(from("203.0.113.77", PASSWORD).await, 429, "the login, from anywhere new");
    assert_eq!(from("192.0.2.1", PASSWORD).await, 303, "where she is signed in already");
}

#[actix_web::test]
async fn an_address_that_tries_many_logins_is_slowed_down_too() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let mut statuses = Vec::new();
    for n in 0..22 {
        let login = format!("guess-{n}");
        let form = [("login", login.as_str()), ("password", "a guess")];
        let forged = app.stranger().request(Method::POST, "/sign-in").form(&form);
        let answer = Answer::to(forged.header("x-forwarded-for", format!("10.0.0.{n}"))).await;
        statuses.push(answer.status.as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 21);
    assert_eq!(statuses.last(), Some(&429), "nobody can pretend to be elsewhere");
}

#[actix_web::test]
async fn what_cannot_be_read_is_told_so() {
    let app = TestApp::start().await;
    app.person("alice").await;
    let browser = app.stranger();
    let post = |body: Vec<u8>, kind: &str| {
        let post = browser.request(Method::POST, "/sign-in").header("content-type", kind);
        Answer::to(post.body(body))
    };
    let form = "application/x-www-form-urlencoded";
    let huge = post(vec![b'a'; (1 << 20) + 1], form).await.assert_status(413);
    assert!(huge.body.contains("Keep it under 1024 KiB."), "{}", huge.body);
    post(vec![0, 159, 146, 150], form).await.assert_status(422);
    post(b"{}".to_vec(), "application/json").await.assert_status(415);
}

#[actix_web::test]
async fn case_51_who_is_disabled_loses_access_at_once() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let alice = app.person("alice").await;
    assert!(is_in(&alice).await);
    let page = format!("/admin/users/{}", alice.user.id);
    root.post(&format!("{page}/disable"), &[]).await.assert_redirect(&page);
    assert!(!is_in(&alice).await);
    alice.api.get("/api/v1/me").await.assert_status(401);
    alice.post("/sign-in", &CREDENTIALS).await.assert_status(422);
    root.post(&format!("{page}/enable"), &[]).await.assert_redirect(&page);
    assert!(!is_in(&alice).await, "the old sign-in is gone");
    alice.api.get("/api/v1/me").await.assert_status(200);
    alice.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
}

#[actix_web::test]
async fn case_51_a_new_password_ends_all_other_sign_ins() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let elsewhere = app.stranger();
    elsewhere.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");

    let form = [("old", "wrong"), ("new", "battery staple")];
    let answer = alice.post("/account/password", &form).await.assert_status(422);
    assert!(answer.body.contains("That is not your password."));
    let form = [("old", PASSWORD), ("new", "password123")];
    alice.post("/account/password", &form).await.assert_status(422);
    assert!(is_in(&elsewhere).await);

    let form = [("old", PASSWORD), ("new", "battery staple")];
    alice.post("/account/password", &form).await.assert_redirect("/account");
    assert!(is_in(&alice).await);
    assert!(!is_in(&elsewhere).await);
    elsewhere.post("/sign-in", &CREDENTIALS).await.assert_status(422);
    let new = [("login", "alice"), ("password", "battery staple")];
    elsewhere.post("/sign-in", &new).await.assert_redirect("/");
}

#[actix_web::test]
async fn a_person_sees_and_ends_their_sign_ins() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let phone = app.stranger();
    let agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Mobile Safari/604.1";
    let post = phone.request(Method::POST, "/sign-in").header("user-agent", agent);
    Answer::to(post.form(&CREDENTIALS)).await.assert_redirect("/");

    let page = alice.get("/account").await.body;
    assert!(page.contains("Safari on iPhone") && page.matches("This one").count() == 1, "{page}");
    let (_, rest) = page.split_once("action=\"/account/sign-ins/").unwrap();
    let (_, rest) = rest.split_once("action=\"/account/sign-ins/").unwrap();
    let (id, _) = rest.split_once("/end").unwrap();
    alice.post(&format!("/account/sign-ins/{id}/end"), &[]).await.assert_redirect("/account");
    assert!(!is_in(&phone).await);
    phone.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
    alice.post("/account/sign-ins/end", &[]).await.assert_redirect("/account");
    assert!(!is_in(&phone).await && is_in(&alice).await);
}

#[actix_web::test]
async fn sign_ins_end_when_idle_and_at_last() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    for _ in 0..8 {
        app.clock.advance(TimeDelta::days(11));
        assert!(is_in(&alice).await);
    }
    app.clock.advance(TimeDelta::days(3));
    assert!(!is_in(&alice).await, "after 91 days, however busy");
    alice.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
    app.clock.advance(TimeDelta::days(15));
    assert!(!is_in(&alice).await, "after two idle weeks");
}

#[actix_web::test]
async fn tokens_are_shown_once_and_end() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let form = [("name", "ci"), ("scope", "admin"), ("ends", "90")];
    alice.post("/account/tokens", &form).await.assert_status(422);
    let form = [("name", "ci"), ("scope", "read"), ("ends", "90")];
    let shown = alice.htmx_post("/account/tokens", &form).await.assert_ok().body;
    assert!(shown.trim_start().starts_with("<section class=\"panel\" id=\"tokens\""), "{shown}");
    let (_, rest) = shown.split_once("<code>").unwrap();
    let token = rest.split('<').next().unwrap();
    assert!(token.starts_with("forge_"));
    assert!(!alice.get("/account").await.body.contains(token));

    let me = || {
        let get = app.stranger().request(Method::GET, "/api/v1/me").bearer_auth(token);
        Answer::to(get)
    };
    me().await.assert_status(200);
    app.clock.advance(TimeDelta::days(91));
    me().await.assert_status(401);
}

#[actix_web::test]
async fn of_two_demotions_at_once_one_leaves_an_admin() {
    let app = TestApp::start().await;
    let (root, wheel) = (app.admin("root").await, app.admin("wheel").await);
    let demote = |by: &'static str, whom: &crate::support::Person| {
        let path = format!("/api/v1/users/{}", whom.user.id);
        (by, path)
    };
    let (_, one) = demote("root", &wheel);
    let (_, other) = demote("wheel", &root);
    let body = serde_json::json!({ "admin": false });
    let (one, other) = tokio::join!(
        root.api.json(Method::PATCH, &one, &body),
        wheel.api.json(Method::PATCH, &other, &body)
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    // 409: the last one stays. 404: by then the other was no admin any more.
    assert!(matches!(statuses[1], 404 | 409), "{statuses:?}");
    let people = store::users::all(&app.app.db).await.unwrap();
    assert_eq!(people.iter().filter(|user| user.admin).count(), 1);
}

#[actix_web::test]
async fn the_last_admin_stays_by_every_way() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let page = format!("/admin/users/{}", root.user.id);
    let member = [("name", "root"), ("login", "root"), ("email", ""), ("admin", "false")];
    for (path, form) in [("", &member[..]), ("/disable", &[]), ("/delete", &[])] {
        let answer = root.post(&format!("{page}{path}"), form).await.assert_status(409);
        assert!(answer.body.contains("last active administrator"), "{}", answer.body);
    }
    let path = format!("/api/v1/users/{}", root.user.id);
    root.api.send(Method::DELETE, &path).await.assert_status(409);
    let body = serde_json::json!({ "disabled": true });
    root.api.json(Method::PATCH, &path, &body).await.assert_status(409);
    assert!(is_in(&root).await);
}

#[actix_web::test]
async fn an_admin_adds_changes_and_removes_people() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let new = [
        ("name", "Alice"),
        ("login", "alice"),
        ("email", "alice@example.org"),
        ("password", PASSWORD),
        ("admin", "false"),
    ];
    root.post("/admin/users", &new).await.assert_redirect("/admin/users");
    let again = root.post("/admin/users", &new).await.assert_status(422);
    assert!(again.body.contains("Somebody has this login already."), "{}", again.body);
    let alice = app.stranger();
    alice.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
    let user = store::users::by_login(&app.app.db, "alice").await.unwrap().unwrap();
    let token = app.token(&user, Scope::Read).await;

    let page = format!("/admin/users/{}", user.id);
    let changed = [("name", "Alice L"), ("login", "alice"), ("email", ""), ("admin", "true")];
    root.post(&page, &changed).await.assert_redirect("/admin/users");
    alice.get("/admin/users").await.assert_status(200);

    let form = [("password", "battery staple")];
    root.post(&format!("{page}/password"), &form).await.assert_redirect(&page);
    assert!(!is_in(&alice).await);
    let by_token = app.stranger().request(Method::GET, "/api/v1/me").bearer_auth(token);
    Answer::to(by_token).await.assert_status(401);

    root.post(&format!("{page}/delete"), &[]).await.assert_redirect("/admin/users");
    root.get(&page).await.assert_status(404);

    let log = store::audit::page(&app.app.db, None, 100).await.unwrap();
    let actions: Vec<_> = log.iter().rev().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["user.created", "user.changed", "user.changed", "user.deleted"]);
    let text = format!("{log:?}");
    assert!(!text.contains("battery staple") && !text.contains("argon2"), "{text}");
    assert!(log.iter().all(|line| line.actor_id == Some(root.user.id) && line.ip.is_some()));
}

#[actix_web::test]
async fn who_owns_projects_is_not_removed() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let alice = app.person("alice").await;
    app.project_row(&alice.user, "atlas").await;
    let page = format!("/admin/users/{}", alice.user.id);
    let answer = root.post(&format!("{page}/delete"), &[]).await.assert_status(409);
    assert!(answer.body.contains("They still own projects (1)."), "{}", answer.body);
}

#[actix_web::test]
async fn the_first_start_takes_whoever_has_the_token() {
    let app = TestApp::start().await;
    let browser = app.stranger();
    browser.get("/account").await.assert_redirect("/setup");
    browser.get("/api/v1/me").await.assert_status(503);
    let token = app.app.new_setup_token();
    let page = browser.get(&format!("/setup?token={token}")).await.assert_ok();
    assert!(page.body.contains(&format!("value=\"{token}\"")));

    let form = |token: &'static str, password: &'static str| {
        [("token", token), ("name", "Ada"), ("login", "ada"), ("password", password)]
    };
    let token: &'static str = token.leak();
    let wrong = browser.post("/setup", &form("guess", PASSWORD)).await.assert_status(422);
    assert!(wrong.body.contains("not the token of this start"));
    let short = browser.post("/setup", &form(token, "short")).await.assert_status(422);
    assert!(short.body.contains("Use at least 10 characters."));
    browser.post("/setup", &form(token, PASSWORD)).await.assert_redirect("/");
    browser.get("/admin/users").await.assert_status(200);
    browser.get("/setup").await.assert_status(404);
    browser.post("/setup", &form(token, PASSWORD)).await.assert_status(404);
}

#[actix_web::test]
async fn only_one_becomes_the_first() {
    let app = TestApp::start().await;
    let token = app.app.new_setup_token();
    let try_as = |login: &'static str| {
        let form =
            [("token", token.as_str()), ("name", login), ("login", login), ("password", PASSWORD)];
        let post = app.stranger().request(Method::POST, "/setup").form(&form);
        Answer::to(post)
    };
    let (ada, eve) = tokio::join!(try_as("ada"), try_as("eve"));
    let mut statuses = [ada.status.as_u16(), eve.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 404]);
    assert_eq!(store::users::all(&app.app.db).await.unwrap().len(), 1);
}

#[actix_web::test]
async fn old_hashes_are_made_anew_at_sign_in() {
    let app = TestApp::start_with(|config| config.accounts.argon2_memory_kib = 16).await;
    let alice = app.person("alice").await;
    let hash = async || {
        let user = store::users::find(&app.app.db, alice.user.id).await.unwrap().unwrap();
        user.password_hash
    };
    assert!(alice.user.password_hash.contains("m=8,"));
    assert!(hash().await.contains("m=16,"), "{}", hash().await);
    alice.post("/sign-in", &CREDENTIALS).await.assert_redirect("/");
}

#[actix_web::test]
async fn a_change_is_made_whole_though_whoever_asked_for_it_hangs_up() {
    let app = TestApp::start().await;
    let (root, bob) = (app.admin("root").await, app.person("bob").await);
    let path = format!("/api/v1/users/{}", bob.user.id);
    let body = serde_json::json!({"disabled": true});
    let busy = app.app.db.begin().await.unwrap();
    let request = root.api.json(reqwest::Method::PATCH, &path, &body);
    let hung_up = tokio::time::timeout(std::time::Duration::from_millis(200), request).await;
    assert!(hung_up.is_err(), "it waits for the writer");
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    busy.rollback().await.unwrap();
    for _ in 0..500 {
        let log = forge::store::audit::page(&app.app.db, None, 1).await.unwrap();
        if log.first().is_some_and(|it| it.action == "user.disabled") {
            bob.api.get("/api/v1/me").await.assert_status(401);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nothing came of it");
}

#[actix_web::test]
async fn a_script_reads_and_changes_its_persons_time_zone_and_name() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let me = "/api/v1/me";
    assert_eq!(alice.api.get(me).await.assert_ok().value()["time_zone"], Value::Null);
    let patch = async |body: Value| alice.api.json(Method::PATCH, me, &body).await;
    let changed = patch(json!({"time_zone": "Europe/Berlin", "name": "Alice A"})).await.assert_ok();
    let expected = json!({"id": alice.user.id.to_string(), "login": "alice", "name": "Alice A",
        "email": "alice@example.org", "admin": false, "time_zone": "Europe/Berlin"});
    assert_eq!(changed.value(), expected);
    assert_eq!(alice.api.get(me).await.value(), expected);
    for (field, body) in
        [("time_zone", json!({"time_zone": "Mars/Olympus"})), ("name", json!({"name": " "}))]
    {
        let answer = patch(body).await.assert_status(422);
        assert!(answer.value()["errors"][field].is_string(), "{}", answer.body);
    }
    // Neither rights nor what one signs in with.
    for body in [json!({"admin": true}), json!({"login": "root"}), json!({"name": null})] {
        let status = patch(body.clone()).await.status;
        assert!(status.is_client_error(), "{body}: {status}");
    }
    assert_eq!(alice.api.get(me).await.value(), expected);
    assert_eq!(patch(json!({"time_zone": null})).await.value()["time_zone"], Value::Null);
    let read = app.token(&alice.user, Scope::Read).await;
    let read = crate::support::Browser { token: Some(read), ..app.stranger() };
    read.json(Method::PATCH, me, &json!({"name": "x"})).await.assert_status(403);
}
