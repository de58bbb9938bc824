//! What goes on after a request has been answered: runs of agents, their tools, live fan-out.
//!
//! The engine never renders. Everything here takes an [`Engine`]: the parts that a run needs.

pub mod asks;
pub mod gate;
pub mod hub;
pub mod passwords;
pub mod providers;
pub mod refused;
pub mod rules;
pub mod runner;
pub mod sessions;
pub mod snapshots;
pub mod system_prompt;
pub mod tools;

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Semaphore;

use crate::{
    adapters::{model::Models, sandbox::Sandbox, vault::Vault},
    config::Config,
    domain::{
        clock::Clock,
        ids::{Entropy, SessionId},
    },
    store::Db,
};

/// The parts that runs of agents need.
pub struct Engine {
    pub config: Arc<Config>,
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub models: Models,
    pub vault: Vault,
    pub sandbox: Sandbox,
    pub files: tools::Files,
    pub snapshots: snapshots::Snapshots,
    pub hub: hub::Hub,
    pub runs: runner::Runs,
    /// Commands and searches that run at the same time, over all sessions.
    pub heavy: Semaphore,
}

/// What an engine is made of; the rest it makes itself.
pub struct Parts {
    pub config: Arc<Config>,
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub models: Models,
    pub vault: Vault,
    pub sandbox: Sandbox,
}

impl Engine {
    pub fn new(parts: Parts) -> anyhow::Result<Self> {
        let Parts { config, db, clock, entropy, models, vault, sandbox } = parts;
        let heavy = Semaphore::new(config.agent.tools_at_once);
        Ok(Self {
            snapshots: snapshots::Snapshots,
            files: tools::Files::default(),
            hub: hub::Hub::default(),
            runs: runner::Runs::default(),
            heavy,
            config,
            db,
            clock,
            entropy,
            models,
            vault,
            sandbox,
        })
    }

    /// Where the whole outputs of a session's commands lie.
    pub fn outputs_of(&self, session: SessionId) -> PathBuf {
        self.config.data.dir.join("outputs").join(session.to_string())
    }
}

/// Why the engine does not do what it was asked, in words for the person.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The request is wrong: which field, and what is expected.
    #[error("{1}")]
    Invalid(&'static str, String),
    /// The state of things forbids it now.
    #[error("{0}")]
    Conflict(String),
    #[error("There is nothing here, or it is not yours.")]
    NotFound,
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<crate::store::DbErr> for Refusal {
    fn from(err: crate::store::DbErr) -> Self {
        match err {
            crate::store::DbErr::RecordNotFound(_) => Self::NotFound,
            err => Self::Internal(err.into()),
        }
    }
}
