//! Knocks on every door of the site as someone who should not get in.
//!
//! A route whose path has an `{id}` needs a row behind it: [`rows::row_behind`] makes one of each
//! kind.

mod rows;

use forge::{
    domain::token::Scope,
    web::routes::{Access, Entry, table},
};
use reqwest::Method;
use serde_json::json;

use self::rows::row_behind;
use crate::support::{Answer, Browser, Person, TestApp};

/// An id that no row has.
const NOBODYS: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// Whether the owner of the row may still be told that there is nothing: the body or the query
/// names one more thing, which is not there.
fn names_something_else(entry: &Entry) -> bool {
    ["/rules/change", "/raw", "/file", "/output"].iter().any(|end| entry.path.ends_with(end))
}

/// Whether the route ends the very sign-in that the test goes on with.
fn ends_the_visit(entry: &Entry) -> bool {
    entry.path.starts_with("/account/sign-ins")
}

async fn path_of_a_row(app: &TestApp, owner: &Person, entry: &Entry) -> String {
    if !entry.path.contains("{id}") {
        return entry.path.to_owned();
    }
    entry.path.replace("{id}", &row_behind(app, owner, entry).await)
}

fn is_api(entry: &Entry) -> bool {
    entry.path.starts_with("/api/")
}

/// Calls a route the way its visitors do: with the cookie on pages, with the token on the API.
async fn knock(person: &Person, entry: &Entry, path: &str) -> Answer {
    let browser = if is_api(entry) { &person.api } else { &person.browser };
    call(browser, entry, path).await
}

async fn call(browser: &Browser, entry: &Entry, path: &str) -> Answer {
    let changes = !entry.method.is_safe();
    let method = Method::from_bytes(entry.method.as_str().as_bytes()).unwrap();
    let request = browser.request(method, path);
    let request = match (changes, is_api(entry)) {
        (false, _) => request,
        (true, true) => request.json(&json!({})),
        (true, false) => request.form(&[("", "")]),
    };
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let kind = headers.get("content-type").map_or(&b""[..], |kind| kind.as_bytes());
    // A stream has no end that one could wait for.
    let body = match kind.starts_with(b"text/event-stream") {
        true => String::new(),
        false => response.text().await.unwrap(),
    };
    Answer { status, headers, body }
}

#[actix_web::test]
async fn case_44_nobody_gets_in_without_signing_in() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    for entry in table().iter().filter(|entry| entry.access != Access::Anyone) {
        let path = path_of_a_row(&app, &alice, entry).await;
        let answer = call(&app.stranger(), entry, &path).await;
        let what = format!("{} {}", entry.method, entry.path);
        if is_api(entry) {
            assert_eq!(answer.status, 401, "{what}");
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{what}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer", "{what}");
        } else {
            assert_eq!(answer.status, 303, "{what}");
            let to = answer.headers["location"].to_str().unwrap();
            assert!(to.starts_with("/sign-in"), "{what} leads to {to}");
        }
    }
}

#[actix_web::test]
async fn case_50_to_others_an_owned_row_does_not_exist() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    // Not even to an admin.
    for bob in [app.person("bob").await, app.admin("root").await] {
        for entry in table().iter().filter(|entry| matches!(entry.access, Access::Owner)) {
            let what = format!("{} {}", entry.method, entry.path);
            let theirs = path_of_a_row(&app, &alice, entry).await;
            let theirs = knock(&bob, entry, &theirs).await;
            assert_eq!(theirs.status, 404, "{what}");
            let nobodys = knock(&bob, entry, &entry.path.replace("{id}", NOBODYS)).await;
            assert_eq!(theirs.status, nobodys.status, "{what}");
            assert_eq!(theirs.body, nobodys.body, "{what}: the answer must not tell them apart");
        }
    }
}

#[actix_web::test]
async fn to_members_nothing_is_where_admins_work() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let member = app.person("member").await;
    let is_for_admins = |entry: &&Entry| matches!(entry.access, Access::Admin | Access::AdminRow);
    for entry in table().iter().filter(is_for_admins) {
        let path = path_of_a_row(&app, &root, entry).await;
        let answer = knock(&member, entry, &path).await;
        assert_eq!(answer.status, 404, "{} {}", entry.method, entry.path);
        let missing = entry.path.replace("{id}", NOBODYS);
        if missing != entry.path {
            let answer = knock(&root, entry, &missing).await;
            assert_eq!(answer.status, 404, "{} {}", entry.method, missing);
        }
    }
}

#[actix_web::test]
async fn who_may_gets_in() {
    let app = TestApp::start().await;
    // So that nobody who is called is the last admin.
    app.admin("wheel").await;
    let alice = app.admin("alice").await;
    let guarded = |entry: &&Entry| entry.access != Access::Anyone && !ends_the_visit(entry);
    for entry in table().iter().filter(guarded) {
        let path = path_of_a_row(&app, &alice, entry).await;
        let answer = knock(&alice, entry, &path).await;
        let what = format!("{} {}: {}", entry.method, entry.path, answer.body);
        let status = answer.status.as_u16();
        let hidden = status == 404 && !names_something_else(entry);
        assert!(!hidden && !matches!(status, 401 | 403 | 405), "{status}: {what}");
        assert!(!answer.status.is_server_error(), "{}: {what}", answer.status);
    }
}

#[actix_web::test]
async fn tokens_do_no_more_than_their_scope() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let with = async |scope| {
        let token = app.token(&root.user, scope).await;
        Browser { http: app.stranger().http, base: app.base.clone(), token: Some(token) }
    };
    let (read, write) = (with(Scope::Read).await, with(Scope::Write).await);
    for entry in table().iter().filter(|it| is_api(it) && it.access != Access::Anyone) {
        let path = path_of_a_row(&app, &root, entry).await;
        let what = format!("{} {}", entry.method, entry.path);
        let for_admins = matches!(entry.access, Access::Admin | Access::AdminRow);
        let changes = !entry.method.is_safe();
        if for_admins || changes {
            assert_eq!(call(&read, entry, &path).await.status, 403, "read: {what}");
        }
        if for_admins {
            assert_eq!(call(&write, entry, &path).await.status, 403, "write: {what}");
        }
    }
}

#[test]
fn a_path_with_an_id_has_a_door_that_looks_at_it() {
    for entry in table() {
        let by_row = matches!(entry.access, Access::Owner | Access::Shared | Access::AdminRow);
        assert_eq!(entry.path.contains("{id}"), by_row, "{} {}", entry.method, entry.path);
    }
}
