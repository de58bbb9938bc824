//! What undo will not cover is said before a command runs.

use forge::domain::{ask::Answer, message::ToolStatus, session::SessionStatus};
use serde_json::json;

use super::{Stage, eventually};
use crate::support::{model::Script, stream::PageStream};

#[actix_web::test]
async fn a_large_file_is_named_in_the_ask_and_while_the_command_runs() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    std::fs::write(stage.folder().join("big.bin"), vec![7; 3 << 20]).unwrap();
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    let mut stream = PageStream::connect(alice, &PageStream::address(&page), None).await;
    let command = "until test -e go; do sleep 0.05; done; touch a; echo > big.bin";
    model.push(Script::new().call("bash", json!({ "command": command })));
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Do it").await;
    let said = "undo does not cover it: 1 large file (big.bin)";
    stream.until(&["class=\"ask\"", "Run this command?", said]).await;
    let asks = alice.api.get("/api/v1/asks").await.assert_ok().body;
    assert!(asks.contains(said), "{asks}");

    let once = super::Answered { answer: Answer::Once, message: None, pattern: None };
    stage.answer(once).await;
    stream.until(&["<b>Running</b>", said]).await;
    let call = stage.calls().await.remove(0);
    assert_eq!(call.status, ToolStatus::Running);
    assert!(call.metadata["not_covered"].as_str().unwrap().contains(said));
    std::fs::write(stage.folder().join("go"), "").unwrap();
    app.until(session, SessionStatus::Idle).await;
    let call = stage.calls().await.remove(0);
    assert!(call.metadata["not_covered"].as_str().unwrap().contains(said));
    assert_eq!(call.metadata["not_captured"], json!(["big.bin"]));
}

#[actix_web::test]
async fn where_all_is_covered_nothing_is_said_and_an_abort_does_not_wait() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    std::fs::write(stage.folder().join("a.txt"), "one\n").unwrap();
    model.push(Script::new().call("bash", json!({"command": "touch started; sleep 600"})));
    app.prompt(alice, session, "Do it").await;
    app.until(session, SessionStatus::Waiting).await;
    let asks = alice.api.get("/api/v1/asks").await.assert_ok().body;
    assert!(!asks.contains("undo does not cover"), "{asks}");
    let once = super::Answered { answer: Answer::Once, message: None, pattern: None };
    stage.answer(once).await;
    eventually("it runs", || stage.folder().join("started").exists()).await;
    assert!(stage.calls().await[0].metadata.get("not_covered").is_none());
    let before = std::time::Instant::now();
    forge::engine::sessions::abort(&app.app.engine, session).await.unwrap();
    assert!(before.elapsed().as_secs() < 3, "{:?}", before.elapsed());
}
