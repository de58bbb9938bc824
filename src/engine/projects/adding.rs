//! The three ways in which a folder becomes a project.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Projects, clones::Told};
use crate::{
    adapters::git::{self, GitError},
    domain::{
        ids::{ProjectId, UserId},
        name::Name,
        project::{self, CloneUrl, Places, Refusal},
        trust::Trust,
    },
    engine::tree,
    store::{
        DbErr,
        audit::{self, Deed},
        entity::project::Model as Project,
        projects,
    },
};

/// Where a new project comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum New {
    /// A folder that is already on the server.
    Folder { path: String },
    /// A repository that is cloned into the workspaces.
    Clone { url: String },
    /// A new repository in the workspaces.
    Empty,
}

/// Why a project was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{0} of your repositories are being cloned already. Wait until one of them is done.")]
    Busy(usize),
    #[error("The server could not make the folder of the project.")]
    Folder(#[from] io::Error),
    #[error("The project could not be stored.")]
    Store(#[from] DbErr),
}

/// What a folder is called while it is not a project yet.
const UNFINISHED: &str = "part";

/// A new project that has been found to be in order, as far as that can be known before git runs.
pub(super) struct Checked {
    pub id: ProjectId,
    pub owner: UserId,
    pub name: Name,
    pub from: Source,
}

/// Where a checked project comes from.
pub(super) enum Source {
    Folder(PathBuf),
    Clone(CloneUrl),
    Empty,
}

impl Projects {
    /// Adds a project, and waits until that is done. An empty name takes that of the folder or
    /// the repository.
    ///
    /// A clone ends after `patience`. It goes on in the background should the caller give up
    /// before, so that it always ends with a project or with nothing left of it.
    pub async fn add(
        &self,
        owner: UserId,
        new: New,
        name: &str,
        patience: Duration,
    ) -> Result<Project, AddError> {
        let checked = self.check(owner, new, name).await?;
        let projects = self.clone();
        let work = async move { projects.make(checked, patience, |_| ()).await };
        tokio::spawn(work).await.unwrap_or_else(|err| Err(io::Error::other(err).into()))
    }

    /// Refuses what can be refused at once.
    pub(super) async fn check(
        &self,
        owner: UserId,
        new: New,
        name: &str,
    ) -> Result<Checked, AddError> {
        let suggested = match &new {
            New::Folder { path } => project::suggested_name(path),
            New::Clone { url } => project::suggested_name(url),
            New::Empty => String::new(),
        };
        let name = if name.trim().is_empty() { &suggested } else { name };
        let from = match new {
            New::Folder { path } => {
                let asked = PathBuf::from(path.trim());
                Source::Folder(self.folder(&self.places(None).await?, &asked)?)
            }
            New::Clone { url } => {
                let mut url = CloneUrl::parse(&url).map_err(Refusal::from)?;
                if let CloneUrl::Folder(asked) = &url {
                    // Somebody's own projects may be cloned, but nobody else's.
                    let real = self.folder(&self.places(Some(owner)).await?, asked)?;
                    url = CloneUrl::Folder(real);
                }
                Source::Clone(url)
            }
            New::Empty => Source::Empty,
        };
        let name = project::name(name)?;
        let id = ProjectId::mint(self.clock.now(), self.entropy.as_ref());
        Ok(Checked { id, owner, name, from })
    }

    /// Makes a checked project: its folder, then its row. What was made is removed on failure.
    pub(super) async fn make(
        &self,
        checked: Checked,
        patience: Duration,
        told: impl FnMut(Told<'_>) + Send,
    ) -> Result<Project, AddError> {
        let made = match &checked.from {
            Source::Folder(real) => return self.store(&checked, real).await,
            from => {
                let folder = self.workspace(checked.id).await?;
                self.fill(&folder, from, patience, told).await?;
                folder
            }
        };
        let stored = self.store(&checked, &made).await;
        if stored.is_err() {
            let _ = fs::remove_dir_all(&made);
        }
        stored
    }

    /// Where a new project of our own goes: its path says nothing but its id.
    async fn workspace(&self, id: ProjectId) -> Result<PathBuf, AddError> {
        let workspaces = self.config.workspaces();
        fs::create_dir_all(&workspaces)?;
        let folder = workspaces.canonicalize()?.join(id.to_string());
        self.places(None).await?.judge_own(&folder)?;
        Ok(folder)
    }

    /// Runs git beside the place, and puts the result there when it is whole.
    async fn fill(
        &self,
        folder: &Path,
        from: &Source,
        patience: Duration,
        mut told: impl FnMut(Told<'_>) + Send,
    ) -> Result<(), AddError> {
        let part = folder.with_extension(UNFINISHED);
        let filled = match from {
            Source::Clone(url) => {
                let (url, roots) = match url {
                    CloneUrl::Remote(url) => (url.clone(), Vec::new()),
                    CloneUrl::Folder(real) => (real.display().to_string(), vec![real.clone()]),
                };
                let clone = git::Clone { url: &url, to: &part, roots: &roots, timeout: patience };
                self.git.clone(clone, |line| told(Told(line))).await
            }
            Source::Empty | Source::Folder(_) => self.git.init(&part).await,
        };
        let moved = match filled {
            Ok(()) => fs::rename(&part, folder).map_err(AddError::from),
            Err(err) => Err(err.into()),
        };
        if moved.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        moved
    }

    /// Looks once more whether the folder is free, and stores the project.
    async fn store(&self, checked: &Checked, real: &Path) -> Result<Project, AddError> {
        let path = real.to_str().ok_or(Refusal::NotUtf8)?;
        let found = tree::instructions(path).await.unwrap_or_default();
        let default_branch = self.git.default_branch(real).await.unwrap_or_else(|err| {
            tracing::warn!(project = %checked.id, "default branch: {err}");
            None
        });
        let now = self.clock.now();
        let project = Project {
            id: checked.id,
            owner_id: checked.owner,
            name: checked.name.clone().into(),
            path: path.to_owned(),
            default_branch,
            instructions: serde_json::Value::from(found),
            trust_status: Trust::Untrusted,
            created_at: now,
            updated_at: now,
            opened_at: None,
        };
        let _held = self.adding.lock().await;
        self.places(None).await?.judge_own(real)?;
        let project = projects::create(&self.db, project).await?;
        let deed = Deed {
            actor: Some(checked.owner),
            action: "project.added",
            subject: ("project", Some(project.id.to_string())),
            detail: serde_json::json!({ "name": project.name, "path": project.path }),
            ip: None,
        };
        audit::record(&self.db, self.clock.as_ref(), self.entropy.as_ref(), deed).await?;
        Ok(project)
    }

    /// Where a folder really is, if it may become a project or be cloned from.
    fn folder(&self, places: &Places, asked: &Path) -> Result<PathBuf, Refusal> {
        if !asked.is_absolute() {
            return Err(Refusal::Relative);
        }
        match asked.canonicalize() {
            Ok(real) => {
                places.judge(asked, &real)?;
                let usable = real.is_dir();
                if usable { Ok(real) } else { Err(Refusal::NoFolder) }
            }
            // What is outside the roots gets one answer, whether it is there or not.
            Err(_) => {
                let nearest = asked.ancestors().skip(1).find_map(|it| it.canonicalize().ok());
                let nearest = nearest.unwrap_or_default();
                match places.below_a_root(asked, &nearest) {
                    Ok(()) | Err(Refusal::Root) => Err(Refusal::NoFolder),
                    Err(refusal) => Err(refusal),
                }
            }
        }
    }

    /// The folders that matter by now. The projects of `except` do not.
    async fn places(&self, except: Option<UserId>) -> Result<Places, DbErr> {
        let mut taken = projects::paths(&self.db).await?;
        if let Some(owner) = except {
            let own = projects::of(&self.db, owner).await?;
            taken.retain(|path| !own.iter().any(|project| project.path == *path));
        }
        let real = |path: &Path| {
            let path = path.canonicalize().or_else(|_| std::path::absolute(path));
            path.unwrap_or_default()
        };
        Ok(Places {
            roots: self.config.projects.roots.iter().map(|root| real(root)).collect(),
            data: real(&self.config.data.dir),
            workspaces: real(&self.config.workspaces()),
            projects: taken.into_iter().map(PathBuf::from).collect(),
        })
    }
}

/// Removes the folders of clones that were never finished. Projects have other names.
pub(super) fn sweep(workspaces: &Path) {
    for entry in fs::read_dir(workspaces).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = path.extension().is_some_and(|ending| ending == UNFINISHED)
            && path.file_stem().and_then(|stem| stem.to_str()?.parse::<ProjectId>().ok()).is_some();
        if ours && let Err(err) = fs::remove_dir_all(&path) {
            tracing::warn!("removing {}: {err}", path.display());
        }
    }
}
