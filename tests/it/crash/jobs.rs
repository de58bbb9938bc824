//! The server killed while a command runs in the background.

use std::{fs, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};

use super::{Server, Stage, gone};
use crate::support::model::Script;

const SLEEP: &str = "sleep 88.4213";

#[actix_web::test]
async fn a_job_ends_with_the_server_and_what_it_changed_is_undone() {
    let stage = Stage::set(job).await;
    let root = &stage.path;
    fs::write(root.join("a.txt"), "one\n").unwrap();
    let server = Server::start(stage.folder.path(), &stage.token);
    let session = format!("{}/sessions", stage.project);
    let session = server.call(Method::POST, &session, &json!({})).await;
    let session = format!("/sessions/{}", session["id"].as_str().unwrap());
    let prompt = |text: &str| json!({ "text": text });
    server.call(Method::POST, &format!("{session}/prompt"), &prompt("Start it")).await;
    assert_eq!(server.settled(&session).await["status"], "idle");
    // The session goes on beside the job, and changes a file that is the job's too.
    server.call(Method::POST, &format!("{session}/prompt"), &prompt("Now write")).await;
    assert_eq!(server.settled(&session).await["status"], "idle");
    for _ in 0..1_000 {
        if root.join("grows.txt").exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(server);

    let server = Server::start(stage.folder.path(), &stage.token);
    gone(SLEEP).await;
    let grown = fs::read(root.join("grows.txt")).unwrap();
    let open = stage.folder.path().join("data/commands");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    assert_eq!(server.get(&session).await["status"], "idle");
    let messages = server.get(&format!("{session}/messages")).await;
    let call = &messages["items"][1]["parts"][0]["data"];
    assert_eq!(call["status"], "done", "{messages}");
    assert_eq!(call["metadata"]["job"]["state"], "over");
    assert_eq!(call["metadata"]["job"]["how"], "It was stopped, because the server ended.");
    let changed = call["metadata"]["changed"].to_string();
    assert!(changed.contains("made.txt") && changed.contains("grows.txt"), "{changed}");

    server.call(Method::POST, &format!("{session}/prompt"), &prompt("Only say")).await;
    assert_eq!(server.settled(&session).await["status"], "idle");
    assert_eq!(fs::read(root.join("grows.txt")).unwrap(), grown, "it goes on");
    let undo = json!({"message_id": messages["items"][0]["id"]});
    let undone = server.call(Method::POST, &format!("{session}/undo"), &undo).await;
    assert_eq!(undone["conflicts"], json!([]));
    let left: Vec<_> = fs::read_dir(root).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["a.txt"]);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\n");
    server.call(Method::POST, &format!("{session}/redo"), &json!({})).await;
    assert_eq!(fs::read(root.join("grows.txt")).unwrap(), grown);
    assert_eq!(fs::read_to_string(root.join("own.txt")).unwrap(), "own\n");
    assert_eq!(stage.model.take_violations(), Vec::<String>::new());
}

fn job(request: &Value) -> Script {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let prompt = messages[last]["content"].to_string();
    let fresh = last + 1 == messages.len();
    match fresh {
        true if prompt.contains("Start it") => Script::new().call(
            "bash",
            json!({"background": true, "command": format!(
                "trap '' TERM; sed -i s/one/two/ a.txt; echo made > made.txt; (setsid {SLEEP} &) ; \
                 while [ ! -e own.txt ]; do sleep 0.01; done; sed -i s/two/three/ a.txt; \
                 while :; do echo x >> grows.txt; sleep 0.01; done"
            )}),
        ),
        true if prompt.contains("Now write") => {
            Script::new().call("write", json!({"path": "own.txt", "content": "own\n"}))
        }
        _ => Script::text("Done."),
    }
}
