//! What reaches out of the process: models, commands in the sandbox, their network, git,
//! files, the vault.
//!
//! Adapters know the domain and nothing else of Forge.

pub mod blobs;
pub mod git;
pub mod model;
pub mod objects;
pub mod proxy;
pub mod reach;
pub mod sandbox;
pub mod system;
pub mod vault;
