use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

fn file(content: u8) -> FileState {
    FileState::File { mode: 0o644, size: 1, content: Content::Kept(Hash([content; 32])) }
}

const FOLDER: FileState = FileState::Folder { mode: 0o755 };
const UNKEPT: FileState = FileState::File { mode: 0o644, size: 3 << 20, content: Content::Unknown };

fn record(path: &str, before: FileState, after: FileState) -> Record {
    Record { path: path.into(), before, after: Some(after), shared: false }
}

fn now(states: &[(&str, FileState)]) -> Now {
    let states = states.iter().map(|(path, state)| ((*path).to_owned(), *state)).collect();
    Now { states, children: HashMap::new() }
}

fn undo(records: &[Record], now: &Now) -> Plan {
    plan(Direction::Undo, records, now, Force::Ask)
}

fn reasons(plan: &Plan) -> Vec<(&str, Reason)> {
    plan.conflicts.iter().map(|it| (it.path.as_str(), it.reason)).collect()
}

#[test]
fn a_file_goes_back_to_before_the_first_message_that_changed_it() {
    let records = [record("a", file(1), file(2)), record("a", file(2), file(3))];
    let expected = Restore { path: "a".into(), from: file(3), to: file(1) };
    assert_eq!(undo(&records, &now(&[("a", file(3))])).restore, [expected]);
}

#[test]
fn a_file_that_is_as_it_should_be_is_left_alone() {
    let records = [record("a", file(1), file(2))];
    assert_eq!(undo(&records, &now(&[("a", file(1))])), Plan::default());
}

#[test]
fn a_file_changed_since_is_named_and_nothing_is_done_unless_forced() {
    let records = [record("a", file(1), file(2)), record("b", file(1), file(2))];
    let now = now(&[("a", file(9)), ("b", file(2))]);
    let asked = undo(&records, &now);
    assert_eq!(reasons(&asked), [("a", Reason::Changed)]);
    assert_eq!(asked.restore, []);
    let forced = plan(Direction::Undo, &records, &now, Force::Overwrite);
    assert_eq!(forced.conflicts, []);
    assert_eq!(forced.restore.len(), 2);
}

#[test]
fn a_change_between_two_messages_is_not_lost_silently() {
    let records = [record("a", file(1), file(2)), record("a", file(7), file(3))];
    assert_eq!(reasons(&undo(&records, &now(&[("a", file(3))]))), [("a", Reason::Changed)]);
}

#[test]
fn a_change_of_the_mode_alone_is_a_change() {
    let run = FileState::File { mode: 0o755, size: 1, content: Content::Kept(Hash([1; 32])) };
    let records = [record("a", file(1), run)];
    assert_eq!(undo(&records, &now(&[("a", run)])).restore.len(), 1);
}

#[test]
fn what_was_not_kept_is_named_and_force_does_not_help() {
    let records = [record("big", UNKEPT, file(2)), record("a", file(1), file(2))];
    let now = now(&[("big", file(2)), ("a", file(2))]);
    assert_eq!(reasons(&undo(&records, &now)), [("big", Reason::NotKept)]);
    let forced = plan(Direction::Undo, &records, &now, Force::Overwrite);
    assert_eq!(reasons(&forced), [("big", Reason::NotKept)]);
    assert_eq!(forced.restore.len(), 1);
}

#[test]
fn a_large_file_that_was_made_can_be_removed_because_it_is_recognised() {
    let seen = |hash| FileState::File { mode: 0o644, size: 9, content: Content::Seen(hash) };
    let records = [record("big", FileState::Absent, seen(Hash([1; 32])))];
    let same = now(&[("big", seen(Hash([1; 32])))]);
    assert_eq!(undo(&records, &same).restore.len(), 1);
    let other = now(&[("big", seen(Hash([2; 32])))]);
    assert_eq!(reasons(&undo(&records, &other)), [("big", Reason::Changed)]);
}

#[test]
fn a_shared_change_is_asked_about() {
    let records = [Record { shared: true, ..record("a", file(1), file(2)) }];
    assert_eq!(reasons(&undo(&records, &now(&[("a", file(2))]))), [("a", Reason::Shared)]);
}

#[test]
fn an_unfinished_record_is_asked_about() {
    let records = [Record { after: None, ..record("a", file(1), file(2)) }];
    assert_eq!(reasons(&undo(&records, &now(&[("a", file(2))]))), [("a", Reason::Changed)]);
}

#[test]
fn a_folder_with_something_else_in_it_stays() {
    let records =
        [record("d", FileState::Absent, FOLDER), record("d/a", FileState::Absent, file(1))];
    let mut now = now(&[("d", FOLDER), ("d/a", file(1))]);
    now.children.insert("d".into(), vec!["d/a".into()]);
    assert_eq!(undo(&records, &now).restore.len(), 2);
    now.children.insert("d".into(), vec!["d/a".into(), "d/mine".into()]);
    let plan = undo(&records, &now);
    assert_eq!((plan.restore.len(), plan.left), (1, vec!["d".to_owned()]));
}

#[test]
fn nothing_is_put_below_a_link_or_in_place_of_a_folder_in_use() {
    let link = FileState::Symlink { target: Hash([5; 32]) };
    let records = [record("d/a", file(1), FileState::Absent)];
    assert_eq!(reasons(&undo(&records, &now(&[("d", link)]))), [("d/a", Reason::InTheWay)]);
    let records = [record("d", file(1), FOLDER)];
    let mut now = now(&[("d", FOLDER)]);
    now.children.insert("d".into(), vec!["d/mine".into()]);
    let forced = plan(Direction::Undo, &records, &now, Force::Overwrite);
    assert_eq!(reasons(&forced), [("d", Reason::InTheWay)]);
    assert_eq!(forced.restore, []);
}

#[test]
fn a_folder_of_packages_that_was_made_is_left_and_one_that_was_deleted_is_named() {
    let made = [record("node_modules", FileState::Absent, FileState::Tree)];
    let there = now(&[("node_modules", FOLDER)]);
    assert_eq!(undo(&made, &there).left, ["node_modules"]);
    let deleted = [record("node_modules", FileState::Tree, FileState::Absent)];
    assert_eq!(reasons(&undo(&deleted, &now(&[]))), [("node_modules", Reason::NotKept)]);
    assert_eq!(undo(&deleted, &there), Plan::default());
}

#[test]
fn a_hash_is_read_as_it_is_written() {
    let hash = Hash([0xa5; 32]);
    assert_eq!(hash.to_string().parse(), Ok(hash));
    assert!("a5".parse::<Hash>().is_err());
    assert!("é".repeat(32).parse::<Hash>().is_err());
}

/// Carries out a plan on a folder that is a map.
fn carry_out(plan: &Plan, world: &mut BTreeMap<String, FileState>) {
    for restore in &plan.restore {
        world.insert(restore.path.clone(), restore.to);
    }
}

fn states(world: &BTreeMap<String, FileState>) -> Now {
    Now { states: world.clone().into_iter().collect(), children: HashMap::new() }
}

fn any_state() -> impl Strategy<Value = FileState> {
    prop_oneof![
        Just(FileState::Absent),
        (0u8..4).prop_map(file),
        (0u8..4).prop_map(|target| FileState::Symlink { target: Hash([target; 32]) }),
    ]
}

proptest! {
    /// Messages change files one after the other; undo from any of them, then redo.
    #[test]
    fn undo_and_redo_are_each_others_opposite(
        start in vec(any_state(), 4),
        messages in vec(vec((0usize..4, any_state()), 0..4), 1..6),
        from: prop::sample::Index,
        meddled in prop::option::of((0usize..4, any_state())),
    ) {
        let name = |at: usize| format!("f{at}");
        let mut world: BTreeMap<String, FileState> =
            start.into_iter().enumerate().map(|(at, state)| (name(at), state)).collect();
        let from = from.index(messages.len());
        let (mut records, mut earlier) = (Vec::new(), world.clone());
        for (at, changes) in messages.into_iter().enumerate() {
            if at == from {
                earlier = world.clone();
            }
            let before = world.clone();
            let mut touched = BTreeMap::new();
            for (file, state) in changes {
                world.insert(name(file), state);
                touched.insert(name(file), state);
            }
            if at >= from {
                records.extend(touched.into_iter().map(|(path, after)| {
                    record(&path, before[&path], after)
                }));
            }
        }
        let later = world.clone();
        if let Some((file, state)) = meddled {
            world.insert(name(file), state);
        }
        let changed_since = |path: &String| {
            records.iter().any(|it| it.path == *path)
                && !world[path].same(&later[path])
                && !world[path].same(&earlier[path])
        };
        let expected: Vec<String> = world.keys().filter(|path| changed_since(path)).cloned().collect();
        let asked = undo(&records, &states(&world));
        let named: Vec<String> = asked.conflicts.iter().map(|it| it.path.clone()).collect();
        prop_assert_eq!(&named, &expected);
        if !expected.is_empty() {
            prop_assert_eq!(asked.restore, []);
        }
        let untouched = |path: &String| !records.iter().any(|it| it.path == *path);
        let meddled_only: BTreeMap<String, FileState> =
            world.iter().filter(|(path, _)| untouched(path)).map(|(p, s)| (p.clone(), *s)).collect();
        carry_out(&plan(Direction::Undo, &records, &states(&world), Force::Overwrite), &mut world);
        let mut undone = earlier;
        undone.extend(meddled_only.clone());
        prop_assert_eq!(&world, &undone);
        prop_assert_eq!(undo(&records, &states(&world)), Plan::default());
        let redo = plan(Direction::Redo, &records, &states(&world), Force::Ask);
        prop_assert_eq!(&redo.conflicts, &[]);
        carry_out(&redo, &mut world);
        let mut redone = later;
        redone.extend(meddled_only);
        prop_assert_eq!(world, redone);
    }
}
