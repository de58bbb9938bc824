//! What an admin enters of a model, and where each value comes from.

use forge::{domain::provider::Source, engine::providers::known};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    add, add_scripted,
    fake::{Does, Fake},
    stored,
};
use crate::support::{TestApp, model::ScriptedModel};

#[actix_web::test]
async fn what_is_entered_stays_when_the_list_is_read_again_and_goes_when_it_is_emptied() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let list = r#"{"data":[{"id":"maker/one","context_length":32000,"pricing":{"prompt":"0.000001","completion":"0.000002"}},{"id":"gpt-4o"}]}"#;
    let fake = Fake::start(Does::answer("200 OK", "application/json", list)).await;
    let path = add(&alice, &fake.origin(), "").await;
    let id = path.rsplit('/').next().unwrap().to_owned();
    let api = format!("/api/v1/providers/{id}");
    let kind = json!({"kind": "openrouter"});
    alice.api.json(Method::PATCH, &api, &kind).await.assert_ok();
    alice.post(&format!("{path}/refresh"), &[]).await.assert_redirect(&path);

    let form = format!("{path}/model");
    let page = alice.get(&format!("{form}?model=maker/one")).await.assert_ok().body;
    assert!(page.contains("Otherwise 32000, from the provider&#39;s list."), "{page}");
    assert!(page.contains("Otherwise $1.00, from the provider&#39;s list."));
    assert!(page.contains("Otherwise unknown."));
    let page = alice.get(&format!("{form}?model=gpt-4o")).await.assert_ok().body;
    assert!(page.contains("Otherwise 128000, from the catalogue."));
    alice.get(&format!("{form}?model=other")).await.assert_status(422);
    alice.get(&form).await.assert_status(422);

    let entered = [
        ("model", "maker/one"),
        ("context", "64 000"),
        ("tools", "yes"),
        ("images", "no"),
        ("price_output", "$0.125"),
    ];
    let back = format!("{path}#models");
    alice.post(&form, &entered).await.assert_redirect(&back);
    for _ in 0..2 {
        let meta = known(&stored(&app, &alice).await[0]);
        let one = &meta.models["maker/one"];
        assert_eq!((one.context, one.tools, one.images), (Some(64_000), Some(true), Some(false)));
        assert_eq!((one.price_input, one.price_output), (Some(1_000_000), Some(125_000)));
        assert_eq!(one.price_cache_read, None, "unknown stays unknown");
        assert_eq!(meta.source("maker/one", |it| it.context), Some(Source::Entered));
        assert_eq!(meta.source("maker/one", |it| it.price_input), Some(Source::Listed));
        assert_eq!(meta.source("gpt-4o", |it| it.context), Some(Source::Catalogue));
        alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok();
    }
    let page = alice.get(&path).await.assert_ok().body;
    assert!(page.contains("<small>entered</small>") && page.contains("<small>catalogue</small>"));
    assert!(page.contains("<td class=\"num faint\">unknown</td>"));

    for (field, text, says) in [
        ("context", "0", "number of tokens"),
        ("context", "many", "whole number"),
        ("price_input", "-1", "give a number"),
        ("price_input", "NaN", "give a number"),
    ] {
        let wrong = [("model", "maker/one"), (field, text)];
        let answer = alice.post(&form, &wrong).await.assert_status(422);
        assert!(answer.body.contains(says) && answer.body.contains("Nothing was saved"), "{text}");
    }
    alice.post(&form, &[("model", "maker/one")]).await.assert_redirect(&back);
    let meta = known(&stored(&app, &alice).await[0]);
    assert_eq!(meta.models["maker/one"].context, Some(32_000), "the list shows again");
    assert!(meta.entered.is_empty());
}

#[actix_web::test]
async fn the_list_of_providers_follows_what_becomes_of_models() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let model = ScriptedModel::start().await;
    let path = add_scripted(&alice, &model).await;
    let read = alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok().body;
    assert!(
        read.contains("id=\"provider-list\" hx-swap-oob=\"true\"")
            && read.contains("0 models in use")
    );
    let form = [("shown", "scripted-large"), ("use", "scripted-large")];
    let saved = alice.htmx_post(&format!("{path}/models"), &form).await.assert_ok().body;
    assert!(saved.contains("1 model in use"));
}

#[actix_web::test]
async fn prices_follow_the_address_and_a_model_by_name_is_known_too() {
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let wish = json!({"name": "Maker", "kind": "openai", "url": "https://api.openai.com/v1",
        "models": ["gpt-4o", "unheard-of"]});
    let made =
        alice.api.json(Method::POST, "/api/v1/providers", &wish).await.assert_status(201).value();
    assert_eq!(made["meta"]["gpt-4o"]["price_input"], 2.5);
    assert_eq!(made["meta"]["unheard-of"]["context"], Value::Null);
    let path = format!("/api/v1/providers/{}", made["id"].as_str().unwrap());
    let elsewhere = json!({"url": "https://models.example.com/v1"});
    let moved = alice.api.json(Method::PATCH, &path, &elsewhere).await.assert_ok().value();
    assert_eq!(moved["meta"]["gpt-4o"]["context"], 128_000);
    assert_eq!(moved["meta"]["gpt-4o"]["price_input"], Value::Null);
}
