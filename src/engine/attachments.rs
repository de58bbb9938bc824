//! Files that people give to a session: kept by their content, sent with a prompt, and gone with
//! the session.

use std::{io, path::Path, time::Duration};

use anyhow::Context as _;
use chrono::TimeDelta;

use super::{Engine, refused::Refused};
use crate::{
    adapters::blobs::Blobs,
    domain::{
        attachment::{Recognized, name, recognize},
        ids::{AttachmentId, SessionId},
        message::{FilePart, Part},
        undo::Hash,
    },
    store::{
        self, OwnedRow as _, attachments,
        entity::{attachment::Model as Attachment, session::Model as Session, user::Model as User},
    },
};

/// After this time a file that was sent with no prompt goes.
const UNSENT_FOR: TimeDelta = TimeDelta::days(1);

/// Where the content of attachments lies: not among what undo keeps, which has a sweep of its own.
pub struct Attachments {
    blobs: Blobs,
    /// Shared from before content is kept until its row is stored; alone while what no row has is
    /// removed.
    storing: tokio::sync::RwLock<()>,
}

/// A file as it came.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub name: String,
    pub content: Vec<u8>,
}

impl Attachments {
    pub fn below(data: &Path) -> Self {
        Self {
            blobs: Blobs::at(&data.join("attachments")),
            storing: tokio::sync::RwLock::default(),
        }
    }
}

/// Looks at files before anything is stored: whether they are few, small and of a kind that is
/// read. The error names the one that is not.
pub fn check(engine: &Engine, files: &[Incoming]) -> Result<Vec<Recognized>, Refused> {
    let limits = &engine.config.attachments;
    let wrong = |text: String| Refused::field("attachments", text);
    if files.len() > limits.per_prompt {
        return Err(wrong(format!("Attach at most {} files to a prompt.", limits.per_prompt)));
    }
    let look = |file: &Incoming| {
        let name = name(&file.name);
        if file.content.len() > limits.file_bytes() {
            return Err(wrong(format!("{name} is over {} MB.", limits.file_mb)));
        }
        recognize(&file.content).map_err(|why| wrong(format!("{name} {why}")))
    };
    files.iter().map(look).collect()
}

/// Gives files to a session.
pub async fn add(
    engine: &Engine,
    user: &User,
    session: &Session,
    files: Vec<Incoming>,
) -> Result<Vec<Attachment>, Refused> {
    let found = check(engine, &files)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    room(engine, session.id, files.len()).await?;
    let _storing = engine.attachments.storing.read().await;
    let blobs = engine.attachments.blobs.clone();
    let (files, hashes) = blocking(move || {
        let hashes: io::Result<Vec<Hash>> = files.iter().map(|it| blobs.put(&it.content)).collect();
        hashes.map(|hashes| (files, hashes))
    })
    .await
    .context("keeping a file")?;
    let now = engine.clock.now();
    let row = |((file, found), hash): ((&Incoming, Recognized), Hash)| Attachment {
        id: AttachmentId::mint(now, engine.entropy.as_ref()),
        session_id: session.id,
        user_id: Some(user.id),
        sha256: hash.to_string(),
        name: name(&file.name),
        mime: found.mime.to_owned(),
        kind: found.kind,
        size: i64::try_from(file.content.len()).unwrap_or(i64::MAX),
        created_at: now,
    };
    let rows: Vec<_> = files.iter().zip(found).zip(hashes).map(row).collect();
    attachments::create(&engine.db, rows.clone()).await?;
    Ok(rows)
}

/// The person's own attachments with these ids, as parts of a prompt in a session. One that was
/// given to another session is given to this one too, so that it stays when the other goes.
pub(super) async fn parts(
    engine: &Engine,
    user: &User,
    session: &Session,
    ids: &[AttachmentId],
) -> Result<Vec<Part>, Refused> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let limits = &engine.config.attachments;
    let wrong = |text: String| Refused::field("attachments", text);
    if ids.len() > limits.per_prompt {
        return Err(wrong(format!("Attach at most {} files to a prompt.", limits.per_prompt)));
    }
    let _storing = engine.attachments.storing.read().await;
    let mut rows: Vec<Attachment> = Vec::with_capacity(ids.len());
    let mut more = Vec::new();
    for id in ids {
        let found = Attachment::find_owned(&engine.db, user.id, *id).await?;
        let mut row = found.ok_or_else(|| wrong(format!("There is no attachment {id}.")))?;
        if row.session_id != session.id {
            let now = engine.clock.now();
            row.id = AttachmentId::mint(now, engine.entropy.as_ref());
            (row.session_id, row.user_id, row.created_at) = (session.id, Some(user.id), now);
            more.push(row.clone());
        }
        if !rows.iter().any(|it| it.id == row.id) {
            rows.push(row);
        }
    }
    room(engine, session.id, more.len()).await?;
    attachments::create(&engine.db, more).await?;
    let part = |row: Attachment| {
        Part::File(FilePart {
            attachment_id: row.id,
            name: row.name,
            mime: row.mime,
            kind: row.kind,
            size: row.size.unsigned_abs(),
        })
    };
    Ok(rows.into_iter().map(part).collect())
}

/// The content of a file.
pub async fn content(engine: &Engine, row: &Attachment) -> anyhow::Result<Vec<u8>> {
    let hash: Hash =
        row.sha256.parse().map_err(|_| anyhow::anyhow!("{} has no content", row.id))?;
    let blobs = engine.attachments.blobs.clone();
    Ok(blocking(move || blobs.get(hash)).await?)
}

/// Removes what was never sent, and content that no row has any more. Returns how many bytes.
pub(super) async fn sweep(engine: &Engine) -> anyhow::Result<u64> {
    let _alone = engine.attachments.storing.write().await;
    attachments::remove_unsent(&engine.db, engine.clock.now() - UNSENT_FOR).await?;
    let names = attachments::contents(&engine.db).await?;
    let in_use = names.iter().filter_map(|name| name.parse::<Hash>().ok()).collect();
    let blobs = engine.attachments.blobs.clone();
    Ok(blocking(move || blobs.remove_unused(&in_use, Duration::ZERO)).await?)
}

async fn room(engine: &Engine, session: SessionId, more: usize) -> Result<(), Refused> {
    if more == 0 {
        return Ok(());
    }
    let most = engine.config.attachments.per_session;
    let count = store::attachments::count(&engine.db, session).await?;
    if count + more as u64 > most as u64 {
        let text = format!("A session has at most {most} attachments. Begin a new session.");
        return Err(Refused::field("attachments", text));
    }
    Ok(())
}

/// Waits for the disk away from the threads that serve pages.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
