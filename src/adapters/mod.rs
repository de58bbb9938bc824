//! What reaches out of the process: models, the vault, the operating system.
//!
//! Adapters know the domain and nothing else of Forge.

pub mod model;
pub mod system;
pub mod vault;
