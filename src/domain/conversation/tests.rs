use std::collections::HashSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::message::{Patch, Step, Text, ToolCall};

#[test]
fn each_step_is_an_assistant_item_and_its_results() {
    let parts = [
        thought("which file?"),
        text("Reading."),
        call("c1", "read", json!({"path": "a"}), ToolStatus::Done, "one"),
        call("c2", "read", json!({"path": "b"}), ToolStatus::Done, "two"),
        step(),
        Part::Patch(Patch::default()),
        text("Done."),
        step(),
    ];
    let expected = [
        Item::user("hello", Vec::new()).unwrap(),
        Item::Assistant {
            text: "Reading.".into(),
            reasoning: Some(Reasoning {
                text: "which file?".into(),
                signature: Some("sig".into()),
                model: "m".into(),
            }),
            calls: vec![
                Call {
                    id: "c1".into(),
                    name: "read".into(),
                    arguments: json!({"path": "a"}),
                    signature: None,
                },
                Call {
                    id: "c2".into(),
                    name: "read".into(),
                    arguments: json!({"path": "b"}),
                    signature: None,
                },
            ],
        },
        Item::Results(vec![result("c1", "read", "one", true), result("c2", "read", "two", true)]),
        Item::Assistant { text: "Done.".into(), reasoning: None, calls: vec![] },
    ];
    assert_eq!(items(&[user(&[text("hello")]), assistant(&parts)]), expected);
}

#[test]
fn a_call_that_a_crash_left_open_is_answered_as_stopped() {
    for status in [ToolStatus::Pending, ToolStatus::Running, ToolStatus::Aborted] {
        let result = only_result(call("c", "bash", json!({}), status, ""));
        assert_eq!(result.output, STOPPED);
        assert!(!result.ok);
    }
}

#[test]
fn a_stopped_call_keeps_what_it_had_said() {
    let result = only_result(call("c", "bash", json!({}), ToolStatus::Aborted, "line 1"));
    assert_eq!(result.output, format!("line 1\n{STOPPED}"));
}

#[test]
fn a_denied_call_says_why() {
    let denied = ToolCall {
        status: ToolStatus::Denied,
        error: Some("Use git mv instead.".into()),
        input: json!({}),
        ..ToolCall::default()
    };
    let result = only_result(Part::Tool(Box::new(denied)));
    assert_eq!((result.output.as_str(), result.ok), ("Use git mv instead.", false));
}

#[test]
fn a_call_without_output_gets_a_placeholder() {
    assert_eq!(
        only_result(call("c", "write", json!({}), ToolStatus::Done, " \n")).output,
        NO_OUTPUT
    );
    assert_eq!(only_result(call("c", "write", json!({}), ToolStatus::Error, "")).output, FAILED);
}

#[test]
fn arguments_that_are_no_object_become_one_and_are_quoted_in_the_result() {
    let raw = format!("{{\"path\": \"{}", "x".repeat(9_000));
    let items =
        items(&[assistant(&[call("c", "write", json!(raw), ToolStatus::Error, "cut off")])]);
    let Item::Assistant { calls, .. } = &items[0] else { panic!("{items:?}") };
    assert_eq!(calls[0].arguments, json!({}));
    let Item::Results(results) = &items[1] else { panic!("{items:?}") };
    assert!(results[0].output.starts_with("cut off\nThe arguments were no JSON object: {\"path\""));
    assert!(results[0].output.len() < 700);
}

#[test]
fn repeated_and_illegal_ids_are_renamed_the_same_way_each_time() {
    let long = "é".repeat(100);
    let parts: Vec<_> = ["", "a|b", "a b", "call", &long, &long]
        .map(|id| call(id, "read", json!({}), ToolStatus::Done, "x"))
        .into();
    let ids = |items: &[Item]| match &items[0] {
        Item::Assistant { calls, .. } => calls.iter().map(|it| it.id.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let first = ids(&items(&[assistant(&parts)]));
    assert_eq!(first[..4], ["call", "a_b", "a_b_2", "call_2"]);
    assert_eq!(first[5], format!("{}_2", "_".repeat(62)));
    assert_eq!(first, ids(&items(&[assistant(&parts)])));
}

#[test]
fn ten_thousand_calls_without_ids_are_renamed_quickly() {
    let mut ids = CallIds::default();
    let taken: HashSet<_> = (0..10_000).map(|_| ids.take("call_0")).collect();
    assert_eq!(taken.len(), 10_000);
}

#[test]
fn nothing_but_space_or_thought_is_no_item() {
    assert_eq!(items(&[user(&[text(" \n")]), assistant(&[thought("hm"), text("  "), step()])]), []);
}

#[test]
fn a_huge_output_keeps_its_head_and_tail() {
    let output = format!("head{}tail", "é".repeat(MAX_OUTPUT));
    let result = only_result(call("c", "bash", json!({}), ToolStatus::Done, &output));
    assert!(result.output.len() < MAX_OUTPUT + 100);
    assert!(result.output.starts_with("head") && result.output.ends_with("tail"));
}

#[test]
fn the_proof_of_a_call_stays_with_it_as_long_as_it_is_sent_as_it_was_made() {
    let signed = |input: Value| {
        let signature = Some("sig".to_owned());
        let call = ToolCall { call_id: "c".into(), input, signature, ..ToolCall::default() };
        match items(&[assistant(&[Part::Tool(Box::new(call))])]).swap_remove(0) {
            Item::Assistant { calls, .. } => calls[0].signature.clone(),
            other => panic!("{other:?}"),
        }
    };
    let expected = Signature { text: "sig".into(), model: "m".into() };
    assert_eq!(signed(json!({"path": "a"})), Some(expected));
    assert_eq!(signed(json!("{\"path")), None);
}

proptest! {
    #[test]
    fn whatever_is_stored_becomes_a_legal_conversation(history in history()) {
        let items = items(&exchanges(&history));
        let mut ids = HashSet::new();
        let mut open: Vec<Call> = Vec::new();
        for item in &items {
            match item {
                Item::User { text, .. } => {
                    prop_assert!(open.is_empty());
                    prop_assert!(!text.trim().is_empty());
                }
                Item::Assistant { text, calls, .. } => {
                    prop_assert!(open.is_empty());
                    prop_assert!(text.is_empty() || !text.trim().is_empty());
                    prop_assert!(!text.is_empty() || !calls.is_empty());
                    for call in calls {
                        prop_assert!(is_legal(&call.id) && is_legal(&call.name));
                        prop_assert!(ids.insert(call.id.clone()), "{} twice", call.id);
                        prop_assert!(call.arguments.is_object());
                    }
                    open.clone_from(calls);
                }
                Item::Results(results) => {
                    let calls = std::mem::take(&mut open);
                    prop_assert!(!results.is_empty());
                    prop_assert_eq!(calls.len(), results.len());
                    for (call, result) in calls.iter().zip(results) {
                        prop_assert_eq!((&call.id, &call.name), (&result.id, &result.name));
                        prop_assert!(!result.output.trim().is_empty());
                        prop_assert!(result.output.len() < MAX_OUTPUT + 8_192);
                    }
                }
            }
        }
        prop_assert!(open.is_empty());
    }

    #[test]
    fn a_conversation_that_grows_keeps_its_beginning(history in history(), cut in 0.0..1.0_f64) {
        let all = exchanges(&history);
        let cut = (all.len() as f64 * cut) as usize;
        let (before, whole) = (items(&all[..cut]), items(&all));
        prop_assert_eq!(&whole[..before.len()], &before[..]);
    }

    #[test]
    fn steps_built_one_by_one_are_those_of_the_whole(history in history()) {
        let mut ids = CallIds::default();
        let mut built = Vec::new();
        for message in exchanges(&history) {
            if message.role == Role::User {
                built.extend(message_items(&mut ids, &message));
                continue;
            }
            for step in message.parts.split_inclusive(|part| matches!(part, Part::Step(_))) {
                built.extend(step_items(&mut ids, "m", step));
            }
        }
        prop_assert_eq!(built, items(&exchanges(&history)));
    }
}

fn history() -> impl Strategy<Value = Vec<(bool, Vec<Part>)>> {
    prop::collection::vec((any::<bool>(), prop::collection::vec(part(), 0..8)), 0..8)
}

fn part() -> impl Strategy<Value = Part> {
    let words = "[ \n]{0,2}|[a-z é]{1,6}";
    let status = prop_oneof![
        Just(ToolStatus::Pending),
        Just(ToolStatus::Running),
        Just(ToolStatus::Done),
        Just(ToolStatus::Error),
        Just(ToolStatus::Denied),
        Just(ToolStatus::Aborted),
    ];
    let input = prop_oneof![
        Just(json!({"path": "a"})),
        Just(json!({})),
        Just(json!(null)),
        Just(json!("{\"path")),
        Just(json!([1, 2])),
    ];
    let id = "a?|call(_[23])?|[|:é]{0,70}";
    let tool = (id, "(read)?|[a-zé.]{0,80}", input, status, words, prop::option::of(words));
    prop_oneof![
        words.prop_map(|it| text(&it)),
        words.prop_map(|it| thought(&it)),
        Just(step()),
        Just(Part::Patch(Patch::default())),
        tool.prop_map(|(call_id, tool, input, status, output, error)| {
            let call =
                ToolCall { call_id, tool, input, status, output, error, ..ToolCall::default() };
            Part::Tool(Box::new(call))
        }),
    ]
}

fn exchanges(history: &[(bool, Vec<Part>)]) -> Vec<Exchange<'_>> {
    history.iter().map(|(user, parts)| exchange(*user, parts)).collect()
}

fn exchange(user: bool, parts: &[Part]) -> Exchange<'_> {
    let role = if user { Role::User } else { Role::Assistant };
    Exchange { role, model: "m", parts }
}

fn is_legal(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
}

fn only_result(part: Part) -> CallResult {
    match items(&[assistant(&[part])]).pop() {
        Some(Item::Results(mut results)) if results.len() == 1 => results.remove(0),
        other => panic!("{other:?}"),
    }
}

fn user(parts: &[Part]) -> Exchange<'_> {
    exchange(true, parts)
}

fn assistant(parts: &[Part]) -> Exchange<'_> {
    exchange(false, parts)
}

fn text(text: &str) -> Part {
    Part::Text(Text { text: text.into() })
}

fn thought(text: &str) -> Part {
    Part::Reasoning(message::Reasoning { text: text.into(), signature: Some("sig".into()) })
}

fn step() -> Part {
    Part::Step(Step::default())
}

fn call(id: &str, tool: &str, input: Value, status: ToolStatus, output: &str) -> Part {
    Part::Tool(Box::new(ToolCall {
        call_id: id.into(),
        tool: tool.into(),
        input,
        status,
        output: output.into(),
        ..ToolCall::default()
    }))
}

fn result(id: &str, name: &str, output: &str, ok: bool) -> CallResult {
    CallResult { id: id.into(), name: name.into(), output: output.into(), ok }
}
