//! The parts of a running Forge, wired together once at start.

pub mod accounts;
pub mod secrets;
pub mod tokens;
pub mod upkeep;

use std::{
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::{
        git::Git,
        model::{Hosts, Limits, Models, Names, SystemNames},
        sandbox::{ConfiguredMode, Sandbox},
        vault::Vault,
    },
    config::{Config, SandboxMode},
    domain::{
        clock::Clock,
        ids::{Entropy, UserId},
        throttle::Throttle,
    },
    engine::{
        Engine, Parts, caches, passwords::Passwords, projects::Projects, providers::Providers,
        rules::Rules, settings,
    },
    store::{self, Db, DbErr, audit},
};

/// Cheap to clone: every part is shared.
#[derive(Clone)]
pub struct App {
    pub config: Arc<Config>,
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub vault: Vault,
    pub passwords: Passwords,
    pub engine: Arc<Engine>,
    pub projects: Projects,
    /// Failed sign-ins.
    pub throttle: Arc<Mutex<Throttle>>,
    /// Cancelled when the server stops: streams end on it.
    pub stopping: CancellationToken,
    /// Whether somebody has an account; until then everything leads to the set-up page.
    set_up: Arc<AtomicBool>,
    /// The hash of what the first person must show, where one was made.
    setup_token: Arc<Mutex<Option<[u8; 32]>>>,
}

/// Who does something, for the audit log.
#[derive(Clone, Debug, Default)]
pub struct Actor {
    /// Nobody on the command line and at set-up.
    pub user: Option<UserId>,
    pub ip: Option<String>,
}

impl App {
    /// Wires the parts. Nothing runs yet, so that the command line can do this beside a server.
    ///
    /// `helper` is the path of this program, which confines commands when it is called again.
    pub async fn new(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        helper: PathBuf,
    ) -> anyhow::Result<Self> {
        let names = Arc::new(SystemNames);
        Self::with_names(config, db, clock, entropy, helper, names).await
    }

    /// The same, with somebody else to ask for the addresses of members' providers.
    pub async fn with_names(
        config: Config,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        helper: PathBuf,
        names: Arc<dyn Names>,
    ) -> anyhow::Result<Self> {
        let config = Arc::new(config);
        let data = &config.data.dir;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data)?;
        let vault = secrets::vault(&config)?;
        let tmp = data.join("tmp");
        std::fs::create_dir_all(&tmp).with_context(|| format!("making {}", tmp.display()))?;
        let mode = match config.sandbox.mode {
            SandboxMode::Required => ConfiguredMode::Required,
            SandboxMode::Off => ConfiguredMode::Off,
        };
        let idle = Duration::from_secs(config.agent.idle_seconds);
        let allowed =
            |hosts: &[String]| Hosts::new(hosts.iter().map(String::as_str), names.clone());
        let hosts = allowed(&config.providers.allowed_hosts);
        let outside = allowed(&config.sandbox.private_hosts);
        caches::prepare(&config.sandbox);
        let (sandbox, any) =
            tokio::join!(Sandbox::probe(helper, tmp, mode), store::users::any(&db));
        let sandbox = sandbox.hiding([data.clone()]).reading(config.sandbox.readable.clone());
        let git = Git::new(sandbox.clone(), &data.join("git"));
        let git = git.context("preparing git's settings in the data folder")?;
        let git = git.reaching(outside.clone());
        let (at, random) = (clock.clone(), entropy.clone());
        let projects = Projects::new(db.clone(), config.clone(), at, random, git);
        let engine = Arc::new(Engine::new(Parts {
            config: config.clone(),
            db: db.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            models: Models::with_hosts(Limits { idle, ..Limits::default() }, hosts)?,
            vault: vault.clone(),
            sandbox,
            outside,
        })?);
        settings::load(&engine).await?;
        Ok(Self {
            set_up: Arc::new(AtomicBool::new(any?)),
            passwords: Passwords::new(&config.accounts),
            throttle: Arc::default(),
            stopping: CancellationToken::new(),
            setup_token: Arc::default(),
            config,
            db,
            clock,
            entropy,
            vault,
            engine,
            projects,
        })
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

    /// Makes the token that the first person must show. Only its hash stays here.
    pub fn new_setup_token(&self) -> String {
        let text: String = self.entropy.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        *self.setup_token.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Sha256::digest(text.as_bytes()).into());
        text
    }

    /// Whether this is that token.
    pub fn is_setup_token(&self, text: &str) -> bool {
        let hash: [u8; 32] = Sha256::digest(text.trim().as_bytes()).into();
        let known = *self.setup_token.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_some_and(|known| known.ct_eq(&hash).into())
    }

    /// Adds a line to the audit log. `detail` never has a secret.
    pub async fn audit(
        &self,
        by: &Actor,
        action: &'static str,
        subject: (&'static str, String),
        detail: serde_json::Value,
    ) -> Result<(), DbErr> {
        let deed = audit::Deed {
            actor: by.user,
            action,
            subject: (subject.0, Some(subject.1)),
            detail,
            ip: by.ip.clone(),
        };
        audit::record(&self.db, self.clock.as_ref(), self.entropy.as_ref(), deed).await
    }
}
