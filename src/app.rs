//! The parts of a running Forge, wired together once at start.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;

use crate::{
    adapters::{git::Git, sandbox::Sandbox},
    config::Config,
    domain::{clock::Clock, ids::Entropy},
    engine::{passwords::Passwords, projects::Projects},
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
    pub sandbox: Sandbox,
    pub projects: Projects,
    /// Whether somebody has an account; until then everything leads to the set-up page.
    set_up: Arc<AtomicBool>,
}

impl App {
    pub async fn new(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        sandbox: Sandbox,
    ) -> anyhow::Result<Self> {
        let config = Arc::new(config);
        let set_up = Arc::new(AtomicBool::new(store::users::any(&db).await?));
        let passwords = Passwords::new(&config.accounts);
        let git = Git::new(sandbox.clone(), &config.data.dir.join("git"));
        let git = git.context("preparing git's settings in the data folder")?;
        let (at, random) = (clock.clone(), entropy.clone());
        let projects = Projects::new(db.clone(), config.clone(), at, random, git);
        Ok(Self { config, db, clock, entropy, passwords, sandbox, projects, set_up })
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
