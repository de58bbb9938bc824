//! What a command may change without that it can be undone, in words.

use std::fmt;

use serde::Serialize;

use crate::domain::{text, undo::path};

/// So many paths are named; the others are counted.
const NAMED: usize = 12;

/// So many bytes are said of it at most.
const SAID: usize = 1_500;

/// Some paths by name, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Paths {
    pub named: Vec<String>,
    pub count: usize,
}

impl Paths {
    pub(super) fn add(&mut self, path: &[u8]) {
        self.count += 1;
        // A few more than are kept, so that which ones are kept depends on their names.
        if self.named.len() < NAMED * 64 {
            self.named.push(path::encode(path));
        }
    }
}

/// The files of a project whose content is not kept before a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotCaptured {
    /// Files over 2 MiB.
    pub large: Paths,
    /// Folders of packages, caches and builds.
    pub trees: Paths,
    /// What could not be read.
    pub unreadable: Paths,
    /// How many files are beyond the budget.
    pub beyond: usize,
    /// There are so many files that changes by commands are not looked for at all.
    pub too_many: bool,
}

impl NotCaptured {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a person is told of it before a command runs; nothing where all is captured.
    pub fn said(&self) -> Option<String> {
        let whole = self.to_string();
        let said = text::cut(&whole, SAID);
        match said.len() {
            0 => None,
            cut if cut < whole.len() => Some(format!("{said}…")),
            _ => Some(whole),
        }
    }

    pub(super) fn sort(&mut self) {
        for paths in [&mut self.large, &mut self.trees, &mut self.unreadable] {
            paths.named.sort_unstable();
            paths.named.truncate(NAMED);
        }
    }
}

impl fmt::Display for NotCaptured {
    /// A sentence for people, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.too_many {
            return f.write_str("Changes by commands are not captured: there are too many files.");
        }
        let listed = |paths: &Paths, noun: &str| {
            let named: Vec<_> =
                paths.named.iter().map(|path| text::printable(path.as_bytes())).collect();
            let more = match paths.count - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (paths.count > 0).then(|| {
                format!("{} ({}{more})", text::counted(paths.count, noun), named.join(", "))
            })
        };
        let beyond =
            (self.beyond > 0).then(|| text::counted(self.beyond, "file") + " beyond the budget");
        let parts = [
            listed(&self.large, "large file"),
            listed(&self.trees, "package or build folder"),
            listed(&self.unreadable, "unreadable file"),
            beyond,
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, "Not captured, so undo does not cover it: {}.", parts.join("; ")),
        }
    }
}
