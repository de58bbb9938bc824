//! The pages: list, form, models.

use forge::{
    domain::provider::Kind,
    engine::providers::{chosen, known},
};

use super::{
    add, add_scripted,
    fake::{Does, Fake},
    save, stored, value,
};
use crate::support::{TestApp, model::ScriptedModel};

#[actix_web::test]
async fn an_empty_page_says_how_to_begin_and_a_new_provider_follows() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;

    let empty = alice.get("/providers").await.assert_ok();
    assert!(empty.body.contains("No provider yet"));
    assert!(empty.body.contains("href=\"/providers/new\""));
    let form = alice.get("/providers/new").await.assert_ok();
    assert!(form.body.contains("action=\"/providers\""));

    let path = add(&alice, "http://127.0.0.1:9/v1", "sk-0123456789abcdef").await;
    let page = alice.get(&path).await.assert_ok();
    assert!(page.body.contains("key ends in cdef"));
    assert!(page.body.contains("No models yet"));
    assert!(!page.body.contains("sk-0123"));
    let list = alice.get("/providers").await.assert_ok();
    assert!(list.body.contains("Scripted") && !list.body.contains("No provider yet"));
}

#[actix_web::test]
async fn every_kind_is_offered_and_an_empty_address_is_its_usual_one() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;

    let page = alice.get("/providers/new").await.assert_ok().body;
    for kind in Kind::ALL {
        assert!(page.contains(&format!("<option value=\"{kind}\"")), "{kind}");
        assert!(page.contains(kind.default_url()) && page.contains(kind.name()), "{kind}");
        let word = kind.to_string();
        let form = [("name", word.as_str()), ("kind", word.as_str()), ("url", " ")];
        let answer = alice.post("/providers", &form).await.assert_status(303);
        let path = answer.headers["location"].to_str().unwrap().to_owned();
        let shown = alice.get(&path).await.assert_ok().body;
        assert!(shown.contains(&format!("<option value=\"{kind}\" selected>")), "{kind}");
        assert_eq!(value(&shown, "p-url"), kind.default_url());
    }
    let mut kinds: Vec<_> = stored(&app, &alice).await.iter().map(|it| it.kind).collect();
    kinds.sort_by_key(|kind| Kind::ALL.iter().position(|it| it == kind));
    assert_eq!(kinds, Kind::ALL);
}

#[actix_web::test]
async fn what_is_wrong_stands_beside_its_field_and_nothing_is_stored() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;

    let answer = alice.post("/providers", &[]).await.assert_status(422);
    for says in ["Give it a name.", "Choose a kind", "Give the address"] {
        assert!(answer.body.contains(says), "{says}");
    }
    let long = "x".repeat(600);
    let hostile = [
        ("name", "<script>alert(1)</script>"),
        ("kind", "smoke"),
        ("url", "javascript:alert(1)"),
        ("key", "sk-bad key\u{e9}"),
    ];
    let answer = alice.post("/providers", &hostile).await.assert_status(422);
    assert!(answer.body.contains("must begin with http://"));
    assert!(answer.body.contains("a character that no key has"));
    assert!(answer.body.contains("Choose a kind"));
    assert!(!answer.body.contains("<script>alert"), "what was entered is escaped");
    assert!(!answer.body.contains("sk-bad"), "the key is not given back");
    for (name, url) in [(long.as_str(), "http://x"), ("x", long.as_str())] {
        let form = [("name", name), ("kind", "openai"), ("url", url)];
        let answer = alice.post("/providers", &form).await.assert_status(422);
        assert!(answer.body.contains("characters."));
    }
    assert!(stored(&app, &alice).await.is_empty());
}

#[actix_web::test]
async fn a_save_with_htmx_answers_with_the_form_and_the_list() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let path = add(&alice, "http://127.0.0.1:9/v1", "").await;

    let form = [("name", "Renamed <b>"), ("kind", "openai"), ("url", "http://127.0.0.1:8/v1")];
    let answer = alice.htmx_post(&path, &form).await.assert_ok();
    assert!(answer.body.starts_with("<section class=\"panel\" id=\"provider\""));
    assert!(answer.body.contains("hx-swap-oob=\"true\""));
    assert!(answer.body.contains("Renamed &#60;b&#62;"));
    assert!(answer.headers["hx-trigger"].to_str().unwrap().contains("Provider saved."));

    let answer = alice.htmx_post(&path, &[("name", "")]).await.assert_status(422);
    assert!(answer.body.contains("id=\"p-name-error\"") && !answer.body.contains("<html"));
    assert_eq!(stored(&app, &alice).await[0].name, "Renamed <b>");
}

#[actix_web::test]
async fn a_key_is_kept_replaced_and_removed() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let path = add(&alice, "http://127.0.0.1:9/v1", "sk-0123456789abcdef").await;
    let sealed = stored(&app, &alice).await[0].key.clone();

    for kept in ["", "••••••••cdef", "********"] {
        save(&alice, &path, &[("key", kept)]).await.assert_redirect(&path);
        assert_eq!(stored(&app, &alice).await[0].key, sealed, "{kept:?}");
    }
    save(&alice, &path, &[("key", "short")]).await.assert_redirect(&path);
    let row = stored(&app, &alice).await.remove(0);
    assert!(row.key != sealed && row.key_hint.is_none(), "a short key shows nothing of itself");
    save(&alice, &path, &[("key", ""), ("remove_key", "yes")]).await.assert_redirect(&path);
    let row = stored(&app, &alice).await.remove(0);
    assert_eq!((row.key, row.key_hint), (None, None));
    assert!(alice.get("/providers").await.body.contains("no key"));
}

#[actix_web::test]
async fn models_are_read_chosen_and_kept() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add_scripted(&alice, &model).await;

    let panel = alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok();
    assert!(panel.body.starts_with("<section class=\"panel\" id=\"models\""));
    assert!(panel.body.contains("scripted-large") && panel.body.contains("unknown"));
    assert!(stored(&app, &alice).await[0].models.as_array().unwrap().is_empty());

    let models = format!("{path}/models");
    let form = [
        ("shown", "scripted-large"),
        ("shown", "scripted-small"),
        ("use", "scripted-small"),
        ("more", " unlisted-one "),
    ];
    alice.post(&models, &form).await.assert_redirect(&path);
    assert_eq!(chosen(&stored(&app, &alice).await[0]), ["scripted-small", "unlisted-one"]);
    let page = alice.get("/providers").await;
    assert!(page.body.contains("2 models in use"));

    // What was not shown, because of a filter, stays chosen.
    let found = alice.get(&format!("{models}?q=LARGE")).await.assert_ok();
    assert!(
        found.body.contains("Use scripted-large") && !found.body.contains("Use scripted-small")
    );
    let form = [("shown", "scripted-large"), ("use", "scripted-large")];
    alice.htmx_post(&models, &form).await.assert_ok();
    let row = stored(&app, &alice).await.remove(0);
    assert_eq!(chosen(&row), ["scripted-small", "unlisted-one", "scripted-large"]);

    alice.post(&format!("{path}/refresh"), &[]).await.assert_redirect(&path);
    let after = stored(&app, &alice).await.remove(0);
    assert_eq!(chosen(&after), chosen(&row), "reading the list again changes no choice");

    let bad = [("more", "with space")];
    let answer = alice.htmx_post(&models, &bad).await.assert_status(422);
    assert!(answer.body.contains("has a space"));
    assert_eq!(chosen(&stored(&app, &alice).await[0]).len(), 3);
}

#[actix_web::test]
async fn thousands_of_models_are_bounded_on_the_page_and_found_with_the_filter() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let ids: Vec<_> = (0..4_000).map(|it| format!(r#"{{"id":"m-{it:04}"}}"#)).collect();
    let list = format!(r#"{{"data":[{}]}}"#, ids.join(","));
    let fake = Fake::start(Does::answer("200 OK", "application/json", &list)).await;
    let path = add(&alice, &fake.origin(), "").await;

    alice.post(&format!("{path}/refresh"), &[]).await.assert_redirect(&path);
    assert_eq!(known(&stored(&app, &alice).await[0]).models.len(), 4_000);
    let page = alice.get(&path).await.assert_ok();
    assert!(page.body.contains("300 of 4000 are shown"));
    assert!(page.body.len() < 300_000, "{}", page.body.len());
    let found = alice.get(&format!("{path}/models?q=m-3999")).await.assert_ok();
    assert!(found.body.contains("Use m-3999") && !found.body.contains("Use m-0001"));
}

#[actix_web::test]
async fn an_address_is_asked_right_with_and_without_slash_and_version() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let list = r#"{"data":[{"id":"m"}]}"#;
    for end in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
        let fake = Fake::start(Does::answer("200 OK", "application/json", list)).await;
        let path = add(&alice, &format!("{}{end}", fake.origin()), "").await;
        alice.post(&format!("{path}/refresh"), &[]).await.assert_redirect(&path);
        assert_eq!(fake.asked(), ["GET /v1/models HTTP/1.1"], "{end}");
    }
}

#[actix_web::test]
async fn a_provider_is_disabled_enabled_and_deleted() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let path = add(&alice, "http://127.0.0.1:9/v1", "sk-0123456789abcdef").await;

    alice.post(&format!("{path}/disable"), &[]).await.assert_redirect(&path);
    let page = alice.get(&path).await.assert_ok();
    assert!(page.body.contains("Disabled") && page.body.contains(&format!("{path}/enable")));
    assert!(stored(&app, &alice).await[0].key.is_some());
    alice.post(&format!("{path}/enable"), &[]).await.assert_redirect(&path);
    assert!(stored(&app, &alice).await[0].disabled_at.is_none());

    assert!(page.body.contains("Sessions that used it keep their history"));
    alice.post(&format!("{path}/delete"), &[]).await.assert_redirect("/providers");
    assert!(stored(&app, &alice).await.is_empty());
    alice.get(&path).await.assert_status(404);
}

#[actix_web::test]
async fn to_a_member_there_are_no_providers_to_set_up() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let bob = app.person("bob").await;
    let path = add(&alice, "http://127.0.0.1:9/v1", "sk-0123456789abcdef").await;

    for page in ["/providers", "/providers/new", &path, &format!("{path}/models")] {
        bob.get(page).await.assert_status(404);
    }
    let form = [("name", "mine"), ("kind", "openai"), ("url", "http://127.0.0.1:1")];
    bob.post("/providers", &form).await.assert_status(404);
    bob.post(&path, &form).await.assert_status(404);
    for action in ["test", "refresh", "models", "disable", "enable", "delete"] {
        bob.post(&format!("{path}/{action}"), &form).await.assert_status(404);
    }
    let row = stored(&app, &alice).await.remove(0);
    assert_eq!(row.name, "Scripted");
    assert!(row.disabled_at.is_none());
    assert_eq!(value(&alice.get(&path).await.body, "p-url"), "http://127.0.0.1:9/v1");
}
