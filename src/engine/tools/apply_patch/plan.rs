//! What a patch makes of the files, worked out in memory before anything is written.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use crate::{
    domain::{
        edit::patch::{Chunk, ChunkError, FilePatch, Patch, What, update},
        text::{self, Kind},
    },
    engine::tools::{
        Target,
        change::{LARGEST, must_be_known},
        disk::{Base, Loaded, Trouble},
        files::{Stamp, stamp},
        multi_edit::numbered,
        resolve,
    },
};

/// Bytes that the files of one patch may have together.
const ALL: usize = 64 << 20;
/// So many errors are told in full.
const EXPLAINED: usize = 6;

/// A file of the patch: as it is, and as it is going to be.
pub(super) struct Slot {
    pub target: Target,
    pub before: Option<Loaded>,
    pub now: Option<Content>,
    /// What is to be said of how its lines were found.
    pub inexact: Vec<usize>,
}

pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// The slot whose file it was at first: it keeps that one's mode and owner.
    pub like: Option<usize>,
}

/// All files of a patch, in the order in which it names them.
pub(super) struct Plan {
    pub root: PathBuf,
    pub slots: Vec<Slot>,
}

impl Plan {
    /// Works out the whole patch. Where a part of it does not fit, all of that is told, and what
    /// would have fitted.
    pub fn make(
        root: &Path,
        patch: &Patch,
        targets: &HashMap<String, Target>,
        seen: &HashMap<PathBuf, Stamp>,
    ) -> Result<Self, String> {
        let mut making = Making { root, targets, seen, slots: Vec::new(), by_real: HashMap::new() };
        let mut wrong = Vec::new();
        let mut fine = Vec::new();
        for file in &patch.files {
            match making.file(file) {
                Ok(()) => fine.push(text::printable(file.path.as_bytes()).into_owned()),
                Err(why) => wrong.push(why),
            }
            if making.size() > ALL {
                let may = text::size(ALL as u64);
                return Err(format!(
                    "The files of the patch are too large: at most {may} together. Send it in several patches."
                ));
            }
        }
        if wrong.is_empty() {
            return Ok(Self { root: root.to_owned(), slots: making.slots });
        }
        let files = text::counted(patch.files.len(), "file");
        let mut message =
            format!("Nothing was changed: {} of {files} in the patch failed.", wrong.len());
        if !fine.is_empty() {
            message.push_str(&format!(" These would have succeeded: {}.", fine.join(", ")));
        }
        for (at, why) in wrong.iter().enumerate() {
            let why = if at < EXPLAINED { why } else { why.lines().next().unwrap_or_default() };
            message.push('\n');
            message.push_str(why);
        }
        message.push_str("\nCorrect what failed, then send the whole patch again.");
        Err(message)
    }

    /// The files that are going to be different.
    pub fn changed(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.is_changed())
    }

    /// Those of them that lie in the project.
    pub fn changed_inside(&self) -> impl Iterator<Item = &str> {
        self.changed().filter_map(|(_, slot)| slot.target.inside.as_deref())
    }

    /// What the session knows of the files afterwards.
    pub fn stamps(&self) -> impl Iterator<Item = (PathBuf, Stamp)> {
        self.slots
            .iter()
            .filter_map(|slot| Some((slot.target.real.clone(), stamp(&slot.now.as_ref()?.bytes))))
    }
}

impl Slot {
    pub fn is_changed(&self) -> bool {
        let before = self.before.as_ref().map(|it| it.bytes.as_slice());
        before != self.now.as_ref().map(|it| it.bytes.as_slice())
    }
}

struct Making<'a> {
    root: &'a Path,
    targets: &'a HashMap<String, Target>,
    seen: &'a HashMap<PathBuf, Stamp>,
    slots: Vec<Slot>,
    by_real: HashMap<PathBuf, usize>,
}

impl Making<'_> {
    fn size(&self) -> usize {
        let of = |slot: &Slot| {
            slot.before.as_ref().map_or(0, |it| it.bytes.len())
                + slot.now.as_ref().map_or(0, |it| it.bytes.len())
        };
        self.slots.iter().map(of).sum()
    }

    /// Does what a patch says of one file, or nothing and says why.
    fn file(&mut self, file: &FilePatch) -> Result<(), String> {
        let at = self.slot(&file.path)?;
        let path = self.slots[at].target.shown();
        match &file.what {
            What::Add(content) => {
                if file.path.ends_with('/') {
                    return Err(format!("{path}: the path ends with /, which names a folder."));
                }
                if self.slots[at].now.is_some() {
                    return Err(format!(
                        "{path} is there already. Use *** Update File: to change it."
                    ));
                }
                let like = self.slots[at].before.is_some().then_some(at);
                let bytes = content.clone().into_bytes();
                self.slots[at].now = Some(Content { bytes, like });
            }
            What::Delete => {
                self.known(at, &path)?;
                self.must_be_itself(&file.path, &path, "deleted")?;
                self.slots[at].now = None;
            }
            What::Update { to, chunks } => self.update(at, file, to.as_deref(), chunks)?,
        }
        Ok(())
    }

    fn update(
        &mut self,
        at: usize,
        file: &FilePatch,
        to: Option<&str>,
        chunks: &[Chunk],
    ) -> Result<(), String> {
        let path = self.slots[at].target.shown();
        let content = self.known(at, &path)?;
        if let (Kind::Utf16(_), false) = (text::kind(&content.bytes), chunks.is_empty()) {
            return Err(format!(
                "{path} is UTF-16, which apply_patch cannot change. Use a command, such as iconv."
            ));
        }
        let like = content.like;
        let updated =
            update(&content.bytes, chunks).map_err(|errors| told(&path, chunks.len(), &errors))?;
        if to.is_none() && updated.content == content.bytes {
            return Err(format!(
                "{path}: the patch leaves it as it is, so there is nothing to change."
            ));
        }
        let now = Some(Content { bytes: updated.content, like });
        let end = match to {
            None => at,
            Some(to) => {
                let end = self.slot(to)?;
                if end != at {
                    self.must_be_itself(&file.path, &path, "moved")?;
                    let there = self.slots[end].target.shown();
                    if to.ends_with('/') {
                        return Err(format!(
                            "{there}: the path ends with /, which names a folder."
                        ));
                    }
                    if self.slots[end].now.is_some() {
                        return Err(format!(
                            "{path} cannot be moved: {there} is there already. Delete it in the same patch first, if \
                             that is meant."
                        ));
                    }
                    self.slots[at].now = None;
                }
                end
            }
        };
        self.slots[end].now = now;
        self.slots[end].inexact.extend(updated.inexact);
        Ok(())
    }

    /// The content so far of a file that is there and that the session knows.
    fn known(&self, at: usize, path: &str) -> Result<&Content, String> {
        let slot = &self.slots[at];
        if let Some(before) = &slot.before {
            must_be_known(&slot.target, &before.bytes, self.seen.get(&slot.target.real).copied())?;
        }
        slot.now
            .as_ref()
            .ok_or_else(|| format!("{path} does not exist. Use *** Add File: to create it."))
    }

    /// Moving or deleting a symbolic link is not the same as doing so to the file behind it.
    fn must_be_itself(&self, given: &str, path: &str, what: &str) -> Result<(), String> {
        let given_path = Path::new(given);
        let (Some(name), Some(target)) = (given_path.file_name(), self.targets.get(given)) else {
            return Err(format!("{path} cannot be {what}: the path does not name a file."));
        };
        let folder = given_path.parent().and_then(Path::to_str).filter(|it| !it.is_empty());
        let folder = resolve(self.root, folder.unwrap_or("."))?;
        match folder.real.join(name) == target.real {
            true => Ok(()),
            false => Err(format!(
                "{} is a symbolic link to {path}. It cannot be {what} by a patch; name the file itself, or use a \
                 command.",
                text::printable(given.as_bytes())
            )),
        }
    }

    /// The slot of a path, with its file loaded.
    fn slot(&mut self, path: &str) -> Result<usize, String> {
        let target =
            self.targets.get(path).ok_or_else(|| format!("{path} is no path of this patch."))?;
        if let Some(at) = self.by_real.get(&target.real) {
            return Ok(*at);
        }
        let told = |trouble: Trouble| trouble.about(target);
        let (base, way) = Base::of(self.root, target).map_err(told)?;
        let before = match base.load(&way, LARGEST) {
            Ok(before) => Some(before),
            Err(Trouble::Missing) => None,
            // A file on the way may be deleted or moved by this very patch.
            Err(Trouble::NotAFolder) if self.clears_the_way(target) => None,
            Err(trouble) => return Err(told(trouble)),
        };
        let at = self.slots.len();
        let now =
            before.as_ref().map(|before| Content { bytes: before.bytes.clone(), like: Some(at) });
        self.slots.push(Slot { target: target.clone(), before, now, inexact: Vec::new() });
        self.by_real.insert(target.real.clone(), at);
        Ok(at)
    }

    fn clears_the_way(&self, target: &Target) -> bool {
        self.slots.iter().any(|slot| {
            slot.now.is_none()
                && slot.before.is_some()
                && target.real.starts_with(&slot.target.real)
        })
    }
}

/// What is wrong with the chunks of a file.
fn told(path: &str, count: usize, errors: &[ChunkError]) -> String {
    let mut message = format!("{path}:");
    let fits: Vec<usize> =
        (1..=count).filter(|number| errors.iter().all(|it| it.chunk != *number)).collect();
    if !fits.is_empty() {
        message.push_str(&format!(" {} would have fitted.", numbered("Chunk", &fits)));
    }
    for (at, ChunkError { chunk, at: line, why }) in errors.iter().enumerate() {
        let why =
            if at < EXPLAINED { why.as_str() } else { why.lines().next().unwrap_or_default() };
        message.push_str(&format!("\nChunk {chunk} (line {line} of the patch): {why}"));
    }
    message
}
