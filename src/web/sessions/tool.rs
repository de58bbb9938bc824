//! Tool calls, as lines of the timeline that open.

use chrono::DateTime;
use serde::Deserialize;
use serde_json::Value;

use super::{
    diffs,
    output::{self, BYTES, Found},
    patched,
    view::{Content, Shown, Term, TodoView, ToolView, Why},
    words::{Moment, count, number, took},
};
use crate::domain::{
    diff::Diff,
    message::{ToolCall, ToolStatus},
    session::{TodoItem, TodoStatus},
    text::cut,
};

/// What a tool is called in the timeline.
struct Words {
    icon: &'static str,
    done: &'static str,
    running: &'static str,
}

fn words(tool: &str) -> Words {
    let (icon, done, running) = match tool {
        "read" => ("file", "Read", "Reading"),
        "list" => ("folder", "Listed", "Listing"),
        "glob" => ("search", "Looked for", "Looking for"),
        "grep" => ("search", "Searched", "Searching"),
        "edit" | "multi_edit" => ("edit", "Edited", "Editing"),
        "apply_patch" => ("edit", "Patched", "Patching"),
        "write" => ("edit", "Wrote", "Writing"),
        "bash" => ("terminal", "Ran", "Running"),
        "bash_output" => ("terminal", "Looked at job", "Looking at job"),
        "bash_kill" => ("terminal", "Ended job", "Ending job"),
        "todo_write" => ("todo", "Updated the list", "Updating the list"),
        _ => ("terminal", "Called", "Calling"),
    };
    Words { icon, done, running }
}

/// Draws a call, with the status that its line has.
pub fn view(part: &str, call: ToolCall) -> (&'static str, ToolView) {
    let words = words(&call.tool);
    let failed = call.status == ToolStatus::Error;
    let mut view = ToolView {
        icon: words.icon,
        verb: words.done.to_owned(),
        subject: subject(&call),
        took: call.duration_ms.map(took),
        why: why(&call),
        ..ToolView::default()
    };
    let mut status = match call.status {
        ToolStatus::Pending => "pending",
        ToolStatus::Running => "running",
        ToolStatus::Done => "done",
        ToolStatus::Error => "error",
        ToolStatus::Denied => "denied",
        ToolStatus::Aborted => "aborted",
    };
    match call.status {
        ToolStatus::Pending => {
            view.icon = "clock";
            view.verb = "Waits".to_owned();
            return (status, view);
        }
        ToolStatus::Running => {
            view.icon = "running";
            view.verb = words.running.to_owned();
            view.since = since(&call);
            view.why = None;
            if let Some(text) = call.metadata["not_covered"].as_str() {
                view.notes.push(cut(text, BYTES).to_owned());
            }
            if call.tool == "bash" {
                view.content = running(part, &call);
                view.open = true;
            }
            return (status, view);
        }
        ToolStatus::Denied => {
            view.verb = "Denied".to_owned();
            view.open = true;
        }
        ToolStatus::Aborted => {
            view.icon = "aborted";
            view.verb = "Stopped".to_owned();
            view.meta = call.error;
            return (status, view);
        }
        ToolStatus::Done => {}
        ToolStatus::Error => {
            view.chip = Some("failed".to_owned());
            view.open = true;
        }
    }
    view.error = call.error.as_deref().map(|text| cut(text, BYTES).to_owned());
    let meta = &call.metadata;
    match call.tool.as_str() {
        "read" => {
            view.meta = lines_read(meta);
            quiet(&mut view);
        }
        "list" | "glob" => {
            view.meta = meta["count"].as_u64().map(|it| count(it, "entry", "entries"));
            view.content = output::content(part, &call.output);
        }
        "grep" => {
            let found: Found = Found::deserialize(meta).unwrap_or_default();
            view.meta = Some(match found.count {
                0 => "no matches".to_owned(),
                _ => format!(
                    "{} in {}",
                    count(found.count, "match", "matches"),
                    count(found.files, "file", "files")
                ),
            });
            if !found.matches.is_empty() {
                view.content = Content::Matches(output::matches(found.matches));
            }
            view.notes = found.warnings;
        }
        "edit" | "multi_edit" | "write" => {
            if meta["created"].as_bool() == Some(true) {
                view.verb = "Created".to_owned();
            }
            if meta["inexact"].as_bool() == Some(true) {
                view.notes.push("The text was found only when spaces were not counted.".to_owned());
            }
            if let Ok(diff) = Diff::deserialize(&meta["diff"]) {
                view.delta = Some((diff.additions, diff.deletions));
                view.open = true;
                view.content = Content::Diff(diffs::view(&view.subject, diff, diffs::IN_TIMELINE));
            }
        }
        "apply_patch" => patched::draw(&mut view, meta),
        "bash" => {
            if let Some(code) = meta["exit_code"].as_i64().filter(|code| *code != 0) {
                status = "error";
                view.open = true;
                view.chip = Some(format!("exit {code}"));
            }
            if meta["job"]["state"] == "running" {
                view.icon = "running";
                view.verb = "Runs in the background".to_owned();
                view.took = None;
                view.since = since(&call);
                view.open = true;
                view.stoppable = true;
                view.content = running(part, &call);
                return ("running", view);
            }
            view.notes = notes(meta);
            if let Some(how) = meta["job"]["how"].as_str() {
                view.verb = "Ran in the background".to_owned();
                view.notes.push(how.to_owned());
            }
            let command = command(&call);
            let text = match meta["said"].as_str() {
                _ if failed => view.error.take().unwrap_or_default(),
                Some(said) => said.to_owned(),
                None => call.output,
            };
            let mut shown = output::tail(part, text.trim_end());
            if let (true, Some(all)) = (meta["cut"] == true, meta["lines"].as_u64()) {
                shown.of = Some(format!("The end of {} lines", number(all)));
                shown.whole = Some(part.to_owned());
            }
            view.content = Content::Term(Term { command, shown, said: None });
        }
        "todo_write" => {
            let items = Vec::<TodoItem>::deserialize(&meta["todos"]).unwrap_or_default();
            view.subject = String::new();
            if !failed {
                let done = items.iter().filter(|item| item.status == TodoStatus::Done).count();
                view.meta = Some(format!("{done} of {} done", items.len()));
                view.content = Content::Todos(todos(items));
            }
        }
        _ => view.content = output::content(part, &call.output),
    }
    (status, view)
}

/// A command that runs, with room for what it says.
fn running(part: &str, call: &ToolCall) -> Content {
    let said = Some(format!("said-{part}"));
    Content::Term(Term { command: command(call), shown: Shown::default(), said })
}

fn command(call: &ToolCall) -> String {
    cut(call.input["command"].as_str().unwrap_or(&call.title), BYTES).to_owned()
}

/// Since when it runs.
fn since(call: &ToolCall) -> Option<String> {
    let at = call.started_at_ms.and_then(DateTime::from_timestamp_millis)?;
    Some(Moment::of(at).exact)
}

/// A list of what is to be done.
pub fn todos(items: Vec<TodoItem>) -> Vec<TodoView> {
    let view = |item: TodoItem| {
        let (status, icon) = match item.status {
            TodoStatus::Pending => ("pending", "circle"),
            TodoStatus::InProgress => ("running", "half"),
            TodoStatus::Done => ("done", "check-circle"),
            TodoStatus::Cancelled => ("aborted", "x-circle"),
        };
        TodoView { status, icon, text: item.text }
    };
    items.into_iter().map(view).collect()
}

/// A call whose arguments are still coming in.
pub fn preparing(call: &ToolCall) -> ToolView {
    let verb = words(&call.tool).running.to_owned();
    ToolView {
        icon: "running",
        verb,
        meta: Some("being written".to_owned()),
        ..ToolView::default()
    }
}

fn subject(call: &ToolCall) -> String {
    let known = words(&call.tool).done != "Called";
    let text = match (known, call.title.is_empty()) {
        (true, false) => &call.title,
        (true, true) => ["path", "pattern", "command"]
            .into_iter()
            .find_map(|name| call.input[name].as_str())
            .unwrap_or_default(),
        (false, _) => &call.tool,
    };
    cut(text, 300).to_owned()
}

fn why(call: &ToolCall) -> Option<Why> {
    let verdict = call.verdict.as_ref()?;
    let rule = verdict.rule.clone();
    if rule.is_empty() && verdict.answered_by.is_none() {
        return None;
    }
    let verb = if verdict.action == "allow" { "Allowed by" } else { "Denied by" };
    Some(Why { verb, by: verdict.answered_by.clone(), rule })
}

/// A read that a rule let pass without a word is a line, and nothing to open.
fn quiet(view: &mut ToolView) {
    if view.error.is_none() && view.why.as_ref().is_some_and(|why| why.by.is_none()) {
        view.why = None;
    }
}

fn lines_read(meta: &Value) -> Option<String> {
    let line = |name: &str| meta[name].as_u64();
    let (from, to, total) = (line("lines_from")?, line("lines_to")?, line("lines_total")?);
    Some(match (from, to) {
        (0 | 1, to) if to == total => count(total, "line", "lines"),
        _ => format!("{from}–{to} of {total}"),
    })
}

fn notes(meta: &Value) -> Vec<String> {
    let list = |name: &str| {
        let names = meta[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.take(20).collect::<Vec<_>>().join(", ")
    };
    let mut notes = Vec::new();
    if let Some(why) = meta["unrecorded"].as_str() {
        notes.push(format!("What it changed was not recorded, and undo does not cover it: {why}."));
    }
    let lost = list("not_captured");
    if !lost.is_empty() {
        notes.push(format!("Cannot be undone: {lost}"));
    }
    let restored = list("protected_restored");
    if !restored.is_empty() {
        notes.push(format!("Put back, because commands may not change it: {restored}"));
    }
    let visits = meta["network"].as_array().map_or(&[][..], Vec::as_slice);
    let reached = visits.iter().filter(|it| it["connections"].as_u64() > Some(0));
    let reached: Vec<_> = reached.filter_map(|it| it["host"].as_str()).collect();
    if !reached.is_empty() {
        notes.push(format!("Reached over the network: {}", reached.join(", ")));
    }
    let refused = visits.iter().filter(|it| it["refused"].is_string());
    let refused: Vec<_> = refused.filter_map(|it| it["host"].as_str()).collect();
    if !refused.is_empty() {
        notes.push(format!("Not reached over the network: {}", refused.join(", ")));
    }
    let taken = list("taken_away");
    if !taken.is_empty() {
        notes.push(format!("Taken away, because git would run it outside the sandbox: {taken}"));
    }
    notes
}
