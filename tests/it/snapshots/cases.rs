//! What undo has got wrong elsewhere: created, deleted, renamed, linked, emptied, oddly named.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

use forge::{domain::undo::Force, store};

use super::{World, chmod, paths, round_trip};

#[tokio::test]
async fn what_tools_create_change_and_delete_comes_back() {
    let world = World::new().await;
    world.put("kept.txt", "one\ntwo\n");
    world.put("gone.txt", "bye\n");
    world.put("run.sh", "#!/bin/sh\n");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("kept.txt", "one\n2\n").await;
    turn.write("kept.txt", "one\n3\n").await;
    turn.write("new/deep/er.txt", "new\n").await;
    turn.tool("gone.txt", |path| fs::remove_file(path).unwrap()).await;
    turn.tool("run.sh", |path| chmod(path, 0o755)).await;
    turn.tool("link", |path| symlink("../outside", path).unwrap()).await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn what_commands_create_change_and_delete_comes_back() {
    let world = World::new().await;
    for name in ["a.txt", "b.txt", "dir/c.txt", "dir/sub/d.txt", "公共.cpp", "a\"b.txt", "sp ace"]
    {
        world.put(name, format!("content of {name}\n"));
    }
    fs::create_dir(world.path("empty")).unwrap();
    symlink("a.txt", world.path("link")).unwrap();
    chmod(&world.path("b.txt"), 0o600);
    fs::write(world.root.join("line\n"), "content newline").unwrap();
    fs::write(world.root.join(OsStr::from_bytes(b"caf\xE9.txt")), "content latin").unwrap();
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let changed = turn
        .command(
            "sed -i s/content/CONTENT/ a.txt 公共.cpp 'a\"b.txt' 'sp ace' line* caf*; \
             chmod 755 b.txt; mv dir moved; rmdir empty; mkdir -p new/er; ln -sfn b.txt link; \
             printf x > new/file; echo more >> \"$(printf 'line\\n.')\"; touch moved/c.txt",
        )
        .await;
    assert!(paths(&changed).contains(&"caf%E9.txt"));
    assert!(changed.iter().all(forge::engine::snapshots::ChangedPath::is_captured));
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn files_and_folders_that_take_each_others_place_come_back() {
    let world = World::new().await;
    world.put("file", "f");
    world.put("folder/inner", "i");
    world.put("linked/inner", "l");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("rm file && mkdir file && echo x > file/x; rm -r folder && echo y > folder").await;
    turn.command("mv linked real && ln -s real linked").await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn modes_of_folders_come_back_also_closed_ones() {
    let world = World::new().await;
    world.put("dir/a", "a");
    chmod(&world.path("dir"), 0o555);
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("chmod 755 dir; echo b > dir/a; echo c > dir/c; chmod 700 dir").await;
    round_trip(&turn, &before).await;
    chmod(&world.path("dir"), 0o755);
}

#[tokio::test]
async fn a_folder_without_git_and_ignored_files_are_covered() {
    let world = World::new().await;
    world.put(".gitignore", "*.log\nbuild/\n");
    world.put("x.log", "log\n");
    world.put("build/out", "out\n");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("x.log", "tool\n").await;
    turn.command("echo changed > build/out; echo new > build/new").await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn nothing_outside_is_touched_through_a_link() {
    let world = World::new().await;
    world.put("dir/file", "in\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("dir/file", "changed\n").await;
    turn.end().await;
    let outside = world.data().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "theirs\n").unwrap();
    fs::rename(world.path("dir"), world.path("old")).unwrap();
    symlink(&outside, world.path("dir")).unwrap();
    let undone = world.undo(&session, &turn.prompt, Force::Overwrite).await;
    assert_eq!(undone.conflicts.len(), 1);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs\n");
}

#[tokio::test]
async fn an_undo_of_several_messages_is_taken_apart_again() {
    let world = World::new().await;
    world.put("a", "0\n");
    let session = world.session().await;
    let mut prompts = Vec::new();
    for content in ["1\n", "2\n", "3\n"] {
        let turn = world.turn(&session).await;
        turn.write("a", content).await;
        turn.end().await;
        prompts.push(turn.prompt.clone());
    }
    world.undo(&session, &prompts[2], Force::Ask).await;
    assert_eq!(world.text("a"), "2\n");
    let undone = world.undo(&session, &prompts[0], Force::Ask).await;
    assert_eq!((world.text("a").as_str(), undone.reverted.len()), ("0\n", 4));
    world.redo(&session, Force::Ask).await;
    assert_eq!(world.text("a"), "3\n");
    world.undo(&session, &prompts[1], Force::Ask).await;
    assert_eq!(world.text("a"), "1\n");
    let dropped = world.snapshots.drop_reverted(session.id).await.unwrap();
    assert_eq!(dropped.len(), 4);
    assert_eq!(store::messages::last_position(&world.db, session.id).await.unwrap(), 2);
    let redone = world.redo(&session, Force::Ask).await;
    assert_eq!((world.text("a").as_str(), redone.reverted.len()), ("1\n", 0));
}

#[tokio::test]
async fn an_undo_that_stopped_in_the_middle_is_finished_by_another() {
    let world = World::new().await;
    world.put("a", "1\n");
    world.put("b", "1\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.write("a", "2\n").await;
    turn.write("b", "2\n").await;
    turn.end().await;
    // The files of one are restored, and then the server dies.
    world.put("a", "1\n");
    let undone = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!((undone.restored, undone.conflicts), (vec!["b".to_owned()], vec![]));
    assert_eq!(world.text("b"), "1\n");
}

#[tokio::test]
async fn a_message_that_a_crash_cut_off_is_undone_too() {
    let world = World::new().await;
    world.put("a", "1\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    use forge::engine::tools::Recorder as _;
    turn.recorder.before_change("a").await.unwrap();
    world.put("a", "2\n");
    let (prompt, answer) = (turn.prompt.clone(), turn.answer.clone());
    drop(turn);
    world.snapshots.finish_message(session.id, answer.id, &world.root).await.unwrap();
    let undone = world.undo(&session, &prompt, Force::Ask).await;
    assert_eq!((undone.conflicts, world.text("a").as_str()), (vec![], "1\n"));
}
