//! Projects: how folders become some, and how they cease to be.

mod adding;
mod clones;
mod removing;

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    adapters::git::{Git, GitError, GitStatus},
    config::Config,
    domain::{
        clock::Clock,
        ids::Entropy,
        project::{self, Refusal},
        trust::Trust,
    },
    engine::tree::{self, TreeError},
    store::{Db, DbErr, entity::project::Model as Project, projects},
};

pub use adding::{AddError, New};
pub use clones::{Cloning, Progress};
pub use removing::{Kept, kept, remove};

/// What projects are made and looked at with. Cheap to clone.
#[derive(Clone)]
pub struct Projects {
    db: Db,
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    git: Git,
    /// Held from the last look at where projects are until the new row is stored.
    adding: Arc<tokio::sync::Mutex<()>>,
    clones: clones::Clones,
}

/// How the work tree of a project stands.
#[derive(Clone, Debug)]
pub struct Standing {
    pub status: GitStatus,
    pub last_commit: Option<Commit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The first characters of its name.
    pub short: String,
    /// The first line of its message.
    pub subject: String,
}

/// Why it cannot be said how a work tree stands.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("The folder of this project is not there any more.")]
    Gone,
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The longest that is waited for a look at a work tree.
const LOOK_PATIENCE: Duration = Duration::from_secs(10);

impl Projects {
    /// Removes what an earlier server has left of clones that it did not finish.
    pub fn new(
        db: Db,
        config: Arc<Config>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        git: Git,
    ) -> Self {
        adding::sweep(&config.workspaces());
        let adding = Arc::default();
        Self { db, config, clock, entropy, git, adding, clones: clones::Clones::default() }
    }

    pub async fn rename(&self, project: Project, name: &str) -> Result<Project, RenameError> {
        let name = project::name(name)?;
        Ok(projects::rename(&self.db, project, name.into(), self.clock.now()).await?)
    }

    pub async fn set_trust(&self, project: Project, trust: Trust) -> Result<Project, DbErr> {
        projects::set_trust(&self.db, project, trust, self.clock.now()).await
    }

    /// Notes that somebody looks at a project, with what its folder says of itself by now.
    pub async fn opened(&self, project: Project) -> Result<Project, DbErr> {
        let found = match tree::instructions(&project.path).await {
            Ok(found) => found,
            Err(TreeError::ProjectGone) => Vec::new(),
            Err(err) => {
                tracing::warn!(project = %project.id, "instructions: {err}");
                return projects::opened(&self.db, project, self.clock.now()).await;
            }
        };
        if instructions(&project) == found {
            return projects::opened(&self.db, project, self.clock.now()).await;
        }
        let noticed = projects::Noticed { instructions: found, at: self.clock.now() };
        projects::noticed(&self.db, project, noticed).await
    }

    /// How the work tree stands; nothing where the folder has no repository.
    pub async fn standing(&self, project: &Project) -> Result<Option<Standing>, LookError> {
        let root = Path::new(&project.path);
        if !root.is_dir() {
            return Err(LookError::Gone);
        }
        let look = async {
            let (status, last_commit) = tokio::join!(self.git.status(root), self.last_commit(root));
            let Some(status) = status? else { return Ok(None) };
            Ok(Some(Standing { status, last_commit }))
        };
        match tokio::time::timeout(LOOK_PATIENCE, look).await {
            Ok(done) => done,
            Err(_) => Err(GitError::TimedOut.into()),
        }
    }

    /// The commit that is checked out; nothing before the first one.
    async fn last_commit(&self, root: &Path) -> Option<Commit> {
        if !crate::adapters::git::is_repository(root) {
            return None;
        }
        let arguments = ["log", "-1", "--format=%h%x00%s"].map(str::to_owned).into();
        let answer = self.git.look(root, arguments).await.ok()?;
        let text = String::from_utf8_lossy(&answer.output);
        let (short, subject) = text.trim_end().split_once('\0')?;
        let subject = subject.chars().take(200).collect();
        Some(Commit { short: short.to_owned(), subject })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] DbErr),
}

/// The instruction files of a project, as they were found last.
pub fn instructions(project: &Project) -> Vec<String> {
    serde_json::from_value(project.instructions.clone()).unwrap_or_default()
}
