//! How changes of many sessions are stored together.

mod turn;

use std::time::Duration;

use forge::{
    domain::{
        ids::{AskId, MessageId, PartId, SessionId},
        message::{Part, Role, Text, Tokens},
        session::{AskKind, AskStatus, SessionStatus},
    },
    store::{
        self, DbErr,
        entity::{ask::Model as Ask, message::Model as Message, part::Model as PartRow},
        journal::{self, Stored, Write},
    },
};

use crate::support::TestApp;

#[actix_web::test]
async fn what_gathers_while_the_writer_is_busy_is_stored_all_and_each_by_itself() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    app.provider_row().await;
    let project = app.project(&alice, "shop").await;
    let db = &app.app.db;
    let mut sessions = Vec::new();
    for _ in 0..30 {
        sessions.push(app.session(&alice, &project).await);
    }

    let busy = db.begin().await.unwrap();
    let mut tasks = Vec::new();
    for session in &sessions {
        tasks.push(record(&app, session.id, reply(&app, session.id)));
    }
    let gone = SessionId::mint(app.app.clock.now(), app.app.entropy.as_ref());
    let nowhere = record(&app, gone, vec![Write::status(SessionStatus::Running)]);
    let mut broken = reply(&app, sessions[3].id);
    broken.push(ask(&app, sessions[3].id));
    let broken = record(&app, sessions[3].id, broken);
    let hung_up = record(&app, sessions[4].id, reply(&app, sessions[4].id));
    tokio::time::sleep(Duration::from_millis(50)).await;
    hung_up.abort();
    tokio::time::sleep(Duration::from_millis(50)).await;
    busy.rollback().await.unwrap();

    for (session, task) in sessions.iter().zip(tasks) {
        let stored = task.await.unwrap().unwrap();
        let seqs: Vec<i64> = stored.iter().map(|it| it.seq).collect();
        assert_eq!(seqs, [1, 2, 3, 4], "of {}", session.id);
        let row = store::sessions::with_project(db, session.id).await.unwrap().unwrap().0;
        assert_eq!((row.seq, row.status), (4, SessionStatus::Running));
        let found = app.messages(session).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message.seq, 1);
        let parts: Vec<i64> = found[0].parts.iter().map(|part| part.seq).collect();
        assert_eq!(parts, [2, 3], "each row has the number that was told");
    }
    let refused = nowhere.await.unwrap().unwrap_err();
    assert!(matches!(refused, DbErr::RecordNotFound(_)), "{refused}");
    assert!(broken.await.unwrap().is_err(), "an ask refers to a part");
    assert!(hung_up.await.unwrap_err().is_cancelled());
}

#[actix_web::test]
async fn a_part_that_is_put_twice_at_once_is_what_it_was_last() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    app.provider_row().await;
    let project = app.project(&alice, "shop").await;
    let session = app.session(&alice, &project).await;
    let mut writes = reply(&app, session.id);
    let Write::Part(mut again) = writes[1].clone() else { panic!("no part") };
    again.data = Part::Text(Text { text: "again".into() }).data();
    writes.push(Write::Part(again));
    record(&app, session.id, writes).await.unwrap().unwrap();
    let found = app.messages(&session).await.remove(0);
    assert_eq!(found.parts.len(), 2);
    assert_eq!(found.parts[0].data["text"], "again");
    assert_eq!(found.parts[0].seq, 5);
}

type Task = tokio::task::JoinHandle<Result<Vec<Stored>, DbErr>>;

fn record(app: &TestApp, session: SessionId, writes: Vec<Write>) -> Task {
    let (db, now) = (app.app.db.clone(), app.app.clock.now());
    tokio::spawn(async move { journal::record(&db, session, now, writes).await })
}

/// A message with two parts, and a session that runs.
fn reply(app: &TestApp, session: SessionId) -> Vec<Write> {
    let (now, entropy) = (app.app.clock.now(), app.app.entropy.as_ref());
    let message = Message {
        id: MessageId::mint(now, entropy),
        session_id: session,
        position: 1,
        role: Role::Assistant,
        queued: None,
        user_id: None,
        agent: "build".into(),
        model: "scripted".into(),
        cost_micros: None,
        tokens: serde_json::to_value(Tokens::default()).unwrap(),
        error: None,
        seq: 0,
        reverted_at: None,
        created_at: now,
        completed_at: None,
    };
    let part = |position| {
        let part = Part::Text(Text { text: format!("part {position}") });
        Write::Part(Box::new(PartRow {
            id: PartId::mint(now, entropy),
            message_id: message.id,
            session_id: session,
            position,
            kind: part.kind().into(),
            data: part.data(),
            seq: 0,
            created_at: now,
        }))
    };
    let parts = [part(0), part(1)];
    let mut writes = vec![Write::Message(Box::new(message))];
    writes.extend(parts);
    writes.push(Write::status(SessionStatus::Running));
    writes
}

/// An ask about a part that is not there.
fn ask(app: &TestApp, session: SessionId) -> Write {
    let (now, entropy) = (app.app.clock.now(), app.app.entropy.as_ref());
    Write::Ask(Box::new(Ask {
        id: AskId::mint(now, entropy),
        session_id: session,
        part_id: PartId::mint(now, entropy),
        kind: AskKind::Permission,
        data: serde_json::json!({}),
        status: AskStatus::Open,
        reply: None,
        decided_by: None,
        decided_at: None,
        seq: 0,
        created_at: now,
    }))
}
