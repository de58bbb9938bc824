//! What the page of a session draws.

use forge::{
    domain::{
        ids::{MessageId, PartId},
        message::{Part, Role, Text, Tokens},
        session::SessionStatus,
    },
    store::{
        entity::{message::Model as Message, part::Model as PartRow},
        journal::{self, Write},
    },
};
use serde_json::json;

use super::Stage;
use crate::support::{model::Script, session::folder};

#[actix_web::test]
async fn a_finished_run_is_drawn_call_by_call() {
    let stage = Stage::set().await;
    let folder = folder(&stage.project);
    std::fs::write(folder.join("greet.py"), "def greet(name):\n    return \"Hello\"\n").unwrap();
    stage.model.push(
        Script::new()
            .think("Where is it?")
            .say("I look at **it**.")
            .call("read", json!({"path": "greet.py"}))
            .call("grep", json!({"pattern": "Hello"})),
    );
    stage.model.push(Script::new().call(
        "edit",
        json!({"path": "greet.py", "old_string": "\"Hello\"", "new_string": "\"Hi\""}),
    ));
    stage.model.push(Script::new().call(
        "todo_write",
        json!({"todos": [{"text": "Greet", "status": "done"}, {"text": "Test", "status": "pending"}]}),
    ));
    stage.model.push(Script::text("Done: `greet` says Hi.\n\n- one\n- two").usage(1_200, 200, 40));
    stage.app.prompt(&stage.alice, &stage.session, "Make it short\nand kind").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;

    let page = stage.page().await;
    for part in [
        "<h1 id=\"session-name\">Make it short</h1>",
        "<p>Make it short<br>\nand kind</p>",
        "<span>Thought</span>",
        "<p>I look at <strong>it</strong>.</p>",
        "<b>Read</b><code>greet.py</code><span class=\"meta\">2 lines</span>",
        "<b>Searched</b><code>Hello</code><span class=\"meta\">1 match in 1 file</span>",
        "<mark>Hello</mark>",
        "<b>Edited</b><code>greet.py</code>",
        "<ins>+1</ins><del>−1</del>",
        "<tr class=\"add\"><td class=\"n\"></td><td class=\"n\" data-n=\"2\"></td>",
        "<b>Updated the list</b><span class=\"meta\">1 of 2 done</span>",
        "<summary>To do<span class=\"faint\">1 of 2</span>",
        "<code>greet</code> says Hi.",
        "<li>one</li>",
        "1,200 in, 200 of it cached",
        "40 out",
        "Idle",
        "<option value=\"",
        "Send</button>",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
    for gone in ["Stop</button>", "data-live", "hx-swap-oob", "style=", "onclick"] {
        assert!(!page.contains(gone), "{gone} is in the page");
    }
}

#[actix_web::test]
async fn case_49_whatever_somebody_wrote_stays_text() {
    let stage = Stage::set().await;
    let folder = folder(&stage.project);
    let evil = "<script>alert(1)</script>";
    std::fs::write(folder.join("a.txt"), format!("needle {evil} <img src=x onerror=alert(1)>\n"))
        .unwrap();
    std::fs::write(folder.join("<img src=x onerror=alert(2)>.txt"), "needle\n").unwrap();
    let name = "<img src=x onerror=alert(3)>";
    stage
        .alice
        .post(&stage.path("/name"), &[("name", name)])
        .await
        .assert_redirect(&stage.path(""));
    stage.model.push(
        Script::new()
            .think(&format!("Hm {evil}"))
            .say(&format!("{evil} <img src=x onerror=alert(4)> [x](javascript:alert(5)) <i hx-get=\"/\" hx-swap-oob=\"true\" id=\"main\">"))
            .call("grep", json!({"pattern": "needle"}))
            .call("glob", json!({"pattern": "*"}))
            .call("unknown", json!({"x": evil}))
            .call("bash", json!({"command": format!("touch '{evil}'")})),
    );
    stage.app.prompt(&stage.alice, &stage.session, &format!("{evil}\n{name}")).await;
    stage.app.until(&stage.session, SessionStatus::Waiting).await;
    stage.app.prompt(&stage.alice, &stage.session, &format!("later {evil}")).await;

    let page = stage.page().await;
    let streamed = {
        let all = stage.path("/events");
        let mut stream =
            crate::support::stream::PageStream::connect(&stage.alice, &all, None).await;
        stream.until(&["id=\"queue\""]).await;
        stream.seen.iter().map(|piece| piece.html.clone()).collect::<String>()
    };
    for html in [&page, &streamed] {
        assert!(html.contains("&#60;script&#62;") || html.contains("&lt;script&gt;"), "{html}");
        for bad in ["<script>alert", "<img", "href=\"javascript:", "<i hx-get"] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
    }
    stage.alice.post(&stage.path("/abort"), &[]).await.assert_redirect(&stage.path(""));
    let changes = stage.alice.get(&stage.path("/diff")).await.assert_ok().body;
    assert!(!changes.contains("<img") && !changes.contains("<script>alert"), "{changes}");
}

/// Two thousand messages of one word.
async fn long(stage: &Stage) {
    let now = stage.app.app.clock.now();
    let entropy = stage.app.app.entropy.as_ref();
    let mut writes = Vec::new();
    for position in 1..=2_000 {
        let role = if position % 2 == 1 { Role::User } else { Role::Assistant };
        let message = Message {
            id: MessageId::mint(now, entropy),
            session_id: stage.session.id,
            position,
            role,
            queued: None,
            user_id: (role == Role::User).then_some(stage.alice.user.id),
            agent: "build".into(),
            model: "m".into(),
            cost_micros: None,
            tokens: serde_json::to_value(Tokens::default()).unwrap(),
            error: None,
            seq: 0,
            reverted_at: None,
            created_at: now,
            completed_at: Some(now),
        };
        let part = Part::Text(Text { text: format!("word {position}") });
        let row = PartRow {
            id: PartId::mint(now, entropy),
            message_id: message.id,
            session_id: stage.session.id,
            position: 0,
            kind: part.kind().to_owned(),
            data: part.data(),
            seq: 0,
            created_at: now,
        };
        writes.push(Write::Message(Box::new(message)));
        writes.push(Write::Part(Box::new(row)));
    }
    journal::record(&stage.app.app.db, stage.session.id, now, writes).await.unwrap();
}

#[actix_web::test]
async fn a_long_session_is_shown_page_by_page() {
    let stage = Stage::set().await;
    long(&stage).await;
    let page = stage.page().await;
    assert!(page.len() < 200_000, "{} bytes", page.len());
    assert!(page.contains("word 2000") && page.contains("word 1941"));
    assert!(!page.contains("word 1940<"), "more than a page");
    assert!(page.contains("?before=1941\""));

    let earlier = stage.alice.get(&stage.path("?before=1941")).await.assert_ok().body;
    assert!(earlier.contains("word 1940<") && !earlier.contains("word 1941<"));
    assert!(!earlier.contains("hx-sse:connect"), "what is old does not go on by itself");
    let fragment = stage
        .alice
        .request(reqwest::Method::GET, &stage.path("?before=1941"))
        .header("hx-request", "true");
    let fragment = crate::support::Answer::to(fragment).await.assert_ok().body;
    assert!(fragment.contains("word 1881<") && !fragment.contains("<html"), "{fragment}");
    assert!(fragment.contains("?before=1881\""), "{fragment}");
}

#[actix_web::test]
async fn a_long_output_is_cut_and_a_link_leads_to_all_of_it() {
    let stage = Stage::set().await;
    let command = "touch x && for n in $(seq 1 3000); do echo \"<b>line $n</b>\"; done";
    stage.model.push(Script::new().call("bash", json!({"command": command})));
    stage.model.push(Script::text("Counted."));
    stage.app.prompt(&stage.alice, &stage.session, "Count").await;
    stage.app.until(&stage.session, SessionStatus::Waiting).await;
    let page = stage.page().await;
    let ask = super::between(&page, "action=\"/asks/", "\"").to_owned();
    stage
        .alice
        .post(&format!("/asks/{ask}"), &[("reply", "once")])
        .await
        .assert_redirect(&stage.path(""));
    stage.app.until(&stage.session, SessionStatus::Idle).await;

    let page = stage.page().await;
    assert!(page.contains("line 3000") && !page.contains("line 1500"), "{page}");
    assert!(page.contains("Allowed by alice"), "{page}");
    let output = super::between(&page, "href=\"/parts/", "\"").to_owned();
    let whole = stage.alice.get(&format!("/parts/{output}")).await.assert_ok();
    assert_eq!(whole.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(whole.headers["x-content-type-options"], "nosniff");
    assert!(whole.headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
    assert_eq!(whole.body.lines().count(), 3_000);
    let bob = stage.app.person("bob").await;
    bob.get(&format!("/parts/{output}")).await.assert_status(404);
}

#[actix_web::test]
async fn a_failure_says_what_to_do_and_what_the_provider_said() {
    let stage = Stage::set().await;
    stage.model.push(Script::fault(401, json!({"error": {"message": "bad <key>"}})));
    stage.app.prompt(&stage.alice, &stage.session, "Hello").await;
    stage.app.until(&stage.session, SessionStatus::Error).await;
    let page = stage.page().await;
    let failure = super::between(&page, "class=\"failure\"", "</section>");
    assert!(failure.contains("What the provider said"), "{failure}");
    assert!(failure.contains("bad &#60;key&#62;"), "{failure}");
    assert!(!failure.contains("/providers"), "only admins can change providers");
    assert!(page.contains("data-status=\"error\""));
}
