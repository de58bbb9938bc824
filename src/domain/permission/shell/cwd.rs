//! The folders that a command may run in, as the `cd`s before it leave them.

use crate::domain::permission::paths::join;

/// The most folders that are kept apart before it is given up.
const MAX: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cwds {
    /// One of these, absolute and normalised.
    Known(Vec<String>),
    Unknown,
}

/// Where a command leaves the shell when it succeeds, and when it fails.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub ok: Cwds,
    pub failed: Cwds,
}

impl Cwds {
    pub(super) fn one(path: &str) -> Self {
        Self::Known(vec![join("/", path)])
    }

    pub(super) fn or(self, other: &Self) -> Self {
        let (Self::Known(mut all), Self::Known(more)) = (self, other) else {
            return Self::Unknown;
        };
        for path in more {
            if !all.contains(path) {
                all.push(path.clone());
            }
        }
        if all.len() > MAX { Self::Unknown } else { Self::Known(all) }
    }

    /// The folders after `cd path`.
    pub(super) fn moved(&self, path: &str) -> Self {
        match self {
            _ if path.starts_with('/') => Self::one(path),
            Self::Known(all) => {
                let mut moved: Vec<String> = all.iter().map(|it| join(it, path)).collect();
                moved.sort();
                moved.dedup();
                Self::Known(moved)
            }
            Self::Unknown => Self::Unknown,
        }
    }

    /// The only folder there is, where it is certain.
    pub(crate) fn single(&self) -> Option<&str> {
        match self {
            Self::Known(all) if all.len() == 1 => all.first().map(String::as_str),
            _ => None,
        }
    }
}

impl Flow {
    /// Of a command that moves nowhere.
    pub(super) fn still(cwds: &Cwds) -> Self {
        Self { ok: cwds.clone(), failed: cwds.clone() }
    }

    pub(super) fn both(self) -> Cwds {
        self.ok.or(&self.failed)
    }
}
