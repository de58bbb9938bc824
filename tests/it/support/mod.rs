//! What several tests need.

pub mod model;
