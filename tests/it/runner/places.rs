//! Calls whose paths lead elsewhere than they seem to, or than they did when they were judged.

use std::os::unix::fs::symlink;

use forge::{
    domain::{
        ask::Question,
        ids::AskId,
        message::{Part, ToolStatus},
        session::{AskStatus, SessionStatus},
    },
    engine,
    store::{
        self, asks,
        journal::{self, Write},
    },
};
use serde_json::json;

use super::{ONCE, Stage, eventually, steady::rules};
use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
    session::folder,
};

#[actix_web::test]
async fn a_command_that_starts_in_a_folder_is_judged_and_asked_about_as_there() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for name in ["secret", "src"] {
        std::fs::create_dir(stage.folder().join(name)).unwrap();
        std::fs::write(stage.folder().join(name).join("key"), format!("in {name}")).unwrap();
    }
    rules(&stage, json!([{"tool": "read", "pattern": "secret/**", "action": "deny"}])).await;
    let bash = |command: &str, folder: &str| {
        Script::new().call("bash", json!({"command": command, "workdir": folder}))
    };
    model.push(bash("cat key", "secret"));
    model.push(bash("cat ../secret/key", "src"));
    model.push(bash("cat key", "src"));
    model.push(bash("touch made", "src"));
    model.push(bash("touch made", "/usr"));
    model.fallback(|_| Script::text("Well."));
    app.prompt(alice, session, "Look").await;
    app.until(session, SessionStatus::Waiting).await;
    let calls = stage.calls().await;
    let found: Vec<_> = calls.iter().map(|it| (it.status, it.output.trim_end())).collect();
    assert_eq!(found[..2], [(ToolStatus::Denied, ""); 2]);
    assert_eq!(found[2], (ToolStatus::Done, "in src"));
    assert_eq!(calls[3].title, "in src: touch made");

    // Whoever is asked is told where it would run.
    let page = format!("/sessions/{}", session.id);
    assert!(alice.get(&page).await.assert_ok().body.contains("It starts in src."));
    stage.answer(ONCE).await;
    let at = stage.folder().join("src/made");
    eventually("it ran there", || at.exists()).await;
    eventually("the next is asked about", || model.requests().len() == 5).await;
    app.until(session, SessionStatus::Waiting).await;
    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    let question: Question = serde_json::from_value(ask.data).unwrap();
    assert_eq!(question.folder.as_deref(), Some("/usr"));
    assert!(question.reasons.contains(&"/usr is outside the project".to_owned()), "{question:?}");
}

#[actix_web::test]
async fn a_command_does_not_start_in_another_folder_than_the_one_that_was_judged() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for name in ["secret", "src"] {
        std::fs::create_dir(stage.folder().join(name)).unwrap();
        std::fs::write(stage.folder().join(name).join("key"), format!("in {name}")).unwrap();
    }
    let link = stage.folder().join("link");
    symlink("src", &link).unwrap();
    rules(&stage, json!([{"tool": "read", "pattern": "secret/**", "action": "deny"}])).await;
    model.push(
        Script::new()
            .call("bash", json!({"command": "touch first.txt"}))
            .call("bash", json!({"command": "cat key", "workdir": "link"})),
    );
    model.push(Script::text("Well."));
    app.prompt(alice, session, "Look").await;
    app.until(session, SessionStatus::Waiting).await;
    std::fs::remove_file(&link).unwrap();
    symlink("secret", &link).unwrap();
    stage.answer(ONCE).await;
    app.until(session, SessionStatus::Idle).await;
    assert!(stage.folder().join("first.txt").exists());
    let call = stage.calls().await.remove(1);
    assert_eq!((call.status, call.output.as_str()), (ToolStatus::Error, ""), "{call:?}");
}

#[actix_web::test]
async fn an_answer_after_a_restart_allows_only_what_was_asked_about() {
    for swapped in [false, true] {
        let app = TestApp::start().await;
        let alice = app.person("alice").await;
        let model = ScriptedModel::start().await;
        let waiting = crate::support::session::waiting(&app, &alice).await;
        let mut provider = app.provider(&model).await;
        let old = waiting.session.provider_id.unwrap();
        provider.id = old;
        let key = app.app.engine.vault.seal(&format!("provider:{old}"), ScriptedModel::KEY);
        provider.key = Some(key.unwrap());
        store::providers::update(&app.app.db, provider).await.unwrap();

        // It asks to write through a link.
        let (db, now) = (&app.app.db, app.app.clock.now());
        let found = store::sessions::with_project(db, waiting.session.id).await.unwrap().unwrap();
        let root = folder(&found.1);
        for name in ["plain", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        symlink("plain", root.join("link")).unwrap();
        let input = json!({"path": "link/new.txt", "content": "new"});
        let mut row = store::messages::part(db, waiting.part).await.unwrap().unwrap();
        let Part::Tool(mut call) = Part::read(&row.kind, row.data).unwrap() else { panic!() };
        (call.tool, call.input) = ("write".into(), input.clone());
        row.data = Part::Tool(call).data();
        let mut ask = asks::open_in(db, waiting.session.id).await.unwrap().remove(0);
        let mut question: Question = serde_json::from_value(ask.data).unwrap();
        (question.tool, question.subject) = ("write".into(), "plain/new.txt".into());
        question.input = input;
        ask.data = serde_json::to_value(question).unwrap();
        // As the row of an ask that is there is not changed, another takes its place.
        let withdrawn =
            asks::Decision { status: AskStatus::Withdrawn, reply: json!(null), by: None, at: now };
        asks::decide(db, ask.clone(), withdrawn).await.unwrap();
        ask.id = AskId::mint(now, app.app.entropy.as_ref());
        let writes = vec![Write::Part(Box::new(row)), Write::Ask(Box::new(ask.clone()))];
        journal::record(db, waiting.session.id, now, writes).await.unwrap();
        engine::runner::repair(&app.app.engine).await.unwrap();

        if swapped {
            std::fs::remove_file(root.join("link")).unwrap();
            symlink("other", root.join("link")).unwrap();
        }
        model.fallback(|_| Script::text("Well."));
        engine::asks::answer(&app.app.engine, ask, &alice.user, ONCE).await.unwrap();
        app.until(&waiting.session, SessionStatus::Idle).await;
        assert_eq!(root.join("plain/new.txt").exists(), !swapped);
        assert!(!root.join("other/new.txt").exists(), "nobody was asked about this one");
    }
}
