//! Folders outside of projects that commands may write: what package managers have downloaded.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use crate::config;

/// A folder that the operator lets commands write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The package manager that keeps it, if it is one's.
    pub of: Option<&'static str>,
    pub path: PathBuf,
    /// What tells programs of it.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// What in it commands may not change, because it would decide what others run.
    pub protected: Vec<PathBuf>,
}

/// How a cache stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Writable,
    /// It belongs to somebody else.
    ReadOnly,
    Missing,
}

impl Cache {
    /// Whether commands can write it: they have the server's user and none of root's powers.
    pub fn state(&self) -> State {
        let Ok(found) = fs::metadata(&self.path) else { return State::Missing };
        let own = fs::metadata("/proc/self").map(|own| own.uid());
        let is_own = own.is_ok_and(|own| own == found.uid());
        let may =
            if is_own { found.mode() & 0o300 == 0o300 } else { found.mode() & 0o003 == 0o003 };
        match found.is_dir() {
            false => State::Missing,
            true if may => State::Writable,
            true => State::ReadOnly,
        }
    }
}

/// All that are configured.
pub fn all(settings: &config::Sandbox) -> Vec<Cache> {
    let config::PackageCaches { cargo, npm, pip, go } = &settings.package_caches;
    let plain = |path: &PathBuf| Cache {
        of: None,
        path: path.clone(),
        variables: Vec::new(),
        protected: Vec::new(),
    };
    let of = |name, path: &Option<PathBuf>, variables: &[(&'static str, &str)]| {
        let path = path.as_ref()?;
        let variables = variables.iter().map(|(name, below)| (*name, below_it(path, below)));
        Some(Cache { of: Some(name), variables: variables.collect(), ..plain(path) })
    };
    let cargo = of("cargo", cargo, &[("CARGO_HOME", "")]).map(|cache| Cache {
        protected: ["bin", "config", "config.toml", "credentials", "credentials.toml", "env"]
            .map(|name| cache.path.join(name))
            .into(),
        ..cache
    });
    let named = [
        cargo,
        of("npm", npm, &[("npm_config_cache", "")]),
        of("pip", pip, &[("PIP_CACHE_DIR", "")]),
        of("go", go, &[("GOMODCACHE", "modules"), ("GOCACHE", "builds")]),
    ];
    named.into_iter().flatten().chain(settings.caches.iter().map(plain)).collect()
}

/// Those that are there.
pub fn present(settings: &config::Sandbox) -> Vec<Cache> {
    all(settings).into_iter().filter(|cache| cache.path.is_dir()).collect()
}

/// Makes those that are missing. What cannot be made is said, and commands do without.
pub fn prepare(settings: &config::Sandbox) {
    for cache in all(settings) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&cache.path);
        if let Err(err) = made {
            tracing::warn!("the cache {} cannot be made: {err}", cache.path.display());
        }
    }
}

fn below_it(path: &Path, name: &str) -> PathBuf {
    if name.is_empty() { path.to_owned() } else { path.join(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_are_told_where_their_cache_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let settings = config::Sandbox {
            caches: vec![path("more")],
            package_caches: config::PackageCaches {
                cargo: Some(path("cargo")),
                go: Some(path("go")),
                ..config::PackageCaches::default()
            },
            ..config::Sandbox::default()
        };
        assert!(present(&settings).is_empty());
        prepare(&settings);
        let found = present(&settings);
        let names: Vec<_> = found.iter().map(|it| it.of).collect();
        assert_eq!(names, [Some("cargo"), Some("go"), None]);
        assert_eq!(found[0].variables, [("CARGO_HOME", path("cargo"))]);
        assert!(found[0].protected.contains(&path("cargo/config.toml")));
        assert_eq!(found[1].variables[1], ("GOCACHE", path("go/builds")));
        assert!(found.iter().all(|it| it.state() == State::Writable));
        fs::remove_dir(path("more")).unwrap();
        assert_eq!(found[2].state(), State::Missing);
    }
}
