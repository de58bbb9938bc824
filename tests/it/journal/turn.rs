//! What many sessions store at the same time.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use forge::{
    domain::{
        ids::{MessageId, PartId, SessionId},
        session::SessionStatus,
    },
    store::{
        DbErr,
        entity::part::Model as PartRow,
        journal::{self, SessionChange, Stored, Write},
    },
};

use crate::support::{Person, TestApp, model::ScriptedModel};

#[actix_web::test]
async fn a_change_that_cannot_be_stored_does_not_keep_those_of_others() {
    let (app, _model, alice) = start().await;
    let project = app.project(&alice, "atlas").await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(app.session(&alice, &project).await);
    }
    let [first, good, bad, gone] = [0, 1, 2, 3].map(|at| sessions[at].id);
    forge::store::sessions::delete(&app.app.db, gone).await.unwrap();
    let lost = vec![Write::status(SessionStatus::Running), orphan(&app, bad)];

    // The first one has its turn and waits for the writer, so the others are stored together.
    let busy = app.app.db.begin().await.unwrap();
    let db = &app.app.db;
    let now = app.app.clock.now();
    let all = async {
        tokio::join!(
            journal::record(db, first, now, named("First")),
            journal::record(db, good, now, named("One")),
            journal::record(db, bad, now, lost),
            journal::record(db, good, now, named("Two")),
            journal::record(db, gone, now, named("Gone")),
        )
    };
    let release = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        busy.rollback().await.unwrap();
    };
    let ((first, one, bad_one, two, nobody), ()) = tokio::join!(all, release);

    assert_eq!(seqs(first), [1]);
    assert_eq!((seqs(one), seqs(two)), (vec![1], vec![2]), "in the order in which they came");
    assert!(bad_one.is_err() && matches!(nobody, Err(DbErr::RecordNotFound(_))));
    let find = async |id| forge::store::sessions::with_project(db, id).await.unwrap().unwrap().0;
    let (good, bad) = (find(good).await, find(bad).await);
    assert_eq!((good.name.as_str(), good.seq), ("Two", 2));
    assert_eq!((bad.status, bad.seq), (SessionStatus::Idle, 0), "all or none of it");
}

#[actix_web::test]
async fn who_hangs_up_at_their_turn_does_not_set_the_others_spinning() {
    let (app, _model, alice) = start().await;
    let project = app.project(&alice, "atlas").await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(app.session(&alice, &project).await.id);
    }
    let db = &app.app.db;
    let now = app.app.clock.now();
    let record = |at: usize| journal::record(db, sessions[at], now, named("Stored"));
    let pause = || tokio::time::sleep(Duration::from_millis(30));

    // The writer is busy before the first one, and again after it.
    let busy = db.begin().await.unwrap();
    let mut first = Box::pin(record(0));
    assert!(futures_util::poll!(&mut first).is_pending());
    pause().await;
    let again = {
        let db = db.clone();
        tokio::spawn(async move { db.begin().await.unwrap() })
    };
    pause().await;
    let (mut hasty, mut other) = (Box::pin(record(1)), Box::pin(record(2)));
    assert!(futures_util::poll!(&mut hasty).is_pending());
    assert!(futures_util::poll!(&mut other).is_pending());
    busy.rollback().await.unwrap();
    first.await.unwrap();
    let again = again.await.unwrap();

    // It has the turn for both by now, and is gone.
    assert!(tokio::time::timeout(Duration::from_millis(30), &mut hasty).await.is_err());
    drop(hasty);
    let polls = AtomicUsize::new(0);
    let release = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        again.rollback().await.unwrap();
    };
    let (stored, ()) = tokio::join!(counted(other, &polls), release);
    assert_eq!(seqs(stored), [1]);
    let polls = polls.load(Ordering::Relaxed);
    assert!(polls < 20, "looked {polls} times for something that took one wait");
    let found = forge::store::sessions::with_project(db, sessions[1]).await.unwrap().unwrap().0;
    assert_eq!(found.name, "Stored", "what had its turn is stored");
}

async fn start() -> (TestApp, ScriptedModel, Person) {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    app.provider(&model).await;
    (app, model, alice)
}

fn named(name: &str) -> Vec<Write> {
    let name = Some(name.to_owned());
    vec![Write::Session(Box::new(SessionChange { name, ..SessionChange::default() }))]
}

/// A part of a message that is not there.
fn orphan(app: &TestApp, session_id: SessionId) -> Write {
    let (now, entropy) = (app.app.clock.now(), app.app.entropy.as_ref());
    Write::Part(Box::new(PartRow {
        id: PartId::mint(now, entropy),
        message_id: MessageId::mint(now, entropy),
        session_id,
        position: 0,
        kind: "text".into(),
        data: serde_json::json!({"text": "lost"}),
        seq: 0,
        created_at: now,
    }))
}

fn seqs(stored: Result<Vec<Stored>, DbErr>) -> Vec<i64> {
    stored.unwrap().iter().map(|it| it.seq).collect()
}

async fn counted<T>(work: impl Future<Output = T>, polls: &AtomicUsize) -> T {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        polls.fetch_add(1, Ordering::Relaxed);
        work.as_mut().poll(context)
    })
    .await
}
