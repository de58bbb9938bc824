//! Changing several things at once in a whole run: judged, asked about, drawn, undone.

use forge::{
    domain::{ask::Question, message::ToolStatus, session::SessionStatus},
    store::asks,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{ONCE, Stage, steady::rules};
use crate::support::model::Script;

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

fn read(paths: &[&str]) -> Script {
    paths.iter().fold(Script::new(), |script, path| script.call("read", json!({"path": path})))
}

#[actix_web::test]
async fn case_11_changes_of_one_file_in_one_message_all_land() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let file = stage.folder().join("a.txt");
    std::fs::write(&file, "one\ntwo\nthree\nfour\n").unwrap();
    model.push(read(&["a.txt"]));
    let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let with_path = |mut edit: Value| {
        edit["path"] = json!("a.txt");
        edit
    };
    model.push(
        Script::new()
            .call("edit", with_path(edit("one", "1")))
            .call("edit", with_path(edit("two", "2")))
            .call(
                "multi_edit",
                json!({"path": "a.txt", "edits": [edit("three", "3"), edit("3", "III")]}),
            )
            .call("apply_patch", patch("*** Update File: a.txt\n@@\n-four\n+4\n")),
    );
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Count").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\nIII\n4\n");
    assert!(stage.calls().await.iter().all(|call| call.status == ToolStatus::Done));
}

#[actix_web::test]
async fn case_15_a_move_out_of_the_project_is_asked_about_before_anything_is_written() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let folder = stage.folder();
    std::fs::write(folder.join("a.txt"), "one\n").unwrap();
    let there = folder.parent().unwrap().join("moved-out.txt");
    let body = "***Update File: a.txt\n***Move to: ../moved-out.txt\n@@\n-one\n+two\n";
    rules(&stage, json!([{"tool": "external_directory", "pattern": "**", "action": "deny"}])).await;
    model.push(read(&["a.txt"]));
    model.push(Script::new().call("apply_patch", patch(body)));
    model.push(Script::text("Well."));
    app.prompt(alice, session, "Move it").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.calls().await[1].status, ToolStatus::Denied);

    rules(&stage, json!([])).await;
    model.push(Script::new().call("apply_patch", patch(body)));
    model.push(Script::text("Done."));
    app.prompt(alice, session, "Try again").await;
    app.until(session, SessionStatus::Waiting).await;
    assert!(!there.exists() && folder.join("a.txt").exists());
    let ask = asks::open_in(&app.app.db, session.id).await.unwrap().remove(0);
    let question: Question = serde_json::from_value(ask.data).unwrap();
    let real = std::fs::canonicalize(&folder).unwrap();
    let out = real.parent().unwrap().join("moved-out.txt");
    assert_eq!(question.subject, format!("a.txt\n{}", out.display()));
    assert!(question.reasons.iter().any(|it| it.contains("outside the project")), "{question:?}");
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    for part in ["Apply this patch?", "moves a.txt to ../moved-out.txt", "<tr class=\"add\">"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    stage.answer(ONCE).await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "two\n");
    assert!(!folder.join("a.txt").exists());
    std::fs::remove_file(there).unwrap();
}

#[actix_web::test]
async fn rules_for_changing_hold_for_every_file_of_a_patch() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    for path in ["a.txt", "kept.txt"] {
        std::fs::write(stage.folder().join(path), "one\n").unwrap();
    }
    rules(&stage, json!([{"tool": "edit", "pattern": "kept.txt", "action": "deny"}])).await;
    model.push(read(&["a.txt", "kept.txt"]));
    model.push(
        Script::new()
            .call("apply_patch", patch("*** Delete File: a.txt\n*** Delete File: kept.txt\n")),
    );
    model.push(
        Script::new().call("apply_patch", patch("*** Update File: a.txt\n*** Move to: kept.txt\n")),
    );
    let edits = json!([{"old_string": "one", "new_string": "two"}]);
    model.push(Script::new().call("multi_edit", json!({"path": "kept.txt", "edits": edits})));
    model.push(Script::new().call("apply_patch", patch("*** Add File: .git/hooks/x\n+x\n")));
    model.push(Script::text("Well."));
    app.prompt(alice, session, "Tidy up").await;
    app.until(session, SessionStatus::Idle).await;
    let calls = stage.calls().await;
    assert_eq!(calls.len(), 6);
    for call in &calls[2..] {
        assert_eq!(call.status, ToolStatus::Denied, "{call:?}");
    }
    for path in ["a.txt", "kept.txt"] {
        assert_eq!(std::fs::read_to_string(stage.folder().join(path)).unwrap(), "one\n");
    }
}

#[actix_web::test]
async fn a_patch_is_drawn_file_by_file_and_undone_as_a_whole() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    let folder = stage.folder();
    let before = [("a.txt", "one\n"), ("gone.txt", "x\n"), ("m.txt", "move\n")];
    for (path, text) in before {
        std::fs::write(folder.join(path), text).unwrap();
    }
    model.push(read(&["a.txt", "gone.txt", "m.txt"]));
    model.push(Script::new().call(
        "apply_patch",
        patch(
            "*** Update File: a.txt\n@@\n-one\n+<two>\n*** Delete File: gone.txt\n\
             *** Update File: m.txt\n*** Move to: deep/m.txt\n@@\n-move\n+moved\n*** Add File: new/n.txt\n+n\n",
        ),
    ));
    model.push(Script::text("Done."));
    let sent = app.prompt(alice, session, "Patch").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(std::fs::read_to_string(folder.join("deep/m.txt")).unwrap(), "moved\n");

    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    for part in [
        "<b>Patched</b><code>a.txt and 4 more</code><span class=\"meta\">4 files</span>",
        "<ins>+3</ins><del>−3</del>",
        "Edited <code>a.txt</code>",
        "&#60;two&#62;",
        "Deleted <code>gone.txt</code>",
        "Moved <code>deep/m.txt</code> from <code>m.txt</code>",
        "Created <code>new/n.txt</code>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }

    let at = |end: &str| format!("/api/v1/sessions/{}{end}", session.id);
    let undo = json!({"message_id": sent.message.id.to_string()});
    alice.api.json(Method::POST, &at("/undo"), &undo).await.assert_ok();
    for (path, text) in before {
        assert_eq!(std::fs::read_to_string(folder.join(path)).unwrap(), text);
    }
    assert!(!folder.join("deep").exists() && !folder.join("new").exists());
    alice.api.json(Method::POST, &at("/redo"), &json!({})).await.assert_ok();
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "<two>\n");
    assert_eq!(std::fs::read_to_string(folder.join("new/n.txt")).unwrap(), "n\n");
    assert!(!folder.join("gone.txt").exists() && !folder.join("m.txt").exists());
}

#[actix_web::test]
async fn case_24_output_that_is_no_text_is_stored_and_sent_all_the_same() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    rules(&stage, json!([{"tool": "bash", "pattern": "*", "action": "allow"}])).await;
    model.push(Script::new().call("bash", json!({"command": r"printf '\xff\xfe\na\0b\n'"})));
    model.push(Script::text("Odd."));
    app.prompt(alice, session, "Print").await;
    app.until(session, SessionStatus::Idle).await;
    let call = stage.calls().await.remove(0);
    assert_eq!((call.status, call.output.trim_end()), (ToolStatus::Done, "\u{fffd}\u{fffd}\nab"));
    let told = model.requests()[1].body.to_string();
    assert!(told.contains("\u{fffd}\u{fffd}\\nab"), "{told}");
    alice.get(&format!("/sessions/{}", session.id)).await.assert_ok();
}

#[actix_web::test]
async fn case_33_what_must_not_be_read_is_shown_by_no_tool() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    std::fs::write(stage.folder().join(".env"), "TOKEN=hush-hush\n").unwrap();
    let may = json!([
        {"tool": "bash", "pattern": "*", "action": "allow"},
        {"tool": "read", "pattern": ".env", "action": "deny"},
    ]);
    rules(&stage, may).await;
    model.push(
        read(&[".env"])
            .call("grep", json!({"pattern": "TOKEN"}))
            .call("grep", json!({"pattern": "TOKEN", "path": ".env"}))
            .call("glob", json!({"pattern": ".e*"}))
            .call("list", json!({}))
            .call("bash", json!({"command": "cat .env"}))
            .call("bash", json!({"command": "grep TOKEN < .env"}))
            .call("edit", json!({"path": ".env", "old_string": "TOKEN=x", "new_string": "y"}))
            .call("apply_patch", patch("*** Update File: .env\n@@\n-TOKEN=x\n+y\n")),
    );
    model.push(Script::text("Nothing."));
    app.prompt(alice, session, "Look").await;
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.calls().await.len(), 9);
    let told = model.requests()[1].body.to_string();
    assert!(!told.contains("hush"), "{told}");
    let page = alice.get(&format!("/sessions/{}", session.id)).await.assert_ok().body;
    assert!(!page.contains("hush"));
}

#[actix_web::test]
async fn the_first_prompt_of_an_agent_is_small() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, .. } = &stage;
    model.push(Script::text("Hello."));
    app.prompt(alice, session, "Hi").await;
    app.until(session, SessionStatus::Idle).await;
    let request = model.requests().remove(0).body;
    let tokens = request.to_string().len() / 4;
    assert!(tokens < 4_000, "{tokens} tokens");
    assert_eq!(request["tools"].as_array().unwrap().len(), forge::engine::tools::all().len());
}
