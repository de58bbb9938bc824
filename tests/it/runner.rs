//! Whole runs of an agent against a scripted model.

mod cases;
mod faults;
mod forewarned;
mod jobs;
mod limits;
mod network;
mod patches;
mod places;
mod removal;
mod rules;
mod steady;

use std::path::PathBuf;

use forge::{
    config::Config,
    domain::{
        ask::Answer,
        message::{Part, Role, ToolCall, ToolStatus},
        provider::Kind,
        session::SessionStatus,
    },
    engine::{self, asks::Answered, hub::Event, refused::Refused, sessions},
    store::{
        asks,
        entity::{project::Model as Project, session::Model as Session},
        journal::Write,
    },
};
use serde_json::json;

use crate::support::{
    Person, TestApp,
    model::{self, Script, ScriptedModel},
    session::folder,
};

/// A person's yes to this very call.
const ONCE: Answered = Answered { answer: Answer::Once, message: None, pattern: None };

#[actix_web::test]
async fn a_prompt_is_answered_with_tools_in_between() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    std::fs::write(folder(&project).join("a.txt"), "one\ntwo\n").unwrap();

    model.push(Script::text("I look at it.").call("read", json!({"path": "a.txt"})));
    model.push(
        Script::new()
            .call("edit", json!({"path": "a.txt", "old_string": "two", "new_string": "three"})),
    );
    model.push(Script::text("Done: **three** it is."));
    app.prompt(&alice, &session, "Change two to three").await;
    let session = app.until(&session, SessionStatus::Idle).await;

    assert_eq!(std::fs::read_to_string(folder(&project).join("a.txt")).unwrap(), "one\nthree\n");
    assert_eq!(session.name, "Change two to three");
    let messages = app.messages(&session).await;
    assert_eq!(
        messages.iter().map(|it| it.message.role).collect::<Vec<_>>(),
        [Role::User, Role::Assistant]
    );
    let kinds: Vec<_> = messages[1].parts.iter().map(|part| part.kind.as_str()).collect();
    assert_eq!(kinds, ["text", "tool", "step", "tool", "step", "text", "step"]);
    let Part::Tool(read) = Part::read("tool", messages[1].parts[1].data.clone()).unwrap() else {
        panic!()
    };
    assert!(read.output.contains("two"), "{read:?}");
    assert_eq!(read.verdict.unwrap().action, "allow");
    assert_eq!(model.requests().len(), 3);
}

#[actix_web::test]
async fn a_run_goes_over_every_kind_of_provider() {
    for kind in Kind::ALL {
        let app = TestApp::start().await;
        let model = ScriptedModel::start().await;
        let alice = app.person("alice").await;
        let project = app.project(&alice, "atlas").await;
        app.provider_of(kind, &model).await;
        let session = app.session(&alice, &project).await;
        std::fs::write(folder(&project).join("a.txt"), "one\n").unwrap();
        let reads = || Script::new().think("Hm. ").call("read", json!({"path": "a.txt"}));
        model.push(reads().call("list", json!({"path": "."})).usage(1_000, 0, 100));
        model.push(Script::text("Done.").usage(1_000, 0, 100));
        app.prompt(&alice, &session, "Read it").await;
        let session = app.until(&session, SessionStatus::Idle).await;

        // What must go back has gone over the database and back, at the next step and the next run.
        model.push(Script::text("You are welcome.").usage(1_000, 0, 100));
        app.prompt(&alice, &session, "Thank you").await;
        let session = app.until(&session, SessionStatus::Idle).await;
        let requests = model.requests();
        assert_eq!(requests.len(), 3, "{kind}");
        let wants_back = matches!(kind, Kind::Anthropic | Kind::Gemini | Kind::Openrouter);
        for request in &requests[1..] {
            let proof = format!("proof-{kind}-0");
            assert_eq!(request.body.to_string().contains(&proof), wants_back, "{kind}");
        }
        // OpenRouter says what it charges; for the others the price of the model is known.
        let step = if kind == Kind::Openrouter { 250_000 } else { 2_800 };
        assert_eq!(session.summary["cost_micros"], 3 * step, "{kind}");
    }
}

#[actix_web::test]
async fn case_41_a_command_is_asked_about_and_the_first_answer_wins() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::new().call("bash", json!({"command": "sh ./make-it.sh && false"})));
    model.push(Script::text("It failed, as it should."));
    std::fs::write(stage.folder().join("make-it.sh"), "echo hi > new.txt").unwrap();
    app.prompt(alice, session, "Run it").await;
    app.until(session, SessionStatus::Waiting).await;

    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    let once = Answered { answer: Answer::Once, message: None, pattern: None };
    engine::asks::answer(&app.app.engine, ask.clone(), &alice.user, once.clone()).await.unwrap();
    let second = engine::asks::answer(&app.app.engine, ask, &alice.user, once).await;
    assert!(matches!(second, Err(Refused::Conflict(_))));
    app.until(session, SessionStatus::Idle).await;

    let call = stage.calls().await.remove(0);
    assert_eq!(call.status, ToolStatus::Done);
    assert_eq!(call.metadata["exit_code"], 1);
    assert_eq!(call.verdict.unwrap().answered_by.as_deref(), Some("alice"));
    assert_eq!(std::fs::read_to_string(stage.folder().join("new.txt")).unwrap(), "hi\n");
}

#[actix_web::test]
async fn a_denied_command_does_not_run_and_the_agent_hears_why() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::new().call("bash", json!({"command": "touch no.txt"})));
    model.push(Script::text("Then I leave it."));
    app.prompt(alice, session, "Run it").await;
    app.until(session, SessionStatus::Waiting).await;
    let message = Some("use the write tool".to_owned());
    stage.answer(Answered { answer: Answer::Deny, message, pattern: None }).await;
    app.until(session, SessionStatus::Idle).await;

    assert!(!stage.folder().join("no.txt").exists());
    let call = stage.calls().await.remove(0);
    assert_eq!(call.status, ToolStatus::Denied);
    assert!(model.requests()[1].body.to_string().contains("use the write tool"));
}

#[actix_web::test]
async fn always_saves_a_rule_and_the_next_command_is_not_asked_about() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::new().call("bash", json!({"command": "make one"})));
    model.push(Script::new().call("bash", json!({"command": "make two"})));
    model.push(Script::text("Both ran."));
    app.prompt(alice, session, "Make").await;
    app.until(session, SessionStatus::Waiting).await;
    let pattern = Some("make *".to_owned());
    stage.answer(Answered { answer: Answer::Always, message: None, pattern }).await;
    app.until(session, SessionStatus::Idle).await;
    let because = stage.calls().await.remove(1).verdict.unwrap().rule;
    assert!(because.contains("make *"), "{because}");
}

#[actix_web::test]
async fn an_abort_ends_the_command_within_a_second_and_the_session_goes_on() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let command = "trap '' TERM; sleep 600 & sleep 601";
    model.push(Script::new().call("bash", json!({ "command": command })));
    app.prompt(alice, session, "Sleep").await;
    app.until(session, SessionStatus::Waiting).await;
    stage.answer(Answered { answer: Answer::Once, message: None, pattern: None }).await;
    eventually("the sleep runs", || running("sleep 601")).await;

    let before = std::time::Instant::now();
    assert!(sessions::abort(&app.app.engine, session).await.unwrap());
    assert!(before.elapsed().as_millis() < 1_000, "{:?}", before.elapsed());
    eventually("the sleeps are gone", || !running("sleep 601") && !running("sleep 600")).await;
    app.until(session, SessionStatus::Aborted).await;
    assert_eq!(stage.calls().await[0].status, ToolStatus::Aborted);

    model.push(Script::text("Here I am."));
    app.prompt(alice, session, "Go on").await;
    app.until(session, SessionStatus::Idle).await;
}

/// Noting is kept from its end for longer than a stop waits for it.
#[actix_web::test]
async fn what_a_stopped_command_changed_is_noted_before_anything_builds_on_it() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let command = "echo new > new.txt; echo x > ready; sleep 602";
    std::fs::write(stage.folder().join("make-it.sh"), command).unwrap();
    model.push(Script::new().call("bash", json!({"command": "sh ./make-it.sh"})));
    app.prompt(alice, session, "Sleep").await;
    app.until(session, SessionStatus::Waiting).await;
    stage.answer(Answered { answer: Answer::Once, message: None, pattern: None }).await;
    eventually("the command runs", || stage.folder().join("ready").exists()).await;
    let messages = app.messages(session).await;
    let (prompt, answer) = (messages[0].message.id, messages[1].message.id);
    let snapshots = &app.app.engine.snapshots;
    let recorder = snapshots.recorder(&stage.folder(), session.id, answer);
    let held = recorder.hold().await;
    let mut watch = app.app.engine.hub.watch(session.id);

    assert!(sessions::abort(&app.app.engine, session).await.unwrap());
    app.until(session, SessionStatus::Aborted).await;
    eventually("the run has ended", || !app.app.engine.runs.is_running(session.id)).await;
    let path = |what: &str| format!("/api/v1/sessions/{}/{what}", session.id);
    let undo = json!({ "message_id": prompt });
    let said = alice.api.json(reqwest::Method::POST, &path("undo"), &undo).await.assert_status(409);
    assert!(said.body.contains("still being noted. Try again in a moment."), "{}", said.body);
    alice.api.get(&path("diff")).await.assert_status(409);
    alice
        .api
        .send(reqwest::Method::DELETE, &path("")[..path("").len() - 1])
        .await
        .assert_status(409);
    let project = format!("/api/v1/projects/{}", stage.project.id);
    alice.api.send(reqwest::Method::DELETE, &project).await.assert_status(409);
    model.push(Script::text("Here I am."));
    assert!(!app.prompt(alice, session, "Go on").await.queued);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(model.requests().len(), 1, "the next run began too early");

    drop(held);
    app.until(session, SessionStatus::Idle).await;
    let files = |summary: &serde_json::Value| summary["files"].to_string();
    let now = app.until(session, SessionStatus::Idle).await;
    assert!(files(&now.summary).contains("new.txt"), "{}", now.summary);
    let call = stage.calls().await.remove(0);
    assert_eq!(call.status, ToolStatus::Aborted);
    assert_eq!(call.metadata["changed"], json!(["new.txt", "ready"]));
    let (mut part, mut list) = (false, false);
    while let Ok(event) = watch.events.try_recv() {
        let Event::Stored(stored) = &*event else { continue };
        match &stored.write {
            Write::Part(row) => part |= row.data.to_string().contains("\"changed\":[\"new.txt\""),
            Write::Session(change) => {
                list |= change.summary.as_ref().is_some_and(|it| files(it).contains("new.txt"));
            }
            _ => {}
        }
    }
    assert!(part && list, "who watches is told: {part} {list}");
    let undone = alice.api.json(reqwest::Method::POST, &path("undo"), &undo).await.assert_ok();
    assert_eq!(undone.value()["conflicts"], json!([]));
    assert!(!stage.folder().join("new.txt").exists());
}

#[actix_web::test]
async fn repositories_inside_the_project_are_protected_and_new_ones_judged() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let git = |arguments: &str| {
        let mut git = std::process::Command::new("git");
        assert!(
            git.args(arguments.split(' ')).current_dir(stage.folder()).status().unwrap().success()
        );
    };
    git("init -q .");
    git("init -q old");
    let command = "echo x > old/.git/hooks/post-commit; echo '[alias]' >> old/.git/config; \
        git -C old -c user.name=a -c user.email=a@b commit -qm x --allow-empty && echo committed; \
        git init -q new && cd new && echo x > .git/hooks/post-commit; git config alias.x '!x'; \
        git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && echo committed too";
    std::fs::write(stage.folder().join("make-it.sh"), command).unwrap();
    model.push(Script::new().call("bash", json!({"command": "sh ./make-it.sh"})));
    model.push(Script::text("Done."));
    let before = std::fs::read_to_string(stage.folder().join("old/.git/config")).unwrap();
    app.prompt(alice, session, "Do it").await;
    app.until(session, SessionStatus::Waiting).await;
    stage.answer(Answered { answer: Answer::Once, message: None, pattern: None }).await;
    app.until(session, SessionStatus::Idle).await;

    let call = stage.calls().await.remove(0);
    assert!(
        call.output.contains("committed\n") && call.output.contains("committed too"),
        "{call:?}"
    );
    let (old, new) = (stage.folder().join("old/.git"), stage.folder().join("new/.git"));
    assert_eq!(std::fs::read_to_string(old.join("config")).unwrap(), before);
    assert!(!old.join("hooks/post-commit").exists());
    assert!(!new.join("hooks/post-commit").exists());
    assert!(!std::fs::read_to_string(new.join("config")).unwrap().contains("!x"));
    assert_eq!(
        call.metadata["taken_away"],
        json!(["new/.git/hooks/post-commit", "new/.git/config"])
    );
    assert!(call.output.contains("new/.git/hooks/post-commit was moved to"), "{}", call.output);
    assert!(call.output.contains("alias.x"), "{}", call.output);
}

#[actix_web::test]
async fn prompts_that_wait_run_once_each_and_in_order() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let gate = model::Gate::default();
    model.push(Script::new().gate(&gate).say("one"));
    model.push(Script::text("two"));
    model.push(Script::text("three"));
    app.prompt(alice, session, "first").await;
    model.wait_for_requests(1).await;
    assert!(app.prompt(alice, session, "second").await.queued);
    assert!(app.prompt(alice, session, "third").await.queued);
    gate.open();
    eventually("all three are answered", || model.requests().len() == 3).await;
    app.until(session, SessionStatus::Idle).await;
    let texts = stage.texts().await;
    assert_eq!(texts, ["first", "one", "second", "two", "third", "three"]);
}

#[actix_web::test]
async fn a_failing_provider_is_explained_and_the_key_is_not_told() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::fault(401, json!({"error": {"message": "bad key"}})));
    app.prompt(alice, session, "Hello").await;
    app.until(session, SessionStatus::Error).await;
    let answer = app.messages(session).await.remove(1).message;
    let error = answer.error.unwrap();
    assert_eq!(error["code"], "auth");
    assert!(!error.to_string().contains(model::ScriptedModel::KEY));
    assert_eq!(model.requests().len(), 1, "a wrong key is not tried again");
}

#[actix_web::test]
async fn a_cut_stream_is_tried_again_and_its_text_withdrawn() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::text("half an ans").cut());
    model.push(Script::text("A whole answer."));
    app.prompt(alice, session, "Hello").await;
    model.wait_for_requests(1).await;
    eventually("the next try is announced", || {
        app.app.engine.hub.watch(session.id).retry.is_some()
    })
    .await;
    app.app.engine.runs.retry_now(session.id);
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.texts().await, ["Hello", "A whole answer."]);
}

/// A project, a model and a session, with what tests ask of them.
struct Stage {
    app: TestApp,
    model: ScriptedModel,
    alice: Person,
    project: Project,
    session: Session,
}

impl Stage {
    async fn set() -> Self {
        Self::set_with(|_| ()).await
    }

    /// The same, with a configuration of its own.
    async fn set_with(configure: impl FnOnce(&mut Config)) -> Self {
        let app = TestApp::start_with(configure).await;
        let model = ScriptedModel::start().await;
        let alice = app.person("alice").await;
        let project = app.project(&alice, "atlas").await;
        app.provider(&model).await;
        let session = app.session(&alice, &project).await;
        Self { app, model, alice, project, session }
    }

    fn folder(&self) -> PathBuf {
        folder(&self.project)
    }

    /// Answers the ask that is open.
    async fn answer(&self, answered: Answered) {
        let ask = asks::open_in(&self.app.app.db, self.session.id).await.unwrap().remove(0);
        engine::asks::answer(&self.app.app.engine, ask, &self.alice.user, answered).await.unwrap();
    }

    /// All tool calls of the session, in order.
    async fn calls(&self) -> Vec<ToolCall> {
        let parts = self.app.messages(&self.session).await.into_iter().flat_map(|it| it.parts);
        parts
            .filter_map(|part| Part::read(&part.kind, part.data).unwrap().tool().cloned())
            .collect()
    }

    /// All that was said, in order.
    async fn texts(&self) -> Vec<String> {
        let parts = self.app.messages(&self.session).await.into_iter().flat_map(|it| it.parts);
        parts
            .filter_map(|part| match Part::read(&part.kind, part.data).unwrap() {
                Part::Text(text) => Some(text.text),
                _ => None,
            })
            .collect()
    }
}

/// Waits until something is so.
async fn eventually(what: &str, so: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it never came to be that {what}");
}

/// Whether some process has this command line.
fn running(command: &str) -> bool {
    let wanted = command.replace(' ', "\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|it| std::fs::read(it.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0') == wanted)
}

#[actix_web::test]
async fn case_41_an_ask_that_outlived_the_server_is_answered_and_the_run_goes_on() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let waiting = crate::support::session::waiting(&app, &alice).await;
    let model = ScriptedModel::start().await;
    let mut provider = app.provider(&model).await;
    // The session's own provider is the scripted model of this test from now on.
    let old = waiting.session.provider_id.unwrap();
    provider.id = old;
    provider.key =
        Some(app.app.engine.vault.seal(&format!("provider:{old}"), ScriptedModel::KEY).unwrap());
    forge::store::providers::update(&app.app.db, provider).await.unwrap();
    engine::runner::repair(&app.app.engine).await.unwrap();
    let session = app.until(&waiting.session, SessionStatus::Waiting).await;

    model.push(Script::text("It was denied."));
    model.push(Script::text("And the next."));
    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    let deny = Answered { answer: Answer::Deny, message: Some("no".into()), pattern: None };
    engine::asks::answer(&app.app.engine, ask, &alice.user, deny).await.unwrap();
    app.until(&session, SessionStatus::Idle).await;
    eventually("the prompt that waited is answered too", || model.requests().len() == 2).await;
    let first = &model.requests()[0].body;
    assert!(first.to_string().contains("A person refused this call and says: no"), "{first}");
}
