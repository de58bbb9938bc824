//! What `git status --porcelain=v2 -z --branch` says.

/// A work tree compared with its last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitStatus {
    /// `None` on a detached head.
    pub branch: Option<String>,
    /// The commit; `None` before the first one.
    pub head: Option<String>,
    pub upstream: Option<String>,
    /// Commits that the upstream does not have. `None` without an upstream.
    pub ahead: Option<u32>,
    /// Commits that only the upstream has.
    pub behind: Option<u32>,
    pub entries: Vec<StatusEntry>,
    /// There are more entries than are listed.
    pub is_cut: bool,
}

/// A path that differs. The states are git's letters: `M` modified, `A` added, `D` deleted, `R`
/// renamed, `C` copied, `T` changed type, `U` unmerged, `?` untracked, `.` unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusEntry {
    /// Relative to the root. Bytes that are no text are replaced.
    pub path: String,
    /// Where a renamed or copied file comes from.
    pub original: Option<String>,
    pub index: char,
    pub worktree: char,
}

/// The most entries that are listed.
const MOST: usize = 5_000;

impl GitStatus {
    /// Reads the output; a last record that was cut off is left out.
    pub(super) fn parse(raw: &[u8]) -> Self {
        let mut status = Self::default();
        let mut records = raw.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        while let Some(record) = records.next() {
            if let Some(header) = record.strip_prefix("# ") {
                status.take_header(header);
                continue;
            }
            let Some((kind, rest)) = record.split_once(' ') else { continue };
            // How many fields come before the path.
            let before = match kind {
                "1" => 7,
                "2" => 8,
                "u" => 9,
                "?" => 0,
                _ => continue,
            };
            let Some(path) = rest.splitn(before + 1, ' ').nth(before) else { continue };
            let original = if kind == "2" { records.next().map(Into::into) } else { None };
            let mut states = if kind == "?" { "??" } else { rest }.chars();
            if status.entries.len() == MOST {
                status.is_cut = true;
                break;
            }
            status.entries.push(StatusEntry {
                path: path.to_owned(),
                original,
                index: states.next().unwrap_or('.'),
                worktree: states.next().unwrap_or('.'),
            });
        }
        status
    }

    fn take_header(&mut self, header: &str) {
        let known = |value: &str| (!value.starts_with('(')).then(|| value.to_owned());
        match header.split_once(' ') {
            Some(("branch.oid", value)) => self.head = known(value),
            Some(("branch.head", value)) => self.branch = known(value),
            Some(("branch.upstream", value)) => self.upstream = Some(value.to_owned()),
            Some(("branch.ab", value)) => {
                if let Some((ahead, behind)) = value.split_once(' ') {
                    self.ahead = ahead.trim_start_matches('+').parse().ok();
                    self.behind = behind.trim_start_matches('-').parse().ok();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_with_changes_of_every_kind_is_read() {
        let raw = "# branch.oid 5f2c\0# branch.head main\0# branch.upstream origin/main\0\
                   # branch.ab +2 -13\0\
                   1 .M N... 100644 100644 100644 aa bb sp ace.txt\0\
                   2 R. N... 100644 100644 100644 aa bb R100 new\nname\0old\0\
                   u UU N... 100644 100644 100644 100644 aa bb cc both.rs\0\
                   ? 公共.cpp\0";
        let status = GitStatus::parse(raw.as_bytes());
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!(status.head.as_deref(), Some("5f2c"));
        assert_eq!((status.ahead, status.behind), (Some(2), Some(13)));
        let entries: Vec<_> = status
            .entries
            .iter()
            .map(|it| (it.path.as_str(), it.original.as_deref(), it.index, it.worktree))
            .collect();
        assert_eq!(
            entries,
            [
                ("sp ace.txt", None, '.', 'M'),
                ("new\nname", Some("old"), 'R', '.'),
                ("both.rs", None, 'U', 'U'),
                ("公共.cpp", None, '?', '?'),
            ]
        );
    }

    #[test]
    fn a_repository_without_a_commit_has_a_branch_and_no_head() {
        let status = GitStatus::parse(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!((status.head, status.branch.as_deref()), (None, Some("main")));
    }

    #[test]
    fn a_detached_head_has_no_branch() {
        let status = GitStatus::parse(b"# branch.oid 5f2c\0# branch.head (detached)\0");
        assert_eq!((status.head.as_deref(), status.branch), (Some("5f2c"), None));
    }

    #[test]
    fn too_many_entries_are_cut_and_said_so() {
        let raw: String = (0..=MOST).map(|number| format!("? {number}\0")).collect();
        let status = GitStatus::parse(raw.as_bytes());
        assert_eq!((status.entries.len(), status.is_cut), (MOST, true));
    }

    #[test]
    fn what_makes_no_sense_is_skipped() {
        assert_eq!(GitStatus::parse(b"\0x\x001 .M\0# \0#\0"), GitStatus::default());
    }
}
