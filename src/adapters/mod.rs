//! What reaches out of the process: models, the vault, the operating system, other programs.
//!
//! Adapters know the domain and nothing else of Forge.

pub mod git;
pub mod model;
pub mod sandbox;
pub mod system;
pub mod vault;
