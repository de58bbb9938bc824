//! Why a file could not be opened or replaced, in words.

use std::io;

use rustix::io::Errno;

use crate::{domain::text, engine::tools::paths::Target};

/// Why a file could not be opened or replaced.
#[derive(Debug)]
pub enum Trouble {
    Missing,
    Folder,
    /// Something on the way is a file.
    NotAFolder,
    /// Neither a file nor a folder; in words what it is.
    Special(&'static str),
    Large(u64),
    ReadOnly,
    /// Somebody else was faster.
    Changed,
    Denied,
    /// The way has a symbolic link that it did not have when it was judged.
    Moved,
    Io(io::Error),
}

impl Trouble {
    /// A sentence for the model.
    pub fn about(&self, target: &Target) -> String {
        let path = target.shown();
        match self {
            Self::Missing => format!("{path} does not exist."),
            Self::Folder => format!("{path} is a folder."),
            Self::NotAFolder => {
                format!("{path} cannot exist: a part of the path is a file, not a folder.")
            }
            Self::Special(what) => format!("{path} is {what}. Only regular files can be used."),
            Self::Large(size) => {
                format!("{path} is too large for this tool ({}).", text::size(*size))
            }
            Self::ReadOnly => {
                format!("{path} is read-only. Change its mode first if it is meant to be changed.")
            }
            Self::Changed => format!(
                "{path} was changed by somebody else just now. Read it again, then repeat the change."
            ),
            Self::Denied => format!("{path} cannot be opened: permission denied."),
            Self::Moved => format!("{path} led somewhere else when it was checked. Try again."),
            Self::Io(err) => format!("{path} cannot be used: {err}."),
        }
    }
}

impl From<Errno> for Trouble {
    fn from(err: Errno) -> Self {
        match err {
            Errno::NOENT => Self::Missing,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::ISDIR => Self::Folder,
            Errno::LOOP | Errno::XDEV => Self::Moved,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            err => Self::Io(err.into()),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(err: io::Error) -> Self {
        match err.raw_os_error() {
            Some(code) => Errno::from_raw_os_error(code).into(),
            None => Self::Io(err),
        }
    }
}
