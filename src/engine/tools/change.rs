//! Changing a file, as edit, multi_edit and write do it: under its lock, only where the session knows its
//! content, with the earlier content recorded, and replaced whole.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    FileContext, Target, blocking,
    disk::{Base, Loaded, Trouble, passes},
    files::{Stamp, stamp},
};
use crate::domain::{
    diff::{self, Bounds, Diff},
    text::{self, Kind},
};

/// Larger files are left to commands.
pub(super) const LARGEST: u64 = 16 << 20;
/// How long the smallest difference is looked for.
const COMPARING: Duration = Duration::from_millis(100);

/// The new content of a file, and what else is to be said of it.
pub(super) struct Made {
    pub content: Vec<u8>,
    pub inexact: bool,
    pub count: usize,
    /// Sentences for the model, each with a space in front.
    pub note: String,
}

/// A change that was carried out.
pub(super) struct Changed {
    pub made: Made,
    pub diff: Diff,
    pub created: bool,
}

impl Changed {
    /// `+3 -1`, for a sentence.
    pub fn counts(&self) -> String {
        format!("+{} -{}", self.diff.additions, self.diff.deletions)
    }
}

/// Changes a file to what `make` makes of its content, which is absent where there is no file.
pub(super) async fn change(
    context: &FileContext<'_>,
    target: &Target,
    make: impl FnOnce(Option<&[u8]>) -> Result<Made, String> + Send + 'static,
) -> Result<Changed, String> {
    spare_git(target)?;
    let held = context.files.lock(&target.real).await;
    let seen = context.files.seen(context.session, &target.real);
    let (root, aim) = (context.root.to_owned(), target.clone());
    let prepared = blocking(move || Prepared::make(&root, aim, seen, make)).await?;
    let known = stamp(&prepared.changed.made.content);
    if !prepared.is_needed() {
        context.files.see(context.session, &target.real, known);
        return Ok(prepared.changed);
    }
    if let Some(path) = &target.inside {
        context.recorder.before_change(path).await?;
    }
    let (files, session, real) = (context.files.clone(), context.session, target.real.clone());
    blocking(move || {
        // The lock goes with the work: it holds until the file is there and known to the session,
        // even if nobody waits for that any more.
        let _held = held;
        let changed = prepared.carry_out()?;
        files.see(session, &real, known);
        Ok(changed)
    })
    .await
}

/// Git's own files are changed by git alone.
pub(super) fn spare_git(target: &Target) -> Result<(), String> {
    let way = target.inside.as_deref().map_or(target.real.as_path(), Path::new);
    match passes(way, ".git") {
        true => {
            Err(format!("{} belongs to Git itself. Use git commands to change it.", target.shown()))
        }
        false => Ok(()),
    }
}

/// A session changes only what it has seen, as it is now: its content counts, not its time.
pub(super) fn must_be_known(
    target: &Target,
    content: &[u8],
    seen: Option<Stamp>,
) -> Result<(), String> {
    let path = target.shown();
    match seen {
        Some(seen) if seen == stamp(content) => Ok(()),
        Some(_) => Err(format!(
            "{path} has changed since it was read. Read it again, then repeat the change."
        )),
        None => Err(match text::kind(content) {
            Kind::Binary(what) => {
                format!("{path} is {what}, which was not and cannot be read. Use a command.")
            }
            Kind::Text | Kind::Utf16(_) => format!(
                "{path} was not read in this session. Read it first, so that nothing unknown is overwritten."
            ),
        }),
    }
}

/// When to stop looking for the smallest difference.
pub(super) fn soon() -> Instant {
    Instant::now() + COMPARING
}

struct Prepared {
    base: Base,
    way: PathBuf,
    target: Target,
    before: Option<Loaded>,
    changed: Changed,
}

impl Prepared {
    fn make(
        root: &Path,
        target: Target,
        seen: Option<Stamp>,
        make: impl FnOnce(Option<&[u8]>) -> Result<Made, String>,
    ) -> Result<Self, String> {
        let told = |trouble: Trouble| trouble.about(&target);
        let (base, way) = Base::of(root, &target).map_err(told)?;
        let before = match base.load(&way, LARGEST) {
            Ok(before) => Some(before),
            Err(Trouble::Missing) => None,
            Err(trouble) => return Err(told(trouble)),
        };
        if let Some(before) = &before {
            must_be_known(&target, &before.bytes, seen)?;
        }
        let old = before.as_ref().map(|before| before.bytes.as_slice());
        let made = make(old)?;
        let bounds = Bounds { deadline: Some(soon()), ..Bounds::default() };
        let diff = diff::lines(old.unwrap_or_default(), &made.content, bounds);
        let changed = Changed { made, diff, created: before.is_none() };
        Ok(Self { base, way, target, before, changed })
    }

    fn is_needed(&self) -> bool {
        self.before.as_ref().is_none_or(|before| before.bytes != self.changed.made.content)
    }

    fn carry_out(self) -> Result<Changed, String> {
        self.base
            .replace(&self.way, &self.changed.made.content, self.before.as_ref())
            .map_err(|trouble| trouble.about(&self.target))?;
        Ok(self.changed)
    }
}
