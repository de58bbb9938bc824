//! What commands had changed when the server was killed in the middle of them.

use std::{collections::HashMap, io, path::Path};

use super::{
    Snapshots, SnapshotsError,
    baseline::Baseline,
    blocking,
    command::Changes,
    compare::{Compared, Found, compare},
    open::{Head, Left},
    rows::{self, Author},
    tree::Tree,
};
use crate::{
    domain::{
        ids::{MessageId, PartId, ProjectId, SessionId},
        undo::FileState,
    },
    store::{self, entity::snapshot::Model as Snapshot},
};

/// What became of a command that was cut off.
#[derive(Debug)]
pub struct Recovered {
    pub part: PartId,
    /// What it changed; nothing where that could not be found out.
    pub changes: Option<Changes>,
}

/// When what is at a path was changed: seconds and nanoseconds.
type Times = HashMap<Box<[u8]>, (i64, u32)>;

/// How commands of each session that were cut off left files, and the last of their messages.
type Ended = HashMap<SessionId, (MessageId, HashMap<String, FileState>)>;

/// A change so long after the last sign of life may be a person's.
const SLACK: i64 = 3;

impl Snapshots {
    /// Records what cut-off commands had changed. For the start of the server, before anything
    /// else happens in the projects.
    pub async fn recover(&self) -> Result<Vec<Recovered>, SnapshotsError> {
        let commands = self.parts.commands.clone();
        let left = blocking(move || commands.left()).await?;
        let mut read = Vec::new();
        let mut recovered = Vec::new();
        for left in left {
            let part = left.part;
            let (left, content) = blocking(move || {
                let content = left.read();
                Ok((left, content))
            })
            .await?;
            match content {
                Ok((head, baseline)) => read.push((left, head, baseline)),
                Err(err) => {
                    tracing::warn!(%part, %err, "what a cut-off command changed is not known");
                    left.remove();
                    recovered.push(Recovered { part, changes: None });
                }
            }
        }
        let mut ended = Ended::new();
        let heads: Vec<Head> = read.iter().map(|(_, head, _)| head.clone()).collect();
        for (left, head, baseline) in read {
            let others =
                heads.iter().filter(|it| it.root == head.root && it.session != head.session);
            let others = others.map(|it| it.since).min();
            let earlier = ended.get(&head.session).filter(|it| it.0 < head.message);
            let earlier = earlier.map(|it| it.1.clone()).unwrap_or_default();
            let changes = match self.catch_up(&left, &head, baseline, others, earlier).await {
                Ok(changes) => changes,
                Err(err) => {
                    tracing::error!(part = %left.part, "recording a cut-off command: {err}");
                    None
                }
            };
            if let Some(changes) = &changes {
                let ended = ended.entry(head.session).or_insert((head.message, HashMap::new()));
                ended.0 = head.message;
                ended.1.extend(changes.changed.iter().map(|it| (it.path.clone(), it.after)));
            }
            left.remove();
            recovered.push(Recovered { part: left.part, changes });
        }
        Ok(recovered)
    }

    async fn catch_up(
        &self,
        left: &Left,
        head: &Head,
        baseline: Baseline,
        others: Option<(i64, u32)>,
        earlier: HashMap<String, FileState>,
    ) -> Result<Option<Changes>, SnapshotsError> {
        let db = &self.parts.db;
        let found = store::sessions::with_project(db, head.session).await?;
        let Some((_, project)) = found.filter(|(_, it)| Path::new(&it.path) == head.root) else {
            return Ok(None);
        };
        let theirs = self.of_others(head, project.id).await?;
        let recorder = self.recorder(&head.root, head.session, head.message);
        recorder.0.load().await?;
        let (root, blobs) = (head.root.clone(), self.parts.blobs.clone());
        let (compared, latest, too_many) = blocking(move || {
            let compared = compare(&root, &blobs, &baseline, &[])?;
            let latest = latest(&root, &compared.found)?;
            let too_many = baseline.too_many || compared.next.too_many;
            Ok((compared, latest, too_many))
        })
        .await?;
        if too_many {
            return Ok(None);
        }
        let Compared { found, taken, next } = compared;
        let whose = Whose { theirs, others, beat: left.beat, latest };
        let author = |path: &str, found: &Found| whose.author(path, found);
        let changed = self.note(&recorder, found, author, Some(head.since), || earlier).await?;
        self.parts.baselines.put(&head.root, next.into());
        Ok(Some(Changes { changed, taken }))
    }

    /// What other sessions of the project did at the same time, as far as it was stored.
    async fn of_others(
        &self,
        head: &Head,
        project: ProjectId,
    ) -> Result<HashMap<String, Snapshot>, SnapshotsError> {
        let db = &self.parts.db;
        let since = chrono::DateTime::from_timestamp(head.since.0, head.since.1);
        let rows =
            store::snapshots::of_others(db, project, head.session, since.unwrap_or_default());
        Ok(rows.await?.into_iter().map(|row| (row.path.clone(), row)).collect())
    }
}

/// When each of some changes was made at the latest. That something has gone shows in the folder
/// that it was in, or in the one that this was in.
fn latest(root: &Path, found: &[Found]) -> io::Result<Times> {
    let tree = Tree::open(root)?;
    let mut latest = Times::new();
    for one in found {
        let mut at = one.changed;
        let mut path = &*one.path;
        while at.is_none() && !path.is_empty() {
            path = path.iter().rposition(|byte| *byte == b'/').map_or(b"", |at| &path[..at]);
            at = match path {
                b"" => Some(tree.top()?.modified),
                path => tree.stat(path)?.map(|stat| stat.modified),
            };
        }
        latest.extend(at.map(|at| (one.path.clone(), at)));
    }
    Ok(latest)
}

/// Who made which change.
struct Whose {
    theirs: HashMap<String, Snapshot>,
    /// When the first command of another session began that was cut off too.
    others: Option<(i64, u32)>,
    beat: (i64, u32),
    latest: Times,
}

impl Whose {
    /// As in [`super::windows::Window::author`], from what was stored.
    fn author(&self, path: &str, found: &Found) -> Option<Author> {
        if let Some(theirs) = self.theirs.get(path) {
            return match rows::after(theirs) {
                Some(_) if rows::is_shared(theirs) => Some(Author::Shared),
                Some(after) if !after.same(&found.after) => Some(Author::Shared),
                _ => None,
            };
        }
        let (seconds, nanos) = self.beat;
        let at = self.latest.get(&found.path);
        let is_late = at.is_none_or(|at| *at > (seconds + SLACK, nanos));
        let may_be_theirs = self.others.is_some_and(|since| at.is_none_or(|at| *at >= since));
        Some(if is_late || may_be_theirs { Author::Shared } else { Author::Message })
    }
}
