//! Sessions and people side by side, and what a session's changes look like.

use std::fs;

use forge::{
    domain::{
        session::{FileStatus, SessionStatus, Summary},
        undo::{Force, Reason},
    },
    engine::tools::Recorder as _,
    store,
};

use super::{World, is_running, paths, reasons, round_trip};

#[tokio::test]
async fn undo_in_one_session_leaves_the_files_of_another_alone() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("b", "0\n");
    let (one, two) = (world.session().await, world.session().await);
    let (first, second) = (world.turn(&one).await, world.turn(&two).await);
    first.write("a", "one\n").await;
    second.write("b", "two\n").await;
    first.end().await;
    second.end().await;
    let undone = world.undo(&one, &first.prompt, Force::Ask).await;
    assert_eq!(undone.restored, ["a"]);
    assert_eq!((world.text("a").as_str(), world.text("b").as_str()), ("0\n", "two\n"));
}

#[tokio::test]
async fn a_file_that_another_session_changed_later_is_a_conflict() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("other", "0\n");
    let (one, two) = (world.session().await, world.session().await);
    let (first, second) = (world.turn(&one).await, world.turn(&two).await);
    first.write("a", "one\n").await;
    first.write("other", "one\n").await;
    first.end().await;
    second.write("a", "two\n").await;
    second.end().await;
    let asked = world.undo(&one, &first.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Changed)]);
    assert!(asked.restored.is_empty() && asked.reverted.is_empty());
    assert_eq!((world.text("a").as_str(), world.text("other").as_str()), ("two\n", "one\n"));
    let forced = world.undo(&one, &first.prompt, Force::Overwrite).await;
    assert_eq!(forced.restored, ["a", "other"]);
    assert_eq!((world.text("a").as_str(), world.text("other").as_str()), ("0\n", "0\n"));
}

#[tokio::test]
async fn a_tool_of_another_session_is_not_taken_for_the_command() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("b", "0\n");
    let (one, two) = (world.session().await, world.session().await);
    let (first, second) = (world.turn(&one).await, world.turn(&two).await);
    let scan = world.snapshots.before_command(&first.recorder, "").await.unwrap();
    second.write("b", "two\n").await;
    second.recorder.before_change("c").await.unwrap();
    world.put("c", "two, not settled\n");
    world.sh("echo one > a");
    let changed = world.snapshots.after_command(scan).await.unwrap().changed;
    assert_eq!(paths(&changed), ["a"]);
}

#[tokio::test]
async fn commands_at_the_same_time_are_asked_about() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("early", "0\n");
    let (one, two) = (world.session().await, world.session().await);
    let (first, second) = (world.turn(&one).await, world.turn(&two).await);
    let mine = world.snapshots.before_command(&first.recorder, "").await.unwrap();
    let theirs = world.snapshots.before_command(&second.recorder, "").await.unwrap();
    world.sh("echo 1 > a");
    world.snapshots.after_command(theirs).await.unwrap();
    world.snapshots.after_command(mine).await.unwrap();
    first.end().await;
    second.end().await;
    let asked = world.undo(&one, &first.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Shared)]);
    world.undo(&one, &first.prompt, Force::Overwrite).await;
    assert_eq!(world.text("a"), "0\n");
}

#[tokio::test]
async fn a_persons_change_is_asked_about_also_between_messages() {
    let world = World::new().await;
    world.put("a", "0\n");
    let session = world.session().await;
    let first = world.turn(&session).await;
    first.write("a", "1\n").await;
    first.end().await;
    world.put("a", "mine\n");
    let asked = world.undo(&session, &first.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Changed)]);
    let second = world.turn(&session).await;
    second.command("echo 2 > a").await;
    second.end().await;
    let undone = world.undo(&session, &second.prompt, Force::Ask).await;
    assert_eq!((undone.conflicts, world.text("a").as_str()), (vec![], "mine\n"));
    world.redo(&session, Force::Ask).await;
    let asked = world.undo(&session, &first.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Changed)]);
    assert_eq!(world.text("a"), "2\n");
}

#[tokio::test]
async fn a_persons_change_in_the_middle_of_an_answer_is_asked_about() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("b", "0\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("echo 1 > a; echo 1 > b").await;
    world.put("a", "mine\n");
    turn.command("echo 2 >> a; echo 2 >> b").await;
    turn.end().await;
    let asked = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Shared)]);
    assert_eq!(world.text("a"), "mine\n2\n");
}

#[tokio::test]
async fn a_folder_that_a_person_uses_too_stays() {
    let world = World::new().await;
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("new/a", "a").await;
    turn.end().await;
    world.put("new/mine", "mine");
    let undone = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!((undone.restored, undone.left), (vec!["new/a".into()], vec!["new".to_owned()]));
    assert_eq!(world.text("new/mine"), "mine");
}

#[tokio::test]
async fn nothing_is_undone_while_the_session_runs() {
    let world = World::new().await;
    world.put("a", "0\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("a", "1\n").await;
    turn.end().await;
    for status in [SessionStatus::Running, SessionStatus::Waiting] {
        let write = vec![store::journal::Write::status(status)];
        store::journal::record(&world.db, session.id, turn.prompt.created_at, write).await.unwrap();
        let refused =
            world.snapshots.undo(&session, &world.root, &turn.prompt, Force::Overwrite).await;
        assert!(is_running(&refused.unwrap_err()));
        let refused = world.snapshots.redo(&session, &world.root, Force::Ask).await;
        assert!(is_running(&refused.unwrap_err()));
    }
    assert_eq!(world.text("a"), "1\n");
}

#[tokio::test]
async fn the_diff_has_the_sessions_changes_and_no_others() {
    let world = World::new().await;
    world.put("kept", "1\n2\n3\n");
    world.put("gone", "x\n");
    world.commit_all();
    world.put("mine", "uncommitted\n");
    world.put("kept", "1\n2\n3\nmine\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("kept", "1\n2\n3\nmine\ntheirs\n").await;
    turn.tool("gone", |path| fs::remove_file(path).unwrap()).await;
    turn.write("back", "x\n").await;
    turn.command("echo new > new; printf 'a\\0b' > binary; rm back").await;
    let files = world.snapshots.changed_files(session.id).await.unwrap();
    let listed: Vec<_> =
        files.iter().map(|it| (it.path.as_str(), it.status, it.additions, it.deletions)).collect();
    let expected = [
        ("binary", FileStatus::Added, 0, 0),
        ("gone", FileStatus::Deleted, 0, 1),
        ("kept", FileStatus::Modified, 1, 0),
        ("new", FileStatus::Added, 1, 0),
    ];
    assert_eq!(listed, expected);
    turn.write("kept", "1\n2\n3\nmine\n").await;
    let files = world.snapshots.changed_files(session.id).await.unwrap();
    assert!(files.iter().all(|it| it.path != "kept"));
    turn.write("kept", "1\n2\n3\nmine\ntheirs\n").await;
    turn.end().await;

    let next = world.turn(&session).await;
    next.write("kept", "1\n2\n3\nmine\ntheirs\nmore\n").await;
    next.end().await;
    let all = world.snapshots.diff(session.id, None).await.unwrap();
    let kept = all.iter().find(|it| it.path == "kept").unwrap();
    assert_eq!((kept.additions, kept.deletions, kept.binary), (2, 0, false));
    assert!(all.iter().find(|it| it.path == "binary").unwrap().binary);
    let one = world.snapshots.diff(session.id, Some(next.answer.id)).await.unwrap();
    assert_eq!((one.len(), one[0].additions), (1, 1));

    let undone = world.undo(&session, &next.prompt, Force::Ask).await;
    let Some(store::journal::Write::Session(change)) =
        undone.stored.last().map(|stored| stored.write.clone())
    else {
        panic!("the session's summary was not stored");
    };
    let summary: Summary = serde_json::from_value(change.summary.unwrap()).unwrap();
    assert_eq!(summary.files.iter().map(|it| it.additions).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(summary.files, world.snapshots.changed_files(session.id).await.unwrap());
}

#[tokio::test]
async fn kept_content_goes_when_nothing_refers_to_it() {
    let world = World::new().await;
    world.put("a", "0\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("a", "1\n").await;
    turn.end().await;
    assert_eq!(world.snapshots.sweep().await.unwrap(), 0);
    let count = || {
        let folders = fs::read_dir(world.data().join("blobs")).unwrap();
        folders.flat_map(|it| fs::read_dir(it.unwrap().path()).unwrap()).count()
    };
    assert_eq!(count(), 2);
    store::sessions::delete(&world.db, session.id).await.unwrap();
    grow_old(&world);
    assert_eq!(world.snapshots.sweep().await.unwrap(), 4);
    assert_eq!(count(), 0);
}

#[tokio::test]
async fn what_an_open_command_may_need_stays() {
    let world = World::new().await;
    world.put("a", "0\n");
    world.put("b", "1\n");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("b", "2\n").await;
    let scan = world.snapshots.before_command(&turn.recorder, "").await.unwrap();
    grow_old(&world);
    assert_eq!(world.snapshots.sweep().await.unwrap(), 0);
    world.sh("rm a; echo 3 > b");
    world.snapshots.after_command(scan).await.unwrap();
    grow_old(&world);
    world.snapshots.sweep().await.unwrap();
    round_trip(&turn, &before).await;
}

/// All kept content as if it were kept long ago.
fn grow_old(world: &World) {
    for blob in fs::read_dir(world.data().join("blobs")).unwrap() {
        for file in fs::read_dir(blob.unwrap().path()).unwrap() {
            let file = fs::File::options().append(true).open(file.unwrap().path()).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }
}
