//! Cloning a repository.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Git, GitError, Invocation, MOST_OUTPUT, address::Address, empty, make_empty_folder,
    route::Route, words,
};

/// What to clone, and where to.
#[derive(Clone, Debug)]
pub struct Clone<'a> {
    pub url: &'a str,
    /// A folder that does not exist yet, or is empty; what it is in must exist.
    pub to: &'a Path,
    /// Repositories on this server may be cloned if they are below one of these.
    pub roots: &'a [PathBuf],
    pub timeout: Duration,
}

impl Git {
    /// Clones a repository. `progress` hears git's own lines, the last of which may be repeated
    /// with other numbers. A clone that fails leaves nothing behind.
    pub async fn clone(
        &self,
        clone: Clone<'_>,
        mut progress: impl FnMut(&str) + Send,
    ) -> Result<(), GitError> {
        let address = Address::parse(clone.url, clone.roots)?;
        let route = Route::to(&address, &self.hosts).await?;
        let fresh = make_empty_folder(clone.to)?;
        let to = clone.to.canonicalize()?;
        let (url, readable) = match address {
            Address::Remote(url) => (url, Vec::new()),
            Address::Local(path) => (path.to_string_lossy().into_owned(), vec![path]),
        };
        let target = to.to_string_lossy().into_owned();
        let invocation = Invocation {
            arguments: words(&["clone", "--progress", "--no-local", "--", &url, &target]),
            cwd: to.clone(),
            writable: vec![to.clone()],
            readable,
            timeout: clone.timeout,
            most: MOST_OUTPUT,
        };
        let result = self.run_by(&route, invocation, &mut progress).await;
        if result.is_err() {
            // There may be much to remove.
            let removed = tokio::task::spawn_blocking(move || {
                empty(&to);
                if fresh { fs::remove_dir(&to) } else { Ok(()) }
            });
            let _ = removed.await;
        }
        result.map(drop).map_err(|error| route.explain(error))
    }
}
