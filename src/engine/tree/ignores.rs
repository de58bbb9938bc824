//! Which files of a project git leaves out.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, OFlags, fstat};

use super::Beneath;

/// The most of a list of patterns that is read, in bytes.
const READ_MAX: u64 = 256 << 10;

/// The lists of patterns that count for a folder, outermost first, each with where it lies.
pub(super) struct Ignores(Vec<(PathBuf, Gitignore)>);

impl Ignores {
    pub(super) fn on_the_way(beneath: &Beneath, folder: &Path) -> Self {
        let mut here = PathBuf::new();
        let mut files = vec![
            (here.clone(), PathBuf::from(".git/info/exclude")),
            (here.clone(), PathBuf::from(".gitignore")),
        ];
        for part in folder.components() {
            here.push(part);
            files.push((here.clone(), here.join(".gitignore")));
        }
        let lists = files.into_iter().filter_map(|(here, file)| {
            let text = text(beneath, &file)?;
            // Paths are matched relative to the list, so it needs no place of its own.
            let mut builder = GitignoreBuilder::new("");
            for line in text.lines() {
                // A pattern that cannot be read is passed over, as git does it.
                let _ = builder.add_line(None, line);
            }
            Some((here, builder.build().ok()?))
        });
        Self(lists.collect())
    }

    /// Whether git leaves a path out, because of itself or of a folder on the way to it.
    pub(super) fn ignored(&self, path: &Path, is_folder: bool) -> bool {
        let mut way: Vec<_> = path.ancestors().filter(|it| !it.as_os_str().is_empty()).collect();
        way.reverse();
        way.into_iter().any(|here| self.matched(here, here != path || is_folder))
    }

    /// The innermost list that has a word on a path decides.
    fn matched(&self, path: &Path, is_folder: bool) -> bool {
        for (place, list) in self.0.iter().rev() {
            let Ok(relative) = path.strip_prefix(place) else { continue };
            if relative.as_os_str().is_empty() {
                continue;
            }
            let matched = list.matched(relative, is_folder);
            if !matched.is_none() {
                return matched.is_ignore();
            }
        }
        false
    }
}

fn text(beneath: &Beneath, path: &Path) -> Option<String> {
    let stat = fstat(beneath.reach(path, OFlags::PATH).ok()?).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let file = beneath.reach(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).ok()?;
    let mut bytes = Vec::new();
    File::from(file).take(READ_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
