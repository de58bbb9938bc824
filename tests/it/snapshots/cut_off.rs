//! Commands in the middle of which the server was killed.

use std::{
    fs::{self, File},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use forge::domain::{
    ids::PartId,
    undo::{Force, Reason},
};

use super::{Turn, World, paths, reasons};

/// Starts a command, lets it run so far, and kills the server. Returns the command's file.
async fn cut_off(turn: &Turn<'_>, script: &str) -> PathBuf {
    let world = turn.world;
    let part = PartId::mint(turn.answer.created_at, &*world.entropy);
    let mut scan = world.snapshots.before_command(&turn.recorder, script).await.unwrap();
    let path = scan.keep(part).await.unwrap();
    world.sh(script);
    path
}

#[tokio::test]
async fn what_it_changed_is_found_and_undone_also_when_it_was_noted_in_part() {
    let mut world = World::new().await;
    world.put("a", "0\n");
    world.put("b", "0\n");
    world.put("c", "0\n");
    world.commit_all();
    world.put("b", "mine\n");
    let before = world.picture();
    let session = world.session().await;
    let (prompt, answer);
    {
        let turn = world.turn(&session).await;
        turn.write("c", "1\n").await;
        cut_off(&turn, "echo 1 > a; rm b; echo 2 > c; mkdir d; echo 1 > d/e").await;
        (prompt, answer) = (turn.prompt.clone(), turn.answer.clone());
    }
    world.restart();
    let recovered = world.snapshots.recover().await.unwrap();
    let changes = recovered[0].changes.clone().unwrap();
    assert_eq!(paths(&changes.changed), ["a", "b", "c", "d", "d/e"]);
    world.snapshots.finish_message(session.id, answer.id, &world.root).await.unwrap();
    assert_eq!(world.undo(&session, &prompt, Force::Ask).await.conflicts, []);
    assert_eq!(world.picture(), before);
    assert!(world.snapshots.recover().await.unwrap().is_empty(), "once is enough");
}

#[tokio::test]
async fn what_a_person_changed_before_the_next_start_is_asked_about() {
    let mut world = World::new().await;
    world.put("a", "0\n");
    world.put("mine", "0\n");
    world.put("folder/gone", "0\n");
    let session = world.session().await;
    let prompt = {
        let turn = world.turn(&session).await;
        let path = cut_off(&turn, "echo 1 > a; echo 1 > mine").await;
        // The last sign of life was long before the changes.
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        turn.prompt.clone()
    };
    fs::remove_file(world.path("folder/gone")).unwrap();
    world.restart();
    assert!(world.snapshots.recover().await.unwrap()[0].changes.is_some());
    let asked = world.undo(&session, &prompt, Force::Ask).await;
    let shared = |path| (path, Reason::Shared);
    assert_eq!(reasons(&asked.conflicts), [shared("a"), shared("folder/gone"), shared("mine")]);
    assert_eq!(world.text("mine"), "1\n");
}

#[tokio::test]
async fn two_of_them_at_the_same_time_are_asked_about_and_tools_are_told_apart() {
    let mut world = World::new().await;
    world.put("a", "0\n");
    world.put("tool", "0\n");
    let (one, two) = (world.session().await, world.session().await);
    let prompt = {
        let (first, second) = (world.turn(&one).await, world.turn(&two).await);
        cut_off(&first, "true").await;
        cut_off(&second, "echo 1 > a").await;
        second.write("tool", "two\n").await;
        first.prompt.clone()
    };
    world.restart();
    let recovered = world.snapshots.recover().await.unwrap();
    assert_eq!(paths(&recovered[0].changes.as_ref().unwrap().changed), ["a"]);
    assert_eq!(paths(&recovered[1].changes.as_ref().unwrap().changed), ["a", "tool"]);
    let asked = world.undo(&one, &prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("a", Reason::Shared)]);
}

#[tokio::test]
async fn a_file_that_is_broken_or_of_another_form_is_told_and_does_no_harm() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [Damage; 4] = [
        |content| content.truncate(content.len() - 1),
        |content| *content.last_mut().unwrap() ^= 1,
        |content| content[14] = b'2',
        |content| content.clear(),
    ];
    for damage in damages {
        let mut world = World::new().await;
        world.put("a", "0\n");
        let session = world.session().await;
        let path = cut_off(&world.turn(&session).await, "echo 1 > a").await;
        let mut content = fs::read(&path).unwrap();
        damage(&mut content);
        fs::write(&path, content).unwrap();
        world.restart();
        let recovered = world.snapshots.recover().await.unwrap();
        assert!(recovered[0].changes.is_none());
        assert!(!path.exists());
        assert_eq!(world.text("a"), "1\n");
    }
}

#[tokio::test]
async fn processes_that_are_still_there_are_waited_for() {
    let mut world = World::new().await;
    world.put("a", "0\n");
    let session = world.session().await;
    let path = cut_off(&world.turn(&session).await, "echo 1 > a").await;
    world.restart();
    let file = File::open(path).unwrap();
    file.lock_shared().unwrap();
    let late = world.path("late");
    let process = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        fs::write(late, "late").unwrap();
        drop(file);
    });
    let recovered = world.snapshots.recover().await.unwrap();
    process.join().unwrap();
    assert_eq!(paths(&recovered[0].changes.as_ref().unwrap().changed), ["a", "late"]);
}
