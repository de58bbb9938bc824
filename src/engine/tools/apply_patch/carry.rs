//! Writing what was worked out; where one file cannot be written, all others are put back.

use std::path::PathBuf;

use super::plan::{Plan, Slot};
use crate::engine::tools::disk::{Base, Trouble};

/// A file that has been written, and the folders that were made for it.
struct Done {
    slot: usize,
    made: Vec<PathBuf>,
}

impl Plan {
    /// Writes all files, or none.
    pub fn carry_out(&self) -> Result<(), String> {
        let mut done: Vec<Done> = Vec::new();
        for at in self.order() {
            let made = match self.folders_to_make(&self.slots[at]) {
                Ok(made) => made,
                Err(trouble) => return Err(self.put_back(&done, at, &trouble)),
            };
            let written = self.write(&self.slots[at]);
            let failed = written.is_err();
            // Also a file that could not be written may have got its folders.
            if !failed || !made.is_empty() {
                done.push(Done { slot: at, made });
            }
            if let Err(trouble) = written {
                return Err(self.put_back(&done, at, &trouble));
            }
        }
        Ok(())
    }

    /// What stands in another's way goes first, then comes what is new, and what goes is last: so
    /// the least is missing at any time.
    fn order(&self) -> Vec<usize> {
        let changed: Vec<(usize, &Slot)> = self.changed().collect();
        let is_in_the_way = |slot: &Slot| {
            changed.iter().any(|(_, other)| {
                other.now.is_some()
                    && other.target.real != slot.target.real
                    && other.target.real.starts_with(&slot.target.real)
            })
        };
        let mut order: Vec<(u8, usize)> = changed
            .iter()
            .map(|(at, slot)| match slot.now {
                None if is_in_the_way(slot) => (0, *at),
                Some(_) => (1, *at),
                None => (2, *at),
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, at)| at).collect()
    }

    fn folders_to_make(&self, slot: &Slot) -> Result<Vec<PathBuf>, Trouble> {
        match (&slot.before, &slot.now) {
            (None, Some(_)) => {
                let (base, way) = Base::of(&self.root, &slot.target)?;
                Ok(base.missing_above(&way))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn write(&self, slot: &Slot) -> Result<(), Trouble> {
        let (base, way) = Base::of(&self.root, &slot.target)?;
        match (&slot.now, &slot.before) {
            (Some(now), before) => {
                let like = now.like.and_then(|like| self.slots[like].before.as_ref());
                base.put(&way, &now.bytes, before.as_ref(), like)
            }
            (None, Some(before)) => base.remove(&way, before),
            (None, None) => Ok(()),
        }
    }

    /// Undoes what was written, the last first, and says what went wrong.
    fn put_back(&self, done: &[Done], failed: usize, trouble: &Trouble) -> String {
        let mut left = Vec::new();
        for Done { slot, made } in done.iter().rev() {
            let slot_at = *slot;
            let slot = &self.slots[slot_at];
            // What failed was not written; only its folders may be there.
            let restored = if slot_at == failed { Ok(()) } else { self.restore(slot) };
            if let Err(trouble) = restored {
                tracing::error!(path = %slot.target.shown(), ?trouble, "a file could not be put back");
                left.push(slot.target.shown());
            }
            if let Ok((base, _)) = Base::of(&self.root, &slot.target) {
                for folder in made.iter().rev() {
                    if let Err(trouble) = base.remove_folder(folder) {
                        tracing::debug!(?trouble, "a new folder stays");
                    }
                }
            }
        }
        let why = trouble.about(&self.slots[failed].target);
        match left.as_slice() {
            [] => format!("Nothing was changed, because one file could not be written. {why}"),
            left => format!(
                "{why} The patch was not applied, but {} could not be put back. Look at it with read.",
                left.join(" and ")
            ),
        }
    }

    /// Brings a file back to what it was, unless somebody else has changed it since.
    fn restore(&self, slot: &Slot) -> Result<(), Trouble> {
        let (base, way) = Base::of(&self.root, &slot.target)?;
        let Some(now) = &slot.now else {
            let before = slot.before.as_ref();
            return base.put(&way, before.map_or(&[][..], |it| &it.bytes), None, before);
        };
        let there = base.load(&way, now.bytes.len() as u64)?;
        if there.bytes != now.bytes {
            return Err(Trouble::Changed);
        }
        match &slot.before {
            Some(before) => base.put(&way, &before.bytes, Some(&there), Some(before)),
            None => base.remove(&way, &there),
        }
    }
}
