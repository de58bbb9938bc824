//! Whatever an agent does, undo gives back every byte, and redo what it did.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
};

use forge::domain::undo::Force;
use proptest::{
    collection::vec,
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};

use super::{Turn, World, chmod};

const NAMES: [&str; 6] = ["a", "b", "sp ace", "公共", "d", "e\"\n"];

#[derive(Clone, Debug)]
enum Action {
    Write(String, Vec<u8>),
    Delete(String),
    Rename(String, String),
    Chmod(String, u32),
    Mkdir(String),
    Link(String, String),
}

#[derive(Clone, Debug)]
enum Step {
    /// Through the recorder, one file at a time.
    Tool(Action),
    /// Any number of changes between two looks.
    Command(Vec<Action>),
}

fn path() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(&NAMES[..]);
    vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn action() -> impl Strategy<Value = Action> {
    let content =
        prop_oneof![vec(any::<u8>(), 0..20), (0u8..3).prop_map(|at| vec![b'a' + at, b'\n']),];
    let mode = prop::sample::select(&[0o644, 0o755, 0o600, 0o750, 0o555][..]);
    prop_oneof![
        5 => (path(), content).prop_map(|(path, content)| Action::Write(path, content)),
        2 => path().prop_map(Action::Delete),
        2 => (path(), path()).prop_map(|(from, to)| Action::Rename(from, to)),
        1 => (path(), mode).prop_map(|(path, mode)| Action::Chmod(path, mode)),
        1 => path().prop_map(Action::Mkdir),
        1 => (path(), path()).prop_map(|(path, target)| Action::Link(path, target)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![action().prop_map(Step::Tool), vec(action(), 1..5).prop_map(Step::Command),]
}

/// Whether the way to a path passes no link: a tool resolves links before it records.
fn is_plain(root: &Path, path: &str) -> bool {
    let above = Path::new(path).ancestors().skip(1);
    above.filter(|it| !it.as_os_str().is_empty()).all(|it| !root.join(it).is_symlink())
}

/// Does what can be done. Errors are those of an agent that tries the impossible.
fn act(root: &Path, action: &Action) {
    let at = |path: &String| root.join(path);
    let _ = match action {
        Action::Write(path, content) => at(path).parent().map_or(Ok(()), |parent| {
            fs::create_dir_all(parent)?;
            if at(path).is_symlink() {
                return Ok(());
            }
            fs::write(at(path), content)
        }),
        Action::Delete(path) if at(path).is_dir() && !at(path).is_symlink() => {
            fs::remove_dir_all(at(path))
        }
        Action::Delete(path) => fs::remove_file(at(path)),
        Action::Rename(from, to) => fs::rename(at(from), at(to)),
        Action::Chmod(path, _) if at(path).is_symlink() || !at(path).exists() => Ok(()),
        Action::Chmod(path, mode) => {
            chmod(&at(path), *mode);
            Ok(())
        }
        Action::Mkdir(path) => fs::create_dir_all(at(path)),
        Action::Link(path, target) => symlink(target, at(path)),
    };
}

/// The files that a tool would report before this.
fn touched(root: &Path, action: &Action) -> Option<Vec<String>> {
    let paths = match action {
        Action::Write(path, _)
        | Action::Mkdir(path)
        | Action::Link(path, _)
        | Action::Chmod(path, _) => {
            vec![path.clone()]
        }
        Action::Delete(path) => vec![path.clone()],
        Action::Rename(from, to) => vec![from.clone(), to.clone()],
    };
    // Tools work on files; whole folders are moved and deleted by commands.
    let folder = |path: &String| root.join(path).is_dir() && !root.join(path).is_symlink();
    let moves = matches!(action, Action::Delete(_) | Action::Rename(..));
    let plain = paths.iter().all(|path| is_plain(root, path) && !(moves && folder(path)));
    plain.then_some(paths)
}

async fn carry_out(turn: &Turn<'_>, step: &Step) {
    let root = &turn.world.root;
    match step {
        Step::Tool(action) => {
            let Some(paths) = touched(root, action) else { return };
            for path in &paths {
                turn.recorder.record(Path::new(path).as_os_str().as_bytes()).await.unwrap();
            }
            act(root, action);
            turn.recorder.settle().await.unwrap();
        }
        Step::Command(actions) => {
            let snapshots = &turn.world.snapshots;
            let scan = snapshots.before_command(&turn.recorder, "").await.unwrap();
            for action in actions {
                let inside = match action {
                    Action::Write(path, _)
                    | Action::Delete(path)
                    | Action::Chmod(path, _)
                    | Action::Mkdir(path)
                    | Action::Link(path, _) => is_plain(root, path),
                    Action::Rename(from, to) => is_plain(root, from) && is_plain(root, to),
                };
                if inside {
                    act(root, action);
                }
            }
            snapshots.after_command(scan).await.unwrap();
        }
    }
}

#[tokio::test]
async fn any_work_is_undone_and_redone_byte_for_byte() {
    let strategy = (vec(action(), 0..12), vec(vec(step(), 1..5), 1..4), any::<bool>());
    let mut runner = TestRunner::new(Config::default());
    for _ in 0..40 {
        let (start, turns, with_git) = strategy.new_tree(&mut runner).unwrap().current();
        check(&start, &turns, with_git).await;
    }
}

async fn check(start: &[Action], turns: &[Vec<Step>], with_git: bool) {
    let world = World::new().await;
    for action in start {
        act(&world.root, action);
    }
    if with_git {
        world.commit_all();
    }
    let session = world.session().await;
    let mut pictures = vec![world.picture()];
    let mut prompts = Vec::new();
    for steps in turns {
        let turn = world.turn(&session).await;
        for step in steps {
            carry_out(&turn, step).await;
        }
        turn.end().await;
        prompts.push(turn.prompt.clone());
        pictures.push(world.picture());
    }
    let story = format!("start {start:?}\nturns {turns:?}\ngit {with_git}");
    for at in (0..prompts.len()).rev() {
        let undone = world.undo(&session, &prompts[at], Force::Ask).await;
        assert_eq!(undone.conflicts, [], "{story}");
        assert_eq!(world.picture(), pictures[at], "undo to {at}: {story}");
    }
    let redone = world.redo(&session, Force::Ask).await;
    assert_eq!(redone.conflicts, [], "{story}");
    assert_eq!(world.picture(), pictures[turns.len()], "redo: {story}");
    world.undo(&session, &prompts[0], Force::Ask).await;
    assert_eq!(world.picture(), pictures[0], "undo of all: {story}");
}
