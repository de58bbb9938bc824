//! How a project ceases to be: its rows go, its folder stays.

use std::{sync::Arc, time::Duration};

use crate::{
    engine::{Engine, refused::Refused, snapshots::SnapshotsError, to_its_end},
    store::{self, DbErr, entity::project::Model as Project, projects},
};

/// What remains after a project was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The folder, with every file in it.
    pub path: String,
    /// How many sessions went with the project.
    pub sessions: u64,
}

/// How long is waited for runs that are at their end to be over.
const PATIENCE: Duration = Duration::from_secs(30);

/// What removing a project would keep, and what would go.
pub async fn kept(engine: &Engine, project: &Project) -> Result<Kept, DbErr> {
    let sessions = store::sessions::count(&engine.db, project.id).await?;
    Ok(Kept { path: project.path.clone(), sessions })
}

/// Removes a project with its sessions, and not one file of its folder.
///
/// It is refused while agents are at work. From that look on until the rows are gone nothing
/// begins in the project: who asks for something meanwhile waits, and finds it gone.
pub async fn remove(engine: &Arc<Engine>, project: &Project) -> Result<Kept, Refused> {
    let (engine, project) = (engine.clone(), project.clone());
    to_its_end(async move {
        let _leaving = engine.runs.leaving(project.id).await;
        let active = store::sessions::active_in(&engine.db, project.id).await?.len();
        if active > 0 {
            return Err(at_work(active));
        }
        let kept = kept(&engine, &project).await?;
        let gone = store::sessions::ids_of(&engine.db, project.id).await?;
        if gone.iter().any(|session| engine.snapshots.is_noting(*session)) {
            return Err(Refused::Conflict(SnapshotsError::Noting.to_string()));
        }
        // A run whose session is at rest may still have something to note, or take up a prompt
        // that waits.
        let over = async {
            for session in &gone {
                engine.runs.end(*session).await;
                engine.jobs.end(*session).await;
                engine.snapshots.noted(*session).await;
            }
        };
        if tokio::time::timeout(PATIENCE, over).await.is_err() {
            return Err(at_work(1));
        }
        projects::delete(&engine.db, project).await?;
        for session in gone {
            engine.forget(session).await;
        }
        let sweeper = engine.clone();
        tokio::spawn(async move { sweeper.sweep().await });
        Ok(kept)
    })
    .await
}

fn at_work(sessions: usize) -> Refused {
    Refused::Conflict(format!(
        "Agents are at work in {sessions} of its sessions. Stop them first, then remove the project."
    ))
}
