//! `todo_write`: the agent's list of what is to be done, written anew.

use serde_json::{Value, json};

use super::{Outcome, input};
use crate::domain::session::{TodoItem, TodoStatus};

/// Checks the list; who runs the call stores it.
pub fn run(input: Value) -> (Outcome, Option<Vec<TodoItem>>) {
    let todos = match input::parse::<input::TodoWrite>("todo_write", input) {
        Ok(list) => list.todos,
        Err(error) => return (Outcome { error: Some(error), ..Outcome::default() }, None),
    };
    let items: Vec<TodoItem> =
        todos.into_iter().map(|todo| TodoItem { text: todo.text, status: todo.status }).collect();
    let done = items.iter().filter(|item| item.status == TodoStatus::Done).count();
    let output = format!("The list has {} entries, {done} done.", items.len());
    let metadata = json!({ "todos": items, "done": done, "total": items.len() });
    (Outcome { output, error: None, title: String::new(), metadata }, Some(items))
}
