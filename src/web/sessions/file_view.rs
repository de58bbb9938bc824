//! A file that a session has changed, for the page of all changes.

use super::{
    diffs,
    split::{self, SplitHunk},
    view::DiffView,
    words::anchor,
};
use crate::{domain::session::FileStatus, engine::snapshots::FileDiff};

/// Whether old and new lines stand beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Unified,
    Split,
}

pub struct FileView {
    pub anchor: String,
    pub folder: String,
    pub file: String,
    pub path: String,
    pub letter: &'static str,
    pub title: &'static str,
    pub additions: u32,
    pub deletions: u32,
    pub not_kept: bool,
    pub diff: DiffView,
    pub split: Vec<SplitHunk>,
}

impl FileView {
    /// Draws what changed in a file.
    pub fn of(file: FileDiff, layout: Layout) -> Self {
        let (letter, title) = match file.status {
            FileStatus::Added => ("A", "Added"),
            FileStatus::Modified => ("M", "Modified"),
            FileStatus::Deleted => ("D", "Deleted"),
        };
        let mut diff = diffs::view(&file.path, file.diff, usize::MAX);
        diff.binary |= file.binary;
        let (folder, name) = match file.path.rsplit_once('/') {
            Some((folder, name)) => (format!("{folder}/"), name.to_owned()),
            None => (String::new(), file.path.clone()),
        };
        Self {
            anchor: anchor(&file.path),
            folder,
            file: name,
            letter,
            title,
            additions: file.additions,
            deletions: file.deletions,
            not_kept: file.not_kept,
            split: match layout {
                Layout::Split => split::hunks(&diff),
                Layout::Unified => Vec::new(),
            },
            path: file.path,
            diff,
        }
    }
}
