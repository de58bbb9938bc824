//! Undo, redo, and dropping what was undone.
//!
//! First the files are restored, then the messages are marked. Restoring what is restored changes
//! nothing, so after a crash between the two the same undo is asked for again and ends well.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
};

use super::{Snapshots, SnapshotsError, blocking, restore, rows, tree::Tree};
use crate::{
    adapters::blobs::Blobs,
    domain::{
        ids::{MessageId, SessionId},
        session::Summary,
        undo::{self, Conflict, Content, Direction, FileState, Force, Now, Plan, Record, path},
    },
    engine::tools::files::Held,
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session},
        journal::{SessionChange, Stored, Write},
    },
};

/// What an undo or a redo has done.
#[derive(Debug, Default)]
pub struct Undone {
    /// Files and folders that are as they were, and were not before.
    pub restored: Vec<String>,
    /// Folders that were left as they are, because of what else is in them.
    pub left: Vec<String>,
    /// Where there are any and there was no force, nothing was changed at all. With force, those
    /// that could not be restored in spite of it.
    pub conflicts: Vec<Conflict>,
    /// The messages that are now undone, or no longer.
    pub reverted: Vec<MessageId>,
    /// The changes of the session, for those who watch it.
    pub stored: Vec<Stored>,
}

impl Snapshots {
    /// Undoes a message and all after it.
    pub async fn undo(
        &self,
        session: &Session,
        root: &Path,
        from: &Message,
        force: Force,
    ) -> Result<Undone, SnapshotsError> {
        if from.session_id != session.id {
            return Err(SnapshotsError::Gone);
        }
        let _turn = self.parts.reverting.lock().await;
        self.must_rest(session.id).await?;
        let db = &self.parts.db;
        let mut messages = store::messages::from_position(db, session.id, from.position).await?;
        messages.retain(|message| message.reverted_at.is_none());
        self.revert(Direction::Undo, session.id, root, messages, force).await
    }

    /// Brings back everything that is undone.
    pub async fn redo(
        &self,
        session: &Session,
        root: &Path,
        force: Force,
    ) -> Result<Undone, SnapshotsError> {
        let _turn = self.parts.reverting.lock().await;
        self.must_rest(session.id).await?;
        let messages = self.reverted(session.id).await?;
        self.revert(Direction::Redo, session.id, root, messages, force).await
    }

    /// Removes the undone messages of a session for good, because it goes on without them.
    pub async fn drop_reverted(
        &self,
        session: SessionId,
    ) -> Result<Vec<MessageId>, SnapshotsError> {
        let _turn = self.parts.reverting.lock().await;
        let reverted: Vec<MessageId> =
            self.reverted(session).await?.into_iter().map(|message| message.id).collect();
        if !reverted.is_empty() {
            store::messages::delete(&self.parts.db, reverted.clone()).await?;
        }
        Ok(reverted)
    }

    async fn reverted(&self, session: SessionId) -> Result<Vec<Message>, SnapshotsError> {
        let all = store::messages::from_position(&self.parts.db, session, i64::MIN).await?;
        Ok(all.into_iter().filter(|message| message.reverted_at.is_some()).collect())
    }

    /// Fails while an agent is at work, whatever the caller believes.
    async fn must_rest(&self, session: SessionId) -> Result<(), SnapshotsError> {
        match store::sessions::with_project(&self.parts.db, session).await? {
            None => Err(SnapshotsError::Gone),
            Some((session, _)) if session.status.is_active() => Err(SnapshotsError::Running),
            Some(_) if self.is_noting(session) => Err(SnapshotsError::Noting),
            Some(_) => Ok(()),
        }
    }

    async fn revert(
        &self,
        direction: Direction,
        session: SessionId,
        root: &Path,
        messages: Vec<Message>,
        force: Force,
    ) -> Result<Undone, SnapshotsError> {
        if messages.is_empty() {
            return Ok(Undone::default());
        }
        let places: HashMap<MessageId, i64> =
            messages.iter().map(|it| (it.id, it.position)).collect();
        let ids = messages.iter().map(|it| it.id).collect();
        let mut rows = store::snapshots::of_messages(&self.parts.db, ids).await?;
        rows.sort_by_key(|row| places.get(&row.message_id).copied());
        let records: Vec<Record> = rows.iter().map(rows::record).collect();

        let held = self.hold(root, &records).await;
        let work = Work { root: root.to_owned(), blobs: self.parts.blobs.clone(), records };
        let done = blocking(move || {
            let plan = work.plan(direction, force)?;
            if force == Force::Overwrite || plan.conflicts.is_empty() {
                let tree = Tree::open(&work.root)?;
                return Ok((restore::apply(&tree, &work.blobs, &plan.restore), plan, Acted::Yes));
            }
            Ok((Ok(()), plan, Acted::No))
        })
        .await?;
        drop(held);
        let (restored, plan, acted) = done;
        for one in &plan.restore {
            self.parts.windows.settle(root, session, &one.path, one.to);
        }
        restored?;
        let mut undone = Undone { left: plan.left, conflicts: plan.conflicts, ..Undone::default() };
        if acted == Acted::No {
            return Ok(undone);
        }
        undone.restored = plan.restore.into_iter().map(|restore| restore.path).collect();
        undone.reverted = messages.iter().map(|message| message.id).collect();
        undone.stored = self.mark(direction, session, messages).await?;
        self.parts.files.forget(session);
        Ok(undone)
    }

    /// Locks all files of the records against tools, in an order that all keep to.
    async fn hold(&self, root: &Path, records: &[Record]) -> Vec<Held> {
        use std::os::unix::ffi::OsStringExt as _;
        let real =
            |record: &Record| root.join(std::ffi::OsString::from_vec(path::decode(&record.path)));
        self.parts.files.lock_all(records.iter().map(real)).await
    }

    /// Marks messages as undone, or as not, and stores which files the session has changed then.
    async fn mark(
        &self,
        direction: Direction,
        session: SessionId,
        messages: Vec<Message>,
    ) -> Result<Vec<Stored>, SnapshotsError> {
        let now = self.parts.clock.now();
        let ids: BTreeSet<MessageId> = messages.iter().map(|message| message.id).collect();
        let stays = |message: &Message| match direction {
            Direction::Undo => message.reverted_at.is_none() && !ids.contains(&message.id),
            Direction::Redo => message.reverted_at.is_none() || ids.contains(&message.id),
        };
        let files = self.load(session, stays).await?;
        let files = self.counted(files).await?;
        let Some((row, _)) = store::sessions::with_project(&self.parts.db, session).await? else {
            return Err(SnapshotsError::Gone);
        };
        let summary = serde_json::from_value(row.summary)
            .unwrap_or(Summary { version: 1, ..Summary::default() });
        let summary = serde_json::to_value(Summary { files, ..summary }).ok();
        let reverted_at = (direction == Direction::Undo).then_some(now);
        let mut writes: Vec<Write> = messages
            .into_iter()
            .map(|message| Write::Message(Box::new(Message { reverted_at, ..message })))
            .collect();
        let change = SessionChange { summary, ..SessionChange::default() };
        writes.push(Write::Session(Box::new(change)));
        let stored = store::journal::record(&self.parts.db, session, now, writes).await?;
        self.parts.nets.forget(session);
        Ok(stored)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Acted {
    Yes,
    No,
}

/// What is to be compared with the files as they are.
struct Work {
    root: PathBuf,
    blobs: Blobs,
    records: Vec<Record>,
}

impl Work {
    fn plan(&self, direction: Direction, force: Force) -> io::Result<Plan> {
        let tree = Tree::open(&self.root)?;
        let paths: BTreeSet<&str> = self.records.iter().map(|it| it.path.as_str()).collect();
        let above: BTreeSet<&str> = paths.iter().flat_map(|path| path::ancestors(path)).collect();
        let mut now = Now::default();
        for path in &paths {
            let bytes = path::decode(path);
            let state = tree.state(&bytes, &self.blobs)?;
            if let FileState::Folder { .. } = state {
                let child = |name: Vec<u8>| path::encode(&[&*bytes, &*name].join(&b'/'));
                let children = tree.names(&bytes)?.into_iter().map(child).collect();
                now.children.insert((*path).to_owned(), children);
            }
            now.states.insert((*path).to_owned(), state);
        }
        for path in above.difference(&paths) {
            let state = tree.state(&path::decode(path), &self.blobs)?;
            now.states.insert((*path).to_owned(), state);
        }
        let records: Vec<Record> = self.records.iter().map(|it| self.checked(it)).collect();
        Ok(undo::plan(direction, &records, &now, force))
    }

    /// The record, with content that is no longer there only recognised.
    fn checked(&self, record: &Record) -> Record {
        let check = |state: FileState| match state {
            FileState::File { mode, size, content: Content::Kept(hash) }
                if self.blobs.size(hash) != Some(size) =>
            {
                FileState::File { mode, size, content: Content::Seen(hash) }
            }
            state => state,
        };
        let (before, after) = (check(record.before), record.after.map(check));
        Record { before, after, ..record.clone() }
    }
}
