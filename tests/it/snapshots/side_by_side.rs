//! Commands of one session that run at the same time: some in the background, of earlier messages.

use forge::{
    domain::{ids::PartId, undo::Force},
    engine::snapshots::Scan,
};

use super::{Turn, World, paths};

async fn begin(turn: &Turn<'_>) -> Scan {
    let mut scan = turn.world.snapshots.before_command(&turn.recorder, "").await.unwrap();
    scan.in_background = true;
    scan
}

#[tokio::test]
async fn a_job_that_ends_while_a_later_command_runs_is_undone_without_a_question() {
    let world = World::new().await;
    world.put("both", "0\n");
    world.put("job", "0\n");
    let before = world.picture();
    let session = world.session().await;
    let first = world.turn(&session).await;
    let job = begin(&first).await;
    first.end().await;
    world.sh("echo 1 >> both");
    let second = world.turn(&session).await;
    let command = world.snapshots.before_command(&second.recorder, "").await.unwrap();
    world.sh("echo 1 > job; mkdir made; echo 1 > made/by-job; echo 2 >> both");
    world.snapshots.after_command(job).await.unwrap();
    world.sh("echo 3 >> both; echo 1 > by-command");
    let changed = world.snapshots.after_command(command).await.unwrap().changed;
    assert_eq!(paths(&changed), ["both", "by-command"], "what the job did is the job's");
    second.end().await;
    let after = world.picture();

    let undone = world.undo(&session, &second.prompt, Force::Ask).await;
    assert_eq!(undone.conflicts, []);
    assert_eq!(world.text("both"), "0\n1\n2\n");
    let undone = world.undo(&session, &first.prompt, Force::Ask).await;
    assert_eq!(undone.conflicts, []);
    assert_eq!(world.picture(), before);
    assert_eq!(world.redo(&session, Force::Ask).await.conflicts, []);
    assert_eq!(world.picture(), after);
    assert_eq!(world.undo(&session, &first.prompt, Force::Ask).await.conflicts, []);
    assert_eq!(world.picture(), before);
}

#[tokio::test]
async fn jobs_of_two_messages_end_in_any_order() {
    for first_ends_first in [true, false] {
        let world = World::new().await;
        world.put("a", "0\n");
        world.put("gone", "0\n");
        let before = world.picture();
        let session = world.session().await;
        let first = world.turn(&session).await;
        let one = begin(&first).await;
        first.end().await;
        world.sh("echo 1 >> a");
        let second = world.turn(&session).await;
        let two = begin(&second).await;
        second.end().await;
        world.sh("echo 2 >> a; rm gone; echo 2 > new");
        let (early, late) = if first_ends_first { (one, two) } else { (two, one) };
        world.snapshots.after_command(early).await.unwrap();
        world.sh("echo 3 >> a; echo 3 >> new");
        world.snapshots.after_command(late).await.unwrap();
        let after = world.picture();
        let undone = world.undo(&session, &first.prompt, Force::Ask).await;
        assert_eq!(undone.conflicts, [], "{first_ends_first}");
        assert_eq!(world.picture(), before);
        assert_eq!(world.redo(&session, Force::Ask).await.conflicts, []);
        assert_eq!(world.picture(), after);
    }
}

/// For the job nothing has changed in the end, and yet it made what the other one deleted.
#[tokio::test]
async fn what_a_job_made_and_a_later_command_deleted_stays_away() {
    let world = World::new().await;
    world.put("back", "0\n");
    let before = world.picture();
    let session = world.session().await;
    let first = world.turn(&session).await;
    let job = begin(&first).await;
    first.end().await;
    world.sh("echo 1 > lock");
    let second = world.turn(&session).await;
    second.command("rm lock; echo 1 > back").await;
    second.end().await;
    world.sh("echo 0 > back");
    let changed = world.snapshots.after_command(job).await.unwrap().changed;
    assert_eq!(paths(&changed), Vec::<&str>::new());
    let undone = world.undo(&session, &first.prompt, Force::Ask).await;
    assert_eq!(undone.conflicts, []);
    assert_eq!(world.picture(), before);
}

#[tokio::test]
async fn a_job_and_a_later_command_that_a_crash_cut_off_are_undone_without_a_question() {
    let mut world = World::new().await;
    world.put("a", "0\n");
    let before = world.picture();
    let session = world.session().await;
    let prompt = {
        let first = world.turn(&session).await;
        let mut job = begin(&first).await;
        job.keep(PartId::mint(first.answer.created_at, &*world.entropy)).await.unwrap();
        first.end().await;
        world.sh("echo 1 >> a");
        let second = world.turn(&session).await;
        let mut command = world.snapshots.before_command(&second.recorder, "").await.unwrap();
        command.keep(PartId::mint(second.answer.created_at, &*world.entropy)).await.unwrap();
        world.sh("echo 2 >> a; echo 2 > new");
        first.prompt.clone()
    };
    world.restart();
    let recovered = world.snapshots.recover().await.unwrap();
    assert!(recovered.len() == 2 && recovered.iter().all(|it| it.changes.is_some()));
    let undone = world.undo(&session, &prompt, Force::Ask).await;
    assert_eq!(undone.conflicts, []);
    assert_eq!(world.picture(), before);
}
