//! Files that are sent with prompts: taken, kept, shown, sent to the model, and gone.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge::{
    domain::{provider::Kind, session::SessionStatus},
    engine::sessions,
    store::{self, entity::session::Model as Session},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Person, TestApp,
    model::{Script, ScriptedModel},
    session::{MODEL, png},
};

/// Alice with a session on a model.
struct Stage {
    app: TestApp,
    model: ScriptedModel,
    alice: Person,
    session: Session,
}

impl Stage {
    async fn set(kind: Kind) -> Self {
        let app = TestApp::start().await;
        let model = ScriptedModel::start().await;
        let alice = app.person("alice").await;
        let project = app.project(&alice, "atlas").await;
        app.provider_of(kind, &model).await;
        let session = app.session(&alice, &project).await;
        Self { app, model, alice, session }
    }

    fn at(&self, rest: &str) -> String {
        format!("/sessions/{}{rest}", self.session.id)
    }

    async fn give(&self, name: &str, content: &[u8]) -> Value {
        let path = format!("/api/v1/attachments?session={}", self.session.id);
        let file = [("file", name, content)];
        self.alice.api.upload(&path, &[], &file).await.assert_status(201).value()
    }

    /// How many files lie in the data folder.
    fn kept(&self) -> usize {
        let folder = self.app.app.config.data.dir.join("attachments");
        let Ok(inner) = std::fs::read_dir(folder) else { return 0 };
        inner.map(|it| std::fs::read_dir(it.unwrap().path()).unwrap().count()).sum()
    }
}

#[actix_web::test]
async fn an_image_goes_with_the_words_to_every_kind_and_again_after_a_restart() {
    for kind in Kind::ALL {
        let stage = Stage::set(kind).await;
        let image = png(3, 2);
        stage.model.push(Script::text("A small one."));
        let files: [(&str, &str, &[u8]); 2] =
            [("attachments", "shot.svg", &image), ("attachments", "notes.txt", b"one\ntwo\n")];
        stage
            .alice
            .upload(&stage.at("/prompt"), &[("text", "What is this?")], &files)
            .await
            .assert_redirect(&stage.at(""));
        stage.app.until(&stage.session, SessionStatus::Idle).await;
        // A run of its own, rebuilt from what is stored.
        stage.model.push(Script::text("Yes."));
        stage.app.prompt(&stage.alice, &stage.session, "Sure?").await;
        stage.app.until(&stage.session, SessionStatus::Idle).await;
        let asked = stage.model.requests();
        let data = STANDARD.encode(&image);
        for request in &asked {
            let body = request.body.to_string();
            assert!(body.contains(&data), "{kind}: {body}");
            assert!(body.contains("<file name=\\\"notes.txt\\\">\\none\\ntwo\\n</file>"), "{kind}");
        }
        assert_eq!(asked.len(), 2);
    }
}

#[actix_web::test]
async fn a_prompt_with_files_is_drawn_and_they_are_served_harmless() {
    let stage = Stage::set(Kind::Openai).await;
    let (alice, image) = (&stage.alice, png(3, 2));
    stage.model.push(Script::text("Seen."));
    let evil = b"<html><script>alert(1)</script></html>";
    let files: [(&str, &str, &[u8]); 3] = [
        ("attachments", "../<b>shot.png", &image),
        ("attachments", "page.html", evil),
        ("attachments", "", b""),
    ];
    let sent = alice.uploading(&stage.at("/prompt"), &[("text", " ")], &files);
    let sent = crate::support::Answer::to(sent.header("hx-request", "true")).await.assert_ok();
    assert!(sent.body.contains("id=\"queue\""));
    let session = stage.app.until(&stage.session, SessionStatus::Idle).await;
    assert_eq!(session.name, "<b>shot.png", "without words a file gives the name");

    let page = alice.get(&stage.at("")).await.assert_ok().body;
    assert!(page.contains("&#60;b&#62;shot.png") && !page.contains("<b>shot.png"));
    let rows = store::attachments::of_session(&stage.app.app.db, session.id).await.unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let path = format!("/attachments/{}", row.id);
        assert!(page.contains(&format!("href=\"{path}\"")));
        let served = alice.request(Method::GET, &path).send().await.unwrap();
        let header = |name: &str| served.headers()[name].to_str().unwrap().to_owned();
        let is_image = row.mime == "image/png";
        let mime = if is_image { "image/png" } else { "text/plain; charset=utf-8" };
        assert_eq!(header("content-type"), mime);
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"));
        assert!(header("content-disposition").starts_with("inline; filename=\"file\""));
        let tag = header("etag");
        let content = served.bytes().await.unwrap();
        assert_eq!(content.as_ref(), if is_image { image.as_slice() } else { evil.as_slice() });
        let again = alice.request(Method::GET, &path).header("if-none-match", tag);
        assert_eq!(again.send().await.unwrap().status(), 304);
        let api = format!("/api/v1{path}");
        let head = alice.api.send(Method::HEAD, &api).await.assert_ok();
        assert_eq!(head.headers["content-length"], row.size.to_string());
        assert!(head.body.is_empty());
        alice.api.get(&api).await.assert_ok();
    }
}

#[actix_web::test]
async fn what_is_no_image_and_no_text_is_refused_and_nothing_is_sent() {
    let stage = Stage::set(Kind::Openai).await;
    let alice = &stage.alice;
    let huge = png(9_000, 2);
    let cut = &png(3, 2)[..30];
    let many = [("attachments", "a.txt", b"a".as_slice()); 11];
    let long = vec![b'a'; 10_000_001];
    let large = [("attachments", "a.txt", &long[..9_000_000]); 5];
    for (files, status, says) in [
        (vec![("attachments", "a.pdf", b"%PDF-1.7\n\xff".as_slice())], 422, "a.pdf is no PNG"),
        (vec![("attachments", "a.png", cut)], 422, "a.png is damaged"),
        (vec![("attachments", "a.png", huge.as_slice())], 422, "9000 × 2 pixels"),
        (many.to_vec(), 422, "at most 10 files"),
        (vec![("attachments", "a.txt", long.as_slice())], 413, "a.txt is over 10 MB"),
        (large.to_vec(), 413, "over 40 MB together"),
        (Vec::new(), 422, "Write what should be done"),
    ] {
        let answer = alice.upload(&stage.at("/prompt"), &[("text", "")], &files).await;
        let answer = answer.assert_status(status);
        assert!(answer.body.contains(says), "{says}: {}", answer.body);
    }
    assert!(stage.app.messages(&stage.session).await.is_empty());
    assert_eq!(stage.kept(), 0);
    // A new session is not left behind either.
    let path = format!("/projects/{}/sessions", stage.session.project_id);
    let bad = [("attachments", "a.pdf", b"%PDF-1.7\n\xff".as_slice())];
    let answer = alice.upload(&path, &[("text", "Look")], &bad).await.assert_status(422);
    assert!(answer.body.contains("is no PNG"));
    let count = store::sessions::count(&stage.app.app.db, stage.session.project_id).await.unwrap();
    assert_eq!(count, 1);
}

#[actix_web::test]
async fn a_session_begins_with_a_file() {
    let stage = Stage::set(Kind::Openai).await;
    stage.model.push(Script::text("Nice."));
    let path = format!("/projects/{}/sessions", stage.session.project_id);
    let image = png(1, 1);
    let answer =
        stage.alice.upload(&path, &[("text", "")], &[("attachments", "a.png", &image)]).await;
    let to = answer.assert_status(303).headers["location"].to_str().unwrap().to_owned();
    stage.model.wait_for_requests(1).await;
    assert!(stage.alice.get(&to).await.assert_ok().body.contains("a.png"));
}

#[actix_web::test]
async fn scripts_give_files_first_and_name_them_in_a_prompt() {
    let stage = Stage::set(Kind::Openai).await;
    let (api, image) = (&stage.alice.api, png(4, 4));
    let given = stage.give("a.png", &image).await;
    assert_eq!(
        (given["mime"].as_str(), given["kind"].as_str()),
        (Some("image/png"), Some("image"))
    );
    let exists = format!("/api/v1/attachments/exists?sha256={}", given["sha256"].as_str().unwrap());
    let found = api.get(&exists).await.assert_ok().value();
    assert_eq!((&found["exists"], &found["attachment"]["id"]), (&json!(true), &given["id"]));
    let bob = stage.app.person("bob").await;
    assert_eq!(bob.api.get(&exists).await.assert_ok().value()["exists"], false);
    api.get("/api/v1/attachments/exists?sha256=..").await.assert_status(422);
    api.get("/api/v1/attachments/exists").await.assert_status(422);

    // It may go with a prompt of another session, and then stays there.
    let project = stage.app.project(&stage.alice, "other").await;
    let other = stage.app.session(&stage.alice, &project).await;
    stage.model.push(Script::text("Seen."));
    let prompt = json!({"text": "Look", "attachments": [given["id"], given["id"]]});
    let path = format!("/api/v1/sessions/{}", other.id);
    let prompt_path = format!("{path}/prompt");
    api.json(Method::POST, &prompt_path, &prompt).await.assert_status(202);
    stage.app.until(&other, SessionStatus::Idle).await;
    let messages = api.get(&format!("{path}/messages")).await.assert_ok().value();
    let parts = messages["items"][0]["parts"].as_array().unwrap().clone();
    assert_eq!(parts[1]["type"], "file");
    assert_ne!(parts[1]["data"]["attachment_id"], given["id"]);
    sessions::delete(&stage.app.app.engine, stage.session.clone()).await.unwrap();
    stage.app.app.engine.sweep().await;
    let id = parts[1]["data"]["attachment_id"].as_str().unwrap();
    api.get(&format!("/api/v1/attachments/{id}")).await.assert_ok();
    api.get(&format!("/api/v1/attachments/{}", given["id"].as_str().unwrap()))
        .await
        .assert_status(404);

    // Nobody sends what is somebody else's.
    let bobs = stage.app.project(&bob, "bobs").await;
    let bobs = stage.app.session(&bob, &bobs).await;
    let theft = json!({"text": "Look", "attachments": [id]});
    let answer =
        bob.api.json(Method::POST, &format!("/api/v1/sessions/{}/prompt", bobs.id), &theft).await;
    assert!(answer.assert_status(422).value()["errors"]["attachments"].is_string());
    let upload = format!("/api/v1/attachments?session={}", other.id);
    let file = [("file", "a.png", image.as_slice())];
    bob.api.upload(&upload, &[], &file).await.assert_status(422);
    api.upload(&upload, &[], &[file[0], file[0]]).await.assert_status(422);
    let not_multipart = api.json(Method::POST, &upload, &json!({})).await;
    not_multipart.assert_status(415);
}

#[actix_web::test]
async fn content_goes_with_the_last_that_has_it_and_no_sooner() {
    let stage = Stage::set(Kind::Openai).await;
    let image = png(5, 5);
    let sent = stage.give("sent.png", &image).await;
    stage.give("unsent.png", &png(6, 6)).await;
    stage.model.push(Script::text("Seen."));
    let prompt = json!({"text": "Look", "attachments": [sent["id"]]});
    let path = format!("/api/v1/sessions/{}/prompt", stage.session.id);
    stage.alice.api.json(Method::POST, &path, &prompt).await.assert_status(202);
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    stage.app.app.engine.sweep().await;
    assert_eq!(stage.kept(), 2, "what was just given may still be sent");
    stage.app.clock.advance(chrono::TimeDelta::days(2));
    stage.app.app.engine.sweep().await;
    assert_eq!(stage.kept(), 1, "what was sent stays however old it is");
    stage
        .alice
        .api
        .get(&format!("/api/v1/attachments/{}", sent["id"].as_str().unwrap()))
        .await
        .assert_ok();
    sessions::delete(&stage.app.app.engine, stage.session.clone()).await.unwrap();
    stage.app.app.engine.sweep().await;
    assert_eq!(stage.kept(), 0);
}

#[actix_web::test]
async fn a_file_that_is_gone_or_unseen_does_not_stop_the_conversation() {
    let stage = Stage::set(Kind::Anthropic).await;
    let image = png(7, 7);
    stage.model.push(Script::text("Seen."));
    stage
        .alice
        .upload(&stage.at("/prompt"), &[("text", "Look")], &[("attachments", "a.png", &image)])
        .await
        .assert_status(303);
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    // Another model, which does not see.
    let root = stage.app.admin("root").await;
    let meta = json!({"meta": {MODEL: {"images": false}}});
    let provider = stage.session.provider_id.unwrap();
    root.api.json(Method::PATCH, &format!("/api/v1/providers/{provider}"), &meta).await.assert_ok();
    stage.model.push(Script::text("I cannot."));
    stage.app.prompt(&stage.alice, &stage.session, "Again").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let body = stage.model.requests()[1].body.to_string();
    assert!(body.contains("this model does not read images"), "{body}");

    std::fs::remove_dir_all(stage.app.app.config.data.dir.join("attachments")).unwrap();
    stage.model.push(Script::text("Gone."));
    stage.app.prompt(&stage.alice, &stage.session, "And now").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let body = stage.model.requests()[2].body.to_string();
    assert!(body.contains("[a.png was left out: it cannot be read any more.]"), "{body}");
}

#[actix_web::test]
async fn a_prompt_that_waits_keeps_its_files_when_its_words_change() {
    let stage = Stage::set(Kind::Openai).await;
    let gate = crate::support::model::Gate::default();
    stage.model.push(Script::text("One.").gate(&gate));
    stage.model.push(Script::text("Two."));
    stage.app.prompt(&stage.alice, &stage.session, "First").await;
    gate.reached().await;
    let image = png(8, 8);
    let files: [(&str, &str, &[u8]); 1] = [("attachments", "a.png", &image)];
    stage
        .alice
        .upload(&stage.at("/prompt"), &[("text", "Second")], &files)
        .await
        .assert_status(303);
    let page = stage.alice.get(&stage.at("")).await.body;
    assert!(page.contains("1 file</span>"), "the queue says so");
    let queue = format!("/api/v1/sessions/{}/queue", stage.session.id);
    let waiting = stage.alice.api.get(&queue).await.assert_ok().value();
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    let change = json!({"text": "Second, better"});
    stage.alice.api.json(Method::PATCH, &format!("/api/v1/queue/{id}"), &change).await.assert_ok();
    gate.open();
    let asked = stage.model.wait_for_requests(2).await;
    let body = asked[1].body.to_string();
    assert!(body.contains("Second, better") && body.contains(&STANDARD.encode(&image)), "{body}");
    stage.app.until(&stage.session, SessionStatus::Idle).await;
}
