//! The page of a session: drawn from what is stored, and kept up to date by a stream.
//!
//! A piece of the page is one template, whether the page, an answer or the stream draws it.

pub mod acts;
pub mod asks;
pub mod changes;
mod diffs;
pub mod events;
mod file_view;
mod fragments;
mod missed;
pub mod new;
mod oob;
mod open;
mod output;
pub mod page;
mod painter;
mod patched;
pub(super) mod picker;
mod question;
pub mod queue;
mod side;
mod split;
mod timeline;
mod tool;
mod view;
pub mod whole_output;
pub(super) mod words;
