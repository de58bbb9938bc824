//! The parts of a running Forge, wired together once at start.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    config::Config,
    domain::{clock::Clock, ids::Entropy},
    engine::passwords::Passwords,
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
    /// Whether somebody has an account; until then everything leads to the set-up page.
    set_up: Arc<AtomicBool>,
}

impl App {
    pub async fn new(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, DbErr> {
        let set_up = Arc::new(AtomicBool::new(store::users::any(&db).await?));
        let passwords = Passwords::new(&config.accounts);
        Ok(Self { config: Arc::new(config), db, clock, entropy, passwords, set_up })
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
