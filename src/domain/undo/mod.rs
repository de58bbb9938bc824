//! Undo and redo: which files go back to which state, and which of them a person has to be asked
//! about first.
//!
//! A message's record of a file is how it was before the message and how the message left it.
//! Undoing some messages takes each of their files to how it was before the first of them, if it
//! still is as the last of them left it. Redo is the same with the roles exchanged.

pub mod path;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// The SHA-256 of some content, which is also the name that it is kept under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..12])
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a blob")]
pub struct NoHash(String);

impl FromStr for Hash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let wrong = || NoHash(text.to_owned());
        let mut hash = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(hash))
    }
}

/// What is known of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// It is kept and can be restored.
    Kept(Hash),
    /// It was too large to keep, but can be recognised.
    Seen(Hash),
    Unknown,
}

impl Content {
    pub fn hash(self) -> Option<Hash> {
        match self {
            Self::Kept(hash) | Self::Seen(hash) => Some(hash),
            Self::Unknown => None,
        }
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileState {
    Absent,
    File {
        /// The permission bits, with set-user-id and the like.
        mode: u32,
        size: u64,
        content: Content,
    },
    /// The target is kept like a file's content.
    Symlink {
        target: Hash,
    },
    Folder {
        mode: u32,
    },
    /// A folder whose content is not captured, because a tool can make it again.
    Tree,
    /// A pipe, a socket or a device.
    Special,
}

impl FileState {
    /// Whether two states are known to be the same.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { mode, content, .. },
                Self::File { mode: other_mode, content: other, .. },
            ) => mode == other_mode && content.hash().is_some() && content.hash() == other.hash(),
            (Self::Tree, Self::Folder { .. }) | (Self::Folder { .. }, Self::Tree) => true,
            _ => self == other,
        }
    }

    /// Whether it can be brought back.
    fn is_kept(&self) -> bool {
        match self {
            Self::File { content, .. } => matches!(content, Content::Kept(_)),
            Self::Absent | Self::Symlink { .. } | Self::Folder { .. } => true,
            Self::Tree | Self::Special => false,
        }
    }

    fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. } | Self::Tree)
    }
}

/// What a message did to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Relative to the project, as [`path::encode`] writes it.
    pub path: String,
    pub before: FileState,
    /// Not known where the message has come to no proper end.
    pub after: Option<FileState>,
    /// Somebody else worked on the file at the same time: a command of another session may have
    /// changed it, or it was not as the message had left it when the message went on.
    pub shared: bool,
}

/// How things are in the folder now.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// Of the files of all records and of the folders above them. What is missing is absent.
    pub states: HashMap<String, FileState>,
    /// What lies directly in those files of the records that are folders now.
    pub children: HashMap<String, Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Undo,
    Redo,
}

/// What to do about files that somebody changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Change nothing at all, and tell.
    Ask,
    Overwrite,
}

/// A file that a person has to be asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    pub path: String,
    pub reason: Reason,
}

/// Why a file is not simply restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person or another session changed it since.
    Changed,
    /// A person or another session may have changed it at the same time.
    Shared,
    /// Its earlier content was too large or was not captured. Force does not help.
    NotKept,
    /// Something that is not part of this lies where it belongs. Force does not help.
    InTheWay,
}

impl Reason {
    fn yields_to_force(self) -> bool {
        matches!(self, Self::Changed | Self::Shared)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "was changed since by a person or another session",
            Self::Shared => "may have been changed by somebody else at the same time",
            Self::NotKept => "was too large or not captured, and cannot be restored",
            Self::InTheWay => "cannot be restored, because something else lies in its place",
        })
    }
}

/// A file that goes from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    pub path: String,
    pub from: FileState,
    pub to: FileState,
}

/// What an undo or a redo does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sorted by path. Empty where there are conflicts and no force.
    pub restore: Vec<Restore>,
    pub conflicts: Vec<Conflict>,
    /// Folders that are left as they are: what is in them is not part of this.
    pub left: Vec<String>,
}

/// Where a file comes from and goes to.
struct Goal {
    to: FileState,
    /// The state that it should have now.
    expected: Option<FileState>,
    doubt: Option<Reason>,
}

/// Plans to undo or redo some messages, given what each did, oldest first.
pub fn plan(direction: Direction, records: &[Record], now: &Now, force: Force) -> Plan {
    let mut by_path: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in records {
        by_path.entry(&record.path).or_default().push(record);
    }
    let mut plan = Plan::default();
    for (path, records) in by_path {
        let from = now.states.get(path).copied().unwrap_or(FileState::Absent);
        let Some(goal) = goal(direction, &records) else {
            plan.conflict(path, Reason::NotKept);
            continue;
        };
        if from.same(&goal.to) {
            continue;
        }
        let expected = goal.expected.is_some_and(|expected| expected.same(&from));
        // A tool made it and can make it again.
        let made_again = match direction {
            Direction::Undo => goal.expected == Some(FileState::Tree) && from.is_folder(),
            Direction::Redo => goal.to == FileState::Tree,
        };
        if made_again {
            plan.left.push(path.to_owned());
            continue;
        }
        let reason = match goal.doubt {
            _ if !goal.to.is_kept() => Some(Reason::NotKept),
            Some(doubt) => Some(doubt),
            None if !expected => Some(Reason::Changed),
            None => None,
        };
        if let Some(reason) = reason {
            plan.conflict(path, reason);
            if !reason.yields_to_force() {
                continue;
            }
        }
        plan.restore.push(Restore { path: path.to_owned(), from, to: goal.to });
    }
    plan.make_room(now);
    match force {
        Force::Ask if !plan.conflicts.is_empty() => plan.restore.clear(),
        Force::Ask => {}
        Force::Overwrite => plan.conflicts.retain(|it| !it.reason.yields_to_force()),
    }
    plan
}

fn goal(direction: Direction, records: &[&Record]) -> Option<Goal> {
    let (first, last) = (records.first()?, records.last()?);
    match direction {
        Direction::Redo => {
            Some(Goal { to: last.after?, expected: Some(first.before), doubt: None })
        }
        Direction::Undo => {
            // Between two messages the file stays as it is, unless somebody else changes it.
            let broken = |pair: &[&Record]| {
                let after = pair[0].after;
                after.is_none_or(|after| !after.same(&pair[1].before))
            };
            let doubt = if records.windows(2).any(broken) {
                Some(Reason::Changed)
            } else if records.iter().any(|record| record.shared) {
                Some(Reason::Shared)
            } else {
                None
            };
            Some(Goal { to: first.before, expected: last.after, doubt })
        }
    }
}

impl Plan {
    fn conflict(&mut self, path: &str, reason: Reason) {
        self.conflicts.push(Conflict { path: path.to_owned(), reason });
    }

    /// Takes out what cannot be done because of files that are not part of it.
    fn make_room(&mut self, now: &Now) {
        let goals: HashMap<String, FileState> =
            self.restore.iter().map(|it| (it.path.clone(), it.to)).collect();
        let later = |path: &str| goals.get(path).or(now.states.get(path)).copied();
        let mut stays: HashSet<String> = HashSet::new();
        // Deepest first, because a folder stays where one inside it does.
        for Restore { path, from, to } in self.restore.iter().rev() {
            let children = now.children.get(path).into_iter().flatten();
            let gone = |child: &String| {
                goals.get(child) == Some(&FileState::Absent) && !stays.contains(child)
            };
            if from.is_folder() && !to.is_folder() && !children.clone().all(gone) {
                stays.insert(path.clone());
            }
        }
        let mut kept = Vec::with_capacity(self.restore.len());
        for restore in std::mem::take(&mut self.restore) {
            let path = restore.path.as_str();
            let open = |above: &str| {
                !matches!(
                    later(above),
                    Some(FileState::File { .. } | FileState::Symlink { .. } | FileState::Special)
                )
            };
            if stays.contains(path) {
                match restore.to {
                    FileState::Absent => self.left.push(restore.path),
                    _ => self.conflict_in_the_way(path),
                }
            } else if restore.to != FileState::Absent && !path::ancestors(path).all(open) {
                self.conflict_in_the_way(path);
            } else {
                kept.push(restore);
            }
        }
        self.restore = kept;
    }

    /// This is the stronger reason where there is another.
    fn conflict_in_the_way(&mut self, path: &str) {
        self.conflicts.retain(|it| it.path != path);
        self.conflict(path, Reason::InTheWay);
    }
}
