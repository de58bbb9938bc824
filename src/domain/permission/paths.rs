//! Where a path lies: in the project, outside it, or in Forge's own data folder.
//!
//! Paths are compared as text. Whoever can look at the disk resolves links first.

use std::borrow::Cow;

/// The folders that a judgement is about. Absolute paths.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The project's folder, or the worktree that stands for it.
    pub root: &'a str,
    /// The home that `~` and `$HOME` mean to a command.
    pub home: &'a str,
    /// Forge's data folder, which no tool may touch.
    pub data_dir: &'a str,
}

/// Where a path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// In the project; relative to it, and `.` is the project's folder itself.
    Inside(String),
    /// Elsewhere; absolute.
    Outside(String),
    /// In Forge's data folder.
    Data,
}

impl Place<'_> {
    /// Says where an absolute path lies, whatever `.` and `..` it contains.
    pub(super) fn locate(&self, path: &str) -> Where {
        let path = tidy(path);
        let (root, data) = (tidy(self.root), tidy(self.data_dir));
        let in_data = !self.data_dir.is_empty() && is_below(&path, &data);
        let in_root = is_below(&path, &root);
        // A worktree may lie in the data folder: the deeper of the two decides.
        if in_data && !(in_root && root.len() > data.len()) {
            return Where::Data;
        }
        if !in_root {
            return Where::Outside(path.into_owned());
        }
        let inside = path.get(root.len()..).unwrap_or_default().trim_start_matches('/');
        Where::Inside(if inside.is_empty() { ".".into() } else { inside.into() })
    }

    /// The absolute path of one that is relative to the project.
    pub(super) fn absolute(&self, inside: &str) -> String {
        join(self.root, inside)
    }

    /// Whether a folder holds Forge's data folder somewhere below it.
    pub(super) fn holds_data(&self, path: &str) -> bool {
        !self.data_dir.is_empty() && is_below(&tidy(self.data_dir), &tidy(path))
    }
}

/// Joins a path to an absolute folder and resolves `.` and `..` in the result.
pub(super) fn join(folder: &str, path: &str) -> String {
    match (path, folder) {
        ("" | ".", _) => tidy(folder).into_owned(),
        _ if path.starts_with('/') => tidy(path).into_owned(),
        _ => {
            let mut whole = String::with_capacity(folder.len() + path.len() + 1);
            whole.push_str(folder.trim_end_matches('/'));
            whole.push('/');
            whole.push_str(path);
            if matches!(tidy(&whole), Cow::Borrowed(_)) { whole } else { normalise(&whole) }
        }
    }
}

/// The path as it is where it has nothing to resolve, else resolved.
pub(super) fn tidy(path: &str) -> Cow<'_, str> {
    let is_tidy = path.strip_prefix('/').is_some_and(|rest| {
        rest.is_empty() || rest.split('/').all(|it| !matches!(it, "" | "." | ".."))
    });
    if is_tidy { Cow::Borrowed(path) } else { Cow::Owned(normalise(path)) }
}

/// Resolves `.`, `..` and doubled slashes of an absolute path, as text.
pub(super) fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a normalised path is a normalised folder or lies in it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder == "/"
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The last name of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// The folder of a path that contains wildcards, up to the first of them.
pub(super) fn fixed_folder(glob: &str) -> &str {
    let wild = glob.find(['*', '?', '[']).unwrap_or(glob.len());
    let head = glob.get(..wild).unwrap_or_default();
    head.rfind('/').map_or("", |slash| head.get(..slash + 1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> =
        Place { root: "/home/ada/app", home: "/home/ada", data_dir: "/var/lib/forge" };

    #[test]
    fn dots_do_not_hide_where_a_path_leads() {
        assert_eq!(PLACE.locate("/home/ada/app/src/../.env"), Where::Inside(".env".into()));
        assert_eq!(PLACE.locate("/home/ada/app/../x"), Where::Outside("/home/ada/x".into()));
        assert_eq!(PLACE.locate("/etc//../var/lib/forge/db"), Where::Data);
        assert_eq!(PLACE.locate("/home/ada/app/"), Where::Inside(".".into()));
    }

    #[test]
    fn a_name_that_only_begins_like_the_folder_is_outside() {
        assert_eq!(PLACE.locate("/home/ada/apple"), Where::Outside("/home/ada/apple".into()));
        assert_eq!(PLACE.locate("/var/lib/forge2"), Where::Outside("/var/lib/forge2".into()));
    }

    #[test]
    fn a_worktree_in_the_data_folder_is_a_project_and_its_surroundings_are_not() {
        let place = Place { root: "/var/lib/forge/trees/1", ..PLACE };
        assert_eq!(place.locate("/var/lib/forge/trees/1/a"), Where::Inside("a".into()));
        assert_eq!(place.locate("/var/lib/forge/trees/2/a"), Where::Data);
    }
}
