//! What a session changed, undone and brought back.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{
    Engine,
    refused::Refused,
    snapshots::{FileDiff, SnapshotsError, Undone},
    to_its_end,
};
use crate::{
    domain::{ids::MessageId, undo::Force},
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session},
    },
};

/// How long whoever asks is kept waiting for what is still being noted.
const PATIENCE: Duration = Duration::from_secs(2);

/// Undoes a prompt, its answer, and all after it.
///
/// With conflicts and without force nothing is changed, and the conflicts are told.
pub async fn undo(
    engine: &Arc<Engine>,
    session: &Session,
    from: &Message,
    force: Force,
) -> Result<Undone, Refused> {
    let (engine, session, from) = (engine.clone(), session.clone(), from.clone());
    to_its_end(async move {
        let _stays = engine.runs.stays(session.project_id).await;
        let _moment = engine.runs.moment(session.id).await;
        let root = at_rest(&engine, &session).await?;
        let undone = engine.snapshots.undo(&session, &root, &from, force).await;
        Ok(told(&engine, &session, undone.map_err(refused)?))
    })
    .await
}

/// Brings back what was undone.
pub async fn redo(
    engine: &Arc<Engine>,
    session: &Session,
    force: Force,
) -> Result<Undone, Refused> {
    let (engine, session) = (engine.clone(), session.clone());
    to_its_end(async move {
        let _stays = engine.runs.stays(session.project_id).await;
        let _moment = engine.runs.moment(session.id).await;
        let root = at_rest(&engine, &session).await?;
        let undone = engine.snapshots.redo(&session, &root, force).await;
        Ok(told(&engine, &session, undone.map_err(refused)?))
    })
    .await
}

/// What a session, or one of its messages, changed.
pub async fn diff(
    engine: &Engine,
    session: &Session,
    message: Option<MessageId>,
) -> Result<Vec<FileDiff>, Refused> {
    // While a run goes on there is always more to come, and what is there is shown.
    if !engine.runs.is_running(session.id) {
        noted(engine, session).await?;
    }
    engine.snapshots.diff(session.id, message).await.map_err(refused)
}

/// Waits a moment for what is still being noted after the last run.
async fn noted(engine: &Engine, session: &Session) -> Result<(), Refused> {
    let noted = tokio::time::timeout(PATIENCE, engine.snapshots.noted(session.id)).await;
    noted.map_err(|_| refused(SnapshotsError::Noting))
}

/// The project's folder, if nothing runs in the session.
async fn at_rest(engine: &Engine, session: &Session) -> Result<PathBuf, Refused> {
    if engine.runs.is_running(session.id) {
        return Err(refused(SnapshotsError::Running));
    }
    if !engine.jobs.running(session.id).is_empty() {
        return Err(Refused::Conflict(
            "A command of this session runs in the background and may change files. Stop it first."
                .into(),
        ));
    }
    noted(engine, session).await?;
    let found = store::sessions::with_project(&engine.db, session.id).await?;
    let (_, project) = found.ok_or(Refused::Gone)?;
    Ok(PathBuf::from(project.path))
}

/// Tells who watches.
fn told(engine: &Engine, session: &Session, mut undone: Undone) -> Undone {
    engine.hub.stored(session.id, std::mem::take(&mut undone.stored));
    undone
}

fn refused(err: SnapshotsError) -> Refused {
    match err {
        SnapshotsError::Running | SnapshotsError::Noting => Refused::Conflict(err.to_string()),
        SnapshotsError::Gone => Refused::Gone,
        err => Refused::Inside(err.into()),
    }
}
