//! What reaches out of the process: models, commands in the sandbox, git, files, the vault.
//!
//! Adapters know the domain and nothing else of Forge.

pub mod blobs;
pub mod git;
pub mod model;
pub mod objects;
pub mod sandbox;
pub mod system;
pub mod vault;
