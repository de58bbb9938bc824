//! The few rules that nobody can override.

use super::{
    paths::{Place, fixed_folder, is_below, normalise},
    pattern,
};

/// Why nothing may touch Forge's data folder.
pub(super) const DATA_FOLDER: &str = "fixed rule: no tool may touch Forge's data folder";

/// Why a path in a project may not be written, whatever the rules say.
///
/// Git runs what hooks and configuration name, later and outside the sandbox. The rest of `.git`
/// is asked about: git's own commands are the way to change it.
pub(super) fn unwritable(inside: &str) -> Option<&'static str> {
    let segments: Vec<&str> = inside.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
    let at = segments.iter().position(|it| it.eq_ignore_ascii_case(".git"))?;
    let names_programs = |it: &&str| {
        it.eq_ignore_ascii_case("hooks") || it.to_ascii_lowercase().starts_with("config")
    };
    match segments.get(at + 1..).unwrap_or_default() {
        [] => Some("fixed rule: .git itself is not written, moved or deleted"),
        // Submodules and worktrees have hooks and configuration of their own.
        ["modules" | "worktrees", rest @ ..] if rest.iter().any(names_programs) => Some(HOOKS),
        [first, ..] if names_programs(first) => Some(HOOKS),
        _ => None,
    }
}

const HOOKS: &str =
    "fixed rule: .git/hooks and .git/config are not written, because git runs what they name";

/// Whether a path lies in a `.git` folder.
pub(super) fn in_git(inside: &str) -> bool {
    inside.split('/').any(|it| it.eq_ignore_ascii_case(".git"))
}

/// How much of a folder goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// What a search picks out of it.
    Some,
}

/// Why a folder may not be deleted with what is in it: the root, a home, the project's folder with
/// its history, and every folder around these. `path` is absolute and may hold wildcards.
pub(super) fn undeletable(
    place: &Place<'_>,
    path: &str,
    written: &str,
    extent: Extent,
) -> Option<String> {
    let denied = |what: &str| Some(format!("fixed rule: recursive delete of {what}"));
    let path = normalise(path);
    let (root, home) = (normalise(place.root), normalise(place.home));
    let wild = path.contains(['*', '?', '[']);
    if path == "/" {
        return denied("/");
    }
    if written.trim_end_matches('/').rsplit('/').next() == Some("..") {
        return denied("..");
    }
    if wild {
        // `/*` and `~/*` are the folder itself in other words.
        let folder = normalise(fixed_folder(&path));
        let last = path.rsplit('/').next().unwrap_or_default();
        let all = last.chars().all(|it| "*?[].!^-".contains(it));
        if all && (folder == "/" || (folder == home && home != root)) {
            return denied(if folder == "/" { "/" } else { "the home folder" });
        }
        let git = format!("{root}/.git");
        if last.starts_with('.') && pattern::covers_path(&path, &git) {
            return denied(".git");
        }
    }
    let hits = |protected: &str| {
        ancestors(protected)
            .any(|it| if wild { pattern::covers_path(&path, it) } else { it == path })
    };
    if hits(&home) && !(extent == Extent::Some && path == root) {
        return denied("the home folder or one around it");
    }
    if extent == Extent::Some && path == root {
        return None;
    }
    if hits(&root) {
        return denied("the project's folder or one around it");
    }
    None
}

/// A path and the folders around it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |it| {
        let parent = it.rfind('/').and_then(|slash| it.get(..slash))?;
        (!parent.is_empty()).then_some(parent)
    })
}

/// Whether a text names Forge's data folder, in whatever language it is written.
pub(super) fn mentions_data(place: &Place<'_>, text: &str) -> bool {
    let (data, root) = (normalise(place.data_dir), normalise(place.root));
    if data == "/" {
        return false;
    }
    let is_name = |it: char| it.is_alphanumeric() || "._-".contains(it);
    text.match_indices(&data).any(|(at, _)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let rest = text.get(at..).unwrap_or_default();
        let after = rest.get(data.len()..).and_then(|it| it.chars().next());
        let apart =
            !before.is_some_and(|it| is_name(it) || it == '/') && !after.is_some_and(is_name);
        let path = rest.split(|it: char| !is_name(it) && it != '/').next().unwrap_or_default();
        // A worktree may lie in the data folder.
        let ours = is_below(&root, &data) && root != data && is_below(&normalise(path), &root);
        apart && !ours
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> =
        Place { root: "/home/ada/app", home: "/home/ada", data_dir: "/var/lib/forge" };

    #[test]
    fn what_git_would_run_is_not_written() {
        for path in [
            ".git",
            ".git/",
            "./.git",
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/config.worktree",
            "sub/.git/hooks/x",
            ".git/modules/a/hooks/x",
            ".git/modules/a/b/config",
            ".GIT/hooks/x",
        ] {
            assert!(unwritable(path).is_some(), "{path}");
        }
        for path in [".gitignore", ".github/hooks/x", "git/config", ".git/index", "src/config"] {
            assert!(unwritable(path).is_none(), "{path}");
        }
    }

    #[test]
    fn roots_and_homes_are_not_deleted_in_any_spelling() {
        for path in [
            "/",
            "//",
            "/.",
            "/usr/..",
            "/*",
            "/.*",
            "/h*",
            "/home",
            "/home/*",
            "/home/ada",
            "/home/ada/*",
            "/home/ada/app",
            "/home/ada/app/src/..",
            "/home/ada/app/.*",
            "/ho?e/ada",
        ] {
            assert!(undeletable(&PLACE, path, path, Extent::Whole).is_some(), "{path}");
        }
        for path in
            ["/home/ada/app/target", "/home/ada/app/*", "/tmp/x", "/home/bob", "/home/ada/app/t*"]
        {
            assert!(undeletable(&PLACE, path, path, Extent::Whole).is_none(), "{path}");
        }
        assert!(undeletable(&PLACE, "/home/ada/app", ".", Extent::Some).is_none());
        assert!(undeletable(&PLACE, "/home", "/home", Extent::Some).is_some());
    }

    #[test]
    fn the_data_folder_is_found_in_any_text() {
        assert!(mentions_data(&PLACE, "open('/var/lib/forge/db')"));
        assert!(mentions_data(&PLACE, "x=/var/lib/forge"));
        assert!(!mentions_data(&PLACE, "/srv/var/lib/forge /var/lib/forge-docs"));
        let place = Place { root: "/var/lib/forge/trees/1", ..PLACE };
        assert!(!mentions_data(&place, "cat /var/lib/forge/trees/1/a"));
        assert!(mentions_data(&place, "cat /var/lib/forge/trees/1/../../db"));
    }
}
