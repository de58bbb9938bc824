//! Who changed what while a command ran.
//!
//! A command is only known to have changed a file between two looks at the project. What another
//! session's tool changed in that time is not the command's. Where the commands of two sessions
//! run at the same time, a change in their common time may be either's, and is marked so.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{lock, rows::Author};
use crate::domain::{
    ids::{MessageId, SessionId},
    undo::FileState,
};

/// How far apart the kernel's times of files and ours may be.
const SLACK: Duration = Duration::from_millis(20);

/// The time from one look at a project to the next.
#[derive(Debug)]
struct Span {
    start: SystemTime,
    end: OnceLock<SystemTime>,
}

/// A command's time, and what others did in it.
#[derive(Debug)]
pub(super) struct Window {
    session: SessionId,
    message: MessageId,
    span: Arc<Span>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Files that other sessions changed with their tools, and how they left each, once known.
    touched: HashMap<String, Option<FileState>>,
    /// When commands of other sessions ran.
    others: Vec<Arc<Span>>,
    /// How commands of earlier messages of this session left files, which were noted in this time.
    earlier: HashMap<String, FileState>,
}

/// All open windows, by project.
#[derive(Default)]
pub(super) struct Windows(Mutex<HashMap<PathBuf, Project>>);

#[derive(Default)]
struct Project {
    open: Vec<Weak<Window>>,
    /// Files that a tool is about to change, or has just changed.
    unsettled: HashMap<String, SessionId>,
}

fn now() -> SystemTime {
    #[expect(clippy::disallowed_methods, reason = "compared with times that the kernel wrote")]
    SystemTime::now()
}

impl Windows {
    /// Begins the time of a command.
    pub fn open(&self, root: &Path, session: SessionId, message: MessageId) -> Arc<Window> {
        let mut projects = lock(&self.0);
        projects.retain(|_, project| {
            project.open.retain(|window| window.strong_count() > 0);
            !project.open.is_empty() || !project.unsettled.is_empty()
        });
        let project = projects.entry(root.to_owned()).or_default();
        let span = Arc::new(Span { start: now(), end: OnceLock::new() });
        let mut seen = Seen::default();
        let unsettled = project.unsettled.iter().filter(|(_, owner)| **owner != session);
        seen.touched.extend(unsettled.map(|(path, _)| (path.clone(), None)));
        for other in project.open.iter().filter_map(Weak::upgrade) {
            if other.session != session && other.span.end.get().is_none() {
                lock(&other.seen).others.push(span.clone());
                seen.others.push(other.span.clone());
            }
        }
        let window = Arc::new(Window { session, message, span, seen: Mutex::new(seen) });
        project.open.push(Arc::downgrade(&window));
        window
    }

    /// Says that a session's tool is about to change a file.
    pub fn touch(&self, root: &Path, session: SessionId, path: &str) {
        let mut projects = lock(&self.0);
        let project = projects.entry(root.to_owned()).or_default();
        project.unsettled.insert(path.to_owned(), session);
        project.tell(session, path, None);
    }

    /// Says that a session does not change a file after all.
    pub fn release(&self, root: &Path, session: SessionId, path: &str) {
        if let Some(project) = lock(&self.0).get_mut(root) {
            project.release(session, path);
        }
    }

    /// Says how a command of a message left files, to later commands of its session that run.
    pub fn noted(
        &self,
        root: &Path,
        (session, message): (SessionId, MessageId),
        left: &[(String, FileState)],
    ) {
        let projects = lock(&self.0);
        let open = projects.get(root).into_iter().flat_map(|project| &project.open);
        for window in open.filter_map(Weak::upgrade) {
            if window.session == session && window.message > message {
                lock(&window.seen).earlier.extend(left.iter().cloned());
            }
        }
    }

    /// Says how a session left a file.
    pub fn settle(&self, root: &Path, session: SessionId, path: &str, after: FileState) {
        let mut projects = lock(&self.0);
        let Some(project) = projects.get_mut(root) else { return };
        project.release(session, path);
        project.tell(session, path, Some(after));
    }
}

impl Project {
    fn release(&mut self, session: SessionId, path: &str) {
        if self.unsettled.get(path) == Some(&session) {
            self.unsettled.remove(path);
        }
    }

    fn tell(&self, session: SessionId, path: &str, after: Option<FileState>) {
        for window in self.open.iter().filter_map(Weak::upgrade) {
            if window.session != session {
                lock(&window.seen).touched.insert(path.to_owned(), after);
            }
        }
    }
}

impl Window {
    /// Ends the time of the command.
    pub fn close(&self) {
        let _ = self.span.end.set(now());
    }

    /// How commands of earlier messages left files while this one ran: what they did is theirs.
    pub fn earlier(&self) -> HashMap<String, FileState> {
        lock(&self.seen).earlier.clone()
    }

    /// Who left a file as it is; nobody of this session where another session's tool did.
    pub fn author(
        &self,
        path: &str,
        after: &FileState,
        changed: Option<(i64, u32)>,
    ) -> Option<Author> {
        let seen = lock(&self.seen);
        if let Some(theirs) = seen.touched.get(path) {
            return match theirs {
                Some(theirs) if !theirs.same(after) => Some(Author::Shared),
                _ => None,
            };
        }
        let at = changed.and_then(|(seconds, nanos)| {
            UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanos))
        });
        match seen.others.iter().any(|span| span.may_hold(at)) {
            true => Some(Author::Shared),
            false => Some(Author::Message),
        }
    }
}

impl Span {
    fn may_hold(&self, at: Option<SystemTime>) -> bool {
        at.is_none_or(|at| {
            at + SLACK >= self.start && self.end.get().is_none_or(|end| at <= *end + SLACK)
        })
    }
}
