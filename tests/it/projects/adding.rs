//! The three ways to a project, and every refusal with its sentence.

use std::{fs, os::unix::fs::symlink, path::Path};

use forge::config::Config;

use super::*;

#[actix_web::test]
async fn a_folder_below_a_root_becomes_a_project() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "atlas", &[("AGENTS.md", "x"), (".cursorrules", "y")]);
    let project = add(&app, &alice, &path).await;
    assert_eq!(project.name, "atlas");
    assert_eq!(project.path, path.to_str().unwrap());
    assert_eq!(project.default_branch.as_deref(), Some("main"));
    assert_eq!(project.instructions, serde_json::json!(["AGENTS.md", ".cursorrules"]));
    assert_eq!(project.trust_status.to_string(), "untrusted");
}

#[actix_web::test]
async fn a_link_below_a_root_becomes_the_folder_that_it_leads_to() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = folder(&app, "real", &[]);
    let link = app.folder.path().join("roots/link");
    symlink(&path, &link).unwrap();
    let project = add(&app, &alice, &link).await;
    assert_eq!(project.path, path.to_str().unwrap());
    assert_eq!(project.default_branch, None);
}

#[actix_web::test]
async fn an_empty_project_is_a_new_repository_named_by_its_id() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let form = [("from", "empty"), ("name", "../../Ünï <b>")];
    let project = added(&app, &alice, &alice.post("/projects", &form).await).await;
    assert_eq!(project.name, "../../Ünï <b>");
    let workspaces = app.folder.path().join("workspaces").canonicalize().unwrap();
    assert_eq!(Path::new(&project.path), workspaces.join(project.id.to_string()));
    assert!(Path::new(&project.path).join(".git/HEAD").is_file());
    assert_eq!(project.default_branch.as_deref(), Some("main"));
}

#[actix_web::test]
async fn a_clone_runs_behind_a_page_that_leads_on_when_it_is_done() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let source = repository(&app, "source", &[("GEMINI.md", "x"), ("src/main.rs", "fn main() {}")]);
    let url = format!("file://{}", source.display());
    let form = [("from", "clone"), ("clone_url", url.as_str()), ("name", "")];
    let answer = alice.post("/projects", &form).await;
    assert_eq!(answer.status.as_u16(), 303, "{}", answer.body);
    let page = answer.headers["location"].to_str().unwrap().to_owned();
    let done = until("the clone is done", &alice, &page, |it| it.status.as_u16() == 303).await;
    let project = added(&app, &alice, &done).await;
    assert_eq!(project.name, "source");
    assert_eq!(project.instructions, serde_json::json!(["GEMINI.md"]));
    assert!(Path::new(&project.path).join("src/main.rs").is_file());

    // htmx is told to go there itself, and nobody else learns that there is a clone.
    let htmx = alice.request(reqwest::Method::GET, &page).header("hx-request", "true");
    let htmx = Answer::to(htmx).await;
    assert_eq!(htmx.headers["hx-redirect"], format!("/projects/{}", project.id));
    let bob = app.person("bob").await;
    bob.get(&page).await.assert_status(404);
}

#[actix_web::test]
async fn a_clone_that_fails_says_why_and_leaves_nothing() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let source = folder(&app, "no-repository", &[("x", "x")]);
    let url = format!("file://{}", source.display());
    let form = [("from", "clone"), ("clone_url", url.as_str()), ("name", "Broken")];
    let answer = alice.post("/projects", &form).await;
    let page = answer.headers["location"].to_str().unwrap().to_owned();
    let failed = until("it fails", &alice, &page, |it| it.body.contains("was not cloned")).await;
    assert!(failed.body.contains("Nothing was kept of it"), "{}", failed.body);
    assert!(failed.body.contains("Git did not succeed"), "{}", failed.body);
    assert!(failed.body.contains("Try again"));
    assert_eq!(count(&app, &alice).await, 0);
    let left: Vec<_> = fs::read_dir(app.folder.path().join("workspaces")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What the page of a clone says once it has failed.
async fn failure(app: &TestApp, url: &str) -> String {
    let alice = app.person("alice").await;
    let form = [("from", "clone"), ("clone_url", url), ("name", "")];
    let answer = alice.post("/projects", &form).await;
    let page = answer.headers["location"].to_str().unwrap().to_owned();
    until("it fails", &alice, &page, |it| it.body.contains("was not cloned")).await.body
}

#[actix_web::test]
async fn a_server_that_is_not_there_is_a_failed_clone() {
    let allow = |config: &mut Config| config.sandbox.private_hosts = vec!["127.0.0.1".into()];
    let app = TestApp::start_with(allow).await;
    let said = failure(&app, "http://127.0.0.1:1/x.git").await;
    assert!(said.contains("nobody answers at 127.0.0.1:1"), "{said}");
}

#[actix_web::test]
async fn nothing_is_cloned_from_the_servers_own_network() {
    for url in ["http://127.0.0.1:1/x.git", "ssh://git@localhost/x.git"] {
        let said = failure(&TestApp::start().await, url).await;
        assert!(said.contains("own network") && said.contains("sandbox.private_hosts"), "{said}");
        assert!(!said.contains("Git did not succeed"), "{said}");
    }
}

#[actix_web::test]
async fn each_refused_folder_gets_its_sentence() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let bob = app.person("bob").await;
    let root = app.folder.path().join("roots");
    let taken = folder(&app, "group/taken", &[("sub/x", "")]);
    add(&app, &bob, &taken).await;
    symlink("/etc", root.join("link")).unwrap();
    symlink(app.folder.path().join("data"), root.join("to-data")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    for (path, sentence) in [
        ("/etc", "is not below"),
        ("/no/such/folder", "is not below"),
        ("relative/path", "Give the whole path"),
        ("", "Give the whole path"),
        (root.join("link").to_str().unwrap(), "A symbolic link in this path leads"),
        (root.join("link/no-such").to_str().unwrap(), "A symbolic link in this path leads"),
        (root.join("to-data").to_str().unwrap(), "A symbolic link in this path leads"),
        (root.join("../data").to_str().unwrap(), "is not below"),
        (root.to_str().unwrap(), "This folder holds projects"),
        (root.join("missing").to_str().unwrap(), "There is no folder at this path"),
        (root.join("file").to_str().unwrap(), "There is no folder at this path"),
        (taken.to_str().unwrap(), "is a project already"),
        (taken.join("sub").to_str().unwrap(), "is inside another project"),
        (root.join("group").to_str().unwrap(), "Another project is inside this folder"),
    ] {
        let answer = post_folder(&alice, Path::new(path)).await.assert_status(422);
        assert!(answer.body.contains(sentence), "{path}: {}", answer.body);
        assert!(answer.body.contains("id=\"path-error\""), "{path}");
    }
    assert_eq!(count(&app, &alice).await, 0);
}

#[actix_web::test]
async fn the_data_folder_is_refused_from_all_sides() {
    let app = TestApp::start_with(|config| {
        let base = config.data.dir.parent().unwrap().to_owned();
        config.data.dir = base.join("roots/forge/data");
        config.projects.workspaces = Some(base.join("roots/spaces/workspaces"));
    })
    .await;
    let alice = app.person("alice").await;
    let inside = folder(&app, "forge/data/inside", &[]);
    let data = inside.parent().unwrap();
    let spaces = folder(&app, "spaces/workspaces", &[]);
    for (path, sentence) in [
        (data, "Forge keeps its own data in this folder"),
        (&inside, "is inside the one in which Forge keeps its own data"),
        (data.parent().unwrap(), "Forge keeps its own data inside this folder"),
        (&spaces, "Cloned projects are kept inside this folder"),
        (spaces.parent().unwrap(), "Cloned projects are kept inside this folder"),
    ] {
        let answer = post_folder(&alice, path).await.assert_status(422);
        assert!(answer.body.contains(sentence), "{path:?}: {}", answer.body);
    }
}

#[actix_web::test]
async fn two_at_once_do_not_get_the_same_folder() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let path = folder(&app, "wanted", &[("sub/x", "")]);
    let sub = path.join("sub");
    let (first, second, third) =
        tokio::join!(post_folder(&alice, &path), post_folder(&bob, &path), post_folder(&bob, &sub));
    let mut statuses = [&first, &second, &third].map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 422, 422]);
}

#[actix_web::test]
async fn each_refused_address_gets_its_sentence() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let bob = app.person("bob").await;
    let secret = repository(&app, "secret", &[("x", "x")]);
    add(&app, &bob, &secret).await;
    let secret = format!("file://{}", secret.display());
    for (url, sentence) in [
        ("", "Give the address of a repository"),
        ("ext::sh -c id", "characters that cannot stand in one"),
        ("ext::sh", "Give an address that begins with https"),
        ("--upload-pack=id", "Give an address that begins with https"),
        ("https://ada:pw@example.org/x", "Leave user name, password and token out"),
        ("file:///etc", "is not below"),
        // A folder of somebody else's is not readable by cloning it.
        (secret.as_str(), "is a project already"),
    ] {
        let form = [("from", "clone"), ("clone_url", url), ("name", "x")];
        let answer = alice.post("/projects", &form).await.assert_status(422);
        assert!(answer.body.contains(sentence), "{url}: {}", answer.body);
        assert!(answer.body.contains("id=\"url-error\""), "{url}");
    }
    assert_eq!(count(&app, &alice).await, 0);
}

#[actix_web::test]
async fn a_form_that_was_refused_keeps_what_was_typed() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let long = "x".repeat(81);
    let form = [("from", "folder"), ("path", "/etc/\"><script>"), ("name", long.as_str())];
    let answer = alice.htmx_post("/projects", &form).await.assert_status(422);
    assert!(answer.body.starts_with("<form class=\"panel\" id=\"adding\""), "{}", answer.body);
    assert!(!answer.body.contains("<script>"));
    assert!(answer.body.contains("value=\"folder\" checked"));
    assert!(answer.body.contains(&long));
    let form = [("from", "empty"), ("name", " ")];
    let answer = alice.post("/projects", &form).await.assert_status(422);
    assert!(answer.body.contains("Give it a name."), "{}", answer.body);
}

#[actix_web::test]
async fn what_a_crash_left_of_a_clone_is_removed_at_the_next_start() {
    let app = TestApp::start_with(|config| {
        let workspaces = config.projects.workspaces.clone().unwrap();
        for name in ["01ARZ3NDEKTSV4RRFFQ69G5FAV.part", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x.part"] {
            fs::create_dir_all(workspaces.join(name).join("sub")).unwrap();
        }
    })
    .await;
    let mut left: Vec<_> = fs::read_dir(app.folder.path().join("workspaces"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "x.part"]);
}
