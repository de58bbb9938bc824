//! What a run does when its provider fails: which faults it tries again, when, and how often.

use std::time::Duration;

use forge::{
    domain::{message::ToolStatus, session::SessionStatus},
    engine::hub::Retry,
};
use serde_json::{Value, json};

use super::{Stage, eventually};
use crate::support::{model::Script, stream::PageStream};

/// Waits until the next try is announced, and answers with what is told of it.
async fn announced(stage: &Stage, attempt: u32) -> Retry {
    let retry = || stage.app.app.engine.hub.watch(stage.session.id).retry;
    let is_there = || retry().is_some_and(|it| it.attempt == attempt);
    eventually(&format!("try {attempt} has failed"), is_there).await;
    retry().unwrap()
}

/// How long is waited before the next try, by the clock that stands still.
fn wait(stage: &Stage, retry: &Retry) -> Duration {
    (retry.next_at - stage.app.app.clock.now()).to_std().unwrap()
}

/// Why the session's newest answer failed.
async fn error(stage: &Stage) -> Value {
    let last = stage.app.messages(&stage.session).await.pop().unwrap();
    last.message.error.unwrap()
}

#[actix_web::test]
async fn case_70_five_tries_are_made_and_no_more() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let faults = [
        Script::fault(503, json!({"error": {"message": "busy"}})),
        Script::fault(429, json!({"error": {"message": "too many tokens per min"}})),
        Script::text("half an answer ").cut(),
        // A reply that is none at all.
        Script::new().raw(b": ping\n\n").ended(),
        Script::text("half ").error(&json!({"message": "The engine is overloaded", "code": 529})),
    ];
    for fault in faults {
        model.push(fault);
    }
    app.prompt(alice, session, "Hello").await;
    for (attempt, seconds) in [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0)] {
        let retry = announced(&stage, attempt).await;
        let waits = wait(&stage, &retry).as_secs_f64();
        assert!((seconds..=seconds * 1.25).contains(&waits), "{attempt}: {waits}");
        assert_eq!(stage.texts().await, ["Hello"], "nothing of a failed try is left");
        app.app.engine.runs.retry_now(session.id);
    }
    app.until(session, SessionStatus::Error).await;
    assert_eq!(model.requests().len(), 5);
    let error = error(&stage).await;
    assert!(error["message"].as_str().unwrap().contains("failed 5 times in a row"), "{error}");
    assert_eq!(error["provider_message"], "The engine is overloaded");
    // The session goes on as if nothing had been.
    model.push(Script::text("Here I am."));
    app.prompt(alice, session, "Again").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(model.requests().len(), 6);
}

#[actix_web::test]
async fn case_70_a_wait_that_the_provider_asks_for_is_kept_to_unless_it_is_too_long() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let rate = || Script::fault(429, json!({"error": {"message": "slow down"}}));
    model.push(rate().header("retry-after", "30"));
    model.push(rate().header("retry-after", "86400"));
    app.prompt(alice, session, "Hello").await;
    let retry = announced(&stage, 1).await;
    let waits = wait(&stage, &retry).as_secs_f64();
    assert!((30.0..=33.0).contains(&waits), "{waits}");
    app.app.engine.runs.retry_now(session.id);
    app.until(session, SessionStatus::Error).await;
    assert_eq!(model.requests().len(), 2, "a day is not waited for");
    let error = error(&stage).await;
    assert_eq!(error["code"], "rate");
    assert!(error["message"].as_str().unwrap().contains("24 hours"), "{error}");
}

#[actix_web::test]
async fn case_58_what_cannot_pass_is_told_at_once_and_never_tried_again() {
    for (status, body, code) in [
        (400, json!({"error": {"message": "no such field"}}), "bad_request"),
        (401, json!({"error": {"message": "wrong key"}}), "auth"),
        (402, json!({"error": {"message": "pay"}}), "quota"),
        (403, json!({"error": {"message": "not yours"}}), "auth"),
        (404, json!({"error": {"message": "no model", "code": "model_not_found"}}), "not_found"),
        (429, json!({"error": {"message": "quota", "code": "insufficient_quota"}}), "quota"),
        (200, json!({"message": "bad input", "type": "invalid_request_error"}), "bad_request"),
    ] {
        let stage = Stage::set().await;
        let Stage { app, model, alice, session, .. } = &stage;
        model.push(match status {
            200 => Script::text("half ").error(&body),
            status => Script::fault(status, body.clone()),
        });
        app.prompt(alice, session, "Hello").await;
        app.until(session, SessionStatus::Error).await;
        let error = error(&stage).await;
        assert_eq!(error["code"], code, "{status} {error}");
        let said = body.pointer("/error/message").or(body.get("message")).unwrap();
        assert_eq!(&error["provider_message"], said, "{status}");
        assert_eq!(model.requests().len(), 1, "{status}");
    }
}

#[actix_web::test]
async fn text_that_was_stored_while_it_streamed_is_withdrawn_too() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let slow = Script::text("half an answer of some length").pace(Duration::from_millis(400));
    model.push(slow.cut());
    model.push(Script::text("A whole answer."));
    app.prompt(alice, session, "Hello").await;
    let stored = async {
        while stage.texts().await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), stored).await.expect("some of it is stored");
    announced(&stage, 1).await;
    assert_eq!(stage.texts().await, ["Hello"]);
    app.app.engine.runs.retry_now(session.id);
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.texts().await, ["Hello", "A whole answer."]);
    assert!(!model.requests()[1].body.to_string().contains("half an answer"));
}

#[actix_web::test]
async fn a_person_tries_now_or_stops_while_it_waits() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for _ in 0..2 {
        model.push(Script::fault(500, json!({"error": {"message": "broken"}})));
    }
    app.prompt(alice, session, "Hello").await;
    announced(&stage, 1).await;
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok();
    // Whoever comes while it waits is shown it too.
    let mut stream = PageStream::connect(alice, &PageStream::address(&page.body), None).await;
    stream.until(&["Trying again in", "data-until=", "Try now", "Stop", "<progress"]).await;
    let answer = alice.htmx_post(&format!("/sessions/{}/retry", session.id), &[]).await;
    assert!(answer.status.is_success());
    announced(&stage, 2).await;
    assert_eq!(model.requests().len(), 2);
    alice.htmx_post(&format!("/sessions/{}/abort", session.id), &[]).await;
    app.until(session, SessionStatus::Aborted).await;
    assert_eq!(model.requests().len(), 2);
}

#[actix_web::test]
async fn case_18_half_a_call_is_not_run_whatever_the_reply_says_of_its_end() {
    for finish in ["length", "tool_calls", "stop"] {
        let stage = Stage::set().await;
        let Stage { app, model, alice, session, .. } = &stage;
        let half = json!(r#"{"path": "a.txt", "content": "one\ntw"#);
        model.push(Script::new().call("write", half).finish(finish));
        model.push(Script::text("I see."));
        app.prompt(alice, session, "Write it").await;
        app.until(session, SessionStatus::Idle).await;
        let call = stage.calls().await.remove(0);
        assert_eq!(call.status, ToolStatus::Error, "{finish}");
        assert!(call.error.unwrap().contains("Split the work"), "{finish}");
        assert!(!stage.folder().join("a.txt").exists(), "{finish}");
        let told = model.requests()[1].body.to_string();
        assert!(told.contains("Split the work into smaller calls"), "{finish}: {told}");
    }
}

#[actix_web::test]
async fn no_text_of_a_model_is_stored_with_a_nul() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(
        Script::new()
            .think("a\0b")
            .say("c\0d")
            .call("write", json!({"path": "new.txt", "content": "e\0f"})),
    );
    model.push(Script::text("Without it, then."));
    app.prompt(alice, session, "Write it").await;
    app.until(session, SessionStatus::Idle).await;
    assert!(!stage.folder().join("new.txt").exists());
    let call = stage.calls().await.remove(0);
    assert_eq!(call.status, ToolStatus::Error);
    assert!(call.error.unwrap().contains("NUL character"));
    let stored: String = app
        .messages(session)
        .await
        .into_iter()
        .flat_map(|whole| whole.parts)
        .map(|part| part.data.to_string())
        .collect();
    assert_eq!(forge::domain::text::nul_in_json(stored.as_bytes()), None, "{stored}");
    assert!(stored.contains("a\u{fffd}b") && stored.contains("c\u{fffd}d"), "{stored}");
}
