//! Where a path that a model gave really leads.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use crate::domain::text;

/// A path as it was given, and the place that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub given: String,
    /// Absolute, without symbolic links and without `..`. What does not exist yet follows the
    /// nearest parent that does; a dangling link is followed to where it points.
    pub real: PathBuf,
    /// The real path relative to the project, with `/`; `.` for the project's folder itself and
    /// nothing for what lies outside.
    pub inside: Option<String>,
}

impl Target {
    /// The path for people and models, on one line.
    pub fn shown(&self) -> String {
        match &self.inside {
            Some(inside) => text::printable(inside.as_bytes()).into_owned(),
            None => text::printable(self.real.as_os_str().as_encoded_bytes()).into_owned(),
        }
    }

    /// Whether it lies in one of the folders, which must be real paths.
    pub fn is_below(&self, folders: &[PathBuf]) -> bool {
        folders.iter().any(|folder| self.real.starts_with(folder))
    }
}

/// As many symbolic links as Linux follows before it gives up.
const MOST_LINKS: usize = 40;

/// Resolves a path against the project's folder. An error is a sentence for the model.
pub fn resolve(root: &Path, given: &str) -> Result<Target, String> {
    if given.is_empty() {
        return Err(
            "path is empty. Give a path relative to the project, or an absolute one.".to_owned()
        );
    }
    if given.contains('\0') {
        return Err("path contains a NUL byte.".to_owned());
    }
    if given == "~" || given.starts_with("~/") {
        return Err(
            "~ is not known here. Give a path relative to the project, or an absolute one."
                .to_owned(),
        );
    }
    let root =
        fs::canonicalize(root).map_err(|_| "The project's folder is not there.".to_owned())?;
    let real = follow(root.clone(), Path::new(given)).ok_or_else(|| {
        format!("{} leads in a circle of symbolic links.", text::printable(given.as_bytes()))
    })?;
    let inside = match real.strip_prefix(&root) {
        Ok(rest) if rest.as_os_str().is_empty() => Some(".".to_owned()),
        Ok(rest) => {
            Some(rest.to_str().ok_or("The path leads to a name that is not UTF-8.")?.to_owned())
        }
        Err(_) => None,
    };
    Ok(Target { given: given.to_owned(), real, inside })
}

enum Step {
    Root,
    Up,
    Into(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Follows every symbolic link on the way, also where the link's target is missing. `..` leaves
/// the folder that was reached, as it does for the operating system.
fn follow(start: PathBuf, path: &Path) -> Option<PathBuf> {
    let mut real = start;
    let mut ahead: VecDeque<Step> = steps(path).collect();
    let mut links = 0;
    while let Some(step) = ahead.pop_front() {
        match step {
            Step::Root => real = PathBuf::from("/"),
            Step::Up => {
                real.pop();
            }
            Step::Into(name) => {
                real.push(name);
                let Ok(target) = fs::read_link(&real) else { continue };
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                real.pop();
                steps(&target).rev().for_each(|step| ahead.push_front(step));
            }
        }
    }
    Some(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_judged_by_where_it_leads() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("../outside/new", root.join("src/dangling")).unwrap();
        symlink("../../outside/new", root.join("src/away")).unwrap();
        symlink("../src", root.join("src/itself")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let inside = |given: &str| resolve(&root, given).unwrap().inside;
        assert_eq!(inside("src/../src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(inside(".").as_deref(), Some("."));
        assert_eq!(inside("./src//").as_deref(), Some("src"));
        assert_eq!(inside("src/itself/itself/new/file").as_deref(), Some("src/new/file"));
        assert_eq!(inside("src/dangling").as_deref(), Some("outside/new"));
        assert_eq!(inside("missing/../src/itself/x").as_deref(), Some("src/x"));
        assert_eq!(inside(root.join("src").to_str().unwrap()).as_deref(), Some("src"));
        assert_eq!(inside("etc/passwd"), None);
        assert_eq!(inside("../elsewhere"), None);
        assert_eq!(inside("missing/../../elsewhere"), None);
        assert_eq!(resolve(&root, "etc/../tmp").unwrap().real, Path::new("/tmp"));
        let away = resolve(&root, "src/away").unwrap();
        assert_eq!(away.real, fs::canonicalize(temp.path()).unwrap().join("outside/new"));
        assert!(away.is_below(&[fs::canonicalize(temp.path()).unwrap()]));
        assert!(resolve(&root, "circle").unwrap_err().contains("circle"));
        assert!(resolve(&root, "").is_err() && resolve(&root, "~/x").is_err());
    }
}
