//! Rows, and the questions we ask about them.
//!
//! Reads go to a pool; writes go through [`Db::begin`], which hands out one connection at a time,
//! so that no writer ever waits for another inside the database. There is no `find(id)` for a row
//! that belongs to somebody: the owner is part of the question ([`OwnedRow`]).

pub mod api_tokens;
pub mod asks;
pub mod attachments;
pub mod audit;
pub mod budgets;
pub mod column;
pub mod db;
pub mod entity;
pub mod favourites;
pub mod idempotency;
pub mod journal;
pub mod messages;
pub mod projects;
pub mod providers;
pub mod rules;
pub mod sessions;
pub mod settings;
pub mod sign_ins;
pub mod snapshots;
pub mod todos;
pub mod usage;
pub mod users;

use std::{future::Future, str::FromStr};

pub use db::Db;
pub use sea_orm::DbErr;

use crate::domain::ids::UserId;

/// A row that belongs to one person, directly or through its parents.
///
/// The owner is part of the question, so somebody else's row and a row that does not exist get
/// the same answer.
pub trait OwnedRow: Sized {
    type Id: FromStr;

    fn find_owned(
        db: &Db,
        owner: UserId,
        id: Self::Id,
    ) -> impl Future<Output = Result<Option<Self>, DbErr>>;
}

/// A row that its owner alone manages, where [`OwnedRow`] also finds what others share.
pub trait OwnRow: Sized {
    type Id: FromStr;

    fn find_own(
        db: &Db,
        owner: UserId,
        id: Self::Id,
    ) -> impl Future<Output = Result<Option<Self>, DbErr>>;
}

/// A row that only admins manage; for them it needs no owner.
pub trait AdminRow: Sized {
    type Id: FromStr;

    fn find_for_admin(db: &Db, id: Self::Id) -> impl Future<Output = Result<Option<Self>, DbErr>>;
}
