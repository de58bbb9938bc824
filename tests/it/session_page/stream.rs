//! What the stream of a session's page brings.

use forge::{domain::session::SessionStatus, store};
use serde_json::json;

use super::Stage;
use crate::support::{
    model::{Gate, Script},
    stream::PageStream,
};

#[actix_web::test]
async fn words_come_as_they_are_written_and_a_part_once_it_is_whole() {
    let stage = Stage::set().await;
    let gates = [Gate::default(), Gate::default()];
    stage.model.push(
        Script::text("First **block**.\n\nSecond block\ngoes ")
            .gate(&gates[0])
            .say("on.\n\nThird")
            .gate(&gates[1])
            .say(" ends."),
    );
    let address = PageStream::address(&stage.page().await);
    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    assert_eq!(stream.headers["content-encoding"], "identity");
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    assert!(stream.headers["cache-control"].to_str().unwrap().contains("no-store"));

    stage.app.prompt(&stage.alice, &stage.session, "Write three blocks").await;
    // By itself, or with the whole timeline where the prompt was there before the stream was.
    let prompt = stream.until(&["class=\"prompt\"", "Write three blocks"]).await;
    assert!(prompt.html.contains("hx-swap-oob=\"outerMorph\""), "{}", prompt.html);
    let answer = stream.until(&["<article hx-swap-oob=\"outerMorph\" class=\"answer\""]).await;
    // The status is drawn with the prompt or with the answer, whichever is drawn first.
    let running = ["id=\"session-status\"", "Running", "Stop</button>"];
    if !stream.seen.iter().any(|piece| running.iter().all(|it| piece.html.contains(it))) {
        stream.until(&running).await;
    }
    let answer = super::between(&answer.html, "id=\"message-", "\"").to_owned();

    gates[0].reached().await;
    let place = stream.until(&["beforeend target:'#parts-", "<li id=\"part-"]).await;
    assert!(place.html.contains(&format!("#parts-{answer}:not(:has(#part-")), "{}", place.html);
    assert_eq!(place.id, None, "words have no id");
    let words = stream.until(&["-open\"", "Second block", "goes"]).await;
    assert_eq!(words.id, None);
    assert!(words.html.contains("hx-swap-oob=\"outerMorph\""), "{}", words.html);

    gates[0].open();
    gates[1].reached().await;
    stream.until(&["Third"]).await;
    let all: String = stream.seen.iter().map(|piece| piece.html.as_str()).collect();
    assert!(all.contains("<strong>block</strong>"), "{all}");
    gates[1].open();
    let whole =
        stream.until(&["<li hx-swap-oob=\"outerMorph\" class=\"part prose\"", "Third ends."]).await;
    assert!(whole.id.is_some(), "what is stored has an id");
    assert!(whole.html.contains("First") && !whole.html.contains("-open"), "{}", whole.html);
    stream.until(&["The agent is done."]).await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;

    // Whoever comes back has missed nothing, and is told nothing twice that is not harmless.
    let last = stream.last_id();
    let mut again = PageStream::connect(&stage.alice, &address, Some(last)).await;
    let first = again.next().await.unwrap();
    assert!(first.html.contains("delete target:'#timeline [data-live]'"), "{}", first.html);
    let second = again.next().await.unwrap();
    assert_eq!(second.id, Some(last));
    assert!(second.html.contains("id=\"queue\"") && !second.html.contains("article"));
}

#[actix_web::test]
async fn whoever_comes_back_is_given_what_changed() {
    let stage = Stage::set().await;
    stage.model.push(Script::new().call("bash", json!({"command": "touch one.txt"})));
    stage.app.prompt(&stage.alice, &stage.session, "Count").await;
    stage.app.until(&stage.session, SessionStatus::Waiting).await;
    let page = stage.page().await;
    let address = PageStream::address(&page);
    let seen: i64 = super::between(&address, "seq=", "&").parse().unwrap();
    let ask = super::between(&page, "action=\"/asks/", "\"").to_owned();

    stage.model.push(Script::text("One."));
    stage.alice.post(&format!("/asks/{ask}"), &[("reply", "once")]).await.assert_status(303);
    let session = stage.app.until(&stage.session, SessionStatus::Idle).await;

    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    let answer = stream.until(&["class=\"answer\""]).await;
    let fresh = stage.page().await;
    let drawn = |html: &str| {
        let article = super::between(html, "class=\"answer\"", "</article>").to_owned();
        article.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(drawn(&answer.html), drawn(&fresh), "the same partial draws both");
    let side = stream.until(&["id=\"fold-context\"", "id=\"session-status\""]).await;
    assert!(side.id == Some(session.seq) && side.id > Some(seen));
    assert!(side.html.contains("aria-label=\"0 asks wait for you\""), "{}", side.html);

    // A prompt in between may have taken others away: the timeline comes whole.
    stage.model.push(Script::text("Two."));
    stage.app.prompt(&stage.alice, &stage.session, "And then").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let mut stream = PageStream::connect(&stage.alice, &address, Some(session.seq)).await;
    let whole = stream.until(&["id=\"timeline\""]).await;
    assert!(whole.html.contains("And then") && whole.html.contains("Count"), "{}", whole.html);
    let mut stream = PageStream::connect(&stage.alice, &address, Some(1 << 40)).await;
    stream.until(&["id=\"timeline\""]).await;
}

#[actix_web::test]
async fn an_ask_appears_and_goes_with_its_answer() {
    let stage = Stage::set().await;
    let address = PageStream::address(&stage.page().await);
    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    stage.model.push(Script::new().call("bash", json!({"command": "touch one.txt"})));
    stage.model.push(
        Script::new()
            .call("todo_write", json!({"todos": [{"text": "More", "status": "in_progress"}]})),
    );
    stage.model.push(Script::text("One."));
    stage.app.prompt(&stage.alice, &stage.session, "Count").await;
    let ask = stream.until(&["class=\"ask\"", "Run this command?"]).await;
    let ask = super::between(&ask.html, "action=\"/asks/", "\"").to_owned();
    stream.until(&["data-waiting=\"1\"", "The agent asks for your permission."]).await;
    stage.alice.htmx_post(&format!("/asks/{ask}"), &[("reply", "once")]).await.assert_ok();
    stream.until(&["<b>Running</b><code>touch one.txt</code>"]).await;
    stream.until(&["<b>Ran</b><code>touch one.txt</code>", "Allowed by alice"]).await;
    stream.until(&["id=\"todos\"", "More"]).await;
    stream.until(&["The agent is done."]).await;
}

#[actix_web::test]
async fn another_try_is_announced_and_taken_back() {
    let stage = Stage::set().await;
    let address = PageStream::address(&stage.page().await);
    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    stage.model.push(Script::fault(529, json!({"error": {"message": "overloaded"}})));
    stage.model.push(Script::text("Now."));
    stage.app.prompt(&stage.alice, &stage.session, "Hello").await;
    stream.until(&["id=\"retry\"", "Trying again in", "Try now", "Retrying"]).await;
    stage.alice.htmx_post(&stage.path("/retry"), &[]).await.assert_status(204);
    stream.until(&["delete:#retry-part"]).await;
    stream.until(&["The agent is done."]).await;
}

#[actix_web::test]
async fn the_stream_ends_with_the_right_to_it() {
    let stage = Stage::set().await;
    let address = PageStream::address(&stage.page().await);
    let bob = stage.app.person("bob").await;
    bob.get(&address).await.assert_status(404);
    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    stream.until(&["id=\"queue\""]).await;
    stage.alice.post(&stage.path("/delete"), &[]).await.assert_status(303);
    let told = stream.next().await.unwrap();
    assert_eq!(told.event.as_deref(), Some("ended"), "a page of something that is gone");
    assert!(stream.next().await.is_none());

    let session = stage.app.session(&stage.alice, &stage.project).await;
    let address = format!("/sessions/{}/events", session.id);
    let mut stream = PageStream::connect(&stage.alice, &address, None).await;
    stream.until(&["id=\"queue\""]).await;
    let hub = &stage.app.app.engine.hub;
    hub.rights_changed(bob.user.id);
    store::sign_ins::delete_of(&stage.app.app.db, stage.alice.user.id).await.unwrap();
    hub.rights_changed(stage.alice.user.id);
    assert!(stream.next().await.is_none(), "{:?}", stream.seen);
    stage.alice.get(&address).await.assert_status(303);
}
