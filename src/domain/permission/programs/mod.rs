//! What is known of the programs that agents run most: the files they touch, which of them only
//! look, and which run what they are given.

mod effects;
mod git;
mod looks;
mod risks;

pub(super) use self::{
    effects::{Access, Effect, effects},
    looks::{Folder, only_looks},
    risks::{Nature, nature, risks},
};
use super::shell::Word;

/// The name of a program, without the folder it is called by.
pub(super) fn name(words: &[Word]) -> Option<&str> {
    words.first()?.literal()?.rsplit('/').next()
}
