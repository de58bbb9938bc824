//! Goes on after the request has been answered: what agents do, and what they do it with.

pub mod passwords;
pub mod projects;
pub mod tree;
