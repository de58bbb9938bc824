//! The parts of a running Forge, wired together once at start.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{
    adapters::{
        model::{Limits, Models},
        vault::Vault,
    },
    config::Config,
    domain::{clock::Clock, ids::Entropy},
    engine::{passwords::Passwords, providers::Providers, rules::Rules},
    store::{self, Db, DbErr},
};

/// The longest that a test of a provider may take.
const TEST_WAIT: Duration = Duration::from_secs(30);

/// Cheap to clone: every part is shared.
#[derive(Clone)]
pub struct App {
    pub config: Arc<Config>,
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub passwords: Passwords,
    pub vault: Vault,
    pub models: Models,
    /// Whether somebody has an account; until then everything leads to the set-up page.
    set_up: Arc<AtomicBool>,
}

impl App {
    pub async fn new(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> anyhow::Result<Self> {
        let set_up = Arc::new(AtomicBool::new(store::users::any(&db).await?));
        let passwords = Passwords::new(&config.accounts);
        let vault = match &config.secret.key {
            Some(key) => Vault::from_text(key)?,
            None => Vault::load_or_create(&config.data.dir.join("secret"))?,
        };
        let idle = Duration::from_secs(config.agent.idle_seconds);
        let models = Models::new(Limits { idle, ..Limits::default() })?;
        let config = Arc::new(config);
        Ok(Self { config, db, clock, entropy, passwords, vault, models, set_up })
    }

    /// What it takes to change permission rules.
    pub fn rules(&self) -> Rules<'_> {
        Rules { db: &self.db, clock: self.clock.as_ref(), entropy: self.entropy.as_ref() }
    }

    /// What it takes to set up providers.
    pub fn providers(&self) -> Providers<'_> {
        Providers {
            db: &self.db,
            clock: self.clock.as_ref(),
            entropy: self.entropy.as_ref(),
            vault: &self.vault,
            models: &self.models,
            wait: Duration::from_secs(self.config.agent.idle_seconds).min(TEST_WAIT),
        }
    }

    /// Whether somebody has an account. Once that is so it stays so, and costs no query.
    pub async fn is_set_up(&self) -> Result<bool, DbErr> {
        if self.set_up.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let any = store::users::any(&self.db).await?;
        self.set_up.fetch_or(any, Ordering::Relaxed);
        Ok(any)
    }
}
