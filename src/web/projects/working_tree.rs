//! How the work tree of a project stands, as its page shows it.

use crate::{
    adapters::git::StatusEntry,
    engine::projects::{Commit, LookError, Standing},
    store::entity::project::Model as Project,
    web::files::encoded,
};

/// Changes that are listed.
const CHANGES: usize = 50;

pub enum Tree {
    /// There is no repository.
    None,
    /// It could not be looked at, and why.
    Unknown(String),
    Known(Box<Known>),
}

pub struct Known {
    pub branch: Option<String>,
    /// How it stands against its upstream.
    pub upstream: Option<String>,
    pub commit: Option<Commit>,
    pub changes: Vec<Change>,
    /// That there are more changes.
    pub more: Option<String>,
    paths: Vec<String>,
}

pub struct Change {
    pub letter: char,
    pub word: &'static str,
    pub tone: &'static str,
    pub path: String,
    /// Nothing where there is no file to look at.
    pub href: Option<String>,
}

impl Tree {
    pub fn of(
        project: &Project,
        prefix: &str,
        standing: Result<Option<Standing>, LookError>,
    ) -> Self {
        let Standing { status, last_commit } = match standing {
            Ok(Some(standing)) => standing,
            Ok(None) => return Self::None,
            Err(err) => {
                tracing::info!(project = %project.id, "work tree: {err}");
                return Self::Unknown(err.to_string());
            }
        };
        let total = status.entries.len();
        let more = match (status.is_cut, total > CHANGES) {
            (true, _) => Some(format!("The first {CHANGES} of more than {total} changes.")),
            (false, true) => Some(format!("The first {CHANGES} of {total} changes.")),
            (false, false) => None,
        };
        let upstream = match (status.ahead, status.behind, &status.upstream) {
            (Some(ahead), Some(behind), Some(upstream)) => Some(against(ahead, behind, upstream)),
            _ => None,
        };
        let changes = status.entries.iter().take(CHANGES);
        Self::Known(Box::new(Known {
            branch: status.branch,
            upstream,
            commit: last_commit,
            changes: changes.map(|entry| Change::of(entry, prefix)).collect(),
            more,
            paths: status.entries.into_iter().map(|entry| entry.path).collect(),
        }))
    }

    /// How many changes there are in a file, or in a folder and below.
    pub fn changed_at(&self, path: &str) -> usize {
        let Self::Known(known) = self else { return 0 };
        let at = |other: &&String| {
            let rest = other.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        known.paths.iter().filter(at).count()
    }
}

impl Change {
    fn of(entry: &StatusEntry, prefix: &str) -> Self {
        let letter = if entry.worktree == '.' { entry.index } else { entry.worktree };
        let (letter, word, tone) = match letter {
            '?' => ('A', "New, not known to git", "good"),
            'A' => ('A', "Added", "good"),
            'D' => ('D', "Deleted", "bad"),
            'R' => ('R', "Renamed", "warn"),
            'C' => ('C', "Copied", "good"),
            'T' => ('T', "Became something else", "warn"),
            'U' => ('U', "In conflict", "bad"),
            _ => ('M', "Modified", "warn"),
        };
        let page = if entry.path.ends_with('/') { "files" } else { "file" };
        let href = format!("{prefix}/{page}?path={}", encoded(entry.path.trim_end_matches('/')));
        Self { letter, word, tone, path: entry.path.clone(), href: (letter != 'D').then_some(href) }
    }
}

fn against(ahead: u32, behind: u32, upstream: &str) -> String {
    match (ahead, behind) {
        (0, 0) => format!("as {upstream}"),
        (ahead, 0) => format!("{ahead} ahead of {upstream}"),
        (0, behind) => format!("{behind} behind {upstream}"),
        (ahead, behind) => format!("{ahead} ahead of {upstream} and {behind} behind"),
    }
}
