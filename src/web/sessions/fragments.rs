//! The pieces of a session's page that are also sent by themselves.
//!
//! Each is one template with one root, whose id says where it belongs.

use askama::Template;

use super::{
    side::{ChangedView, Context, Group, Waiting},
    view::{Article, Body, Content, Ending, PartView, TodoView},
};
use crate::web::{
    page::{Frame, Person},
    words::Sign,
};

macro_rules! fragments {
    ($($(#[$doc:meta])* $name:ident $path:literal { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Template)]
        #[template(path = $path)]
        pub struct $name<'a> {
            pub frame: &'a Frame,
            $(pub $field: $type,)*
        }
    )*};
}

fragments! {
    /// `#message-ID`
    ArticleFragment "sessions/article.html" { session_id: &'a str, article: &'a Article }
    /// `#part-ID`
    PartFragment "sessions/part.html" { session_id: &'a str, part: &'a PartView }
    /// `#timeline`
    TimelineFragment "sessions/timeline.html" {
        session_id: &'a str, earlier: Option<i64>, articles: &'a [Article],
    }
    /// What takes the place of the button that asks for it.
    MessagesFragment "sessions/messages.html" {
        session_id: &'a str, earlier: Option<i64>, articles: &'a [Article],
    }
    /// `#retry-part`
    RetryFragment "sessions/retry.html" {
        session_id: &'a str, reason: &'a str, until: String, seconds: i64, attempt: u32,
    }
    /// `#queue`
    QueueFragment "sessions/queue.html" { queue: &'a [Waiting] }
    /// `#composer-acts`
    ActsFragment "sessions/acts.html" { active: bool }
    /// `#session-status`
    StatusFragment "sessions/status.html" { sign: Sign }
    /// `#session-list`
    ListFragment "sessions/list.html" { session_id: &'a str, groups: &'a [Group] }
    /// `#fold-context`
    ContextFragment "sessions/context.html" { context: &'a Context }
    /// `#fold-todos`
    TodosFragment "sessions/todos.html" { todos: &'a [TodoView], done: usize }
    /// `#fold-changed`
    ChangedFragment "sessions/changed.html" {
        session_id: &'a str, changed: &'a [ChangedView], additions: u32, deletions: u32,
    }
    /// `#tray`
    TrayFragment "tray.html" { person: &'a Person }
    /// In the place of an ask, for whom answered it.
    AnsweredFragment "sessions/answered.html" { id: &'a str, said: &'a str, subject: &'a str }
}

/// `#session-delta`
#[derive(Template)]
#[template(path = "sessions/delta.html")]
pub struct DeltaFragment {
    pub additions: u32,
    pub deletions: u32,
}

/// Lines that a session has added and removed.
pub fn totals(changed: &[ChangedView]) -> (u32, u32) {
    let added = changed.iter().map(|file| file.additions).sum();
    (added, changed.iter().map(|file| file.deletions).sum())
}

/// How many of a list are done.
pub fn done(todos: &[TodoView]) -> usize {
    todos.iter().filter(|todo| todo.status == "done").count()
}
