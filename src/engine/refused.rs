//! Why a change is not made: something in it needs another look, or it failed inside.

use std::collections::BTreeMap;

use crate::store::DbErr;

/// What is wrong, by the name of the field, in words for the person.
pub type Fields = BTreeMap<&'static str, String>;

/// A change that was not made. Nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("Some fields need another look.")]
    Fields(Fields),
    /// The state of things forbids it now.
    #[error("{0}")]
    Conflict(String),
    #[error("There is nothing here any more.")]
    Gone,
    #[error("{0}")]
    Inside(#[from] anyhow::Error),
}

impl Refused {
    /// One field that needs another look.
    pub fn field(name: &'static str, message: impl ToString) -> Self {
        Self::Fields(Fields::from([(name, message.to_string())]))
    }
}

impl From<DbErr> for Refused {
    fn from(err: DbErr) -> Self {
        match err {
            DbErr::RecordNotFound(_) => Self::Gone,
            err => Self::Inside(err.into()),
        }
    }
}

/// Who makes a change, for the audit log.
#[derive(Clone, Debug)]
pub struct Actor {
    pub user: crate::domain::ids::UserId,
    pub ip: Option<String>,
}
