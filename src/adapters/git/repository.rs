//! What a repository is made of, as far as Forge looks at it without git.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Whether a folder is the root of a repository's work tree.
pub fn is_repository(root: &Path) -> bool {
    let git = root.join(".git");
    git.join("HEAD").is_file()
        || fs::read(&git).is_ok_and(|content| content.starts_with(b"gitdir:"))
}

/// What a command in this work tree must not change, because git takes programs to run from it:
/// later, and outside the sandbox.
pub fn protected_paths(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => {
            let mut paths = protected_in(&git);
            for module in modules(&git.join("modules")) {
                paths.extend(protected_in(&module));
            }
            paths
        }
        // The file, or link, that says where the repository is.
        Ok(_) => match git.canonicalize() {
            Ok(real) if real.is_dir() => [vec![git], protected_in(&real)].concat(),
            _ => vec![git],
        },
        Err(_) => Vec::new(),
    }
}

/// `commondir` sends git to another folder for all of this, and `config.worktree` adds to it.
fn protected_in(git_dir: &Path) -> Vec<PathBuf> {
    ["hooks", "config", "config.worktree", "commondir"].map(|name| git_dir.join(name)).into()
}

/// So many folders are looked into at most: a command can make any number.
const MOST: usize = 4_096;

/// The repositories of submodules, which may be nested in folders of their names.
fn modules(below: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![below.to_owned()]);
    for _ in 0..MOST {
        let Some(folder) = todo.pop() else { break };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
        for folder in folders.map(|entry| entry.path()) {
            if folder.join("HEAD").is_file() {
                todo.push(folder.join("modules"));
                found.push(folder);
            } else {
                todo.push(folder);
            }
        }
    }
    found
}
