//! What goes on after a request has been answered: runs of agents, their tools, live fan-out.
//!
//! The engine never renders. Everything here takes an [`Engine`]: the parts that a run needs.

pub mod asks;
pub mod attachments;
pub mod budgets;
pub mod caches;
pub mod gate;
pub mod hub;
pub mod jobs;
pub mod models;
pub mod passwords;
pub mod projects;
pub mod providers;
pub mod refused;
pub mod rules;
pub mod runner;
pub mod sessions;
pub mod settings;
pub mod snapshots;
pub mod system_prompt;
pub mod tools;
pub mod tree;
pub mod undo;

use std::{path::PathBuf, sync::Arc};

use tokio::{runtime::Handle, sync::Semaphore};

use crate::{
    adapters::{model::Models, reach::Hosts, sandbox::Sandbox, vault::Vault},
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
    /// Where the network of commands may lead, where rules allow it.
    pub outside: Hosts,
    pub files: tools::Files,
    pub snapshots: snapshots::Snapshots,
    pub attachments: attachments::Attachments,
    pub hub: hub::Hub,
    pub runs: runner::Runs,
    /// Commands in the background.
    pub jobs: jobs::Jobs,
    /// What calls that go on may still cost.
    pub holds: budgets::Holds,
    /// What administrators have set over the configuration.
    pub settings: settings::Settings,
    /// Commands and searches that run at the same time, over all sessions.
    pub heavy: Semaphore,
    /// Where runs go on: not on the thread that happened to take a prompt, for a browser keeps to
    /// one, and all of a person's runs would share it.
    pub threads: Handle,
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
    pub outside: Hosts,
}

impl Engine {
    /// Runs of the engine go on in the runtime that this is called in.
    pub fn new(parts: Parts) -> anyhow::Result<Self> {
        let Parts { config, db, clock, entropy, models, vault, sandbox, outside } = parts;
        let heavy = Semaphore::new(config.agent.tools_at_once);
        let files = tools::Files::default();
        let snapshots = snapshots::Snapshots::new(
            db.clone(),
            clock.clone(),
            entropy.clone(),
            &config.data.dir,
            files.clone(),
        );
        let attachments = attachments::Attachments::below(&config.data.dir);
        Ok(Self {
            attachments,
            snapshots,
            files,
            hub: hub::Hub::default(),
            runs: runner::Runs::default(),
            jobs: jobs::Jobs::default(),
            holds: budgets::Holds::default(),
            settings: settings::Settings::default(),
            heavy,
            threads: Handle::current(),
            config,
            db,
            clock,
            entropy,
            models,
            vault,
            sandbox,
            outside,
        })
    }

    /// Lets go of what is kept of a session outside the database, once its rows are gone.
    pub(crate) async fn forget(&self, session: SessionId) {
        self.jobs.forget(session);
        self.files.forget(session);
        self.hub.resync(session);
        match tokio::fs::remove_dir_all(self.outputs_of(session)).await {
            Err(err) if err.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%session, "removing outputs: {err}");
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Removes kept content of files that nothing refers to any more.
    pub async fn sweep(&self) {
        let snapshots = self.snapshots.sweep().await.map_err(anyhow::Error::from);
        for swept in [snapshots, attachments::sweep(self).await] {
            match swept {
                Ok(0) => {}
                Ok(bytes) => tracing::info!(bytes, "removed content that nothing refers to"),
                Err(err) => tracing::error!("removing content that nothing refers to: {err}"),
            }
        }
    }

    /// Where the whole outputs of a session's commands lie.
    pub fn outputs_of(&self, session: SessionId) -> PathBuf {
        self.config.data.dir.join("outputs").join(session.to_string())
    }
}

/// Does something to its end, even if whoever asked for it hangs up: what is stored must be acted on.
pub(crate) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, refused::Refused>> + Send + 'static,
) -> Result<T, refused::Refused> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|err| {
        Err(refused::Refused::Inside(anyhow::anyhow!("work ended early: {err}")))
    })
}
