//! States of files as columns of a row.
//!
//! A state's kind is a word; a blob is there for a file whose content is kept, for a symbolic
//! link, whose target it is, and for a file that was only recognised (`large`). An after-image of
//! which another session may be the author has `shared:` in front of its kind.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        ids::{Entropy, MessageId, SessionId, SnapshotId},
        undo::{Content, FileState, Hash, Record},
    },
    store::entity::snapshot::Model as Snapshot,
};

const SHARED: &str = "shared:";

/// The columns of a state.
struct Columns {
    kind: &'static str,
    mode: Option<i32>,
    size: Option<i64>,
    blob: Option<String>,
}

impl From<FileState> for Columns {
    fn from(state: FileState) -> Self {
        let plain = |kind| Self { kind, mode: None, size: None, blob: None };
        match state {
            FileState::Absent => plain("absent"),
            FileState::Tree => plain("tree"),
            FileState::Special => plain("special"),
            FileState::Folder { mode } => {
                Self { mode: Some(mode.cast_signed()), ..plain("folder") }
            }
            FileState::Symlink { target } => {
                Self { blob: Some(target.to_string()), ..plain("symlink") }
            }
            FileState::File { mode, size, content } => Self {
                kind: if let Content::Seen(_) = content { "large" } else { "file" },
                mode: Some(mode.cast_signed()),
                size: Some(size.cast_signed()),
                blob: content.hash().map(|hash| hash.to_string()),
            },
        }
    }
}

/// Reads a state back. What does not make sense is a file whose content is not known, so that
/// nothing is ever restored from it.
fn state(kind: &str, mode: Option<i32>, size: Option<i64>, blob: Option<&str>) -> FileState {
    let mode = mode.unwrap_or_default().cast_unsigned();
    let size = size.unwrap_or_default().cast_unsigned();
    let hash = blob.and_then(|blob| blob.parse::<Hash>().ok());
    match (kind, hash) {
        ("absent", _) => FileState::Absent,
        ("tree", _) => FileState::Tree,
        ("special", _) => FileState::Special,
        ("folder", _) => FileState::Folder { mode },
        ("symlink", Some(target)) => FileState::Symlink { target },
        ("large", Some(hash)) => FileState::File { mode, size, content: Content::Seen(hash) },
        ("file", Some(hash)) => FileState::File { mode, size, content: Content::Kept(hash) },
        _ => FileState::File { mode, size, content: Content::Unknown },
    }
}

/// Who may have left a file as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    Message,
    /// The message, or a command of another session that ran at the same time.
    Shared,
}

/// A new row, as a message finds a file.
pub(super) struct NewRow<'a> {
    pub session: SessionId,
    pub message: MessageId,
    pub now: DateTime<Utc>,
    pub entropy: &'a dyn Entropy,
}

impl NewRow<'_> {
    pub fn of(&self, path: String, before: FileState) -> Snapshot {
        let before = Columns::from(before);
        Snapshot {
            id: SnapshotId::mint(self.now, self.entropy),
            session_id: self.session,
            message_id: self.message,
            path,
            before_kind: before.kind.to_owned(),
            before_mode: before.mode,
            before_size: before.size,
            before_blob: before.blob,
            after_kind: None,
            after_mode: None,
            after_size: None,
            after_blob: None,
            created_at: self.now,
        }
    }
}

/// Fills in how a message left a file. Once shared, always shared.
pub(super) fn set_after(row: &mut Snapshot, after: FileState, author: Author) {
    let shared = author == Author::Shared || is_shared(row);
    let after = Columns::from(after);
    let start = if shared { SHARED } else { "" };
    row.after_kind = Some(format!("{start}{}", after.kind));
    (row.after_mode, row.after_size, row.after_blob) = (after.mode, after.size, after.blob);
}

pub(super) fn is_shared(row: &Snapshot) -> bool {
    row.after_kind.as_ref().is_some_and(|kind| kind.starts_with(SHARED))
}

pub(super) fn before(row: &Snapshot) -> FileState {
    state(&row.before_kind, row.before_mode, row.before_size, row.before_blob.as_deref())
}

pub(super) fn after(row: &Snapshot) -> Option<FileState> {
    let kind = row.after_kind.as_deref()?;
    let kind = kind.strip_prefix(SHARED).unwrap_or(kind);
    Some(state(kind, row.after_mode, row.after_size, row.after_blob.as_deref()))
}

pub(super) fn record(row: &Snapshot) -> Record {
    Record {
        path: row.path.clone(),
        before: before(row),
        after: after(row),
        shared: is_shared(row),
    }
}
