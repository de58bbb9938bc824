//! Live fan-out: what happens in a session, to everybody who watches it.
//!
//! What is stored is sent with its `seq`, and whoever missed it finds it in the database. Text
//! that streams is not stored piece by piece: the hub holds each open part as it stands, and
//! whoever connects is given that, and then the pieces from exactly there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, Utc};
use tokio::sync::broadcast;

use crate::{
    domain::ids::{MessageId, PartId, SessionId, UserId},
    store::{entity::part, journal::Stored},
};

/// Something that watchers are told.
#[derive(Clone, Debug)]
pub enum Event {
    /// A stored change.
    Stored(Stored),
    /// A part has opened, or starts again from nothing: whole, as it stands.
    Opened(OpenPart),
    /// More text of an open part. `at` counts Unicode characters from its start.
    Delta { part: PartId, message: MessageId, at: usize, text: String },
    /// An open part came to nothing and is not there any more.
    Withdrawn { part: PartId },
    /// The end of what a command has said so far; it takes the place of what was told before.
    Output { part: PartId, text: Arc<str> },
    /// The model is asked again later; `None` when it is being asked again.
    Retry(Option<Retry>),
    /// Rows are gone, so what was seen before no longer holds: read the session again.
    Resync,
}

/// A part that is still growing.
#[derive(Clone, Debug)]
pub struct OpenPart {
    /// The row that it will be, without its text.
    pub row: part::Model,
    pub text: String,
    /// The length of `text` in Unicode characters.
    pub chars: usize,
}

/// A failed try, and when the next one begins.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Which try failed, from 1.
    pub attempt: u32,
    pub next_at: DateTime<Utc>,
    pub reason: String,
}

/// Events that a slow watcher may be behind before it has to catch up from the database.
const BACKLOG: usize = 1024;

/// All that is being watched or run.
#[derive(Default)]
pub struct Hub {
    sessions: Mutex<HashMap<SessionId, Arc<Channel>>>,
    /// People whose rights have changed; their streams look again whether they may go on.
    changed: Mutex<Option<broadcast::Sender<UserId>>>,
}

struct Channel {
    live: Mutex<Live>,
    sender: broadcast::Sender<Arc<Event>>,
}

#[derive(Default)]
struct Live {
    open: Vec<OpenPart>,
    /// What commands have said so far.
    outputs: HashMap<PartId, Arc<str>>,
    retry: Option<Retry>,
}

impl Live {
    fn outputs(&self) -> Vec<(PartId, Arc<str>)> {
        self.outputs.iter().map(|(part, text)| (*part, text.clone())).collect()
    }
}

/// What a watcher is given: how things stand, and what comes from exactly there.
pub struct Watch {
    pub open: Vec<OpenPart>,
    pub outputs: Vec<(PartId, Arc<str>)>,
    pub retry: Option<Retry>,
    pub events: broadcast::Receiver<Arc<Event>>,
}

impl Hub {
    /// Starts to watch a session.
    pub fn watch(&self, session: SessionId) -> Watch {
        let channel = self.channel(session);
        let live = lock(&channel.live);
        Watch {
            open: live.open.clone(),
            outputs: live.outputs(),
            retry: live.retry.clone(),
            events: channel.sender.subscribe(),
        }
    }

    /// A place to tell what happens in a session.
    pub fn teller(&self, session: SessionId) -> Teller {
        Teller(self.channel(session))
    }

    /// Tells of stored changes, in their order.
    pub fn stored(&self, session: SessionId, changes: Vec<Stored>) {
        if let Some(channel) = self.existing(session) {
            Teller(channel).stored(changes);
        }
    }

    /// What commands of a session have said so far.
    pub fn outputs(&self, session: SessionId) -> Vec<(PartId, Arc<str>)> {
        let Some(channel) = self.existing(session) else { return Vec::new() };
        lock(&channel.live).outputs()
    }

    /// Tells everybody who watches a session to read it again.
    pub fn resync(&self, session: SessionId) {
        if let Some(channel) = self.existing(session) {
            Teller(channel).send(Event::Resync);
        }
    }

    /// Tells all streams of a person to look again whether they may go on.
    pub fn rights_changed(&self, user: UserId) {
        if let Some(sender) = &*lock(&self.changed) {
            let _ = sender.send(user);
        }
    }

    /// Hears whose rights have changed.
    pub fn rights(&self) -> broadcast::Receiver<UserId> {
        let mut changed = lock(&self.changed);
        changed.get_or_insert_with(|| broadcast::channel(64).0).subscribe()
    }

    /// Forgets sessions that nobody watches and nothing runs in.
    pub fn tidy(&self) {
        lock(&self.sessions).retain(|_, channel| {
            channel.sender.receiver_count() > 0 || Arc::strong_count(channel) > 1
        });
    }

    fn channel(&self, session: SessionId) -> Arc<Channel> {
        let mut sessions = lock(&self.sessions);
        let channel = sessions.entry(session).or_insert_with(|| {
            let (sender, _) = broadcast::channel(BACKLOG);
            Arc::new(Channel { live: Mutex::default(), sender })
        });
        channel.clone()
    }

    fn existing(&self, session: SessionId) -> Option<Arc<Channel>> {
        lock(&self.sessions).get(&session).cloned()
    }
}

/// Tells what happens in one session.
pub struct Teller(Arc<Channel>);

impl Teller {
    /// Opens a part, or starts an open one again from nothing.
    pub fn open(&self, row: part::Model) {
        let part = OpenPart { row, text: String::new(), chars: 0 };
        let mut live = lock(&self.0.live);
        live.open.retain(|open| open.row.id != part.row.id);
        live.open.push(part.clone());
        let _ = self.0.sender.send(Arc::new(Event::Opened(part)));
    }

    /// Appends to an open part.
    pub fn append(&self, part: PartId, text: String) {
        let mut live = lock(&self.0.live);
        let Some(open) = live.open.iter_mut().find(|open| open.row.id == part) else { return };
        let at = open.chars;
        open.chars += text.chars().count();
        open.text.push_str(&text);
        let message = open.row.message_id;
        let _ = self.0.sender.send(Arc::new(Event::Delta { part, message, at, text }));
    }

    /// Takes an open part away, as if it had never been.
    pub fn withdraw(&self, part: PartId) {
        let mut live = lock(&self.0.live);
        live.open.retain(|open| open.row.id != part);
        let _ = self.0.sender.send(Arc::new(Event::Withdrawn { part }));
    }

    /// Tells what a command has said so far, bounded by who tells it.
    pub fn output(&self, part: PartId, text: &str) {
        let text: Arc<str> = text.into();
        let mut live = lock(&self.0.live);
        live.outputs.insert(part, text.clone());
        let _ = self.0.sender.send(Arc::new(Event::Output { part, text }));
    }

    /// A command is over: what it said is stored with its call.
    pub fn hush(&self, part: PartId) {
        lock(&self.0.live).outputs.remove(&part);
    }

    /// Tells of stored changes, in their order. A part that is stored is no longer open.
    pub fn stored(&self, changes: Vec<Stored>) {
        use crate::store::journal::Write;
        let mut live = lock(&self.0.live);
        for change in changes {
            if let Write::Part(row) = &change.write {
                live.open.retain(|open| open.row.id != row.id);
            }
            let _ = self.0.sender.send(Arc::new(Event::Stored(change)));
        }
    }

    /// Tells of a failed try, or that the next one has begun.
    pub fn retry(&self, retry: Option<Retry>) {
        let mut live = lock(&self.0.live);
        live.retry.clone_from(&retry);
        let _ = self.0.sender.send(Arc::new(Event::Retry(retry)));
    }

    fn send(&self, event: Event) {
        let _live = lock(&self.0.live);
        let _ = self.0.sender.send(Arc::new(event));
    }
}

/// A panic elsewhere does not make what is held here wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
