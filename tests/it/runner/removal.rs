//! A project that is removed while somebody begins something in it.

use std::time::Duration;

use forge::{
    domain::{
        ask::Answer,
        ids::SessionId,
        session::{Queued, SessionStatus},
        undo::Force,
    },
    engine::{
        self,
        asks::Answered,
        projects,
        refused::Refused,
        sessions::{self, New},
        undo,
    },
    store::{
        self, OwnedRow as _, asks,
        entity::{project::Model as Project, session::Model as Session},
    },
};
use serde_json::json;

use super::Stage;
use crate::support::{
    model::{Gate, Script},
    session::folder,
};

#[actix_web::test]
async fn whatever_begins_meanwhile_leaves_nothing_behind() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, .. } = &stage;
    let engine = &app.app.engine;
    model.fallback(|_| Script::text("Done."));
    let (mut refused, mut removed) = (0, 0);
    for round in 0..48_u64 {
        let project = app.project(alice, &format!("p{round}")).await;
        let file = folder(&project).join("a.txt");
        std::fs::write(&file, "one\n").unwrap();
        let (first, second) =
            (app.session(alice, &project).await, app.session(alice, &project).await);
        let waits = (round % 4 == 3).then(|| Script::new().call("bash", json!({"command": "x"})));
        if let Some(asks) = waits {
            model.push(asks);
            app.prompt(alice, &second, "Ask").await;
            app.until(&second, SessionStatus::Waiting).await;
        }
        let later = |quarters: u64| tokio::time::sleep(Duration::from_micros(250 * quarters));
        let say = async |session: &Session, text: &str| {
            sessions::prompt(engine, &alice.user, session, text, Queued::Queue).await.map(drop)
        };
        let prompts = async {
            later(round % 7).await;
            let one = say(&first, "Do it").await;
            let two = say(&first, "And this").await;
            [one, two]
        };
        let creates = async {
            later(round % 5).await;
            let session = sessions::create(engine, &alice.user, &project, New::default()).await?;
            say(&session, "Begin").await?;
            Ok(session.id)
        };
        let answers = async {
            later(round % 3).await;
            let open = asks::open_in(&app.app.db, second.id).await.unwrap().pop();
            let Some(ask) = open else { return Ok(()) };
            let deny = Answered { answer: Answer::Deny, message: None, pattern: None };
            engine::asks::answer(engine, ask, &alice.user, deny).await
        };
        let undoes = async {
            later(round % 6).await;
            undo::redo(engine, &second, Force::Ask).await.map(drop)
        };
        let removes = async {
            later(round % 11).await;
            let done = projects::remove(engine, &project).await.map(drop);
            (done, running(&stage, &[first.id, second.id]))
        };
        let (said, created, answered, undone, (gone, left)) =
            tokio::join!(prompts, creates, answers, undoes, removes);

        for one in said.into_iter().chain([
            answered,
            undone,
            created.as_ref().map(drop).map_err(|err: &Refused| again(err)),
        ]) {
            assert!(
                matches!(one, Ok(()) | Err(Refused::Gone | Refused::Conflict(_))),
                "round {round}: {one:?}"
            );
        }
        let mut all = vec![first.id, second.id];
        all.extend(created.ok());
        match gone {
            Ok(()) => {
                removed += 1;
                assert_eq!(left, [], "round {round}: a run goes on in what is gone");
            }
            Err(Refused::Conflict(why)) => {
                refused += 1;
                assert!(why.contains("Agents are at work"), "{why}");
                stop_and_remove(&stage, &project, &all).await;
            }
            Err(err) => panic!("round {round}: {err:?}"),
        }
        assert_eq!(running(&stage, &all), [], "round {round}");
        nothing_is_left(&stage, &project, &all).await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n", "round {round}");
    }
    assert!(refused > 0 && removed > 0, "{refused} refused, {removed} removed");
}

#[actix_web::test]
async fn a_prompt_that_comes_while_a_project_goes_finds_nothing() {
    let stage = Stage::set().await;
    let Stage { app, alice, session, project, .. } = &stage;
    let engine = app.app.engine.clone();
    // The removal waits for whatever still happens in the session.
    let moment = engine.runs.moment(session.id).await;
    let removal = tokio::spawn({
        let (engine, project) = (engine.clone(), project.clone());
        async move { projects::remove(&engine, &project).await.map(|kept| kept.sessions) }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let late = tokio::spawn({
        let (engine, user, session) = (engine.clone(), alice.user.clone(), session.clone());
        async move { sessions::prompt(&engine, &user, &session, "Late", Queued::Queue).await }
    });
    let fresh = sessions::create(&engine, &alice.user, project, New::default());
    let fresh = tokio::time::timeout(Duration::from_millis(50), fresh).await;
    assert!(fresh.is_err(), "it waits for what becomes of the project");
    assert!(!removal.is_finished() && !late.is_finished());
    drop(moment);
    assert_eq!(removal.await.unwrap().unwrap(), 1);
    assert!(matches!(late.await.unwrap(), Err(Refused::Gone)));
    let fresh = sessions::create(&engine, &alice.user, project, New::default()).await;
    assert!(matches!(fresh, Err(Refused::Gone)), "{fresh:?}");
    assert_eq!(running(&stage, &[session.id]), []);
}

#[actix_web::test]
async fn a_project_in_which_an_agent_works_stays_and_the_work_goes_on() {
    let stage = Stage::set().await;
    let Stage { app, model, alice, session, project } = &stage;
    let gate = Gate::default();
    model.push(Script::text("Half").gate(&gate).say(" and half."));
    app.prompt(alice, session, "Do it").await;
    gate.reached().await;
    let refused = projects::remove(&app.app.engine, project).await;
    assert!(matches!(refused, Err(Refused::Conflict(_))), "{refused:?}");
    gate.open();
    app.until(session, SessionStatus::Idle).await;
    assert_eq!(stage.texts().await, ["Do it", "Half and half."]);
}

#[actix_web::test]
async fn what_commands_have_said_goes_with_the_project() {
    let stage = Stage::set().await;
    let Stage { app, session, project, .. } = &stage;
    let outputs = app.app.engine.outputs_of(session.id);
    std::fs::create_dir_all(&outputs).unwrap();
    std::fs::write(outputs.join("part.txt"), "a long output").unwrap();
    let other = app.app.engine.outputs_of("01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap());
    std::fs::create_dir_all(&other).unwrap();
    projects::remove(&app.app.engine, project).await.unwrap();
    assert!(!outputs.exists() && other.exists());
}

#[actix_web::test]
async fn kept_content_goes_with_the_project() {
    let stage = Stage::set().await;
    let data = &stage.app.app.config.data.dir;
    let blob = forge::adapters::blobs::Blobs::below(data).put(b"of a session").unwrap().to_string();
    let blob = data.join("blobs").join(&blob[..2]).join(&blob[2..]);
    let file = std::fs::File::options().append(true).open(&blob).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    projects::remove(&stage.app.app.engine, &stage.project).await.unwrap();
    super::eventually("it is gone", || !blob.exists()).await;
}

/// Those of some sessions in which a run goes on.
fn running(stage: &Stage, sessions: &[SessionId]) -> Vec<SessionId> {
    let runs = &stage.app.app.engine.runs;
    sessions.iter().copied().filter(|session| runs.is_running(*session)).collect()
}

async fn stop_and_remove(stage: &Stage, project: &Project, sessions: &[SessionId]) {
    let engine = &stage.app.app.engine;
    // A prompt that waits begins when the one before it is stopped.
    for _ in 0..100 {
        for session in sessions {
            if let Some((session, _)) =
                store::sessions::with_project(&engine.db, *session).await.unwrap()
            {
                sessions::abort(engine, &session).await.unwrap();
            }
        }
        match projects::remove(engine, project).await {
            Err(Refused::Conflict(_)) => {}
            removed => return drop(removed.unwrap()),
        }
    }
    panic!("whatever is stopped begins again");
}

/// That no row says anything of a project.
async fn nothing_is_left(stage: &Stage, project: &Project, sessions: &[SessionId]) {
    let db = &stage.app.app.db;
    let owner = stage.alice.user.id;
    assert!(Project::find_owned(db, owner, project.id).await.unwrap().is_none());
    assert_eq!(store::sessions::ids_of(db, project.id).await.unwrap(), []);
    assert!(store::rules::list(db, Some(project.id)).await.unwrap().is_empty());
    for session in sessions {
        assert_eq!(store::messages::page(db, *session, None, 9).await.unwrap().len(), 0);
        assert!(asks::changed_since(db, *session, -1).await.unwrap().is_empty());
        assert!(store::snapshots::of_session(db, *session).await.unwrap().is_empty());
        assert!(!stage.app.app.engine.outputs_of(*session).exists());
    }
}

/// The same refusal, for it is looked at twice.
fn again(refused: &Refused) -> Refused {
    match refused {
        Refused::Gone => Refused::Gone,
        other => Refused::Conflict(other.to_string()),
    }
}
