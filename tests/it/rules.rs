//! Permission rules on their pages.

use forge::{
    domain::{ids::ProjectId, trust::Trust},
    engine::rules,
    store::{self, entity::project::Model as Project},
};

use reqwest::Method;
use serde_json::json;

use crate::support::{Person, TestApp};

#[actix_web::test]
async fn rules_are_added_moved_and_removed() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let (_, path) = project(&app, &alice).await;

    assert!(alice.get(&path).await.assert_ok().body.contains("No rules yet"));
    for (tool, pattern, action) in
        [("bash", "*", "ask"), ("edit", "src/**", "allow"), ("bash", " cargo test * ", "allow")]
    {
        let form = [("tool", tool), ("pattern", pattern), ("action", action)];
        alice.post(&path, &form).await.assert_redirect(&path);
    }
    let page = alice.get(&path).await.assert_ok().body;
    assert_eq!(patterns(&page), ["*", "src/**", "cargo test *"]);
    assert!(page.contains("alice, 1 Jan 2026"), "who made it, and when");

    let change = format!("{path}/change");
    let last = id_of(&page, 2);
    let panel = alice.htmx_post(&change, &[("rule", &last), ("do", "up")]).await.assert_ok().body;
    assert!(panel.starts_with("<section class=\"panel\" id=\"rules\""));
    assert_eq!(patterns(&panel), ["*", "cargo test *", "src/**"]);
    alice.post(&change, &[("rule", &id_of(&panel, 0)), ("do", "up")]).await.assert_redirect(&path);
    alice.post(&change, &[("rule", &last), ("do", "down")]).await.assert_redirect(&path);
    alice.post(&change, &[("rule", &last), ("do", "remove")]).await.assert_redirect(&path);
    assert_eq!(patterns(&alice.get(&path).await.body), ["*", "src/**"]);

    let audit = store::audit::page(&app.app.db, None, 10).await.unwrap();
    assert!(audit.iter().any(|it| it.action == "rules.removed"
        && it.detail["removed"][0] == "bash `cargo test *` → allow"));
}

#[actix_web::test]
async fn what_is_wrong_is_said_beside_its_field_and_changes_nothing() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let (_, path) = project(&app, &alice).await;

    let long = "x".repeat(1_001);
    for (form, says) in [
        (vec![], "Choose allow, ask or deny."),
        (vec![("tool", "bash"), ("action", "allow")], "Say what the rule covers"),
        (vec![("pattern", "x"), ("action", "allow")], "Name the tool"),
        (vec![("tool", "rm"), ("pattern", "x"), ("action", "allow")], "There is no tool named rm"),
        (vec![("tool", "bash"), ("pattern", &long), ("action", "ask")], "under 1001 characters"),
        (vec![("tool", "bash"), ("pattern", "a\nb"), ("action", "ask")], "line break"),
        (vec![("tool", "bash"), ("pattern", "a"), ("action", "perhaps")], "Choose allow"),
        (
            vec![("tool", "<script>"), ("pattern", "<script>x()"), ("action", "deny")],
            "There is no tool named",
        ),
    ] {
        let answer = alice.post(&path, &form).await.assert_status(422);
        assert!(answer.body.contains(says), "{says}");
        assert!(!answer.body.contains("<script>x()"));
        let answer = alice.htmx_post(&path, &form).await.assert_status(422);
        assert!(answer.body.contains(says) && !answer.body.contains("<html"), "{says}");
    }
    let change = format!("{path}/change");
    alice.post(&change, &[]).await.assert_status(422);
    let unknown = [("rule", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), ("do", "remove")];
    alice.post(&change, &unknown).await.assert_status(404);
    assert!(patterns(&alice.get(&path).await.body).is_empty());
}

#[actix_web::test]
async fn a_rule_of_another_list_cannot_be_changed_from_here() {
    let app = TestApp::start().await;
    let admin = app.admin("alice").await;
    let bob = app.person("bob").await;
    let (_, path) = project(&app, &bob).await;
    let form = [("tool", "bash"), ("pattern", "curl *"), ("action", "deny")];
    admin.post("/rules", &form).await.assert_redirect("/rules");
    let global = id_of(&admin.get("/rules").await.assert_ok().body, 0);

    let remove = [("rule", global.as_str()), ("do", "remove")];
    bob.post(&format!("{path}/change"), &remove).await.assert_status(404);
    bob.post("/rules/change", &remove).await.assert_status(404);
    bob.post("/rules", &form).await.assert_status(404);
    bob.get("/rules").await.assert_status(404);
    admin.post(&path, &form).await.assert_status(404);
    admin.get(&path).await.assert_status(404);

    let page = bob.get(&path).await.assert_ok().body;
    assert!(page.contains("curl *") && page.contains("Set by administrators"));
    assert!(!page.contains(&format!("value=\"{global}\"")), "there is nothing to change it with");
    assert!(!page.contains("alice"), "who set it is no business of members");
}

#[actix_web::test]
async fn a_command_is_tried_with_each_part_and_its_rule() {
    let app = TestApp::start().await;
    let admin = app.admin("alice").await;
    let (project, path) = project(&app, &admin).await;
    store::projects::set_trust(&app.app.db, project, Trust::Trusted, app.app.clock.now())
        .await
        .unwrap();
    let deny = [("tool", "bash"), ("pattern", "rm -rf *"), ("action", "deny")];
    admin.post("/rules", &deny).await.assert_redirect("/rules");
    let allow = [("tool", "bash"), ("pattern", "cargo test *"), ("action", "allow")];
    admin.post(&path, &allow).await.assert_redirect(&path);

    let line = "cargo%20test%20limits%20%26%26%20rm%20-rf%20target";
    let tried = format!("{path}/try?tool=bash&input={line}");
    let fragment = htmx_get(&admin, &tried).await;
    assert!(fragment.starts_with("<div class=\"stack tight\" id=\"verdict\""), "{fragment}");
    assert!(fragment.contains("Would be denied"));
    assert!(fragment.contains("<code>cargo test limits</code>"));
    let decides = fragment.find("data-decides").unwrap();
    assert!(fragment[decides..].starts_with("data-decides><code>rm -rf target</code>"));
    assert!(fragment.contains("rm -rf *"), "the rule is named");
    let page = admin.get(&tried).await.assert_ok().body;
    assert!(page.contains("Would be denied") && page.contains("<h1>Rules</h1>"));
    assert!(page.contains("cargo test limits &#38;&#38; rm -rf target</textarea>"));

    let allowed = htmx_get(&admin, &format!("{path}/try?input=cargo%20test")).await;
    assert!(allowed.contains("Would be allowed"), "{allowed}");
    let global = htmx_get(&admin, "/rules/try?tool=web_fetch&input=https://docs.rs/x").await;
    assert!(global.contains("Would be asked about"), "{global}");

    let wrong = htmx_get(&admin, &format!("{path}/try?tool=%3Cb%3E&input=x")).await;
    assert!(wrong.contains("There is no such tool"));
    let long = htmx_get(&admin, &format!("{path}/try?input={}", "x".repeat(4_001))).await;
    assert!(long.contains("under 4001 characters"));
}

#[actix_web::test]
async fn an_untrusted_project_asks_whatever_its_rules_allow() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let (_, path) = project(&app, &alice).await;
    let allow = [("tool", "bash"), ("pattern", "*"), ("action", "allow")];
    alice.post(&path, &allow).await.assert_redirect(&path);

    let tried = htmx_get(&alice, &format!("{path}/try?input=cargo%20test")).await;
    assert!(tried.contains("Would be asked about") && tried.contains("not trusted"), "{tried}");
}

#[actix_web::test]
async fn a_list_is_bounded() {
    let app = TestApp::start().await;
    let admin = app.admin("alice").await;
    let by = forge::engine::refused::Actor { user: admin.user.id, ip: None };
    let entered: Vec<_> = (0..500)
        .map(|it| rules::Entered {
            tool: "bash".into(),
            pattern: format!("make {it}"),
            action: "allow".into(),
        })
        .collect();
    rules::replace(&app.app.engine, None, entered, &by).await.unwrap();

    let form = [("tool", "bash"), ("pattern", "one more"), ("action", "allow")];
    let answer = admin.post("/rules", &form).await.assert_status(422);
    assert!(answer.body.contains("at most 500 rules"));
    assert_eq!(store::rules::list(&app.app.db, None).await.unwrap().len(), 500);
}

/// A project of somebody, and the path of its rules.
pub async fn project(app: &TestApp, owner: &Person) -> (Project, String) {
    let now = app.app.clock.now();
    let id = ProjectId::mint(now, app.app.entropy.as_ref());
    let project = Project {
        id,
        owner_id: owner.user.id,
        name: "atlas".into(),
        path: app.folder.path().join("roots").join(id.to_string()).display().to_string(),
        default_branch: None,
        instructions: serde_json::json!([]),
        trust_status: Trust::Untrusted,
        created_at: now,
        updated_at: now,
        opened_at: None,
    };
    let project = store::projects::create(&app.app.db, project).await.unwrap();
    (project, format!("/projects/{id}/rules"))
}

async fn htmx_get(person: &Person, path: &str) -> String {
    let request = person.request(reqwest::Method::GET, path).header("hx-request", "true");
    crate::support::Answer::to(request).await.assert_ok().body
}

/// The patterns of the first list of a page.
fn patterns(page: &str) -> Vec<&str> {
    let list = page.split("</section>").next().unwrap();
    list.split("<td><code>").skip(1).map(|it| it.split("</code>").next().unwrap()).collect()
}

fn id_of(page: &str, number: usize) -> String {
    let row = page.split("id=\"rule-0").nth(number + 1).unwrap();
    format!("0{}", row.split('"').next().unwrap())
}

#[actix_web::test]
async fn a_script_replaces_a_list_as_a_whole() {
    let app = TestApp::start().await;
    let admin = app.admin("alice").await;
    let bob = app.person("bob").await;
    let (project, _) = project(&app, &bob).await;
    let path = format!("/api/v1/projects/{}/rules", project.id);

    let rules = json!([
        { "tool": "bash", "pattern": "*", "action": "ask" },
        { "tool": "bash", "pattern": "cargo *", "action": "allow" },
    ]);
    let put = bob.api.json(Method::PUT, &path, &json!({ "items": rules })).await.assert_ok();
    let first = put.value();
    assert_eq!(first["items"][1]["pattern"], "cargo *");
    assert_eq!(first["items"][1]["created_by"], bob.user.id.to_string());
    assert_eq!(bob.api.get(&path).await.assert_ok().value(), first);
    // An answer can be sent back, and the bare list too; what stays keeps its id.
    assert_eq!(bob.api.json(Method::PUT, &path, &first).await.assert_ok().value(), first);
    let shorter = json!([{ "tool": "bash", "pattern": "cargo *", "action": "allow" }]);
    let second = bob.api.json(Method::PUT, &path, &shorter).await.assert_ok().value();
    assert_eq!(second["items"][0]["id"], first["items"][1]["id"]);
    assert_eq!(second["items"].as_array().unwrap().len(), 1);

    admin.api.get(&path).await.assert_status(404);
    admin.api.json(Method::PUT, &path, &shorter).await.assert_status(404);
    bob.api.get("/api/v1/rules").await.assert_status(404);
    bob.api.json(Method::PUT, "/api/v1/rules", &shorter).await.assert_status(404);
    admin.api.json(Method::PUT, "/api/v1/rules", &shorter).await.assert_ok();
    assert_eq!(store::rules::for_project(&app.app.db, project.id).await.unwrap().len(), 2);
    bob.api.json(Method::PUT, &path, &json!([])).await.assert_ok();
    assert_eq!(store::rules::for_project(&app.app.db, project.id).await.unwrap().len(), 1);
}

#[actix_web::test]
async fn a_list_with_one_wrong_rule_changes_nothing() {
    let app = TestApp::start().await;
    let bob = app.person("bob").await;
    let (project, _) = project(&app, &bob).await;
    let path = format!("/api/v1/projects/{}/rules", project.id);
    let good = json!({ "tool": "bash", "pattern": "make *", "action": "deny" });
    bob.api.json(Method::PUT, &path, &json!([good])).await.assert_ok();

    for (bad, says) in [
        (json!({ "tool": "bash", "pattern": "x" }), "missing field"),
        (json!({ "pattern": "x", "action": "ask" }), "missing field"),
        (json!({ "tool": "bash", "action": "ask" }), "missing field"),
        (json!({ "tool": 5, "pattern": "x", "action": "ask" }), "expected a string"),
        (json!({ "tool": "rm", "pattern": "x", "action": "ask" }), "no tool named rm"),
        (json!({ "tool": "bash", "pattern": " ", "action": "ask" }), "what the rule covers"),
        (json!({ "tool": "bash", "pattern": "x", "action": "yes" }), "Choose allow"),
        (json!({ "tool": "bash", "pattern": "x".repeat(1_001), "action": "ask" }), "under 1001"),
        (json!({ "tool": "bash", "pattern": "a\u{202e}b", "action": "ask" }), "invisible"),
        (json!(["bash", "x"]), "Rule 2"),
        (json!(null), "Rule 2"),
    ] {
        let answer = bob.api.json(Method::PUT, &path, &json!([good, bad])).await;
        let told = answer.assert_status(422).value()["errors"]["items"].clone();
        let told = told.as_str().unwrap();
        assert!(told.starts_with("Rule 2: ") && told.contains(says), "{told}");
    }
    for bad in [json!({}), json!("x"), json!({ "items": 1 }), json!(vec![good.clone(); 501])] {
        bob.api.json(Method::PUT, &path, &bad).await.assert_status(422);
    }
    let now = bob.api.get(&path).await.assert_ok().value();
    assert_eq!(now["items"].as_array().unwrap().len(), 1);
    assert_eq!(now["items"][0]["pattern"], "make *");
}
