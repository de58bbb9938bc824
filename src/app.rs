//! The parts of a running Forge, wired together once at start.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;

use crate::{
    adapters::{
        model::{Limits, Models},
        sandbox::{ConfiguredMode, Sandbox},
        vault::Vault,
    },
    config::{Config, SandboxMode},
    domain::{clock::Clock, ids::Entropy},
    engine::{Engine, Parts, passwords::Passwords, providers::Providers, rules::Rules, runner},
    store::{self, Db, DbErr},
};

/// Cheap to clone: every part is shared.
#[derive(Clone)]
pub struct App {
    pub config: Arc<Config>,
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub passwords: Passwords,
    pub engine: Arc<Engine>,
    /// Whether somebody has an account; until then everything leads to the set-up page.
    set_up: Arc<AtomicBool>,
}

impl App {
    /// Wires the parts, and repairs what the last run of the server has left in the middle.
    ///
    /// `helper` is the path of this program, which confines commands when it is called again.
    pub async fn new(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        helper: PathBuf,
    ) -> anyhow::Result<Self> {
        let config = Arc::new(config);
        let data = &config.data.dir;
        let vault = match &config.secret.key {
            Some(key) => Vault::from_text(key),
            None => Vault::load_or_create(&data.join("secret")),
        };
        let tmp = data.join("tmp");
        std::fs::create_dir_all(&tmp).with_context(|| format!("making {}", tmp.display()))?;
        let mode = match config.sandbox.mode {
            SandboxMode::Required => ConfiguredMode::Required,
            SandboxMode::Off => ConfiguredMode::Off,
        };
        let idle = Duration::from_secs(config.agent.idle_seconds);
        let (sandbox, any) =
            tokio::join!(Sandbox::probe(helper, tmp, mode), store::users::any(&db));
        let sandbox = sandbox.hiding([data.clone()]).reading(config.sandbox.readable.clone());
        let engine = Arc::new(Engine::new(Parts {
            config: config.clone(),
            db: db.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            models: Models::new(Limits { idle, ..Limits::default() })?,
            vault: vault?,
            sandbox,
        })?);
        let repaired = runner::repair(&engine).await?;
        if repaired > 0 {
            tracing::info!(sessions = repaired, "repaired what was left in the middle");
        }
        let passwords = Passwords::new(&config.accounts);
        let set_up = Arc::new(AtomicBool::new(any?));
        Ok(Self { config, db, clock, entropy, passwords, engine, set_up })
    }

    /// What it takes to set up providers.
    pub fn providers(&self) -> Providers<'_> {
        Providers::of(&self.engine)
    }

    /// What it takes to change permission rules.
    pub fn rules(&self) -> Rules<'_> {
        Rules::of(&self.engine)
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
