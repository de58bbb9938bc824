//! The tool that changes several files by a patch, all or none.
//!
//! The patch is read by the one parser there is ([`patch::parse`]), for the gate as for the tool;
//! every path that it names is a subject of the call, and nothing else is touched.

mod carry;
mod plan;
mod tell;

use std::{collections::HashMap, path::PathBuf};

use serde_json::Value;

use self::plan::Plan;
use super::{
    FileContext, Outcome, Target, blocking,
    change::spare_git,
    files::Stamp,
    input::{self, parse},
    resolve,
};
use crate::domain::edit::patch::{self, Patch};

/// Reads the patch of a call. An error is a sentence for the model.
pub(super) fn read(input: Value) -> Result<Patch, String> {
    let input: input::ApplyPatch = parse("apply_patch", input)?;
    patch::parse(&input.patch).map_err(|err| err.to_string())
}

/// Where all paths of a patch lead, in its order, each place once.
pub(super) fn targets(root: &std::path::Path, patch: &Patch) -> Result<Vec<Target>, String> {
    let mut targets: Vec<Target> = Vec::new();
    for path in patch.paths() {
        let target = resolve(root, path).map_err(|why| format!("{path}: {why}"))?;
        if targets.iter().all(|known| known.real != target.real) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// `src/a.rs and 2 more`.
pub fn title<'a>(paths: impl IntoIterator<Item = &'a Target>) -> String {
    let mut paths = paths.into_iter();
    let first = paths.next().map(Target::shown).unwrap_or_default();
    match paths.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let patch = match read(input) {
        Ok(patch) => patch,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let title = targets(context.root, &patch).map(|it| title(&it)).unwrap_or_default();
    Outcome::of(title, apply(context, patch).await)
}

async fn apply(context: &FileContext<'_>, patch: Patch) -> Result<(String, Value), String> {
    // Each path is looked up anew, and must lead to what was judged.
    let mut targets: HashMap<String, Target> = HashMap::new();
    for path in patch.paths() {
        let target = context.target(path)?;
        spare_git(&target)?;
        targets.insert(path.to_owned(), target);
    }
    let reals: Vec<PathBuf> = targets.values().map(|target| target.real.clone()).collect();
    let held = context.files.lock_all(reals.iter().cloned()).await;
    let seen: HashMap<PathBuf, Stamp> = reals
        .iter()
        .filter_map(|real| Some((real.clone(), context.files.seen(context.session, real)?)))
        .collect();
    let root = context.root.to_owned();
    let plan = blocking(move || Plan::make(&root, &patch, &targets, &seen)).await?;
    for path in plan.changed_inside() {
        context.recorder.before_change(path).await?;
    }
    let (files, session) = (context.files.clone(), context.session);
    blocking(move || {
        // The locks go with the work: they hold until all files are there and known to the session,
        // even if nobody waits for that any more.
        let _held = held;
        plan.carry_out()?;
        for (real, stamp) in plan.stamps() {
            files.see(session, &real, stamp);
        }
        Ok(plan.told())
    })
    .await
}
