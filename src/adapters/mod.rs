//! Reaching out: processes, repositories and whatever else lies outside this program.

pub mod git;
pub mod sandbox;
