//! What became of a patch, for the model and for the page.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::plan::Plan;
use crate::{
    domain::{
        diff::{self, Bounds, Diff},
        text,
    },
    engine::tools::{change::soon, multi_edit::numbered},
};

/// What happened to one file.
struct Fate {
    path: String,
    /// Where it was before, if it was moved.
    from: Option<String>,
    change: &'static str,
    diff: Diff,
    inexact: Vec<usize>,
}

impl Plan {
    /// A line for each file, and their differences, which share one bound.
    pub fn told(&self) -> (String, Value) {
        let fates = self.fates();
        let mut output = String::new();
        for Fate { path, from, change, diff, inexact } in &fates {
            let counts = format!("(+{} -{})", diff.additions, diff.deletions);
            output.push_str(&match (*change, from) {
                ("created", _) => {
                    format!("Created {path} ({}).", text::counted(diff.additions as usize, "line"))
                }
                ("deleted", _) => format!("Deleted {path}."),
                (_, Some(from)) => format!("Moved {from} to {path} {counts}."),
                _ => format!("Edited {path} {counts}."),
            });
            if !inexact.is_empty() {
                output.push_str(&format!(
                    " {} matched only after ignoring differences in white space or typography; new lines were \
                     indented as the file is. Check the place if that matters.",
                    numbered("Chunk", inexact)
                ));
            }
            output.push('\n');
        }
        if fates.is_empty() {
            output.push_str("The files are so already.\n");
        }
        let inexact = fates.iter().any(|fate| !fate.inexact.is_empty());
        let files: Vec<Value> = fates
            .into_iter()
            .map(|fate| {
                json!({"path": fate.path, "from": fate.from, "change": fate.change, "diff": fate.diff,
                    "inexact": !fate.inexact.is_empty()})
            })
            .collect();
        (output.trim_end().to_owned(), json!({"files": files, "inexact": inexact}))
    }

    fn fates(&self) -> Vec<Fate> {
        let deadline = Some(soon());
        let mut bounds = Bounds { deadline, ..Bounds::default() };
        let mut left: HashSet<usize> =
            self.changed().filter(|(_, slot)| slot.now.is_none()).map(|(at, _)| at).collect();
        // Where each new file was before, if it is one that is no longer there.
        let origins: Vec<Option<usize>> = self
            .slots
            .iter()
            .map(|slot| {
                let like = slot.now.as_ref()?.like?;
                left.remove(&like).then_some(like)
            })
            .collect();
        let mut fates = Vec::new();
        for (at, slot) in self.changed() {
            let origin = origins[at].map(|origin| &self.slots[origin]);
            if slot.now.is_none() && !left.contains(&at) {
                continue;
            }
            let from = origin.or(Some(slot)).and_then(|slot| slot.before.as_ref());
            let before = from.map_or(&[][..], |it| it.bytes.as_slice());
            let after = slot.now.as_ref().map_or(&[][..], |it| it.bytes.as_slice());
            let diff = diff::lines(before, after, bounds);
            let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
            let shown = lines.clone().count();
            let bytes: usize = lines.map(|line| line.text().len()).sum();
            bounds.lines = bounds.lines.saturating_sub(shown);
            bounds.bytes = bounds.bytes.saturating_sub(bytes);
            fates.push(Fate {
                path: slot.target.shown(),
                from: origin.map(|origin| origin.target.shown()),
                change: match (origin, &slot.before, &slot.now) {
                    (Some(_), _, _) => "moved",
                    (None, None, _) => "created",
                    (None, Some(_), None) => "deleted",
                    (None, Some(_), Some(_)) => "edited",
                },
                diff,
                inexact: slot.inexact.clone(),
            });
        }
        fates
    }
}
