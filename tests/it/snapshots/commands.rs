//! Commands in repositories, large files, and what is said not to be covered.

use std::fs;

use forge::domain::undo::{Force, Reason};

use super::{World, paths, reasons, round_trip};

fn blobs(world: &World) -> usize {
    let Ok(folders) = fs::read_dir(world.data().join("blobs")) else { return 0 };
    folders.flat_map(|it| fs::read_dir(it.unwrap().path()).unwrap()).count()
}

#[tokio::test]
async fn committed_files_are_not_copied_and_still_come_back() {
    let world = World::new().await;
    for at in 0..200 {
        world.put(&format!("src/{at}.txt"), format!("line {at}\nand more\n").repeat(at + 1));
    }
    world.commit_all();
    world.put("src/3.txt", "dirty\n");
    world.put("untracked", "untracked\n");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let scan = world.snapshots.before_command(&turn.recorder, "").await.unwrap();
    assert_eq!(blobs(&world), 2);
    assert!(scan.not_captured.is_empty());
    drop(scan);
    let changed = turn.command("sed -i s/line/LINE/ src/*.txt; rm untracked").await;
    assert_eq!(changed.len(), 200);
    assert!(changed.iter().all(forge::engine::snapshots::ChangedPath::is_captured));
    round_trip(&turn, &before).await;
}

/// Every form that an index can have, and a repository can be in.
#[tokio::test]
async fn all_forms_of_an_index_are_read_or_done_without() {
    let forms = [
        ("git update-index --index-version 2", 0),
        ("git update-index --index-version 4", 0),
        ("git add -N new; git update-index --index-version 3", 1),
        ("git update-index --split-index && git update-index --force-write-index", 3),
        ("rm .git/index", 3),
        ("mv .git real && git -C real config core.worktree .. && echo 'gitdir: real' > .git", 0),
    ];
    for (form, copied) in forms {
        let world = World::new().await;
        world.put("a/longer/name.txt", "a\n");
        world.put("a/longer/name.txt.bak", "b\n");
        world.put("z", "z\n");
        world.commit_all();
        if copied == 1 {
            world.put("new", "new\n");
        }
        world.sh(form);
        let before = world.picture();
        let session = world.session().await;
        let turn = world.turn(&session).await;
        let scan = world.snapshots.before_command(&turn.recorder, "").await.unwrap();
        if !form.starts_with("mv") {
            assert_eq!(blobs(&world), copied, "{form}");
        }
        drop(scan);
        turn.command("echo x >> a/longer/name.txt.bak; rm a/longer/name.txt; echo y > z").await;
        round_trip(&turn, &before).await;
    }
}

#[tokio::test]
async fn packed_objects_with_differences_are_read() {
    let world = World::new().await;
    let text: String = (0..3_000).map(|at| format!("this is line number {at}\n")).collect();
    for at in 0..12 {
        world.put(&format!("{at}.txt"), text.replace(&format!("number {at}5"), "changed"));
    }
    world.commit_all();
    world.sh("git gc -q --aggressive --prune=now && test -z \"$(ls .git/objects | grep '^..$')\"");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("sed -i 's/this is//' *.txt").await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn files_whose_line_ends_git_changes_come_back_as_they_were() {
    let world = World::new().await;
    world.put(".gitattributes", "*.bat text eol=crlf\n*.id ident\n");
    world.put("run.bat", "one\r\ntwo\r\n");
    world.put("plain.txt", "one\n");
    world.commit_all();
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("echo changed | tee run.bat plain.txt .gitattributes").await;
    round_trip(&turn, &before).await;

    let world = World::new().await;
    world.put("run.bat", "one\r\ntwo\r\n");
    world.put(".gitattributes", "*.bat text eol=crlf\n");
    world.commit_all();
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("echo changed > run.bat").await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn a_checkout_of_another_branch_is_undone_in_the_files() {
    let world = World::new().await;
    world.put("a", "main\n");
    world.put("only/main", "main\n");
    world.commit_all();
    world.sh("git checkout -qb other && git rm -q only/main && echo other > a && git add -A && \
              git -c user.name=a -c user.email=a@example.org commit -qm other && git checkout -q -");
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let changed = turn.command("git checkout -q other").await;
    assert_eq!(paths(&changed), ["a", "only", "only/main"]);
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn a_large_file_is_named_before_and_never_half_restored() {
    let world = World::new().await;
    let large = vec![7; 3 << 20];
    world.put("large.bin", &large);
    world.put("small", "0\n");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let (changed, said) = turn.captured("printf x >> large.bin; echo 1 > small").await;
    assert_eq!(said.large.named, ["large.bin"]);
    assert!(said.to_string().contains("large.bin"), "{said}");
    assert_eq!(paths(&changed), ["large.bin", "small"]);
    assert!(!changed[0].is_captured());
    turn.end().await;
    let asked = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!(reasons(&asked.conflicts), [("large.bin", Reason::NotKept)]);
    assert_eq!(world.text("small"), "1\n");
    let forced = world.undo(&session, &turn.prompt, Force::Overwrite).await;
    assert_eq!(reasons(&forced.conflicts), [("large.bin", Reason::NotKept)]);
    assert_eq!(world.text("small"), "0\n");
    assert_eq!(fs::metadata(world.path("large.bin")).unwrap().len(), large.len() as u64 + 1);
}

#[tokio::test]
async fn a_large_file_that_a_command_made_is_removed() {
    let world = World::new().await;
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("head -c 5000000 /dev/zero > made").await;
    turn.end().await;
    let undone = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!((undone.conflicts, undone.restored), (vec![], vec!["made".to_owned()]));
    assert!(!world.path("made").exists());
}

#[tokio::test]
async fn packages_and_builds_are_named_and_left() {
    let world = World::new().await;
    world.put("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    world.put("target/debug/x", "x");
    world.put("old/node_modules/y", "y");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let (changed, said) =
        turn.captured("echo z > target/debug/x; mkdir node_modules; echo m > node_modules/m").await;
    assert_eq!(said.trees.named, ["old/node_modules", "target"]);
    assert_eq!(paths(&changed), ["node_modules"]);
    turn.end().await;
    let undone = world.undo(&session, &turn.prompt, Force::Ask).await;
    assert_eq!((undone.conflicts, undone.left), (vec![], vec!["node_modules".to_owned()]));
}

#[tokio::test]
async fn packages_that_are_committed_are_covered() {
    let world = World::new().await;
    world.put("node_modules/y", "y");
    world.commit_all();
    let before = world.picture();
    let session = world.session().await;
    let turn = world.turn(&session).await;
    turn.command("echo z > node_modules/y; echo n > node_modules/n").await;
    round_trip(&turn, &before).await;
}

#[tokio::test]
async fn a_command_that_only_looks_changes_nothing() {
    let world = World::new().await;
    world.put("a", "a");
    world.put("b", "b");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let changed = turn.command("cat a b; touch a; cp -p b c; rm c; printf b > b").await;
    assert_eq!(paths(&changed), [""; 0]);
}
