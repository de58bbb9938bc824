//! Commands in the background: what is told of them, their end, and what they change.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use forge::{
    domain::{session::SessionStatus, undo::Force},
    engine::{hub::Event, sessions, undo},
    store,
};
use serde_json::{Value, json};

use super::{Stage, eventually};
use crate::support::{model::Script, stream::PageStream};

/// A stage where commands run without asking.
async fn stage() -> Stage {
    let stage = Stage::set().await;
    let admin = stage.app.admin("root").await;
    let rules = json!({"items": [{"tool": "bash", "pattern": "*", "action": "allow"}]});
    admin.api.json(reqwest::Method::PUT, "/api/v1/rules", &rules).await.assert_ok();
    let trust = format!("/projects/{}/trust", stage.project.id);
    stage.alice.browser.post(&trust, &[]).await;
    stage
}

fn background(command: &str) -> Script {
    Script::new().call("bash", json!({"command": command, "background": true}))
}

/// Starts a command in the background, and answers once the run is over.
async fn started(stage: &Stage, command: &str) -> String {
    stage.model.push(background(command));
    stage.model.push(Script::text("It runs."));
    stage.app.prompt(&stage.alice, &stage.session, "Start it").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let call = stage.calls().await.pop().unwrap();
    call.metadata["job"]["id"].as_str().unwrap_or_else(|| panic!("no job: {call:?}")).to_owned()
}

/// Waits until no job of the session runs.
async fn over(stage: &Stage) {
    let (jobs, session) = (&stage.app.app.engine.jobs, stage.session.id);
    eventually("the job is over", || jobs.running(session).is_empty()).await;
}

/// The last result that the model was sent.
fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|it| it["role"] == "tool");
    result.map(|it| it["content"].as_str().unwrap().to_owned()).unwrap_or_default()
}

#[actix_web::test]
async fn a_job_goes_on_says_what_is_new_and_is_ended() {
    let stage = stage().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(background("echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; sleep 300"));
    let (folder, told) = (stage.folder(), Arc::new(Mutex::new(Vec::new())));
    let heard = told.clone();
    model.fallback(move |request| {
        let result = last_result(request);
        let id = result.split("Job ").nth(1).map(|it| it[..6].to_owned()).unwrap_or_default();
        let mut heard = heard.lock().unwrap();
        heard.push(result);
        let input = json!({"job_id": id});
        match heard.len() {
            1 => {
                std::fs::write(folder.join("go"), "").unwrap();
                Script::new().call("bash_output", input)
            }
            2 => Script::new().call("bash_output", json!({"job_id": id, "since": 0})),
            3 => Script::new().call("bash_kill", input),
            4 => Script::new().call("bash_output", input),
            5 => Script::new().call("bash_kill", json!({"job_id": "nosuch"})),
            _ => Script::text("Done."),
        }
    });
    app.prompt(alice, session, "Run the server").await;
    app.until(session, SessionStatus::Idle).await;
    over(&stage).await;
    assert_eq!(stage.texts().await.last().unwrap(), "Done.");
    let told = told.lock().unwrap().clone();
    assert!(told[0].starts_with("one\n(Job "), "{told:?}");
    assert!(told[1].starts_with("two\n(Job "), "{told:?}");
    assert!(told[2].starts_with("one\ntwo\n(Job "), "{told:?}");
    assert!(told[3].contains("is over. The command was stopped."), "{told:?}");
    assert!(told[4].starts_with("(Nothing new. Job ") && told[4].contains("is over"), "{told:?}");
    assert!(told[5].contains("There is no job nosuch, and none runs"), "{told:?}");
    let call = stage.calls().await.remove(0);
    assert_eq!(call.metadata["job"]["state"], "over", "{call:?}");
    assert_eq!(call.metadata["said"], "one\ntwo");
    // What the model was told is what it is told again.
    assert!(call.output.starts_with("one\n(Job "), "{}", call.output);
}

#[actix_web::test]
async fn a_command_that_cannot_work_says_so_at_once() {
    let stage = stage().await;
    started(&stage, "no-such-program --serve").await;
    let call = stage.calls().await.pop().unwrap();
    assert!(call.output.contains("not found"), "{}", call.output);
    assert!(call.output.contains("is over. It ended with exit code 127."), "{}", call.output);
    over(&stage).await;
}

#[actix_web::test]
async fn a_stop_ends_jobs_and_all_that_they_started() {
    let stage = stage().await;
    let Stage { app, session, .. } = &stage;
    let mark = format!("{}", 300_000 + std::process::id());
    started(&stage, &format!("trap '' TERM; (setsid sleep {mark} &) ; sleep {mark}")).await;
    let running = || {
        let output =
            std::process::Command::new("pgrep").args(["-f", &format!("sleep {mark}")]).output();
        !output.unwrap().stdout.is_empty()
    };
    eventually("it runs", running).await;
    // The agent is at rest, and there is something to stop all the same.
    assert!(sessions::abort(&app.app.engine, session).await.unwrap());
    assert!(!running(), "a process of the job is left");
    assert!(!sessions::abort(&app.app.engine, session).await.unwrap());
    assert_eq!(stage.calls().await[0].metadata["job"]["how"], "The command was stopped.");
}

#[actix_web::test]
async fn what_a_job_changes_is_covered_by_undo_once_it_is_over() {
    let stage = stage().await;
    let Stage { app, alice, session, .. } = &stage;
    let read = |name: &str| std::fs::read_to_string(stage.folder().join(name)).ok();
    std::fs::write(stage.folder().join("kept.txt"), "before\n").unwrap();
    std::fs::write(stage.folder().join("both.txt"), "0\n").unwrap();
    let command = "echo 1 >> both.txt; while [ ! -e go ]; do sleep 0.1; done; rm go; \
                   echo made > made.txt; echo after > kept.txt; echo 3 >> both.txt";
    started(&stage, command).await;
    let prompt = app.messages(session).await.remove(0).message;
    let engine = &app.app.engine;
    let refused = undo::undo(engine, session, &prompt, Force::Ask).await.unwrap_err();
    assert!(refused.to_string().contains("runs in the background"), "{refused}");

    // The session goes on meanwhile, and changes files itself; one of them is the job's too.
    eventually("the job has begun", || read("both.txt").as_deref() == Some("0\n1\n")).await;
    stage.model.push(
        Script::new()
            .call("write", json!({"path": "own.txt", "content": "own\n"}))
            .call("read", json!({"path": "both.txt"}))
            .call("edit", json!({"path": "both.txt", "old_string": "1\n", "new_string": "1\n2\n"})),
    );
    stage.model.push(Script::text("Written."));
    app.prompt(alice, session, "Write own.txt").await;
    app.until(session, SessionStatus::Idle).await;

    std::fs::write(stage.folder().join("go"), "").unwrap();
    over(&stage).await;
    let changed = stage.calls().await[0].metadata["changed"].clone();
    let changed: Vec<&str> = changed.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(changed.contains(&"made.txt") && changed.contains(&"kept.txt"), "{changed:?}");
    // The list of changed files follows a moment later.
    let listed = async || {
        let row = store::sessions::with_project(&app.app.db, session.id).await.unwrap().unwrap().0;
        row.summary.to_string().contains("made.txt")
    };
    for _ in 0..500 {
        if listed().await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(listed().await);

    let undone = undo::undo(engine, session, &prompt, Force::Ask).await.unwrap();
    assert!(undone.conflicts.is_empty(), "{:?}", undone.conflicts);
    assert_eq!(read("both.txt").as_deref(), Some("0\n"));
    assert_eq!(
        (read("kept.txt").as_deref(), read("made.txt"), read("own.txt")),
        (Some("before\n"), None, None)
    );
    undo::redo(engine, session, Force::Ask).await.unwrap();
    assert_eq!(read("kept.txt").as_deref(), Some("after\n"));
    assert_eq!(read("both.txt").as_deref(), Some("0\n1\n2\n3\n"));
    assert_eq!(
        (read("made.txt").as_deref(), read("own.txt").as_deref()),
        (Some("made\n"), Some("own\n"))
    );
}

#[actix_web::test]
async fn only_so_many_jobs_run_in_a_session() {
    let stage = stage().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for _ in 0..9 {
        model.push(background("sleep 300"));
    }
    model.push(Script::text("Enough."));
    app.prompt(alice, session, "Start nine").await;
    app.until(session, SessionStatus::Idle).await;
    let calls = stage.calls().await;
    let refused: Vec<_> = calls.iter().filter_map(|call| call.error.as_deref()).collect();
    assert_eq!(calls.len(), 9);
    assert!(matches!(refused[..], [it] if it.contains("bash_kill")), "{refused:?}");
    assert_eq!(app.app.engine.jobs.running(session.id).len(), 8);
    sessions::delete(&app.app.engine, session.clone()).await.unwrap();
    assert!(app.app.engine.jobs.running(session.id).is_empty());
}

#[actix_web::test]
async fn what_a_command_says_is_seen_while_it_runs() {
    let stage = stage().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let mut events = app.app.engine.hub.watch(session.id).events;
    model.push(Script::new().call(
        "bash",
        json!({"command": "printf '10%%\\r'; sleep 0.4; printf '90%%\\n'; while [ ! -e go ]; do sleep 0.1; done"}),
    ));
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Build it").await;
    let said = async {
        loop {
            if let Event::Output { text, .. } = &*events.recv().await.unwrap()
                && text.contains("90%")
            {
                return text.clone();
            }
        }
    };
    assert_eq!(&*tokio::time::timeout(Duration::from_secs(20), said).await.unwrap(), "90%");
    // Whoever comes now sees it too.
    assert_eq!(app.app.engine.hub.watch(session.id).outputs.len(), 1);
    std::fs::write(stage.folder().join("go"), "").unwrap();
    app.until(session, SessionStatus::Idle).await;
    assert!(app.app.engine.hub.watch(session.id).outputs.is_empty());
}

#[actix_web::test]
async fn a_person_stops_one_job_and_the_others_go_on() {
    let stage = stage().await;
    let Stage { app, alice, session, .. } = &stage;
    started(&stage, "echo first; sleep 300").await;
    let second = started(&stage, "echo second; sleep 300").await;
    let page = alice.browser.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    assert_eq!(page.matches("Stop this command").count(), 2);
    let parts = app.messages(session).await.into_iter().flat_map(|it| it.parts);
    let mut tools = parts.filter(|part| part.kind == "tool");
    let (first, second_part) = (tools.next().unwrap(), tools.next().unwrap());
    let stop = format!("/api/v1/parts/{}/stop", first.id);
    let stopped = alice.api.json(reqwest::Method::POST, &stop, &json!({})).await.assert_ok();
    assert_eq!(stopped.value()["aborted"], true);
    let running = app.app.engine.jobs.running(session.id);
    assert_eq!(running.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), [second]);
    let again = alice.api.json(reqwest::Method::POST, &stop, &json!({})).await.assert_ok();
    assert_eq!(again.value()["aborted"], false);

    // Whoever opens the page sees what the other says, and stops it there.
    let address = PageStream::address(&page);
    let mut stream = PageStream::connect(alice, &address, None).await;
    stream.until(&[&format!("said-{}", second_part.id), "second"]).await;
    let stopped = alice.browser.post(&format!("/parts/{}/stop", second_part.id), &[]).await;
    stopped.assert_redirect(&format!("/sessions/{}", session.id));
    assert!(app.app.engine.jobs.running(session.id).is_empty());
}
