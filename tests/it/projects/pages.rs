//! The home page and the page of a project, and who may see them.

use chrono::TimeDelta;
use forge::{
    domain::{
        ids::{ProviderId, SessionId},
        provider::Kind,
        session::SessionStatus,
    },
    store::entity::{provider::Model as Provider, session::Model as Session},
};
use serde_json::json;

use super::*;
use crate::support::session::waiting;

async fn provider(app: &TestApp, models: &[&str]) -> ProviderId {
    let now = app.app.clock.now();
    let provider = Provider {
        id: ProviderId::mint(now, app.app.entropy.as_ref()),
        owner_id: None,
        name: "House <models>".into(),
        url: "http://127.0.0.1:1".into(),
        kind: Kind::Openai,
        key: None,
        key_hint: None,
        models: json!(models),
        meta: json!({ "version": 1 }),
        disabled_at: None,
        created_at: now,
        updated_at: now,
    };
    store::providers::create(&app.app.db, provider).await.unwrap().id
}

async fn session(app: &TestApp, project: &Project, name: &str, status: SessionStatus) -> SessionId {
    let now = app.app.clock.now();
    let session = Session {
        id: SessionId::mint(now, app.app.entropy.as_ref()),
        project_id: project.id,
        user_id: project.owner_id,
        name: name.into(),
        agent: "build".into(),
        provider_id: None,
        model: "small-1".into(),
        effort: None,
        temperature: None,
        status,
        max_steps: 50,
        parent_id: None,
        seq: 0,
        summary: json!({}),
        archived_at: None,
        created_at: now,
        updated_at: now,
    };
    store::sessions::create(app.app.db.write(), session).await.unwrap().id
}

#[actix_web::test]
async fn the_home_page_says_what_is_missing_until_a_session_can_begin() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let page = alice.get("/").await.assert_ok();
    assert!(page.body.contains("Welcome, alice") && page.body.contains("No projects yet"));
    assert!(page.body.contains("as administrator") && page.body.contains("Add provider"));
    let bob = app.person("bob").await;
    assert!(!bob.get("/").await.body.contains("/providers\""));

    let provider = provider(&app, &["small-1", "large-1"]).await;
    let page = alice.get("/").await.assert_ok();
    assert!(page.body.contains("2 models can be used."));
    let path = folder(&app, "atlas", &[]);
    let project = add(&app, &alice, &path).await;
    let page = alice.get("/").await.assert_ok();
    assert!(page.body.contains(&format!("<option value=\"{}\">atlas</option>", project.id)));
    let model = format!("<option value=\"{provider}/small-1\">small-1 (House &#60;models&#62;)");
    assert!(page.body.contains(&model), "{}", page.body);
    assert!(page.body.contains("action=\"/sessions\"") && page.body.contains("Not trusted"));
}

#[actix_web::test]
async fn the_home_page_shows_what_runs_and_what_ran_of_ones_own() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    provider(&app, &["m"]).await;
    let atlas = add(&app, &alice, &folder(&app, "atlas", &[])).await;
    let birch = add(&app, &bob, &folder(&app, "birch", &[])).await;
    session(&app, &atlas, "At <work>", SessionStatus::Running).await;
    session(&app, &atlas, "Long done", SessionStatus::Idle).await;
    session(&app, &birch, "Of Bob", SessionStatus::Running).await;
    app.clock.advance(TimeDelta::minutes(5));
    let request = alice.request(reqwest::Method::GET, "/").header("hx-request", "true");
    let live = Answer::to(request).await.assert_ok();
    assert!(live.body.starts_with("<div class=\"columns\" id=\"live\""), "{}", live.body);
    assert!(live.body.contains("At &#60;work&#62;") && live.body.contains("Long done"));
    assert!(!live.body.contains("Of Bob") && !live.body.contains("birch"));
}

#[actix_web::test]
async fn what_waits_is_counted_and_answered_from_the_home_page() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    provider(&app, &["m"]).await;
    let made = waiting(&app, &alice).await;
    let page = alice.get("/").await.assert_ok();
    for words in [
        format!("id=\"ask-{}\"", made.ask),
        format!("href=\"/sessions/{}#ask-{}\"", made.session.id, made.ask),
        format!("action=\"/asks/{}\"", made.ask),
        "aria-label=\"1 ask waits for you\"".to_owned(),
    ] {
        assert!(page.body.contains(&words), "{words}: {}", page.body);
    }
    let theirs = bob.get("/").await.assert_ok();
    assert!(!theirs.body.contains(&made.ask.to_string()));
}

#[actix_web::test]
async fn the_page_of_a_project_tells_how_it_stands() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "atlas", &[("a.txt", "a"), ("src/b.txt", "b"), ("AGENTS.md", "x")]);
    fs::write(path.join("a.txt"), "changed").unwrap();
    fs::write(path.join("src/公.txt"), "new").unwrap();
    let project = add(&app, &alice, &path).await;
    session(&app, &project, "First words", SessionStatus::Error).await;
    let page = alice.get(&format!("/projects/{}", project.id)).await.assert_ok();
    for words in [
        "You have not trusted this project yet",
        "Its AGENTS.md is not used",
        "<code>main</code>",
        "The &#60;first&#62; commit",
        "src/公.txt",
        "1 changed",
        "First words",
        "Failed",
        "small-1",
    ] {
        assert!(page.body.contains(words), "{words}: {}", page.body);
    }
    fs::write(path.join("CLAUDE.md"), "y").unwrap();
    let page = alice.get(&format!("/projects/{}", project.id)).await.assert_ok();
    assert!(page.body.contains("Its AGENTS.md, CLAUDE.md are not used"), "{}", page.body);
    let rows = alice.request(reqwest::Method::GET, &format!("/projects/{}", project.id));
    let rows = Answer::to(rows.header("hx-request", "true")).await.assert_ok();
    assert!(
        rows.body.starts_with("<ul class=\"list linked\" id=\"session-rows\""),
        "{}",
        rows.body
    );
    assert!(rows.body.contains("First words") && !rows.body.contains("Working tree"));
}

#[actix_web::test]
async fn a_project_is_renamed_and_trusted_by_its_owner() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let project = add(&app, &alice, &repository(&app, "atlas", &[("AGENTS.md", "")])).await;
    let page = format!("/projects/{}", project.id);
    alice.post(&format!("{page}/name"), &[("name", " Atlas 2 ")]).await.assert_redirect(&page);
    let refused = alice.post(&format!("{page}/name"), &[("name", "a\nb")]).await.assert_status(422);
    assert!(refused.body.contains("Keep the name on one line"), "{}", refused.body);
    alice.post(&format!("{page}/trust"), &[]).await.assert_redirect(&page);
    let shown = alice.get(&page).await.assert_ok();
    assert!(shown.body.contains("Trusted by you") && shown.body.contains("Atlas 2"));
    alice.post(&format!("{page}/trust"), &[("trust", "untrusted")]).await.assert_redirect(&page);
    alice.post(&format!("{page}/trust"), &[("trust", "maybe")]).await.assert_status(422);
    let log = store::audit::page(&app.app.db, None, 10).await.unwrap();
    let actions: Vec<_> = log.iter().map(|line| line.action.as_str()).collect();
    assert!(actions.starts_with(&["project.untrusted", "project.trusted", "project.added"]));
}

#[actix_web::test]
async fn removing_a_project_keeps_every_file() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "atlas", &[("a.txt", "a")]);
    let own = [("from", "empty"), ("name", "own")];
    let own = added(&app, &alice, &alice.post("/projects", &own).await).await;
    for project in [add(&app, &alice, &path).await, own] {
        session(&app, &project, "Done", SessionStatus::Idle).await;
        let page = format!("/projects/{}/remove", project.id);
        let confirm = alice.get(&page).await.assert_ok();
        assert!(confirm.body.contains("1 session with everything"), "{}", confirm.body);
        assert!(confirm.body.contains(&project.path), "{}", confirm.body);

        let running = session(&app, &project, "Busy", SessionStatus::Running).await;
        let refused = alice.post(&page, &[]).await.assert_status(409);
        assert!(refused.body.contains("Agents are at work in 1 of its sessions"));
        store::sessions::delete(&app.app.db, running).await.unwrap();

        alice.post(&page, &[]).await.assert_redirect("/");
        assert!(Path::new(&project.path).join(".git/HEAD").is_file(), "{}", project.path);
        assert!(find(&app, &alice, &project.id.to_string()).await.is_none());
        alice.get(&format!("/projects/{}", project.id)).await.assert_status(404);
        assert_eq!(store::sessions::count(&app.app.db, project.id).await.unwrap(), 0);
    }
    // Its folder may become a project again.
    add(&app, &alice, &path).await;
}

#[actix_web::test]
async fn to_a_stranger_there_is_no_project() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let admin = app.admin("root").await;
    let project = add(&app, &alice, &folder(&app, "atlas", &[("x", "x")])).await;
    let page = format!("/projects/{}", project.id);
    for person in [&bob, &admin] {
        for path in ["", "/files", "/file?path=x", "/raw?path=x", "/remove"] {
            person.get(&format!("{page}{path}")).await.assert_status(404);
        }
        for path in ["/name", "/trust", "/remove"] {
            person.post(&format!("{page}{path}"), &[("name", "mine")]).await.assert_status(404);
        }
    }
    assert_eq!(find(&app, &alice, &project.id.to_string()).await.unwrap().name, "atlas");
    let nobody = app.stranger();
    assert_eq!(nobody.get(&page).await.status.as_u16(), 303);
    assert_eq!(nobody.get("/").await.status.as_u16(), 303);
}

#[actix_web::test]
async fn everything_stays_below_a_base_path() {
    let app = TestApp::start_with(|config| {
        config.server.public_url = Some("http://127.0.0.1/forge".parse().unwrap());
    })
    .await;
    let alice = app.person("alice").await;
    let path = folder(&app, "atlas", &[("src/x", "x")]);
    let form = [("from", "folder"), ("path", path.to_str().unwrap()), ("name", "")];
    let answer = alice.post("/projects", &form).await;
    let project = answer.headers["location"].to_str().unwrap().strip_prefix("/forge").unwrap();
    for page in ["/", project, &format!("{project}/files"), &format!("{project}/file?path=src/x")] {
        let page = alice.get(page).await.assert_ok();
        let rest = page.body.replace("=\"/forge/", "");
        assert!(!rest.contains("=\"/"), "{rest}");
    }
}
