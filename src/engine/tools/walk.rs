//! Walking over a project's files, without those that Git ignores.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ignore::WalkBuilder;

use super::{
    FileContext, Target, Veil,
    disk::{Base, Trouble},
};
use crate::domain::text;

/// No search takes longer.
const LONGEST: Duration = Duration::from_secs(30);

/// A walk below a folder: hidden files are visited, `.git` and what is ignored are not, and no
/// symbolic link is followed.
pub(super) fn walker(root: &Path, at: &Path) -> WalkBuilder {
    let mut walker = WalkBuilder::new(at);
    walker
        .hidden(false)
        .git_global(false)
        .require_git(false)
        // Above the project's own repository nobody's ignore files count.
        .parents(root.join(".git").exists())
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    walker
}

/// A folder, or a file, to search in.
pub(super) struct Place {
    pub base: Base,
    /// The way from the base.
    pub way: PathBuf,
    pub target: Target,
    pub veil: Veil,
    root: PathBuf,
    stop: Stop,
}

impl Place {
    pub fn open(context: &FileContext<'_>, target: &Target, stop: Stop) -> Result<Self, String> {
        let (base, way) =
            Base::of(context.root, target).map_err(|trouble| trouble.about(target))?;
        Ok(Self {
            base,
            way,
            target: target.clone(),
            veil: context.veil.clone(),
            root: context.root.to_owned(),
            stop,
        })
    }

    /// The place as a path that entries of a walk start with.
    pub fn path(&self) -> PathBuf {
        match self.way.as_os_str() == "." {
            true => self.base.path().to_owned(),
            false => self.base.path().join(&self.way),
        }
    }

    pub fn walker(&self) -> WalkBuilder {
        let mut walker = walker(&self.root, &self.path());
        let (veil, base, outside) =
            (self.veil.clone(), self.base.path().to_owned(), self.target.inside.is_none());
        let root = self.path();
        walker.filter_entry(move |entry| {
            let path = entry.path();
            let name = if outside { path } else { path.strip_prefix(&base).unwrap_or(path) };
            path == root || entry.file_name() != ".git" && !veil.hides(&name.to_string_lossy())
        });
        walker
    }

    /// The name that an entry is shown by and judged by: relative to the project, or absolute.
    pub fn name<'a>(&self, path: &'a Path) -> &'a Path {
        match self.target.inside {
            Some(_) => path.strip_prefix(self.base.path()).unwrap_or(path),
            None => path,
        }
    }

    /// Whether the place is there and a folder.
    pub fn must_be_folder(&self) -> Result<(), String> {
        match self.base.open(&self.way) {
            Err(Trouble::Folder) => Ok(()),
            Ok(_) => Err(format!("{} is a file, not a folder.", self.target.shown())),
            Err(trouble) => Err(trouble.about(&self.target)),
        }
    }

    /// An error of a walk, without the folder that the project lies in.
    pub fn warning(&self, err: &ignore::Error) -> String {
        let base = self.base.path().to_string_lossy();
        text::cut(&err.to_string().replace(&format!("{base}/"), ""), 300).to_owned()
    }

    pub fn is_over(&self) -> bool {
        self.stop.is_set()
    }
}

/// How many warnings are told.
pub(super) const WARNINGS: usize = 5;

/// What could not be looked at, a line for each.
pub(super) fn warnings(output: &mut String, warnings: &[String], what: &str) {
    for warning in warnings.iter().take(WARNINGS) {
        output.push_str(&format!("Warning: not {what}: {warning}\n"));
    }
    if warnings.len() > WARNINGS {
        let more = warnings.len() - WARNINGS;
        output.push_str(&format!("Warning: {more} more places were not {what}.\n"));
    }
}

/// Tells a search on another thread that nobody waits for it, or that it took too long.
#[derive(Clone)]
pub(super) struct Stop {
    left: Arc<AtomicBool>,
    until: Instant,
}

/// Stops the search when it is dropped.
pub(super) struct StopOnDrop(Arc<AtomicBool>);

impl Stop {
    pub fn new() -> (Self, StopOnDrop) {
        let left = Arc::new(AtomicBool::new(false));
        (Self { left: left.clone(), until: Instant::now() + LONGEST }, StopOnDrop(left))
    }

    fn is_set(&self) -> bool {
        self.left.load(Ordering::Relaxed) || Instant::now() > self.until
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
