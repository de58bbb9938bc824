//! What the forms of a session's page do, with htmx and without.

use forge::domain::session::SessionStatus;
use serde_json::json;

use super::{Stage, between};
use crate::support::{
    model::{Gate, Script},
    session::folder,
};

#[actix_web::test]
async fn a_session_begins_with_a_prompt() {
    let stage = Stage::set().await;
    let new = format!("/projects/{}/sessions/new", stage.project.id);
    let form = stage.alice.get(&new).await.assert_ok().body;
    assert!(form.contains("What should be done in atlas?"));
    let model = between(&form, "<option value=\"", "\"").to_owned();

    stage.model.fallback(|_| Script::text("Hello."));
    let begin = format!("/projects/{}/sessions", stage.project.id);
    let fields = [("text", "Say hello"), ("agent", "build"), ("model", model.as_str())];
    let answer = stage.alice.post(&begin, &fields).await.assert_status(303);
    let page = stage.alice.get(answer.headers["location"].to_str().unwrap()).await.assert_ok();
    assert!(page.body.contains("Say hello"));

    let project = stage.project.id.to_string();
    let anywhere = [("project", project.as_str()), ("text", "Say hello again")];
    stage.alice.post("/sessions", &anywhere).await.assert_status(303);

    let refused = stage.alice.post(&begin, &[("text", "  ")]).await.assert_status(422);
    assert!(refused.body.contains("Write what should be done."), "{}", refused.body);
    let refused = [("text", "Keep this"), ("model", "nonsense")];
    let refused = stage.alice.post(&begin, &refused).await.assert_status(422);
    assert!(refused.body.contains("Keep this</textarea>"), "what was typed is kept");

    let bob = stage.app.person("bob").await;
    bob.post("/sessions", &anywhere).await.assert_status(404);
    bob.post(&begin, &fields).await.assert_status(404);
}

#[actix_web::test]
async fn prompts_wait_while_the_agent_is_at_work() {
    let stage = Stage::set().await;
    let gate = Gate::default();
    stage.model.push(Script::text("Working ").gate(&gate).say("on it."));
    stage.model.fallback(|_| Script::text("Done."));
    stage.alice.post(&stage.path("/prompt"), &[("text", "Begin")]).await.assert_status(303);
    gate.reached().await;

    let path = stage.path("/prompt");
    let queue = stage.alice.htmx_post(&path, &[("text", "Then <this>"), ("when", "after")]);
    let queue = queue.await.assert_ok().body;
    assert!(queue.starts_with("<section class=\"queue\" id=\"queue\""), "{queue}");
    assert!(queue.contains("<p>Then &#60;this&#62;</p>") && !queue.contains(" hidden>"), "{queue}");
    let steer = between(&queue, "hx-post=\"", "/steer\"").to_owned();

    let form = stage.alice.get(&format!("{steer}/edit")).await.assert_ok().body;
    assert!(form.contains("Then &#60;this&#62;</textarea>"), "{form}");
    let edited = stage.alice.htmx_post(&format!("{steer}/edit"), &[("text", "Then that")]).await;
    assert!(edited.assert_ok().body.contains("<p>Then that</p>"));
    let steered = stage.alice.htmx_post(&format!("{steer}/steer"), &[]).await.assert_ok().body;
    assert!(steered.contains("At the next step"), "{steered}");
    let page = stage.page().await;
    assert!(page.contains("Then that") && page.contains("Stop</button>"), "{page}");
    let gone = stage.alice.htmx_post(&format!("{steer}/remove"), &[]).await.assert_ok().body;
    assert!(gone.contains(" hidden>"), "{gone}");
    let again = stage.alice.htmx_post(&format!("{steer}/remove"), &[]).await;
    assert!(again.status == 404 || again.status == 409, "{}", again.status);

    gate.open();
    stage.app.until(&stage.session, SessionStatus::Idle).await;
}

#[actix_web::test]
async fn an_ask_is_answered_once() {
    let stage = Stage::set().await;
    stage.model.push(Script::new().call("bash", json!({"command": "touch said.txt && true"})));
    stage.model.push(Script::text("Said."));
    stage.app.prompt(&stage.alice, &stage.session, "Say yes").await;
    stage.app.until(&stage.session, SessionStatus::Waiting).await;

    let page = stage.page().await;
    for part in ["Run this command?", "touch said.txt &#38;&#38; true", "Allow once", "Deny…"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(page.contains("data-waiting=\"1\""), "the tray counts it");
    let ask = format!("/asks/{}", between(&page, "action=\"/asks/", "\""));
    let bob = stage.app.person("bob").await;
    bob.post(&ask, &[("reply", "once")]).await.assert_status(404);
    stage.alice.post(&ask, &[("reply", "perhaps")]).await.assert_status(422);

    let answered = stage.alice.htmx_post(&ask, &[("reply", "once")]).await.assert_ok().body;
    assert!(answered.contains("You allowed it once"), "{answered}");
    let second = stage.alice.htmx_post(&ask, &[("reply", "deny")]).await.assert_status(409);
    assert_eq!(second.headers["hx-retarget"], "#toasts");
    assert!(second.body.contains("This was answered already"), "{}", second.body);
    let second = stage.alice.post(&ask, &[("reply", "deny")]).await.assert_status(409);
    assert!(second.body.contains("This was answered already"), "{}", second.body);
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    assert!(folder(&stage.project).join("said.txt").exists());
}

#[actix_web::test]
async fn undo_names_what_somebody_changed_before_it_touches_it() {
    let stage = Stage::set().await;
    let file = folder(&stage.project).join("a.txt");
    std::fs::write(&file, "one\n").unwrap();
    stage.model.push(Script::new().call("read", json!({"path": "a.txt"})));
    stage.model.push(
        Script::new()
            .call("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "<two>"})),
    );
    stage.model.push(Script::text("Done."));
    let sent = stage.app.prompt(&stage.alice, &stage.session, "Count on").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let message = sent.message.id.to_string();

    for view in ["/diff", "/diff?view=split", &format!("/diff?message={message}")] {
        let page = stage.alice.get(&stage.path(view)).await.assert_ok().body;
        assert!(page.contains("&#60;") && page.contains("two"), "{view}: {page}");
        assert!(page.contains("<span class=\"dir\"></span>a.txt"), "{view}: {page}");
    }
    std::fs::write(&file, "mine\n").unwrap();
    let undo = stage.path("/undo");
    let fields = [("message_id", message.as_str())];
    let asked = stage.alice.post(&undo, &fields).await.assert_status(409).body;
    assert!(asked.contains("Undo anyway") && asked.contains("was changed since"), "{asked}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");

    let fields = [("message_id", message.as_str()), ("force", "true")];
    stage.alice.post(&undo, &fields).await.assert_redirect(&stage.path(""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    let page = stage.page().await;
    assert!(page.contains("data-undone") && page.contains("Redo</button>"), "{page}");
    stage.alice.post(&stage.path("/redo"), &[]).await.assert_redirect(&stage.path(""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "<two>\n");
    let elsewhere = [("message_id", "01ARZ3NDEKTSV4RRFFQ69G5FAV")];
    stage.alice.post(&undo, &elsewhere).await.assert_status(404);
}

#[actix_web::test]
async fn a_session_is_named_put_away_and_deleted() {
    let stage = Stage::set().await;
    let form = stage.alice.get(&stage.path("/name")).await.assert_ok().body;
    assert!(form.contains("value=\"New session\""), "{form}");
    let named = stage.alice.htmx_post(&stage.path("/name"), &[("name", "<b>Mine</b>")]).await;
    assert_eq!(named.assert_ok().body, "&#60;b&#62;Mine&#60;/b&#62;");
    stage.alice.htmx_post(&stage.path("/name"), &[("name", "")]).await.assert_status(422);
    stage.alice.post(&stage.path("/archive"), &[("archived", "true")]).await.assert_status(303);
    assert!(stage.page().await.contains("Take out of the archive"));
    let sure = stage.alice.get(&stage.path("/delete")).await.assert_ok().body;
    assert!(sure.contains("Delete session"), "{sure}");
    let project = format!("/projects/{}", stage.project.id);
    stage.alice.post(&stage.path("/delete"), &[]).await.assert_redirect(&project);
    stage.alice.get(&stage.path("")).await.assert_status(404);
}
