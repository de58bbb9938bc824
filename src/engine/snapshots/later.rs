//! What later messages of a session changed while a command of an earlier one went on.
//!
//! The states of a file follow one another: what the command did before a later message touched
//! the file is the command's, and ends where that message found it; what came after is put to that
//! message.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{
    Snapshots, SnapshotsError,
    rows::{self, Author},
};
use crate::{
    domain::{
        ids::{MessageId, SessionId},
        undo::FileState,
    },
    store::{self, entity::snapshot::Model as Snapshot},
};

/// The rows of later messages.
#[derive(Default)]
pub(super) struct Later {
    by_path: HashMap<String, Vec<Snapshot>>,
    /// When the command began.
    pub since: Option<DateTime<Utc>>,
    /// Rows that are to be stored anew.
    pub changed: Vec<Snapshot>,
}

impl Later {
    pub async fn read(
        snapshots: &Snapshots,
        session: SessionId,
        message: MessageId,
        since: (i64, u32),
    ) -> Result<Self, SnapshotsError> {
        let since = DateTime::from_timestamp(since.0, since.1);
        let rows = store::snapshots::of_session(&snapshots.parts.db, session).await?;
        let mut by_path = HashMap::<String, Vec<Snapshot>>::new();
        // Ids grow with time.
        for row in rows.into_iter().filter(|row| row.message_id > message) {
            by_path.entry(row.path.clone()).or_default().push(row);
        }
        Ok(Self { by_path, since, changed: Vec::new() })
    }

    /// How a command left a file, that found it as `before` and after which it is as `after`.
    /// `None` where later messages did all of it.
    pub fn up_to(&mut self, path: &str, before: FileState, after: FileState) -> Option<FileState> {
        let Some((first, last)) =
            self.by_path.get(path).and_then(|rows| Some((rows.first()?, rows.last()?)))
        else {
            return Some(after);
        };
        if rows::after(last).is_some_and(|theirs| !theirs.same(&after)) {
            let mut last = last.clone();
            rows::set_after(&mut last, after, Author::Message);
            self.changed.push(last);
        }
        let found = rows::before(first);
        (!found.same(&before)).then_some(found)
    }
}
