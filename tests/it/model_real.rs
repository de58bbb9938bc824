//! A real endpoint instead of a scripted one, where the environment names it.
//!
//! `FORGE_TEST_REAL_KIND` (openai, openrouter, ollama, anthropic or gemini), `FORGE_TEST_REAL_URL`,
//! `FORGE_TEST_REAL_MODEL`, and `FORGE_TEST_REAL_KEY` where it wants one. `tests/real-model` serves
//! a small model on this machine and runs this against it.

use std::{env, time::Duration};

use forge::{
    domain::{
        message::{Part, Step},
        provider::Kind,
        session::SessionStatus,
    },
    engine::sessions::{self, New},
};
use reqwest::Method;
use serde_json::json;

use crate::support::TestApp;

/// Long enough for a model that runs on a processor.
const PATIENCE: Duration = Duration::from_secs(300);

#[actix_web::test]
async fn a_real_endpoint_is_set_up_answers_and_is_drawn() {
    let named = |name: &str| env::var(format!("FORGE_TEST_REAL_{name}")).ok();
    let (Some(kind), Some(url), Some(model)) = (named("KIND"), named("URL"), named("MODEL")) else {
        eprintln!("skipped: FORGE_TEST_REAL_KIND, _URL and _MODEL name no endpoint");
        return;
    };
    let kind: Kind = kind.parse().expect("a kind of provider");
    let app = TestApp::start().await;
    let alice = app.admin("alice").await;
    let body = json!({"name": "Real", "kind": kind.to_string(), "url": url, "key": named("KEY"),
        "models": [model]});
    let api = "/api/v1/providers";
    let made = alice.api.json(Method::POST, api, &body).await.assert_status(201).value();
    let id = made["id"].as_str().unwrap();
    let test = format!("{api}/{id}/test");
    let tested = alice.api.json(Method::POST, &test, &json!({"model": model})).await.value();
    eprintln!("test: {tested}");
    assert_eq!(tested["ok"], true, "{tested}");

    let project = app.project(&alice, "atlas").await;
    let new = New { model: Some(format!("{id}/{model}")), ..New::default() };
    let session = sessions::create(&app.app.engine, &alice.user, &project, new).await.unwrap();
    let mut watch = app.app.engine.hub.watch(session.id);
    app.prompt(&alice, &session, "Answer in one short sentence: what is the capital of France?")
        .await;
    let mut deltas = 0;
    let ended = tokio::time::timeout(PATIENCE, async {
        loop {
            use forge::{engine::hub::Event, store::journal::Write};
            match &*watch.events.recv().await.unwrap() {
                Event::Delta { .. } => deltas += 1,
                Event::Stored(stored) => {
                    if let Write::Session(change) = &stored.write
                        && let Some(status) = change.status
                        && !status.is_active()
                    {
                        return status;
                    }
                }
                _ => {}
            }
        }
    });
    let ended = ended.await.expect("it answers in time");
    let last = app.messages(&session).await.pop().unwrap();
    assert_eq!(ended, SessionStatus::Idle, "{:?}", last.message.error);
    let parts: Vec<_> =
        last.parts.iter().map(|it| Part::read(&it.kind, it.data.clone()).unwrap()).collect();
    let text: String = parts
        .iter()
        .filter_map(|it| if let Part::Text(text) = it { Some(text.text.as_str()) } else { None })
        .collect();
    let steps: Vec<&Step> = parts
        .iter()
        .filter_map(|it| if let Part::Step(step) = it { Some(step) } else { None })
        .collect();
    eprintln!("{deltas} deltas, {steps:?}\n{text}");
    assert!(!text.trim().is_empty() && deltas > 1, "it came in pieces");
    assert!(steps[0].tokens.output > 0);
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok();
    let word =
        text.split_whitespace().next().unwrap().trim_matches(|it: char| !it.is_alphanumeric());
    assert!(page.body.contains(word), "{word} is on the page");
}
