//! Clones that run in the background, for a page that shows how they come along.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    Projects,
    adding::{AddError, New},
};
use crate::domain::ids::{ProjectId, UserId};

/// The longest that a clone in the background may take.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Clones of one person that run at the same time.
const AT_ONCE: usize = 3;
/// Ended clones that are remembered, of everybody.
const REMEMBERED: usize = 64;
/// The longest line of git's that is shown, in characters.
const LINE_MAX: usize = 200;

/// A line in which git says how far it is.
pub(super) struct Told<'a>(pub &'a str);

/// A clone, and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloning {
    /// The id that the project has once it is there.
    pub id: ProjectId,
    pub owner: UserId,
    pub url: String,
    pub name: String,
    pub progress: Progress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// With what git said last.
    Running(String),
    Done,
    /// Why, for the person.
    Failed(String),
}

/// The clones of this server, the newest last.
#[derive(Clone, Default)]
pub(super) struct Clones(Arc<Mutex<Vec<Cloning>>>);

impl Clones {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<Cloning>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, id: ProjectId, progress: Progress) {
        self.with(|all| {
            if let Some(one) = all.iter_mut().find(|one| one.id == id) {
                one.progress = progress;
            }
        });
    }

    /// Adds a clone, unless its owner has enough of them.
    fn begin(&self, cloning: Cloning) -> Result<(), AddError> {
        self.with(|all| {
            let running = |one: &Cloning| matches!(one.progress, Progress::Running(_));
            let own = all.iter().filter(|it| it.owner == cloning.owner && running(it)).count();
            if own >= AT_ONCE {
                return Err(AddError::Busy(own));
            }
            if all.len() >= REMEMBERED
                && let Some(oldest) = all.iter().position(|one| !running(one))
            {
                all.remove(oldest);
            }
            all.push(cloning);
            Ok(())
        })
    }
}

impl Projects {
    /// Starts to clone a repository, and does not wait for the end. What can be refused at once
    /// is refused here.
    pub async fn start_clone(
        &self,
        owner: UserId,
        url: String,
        name: &str,
    ) -> Result<ProjectId, AddError> {
        let shown = url.trim().to_owned();
        let checked = self.check(owner, New::Clone { url }, name).await?;
        let id = checked.id;
        self.clones.begin(Cloning {
            id,
            owner,
            url: shown,
            name: checked.name.clone().into(),
            progress: Progress::Running(String::new()),
        })?;
        let projects = self.clone();
        let work = async move {
            let told = |Told(line): Told<'_>| {
                let line = line.chars().take(LINE_MAX).collect();
                projects.clones.set(id, Progress::Running(line));
            };
            let ended = match projects.make(checked, PATIENCE, told).await {
                Ok(_) => Progress::Done,
                Err(err) => {
                    tracing::info!(project = %id, "clone: {err}");
                    Progress::Failed(err.to_string())
                }
            };
            projects.clones.set(id, ended);
        };
        tokio::spawn(work);
        Ok(id)
    }

    /// How a person's clone comes along. Nothing once it is forgotten, as after a restart.
    pub fn cloning(&self, owner: UserId, id: ProjectId) -> Option<Cloning> {
        let same = |one: &&Cloning| one.id == id && one.owner == owner;
        self.clones.with(|all| all.iter().find(same).cloned())
    }
}
