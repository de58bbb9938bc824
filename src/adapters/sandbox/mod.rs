//! Running a command so that it reaches only what it was given.
//!
//! Two ways, found out by trying them at the start ([`Sandbox::probe`]): namespaces with Landlock
//! and a system call filter behind them, or Landlock and the filter alone. Where neither works
//! commands are refused. The server starts itself again as a helper for each command; see
//! [`helper_main`].

mod capture;
mod command;
mod confine;
mod door;
mod environment;
mod group;
mod guard;
mod helper;
mod host;
mod landlock;
mod policy;
mod probe;
mod report;
mod running;
mod seccomp;
mod supervise;
mod sys;
mod view;
mod watch;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use serde::{Deserialize, Serialize};

use policy::{Action, Policy};

pub use capture::{Captured, Spill, capture};
pub use command::{Command, Limits, Network, Streams};
pub use environment::PATH;
pub use helper::helper_main;
pub use host::{Host, Step};
pub use policy::{Bound, Ending};
pub use probe::ConfiguredMode;
pub use report::{Check, Report};
pub use running::{Exit, Running, Stopper};

/// The argument with which the program becomes the helper.
pub const HELPER_ARGUMENT: &str = "__sandbox";

/// What keeps a command in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// A view of the file system, processes and a network of its own; Landlock and a system call
    /// filter behind it.
    Namespaces,
    /// Landlock and a system call filter.
    Landlock,
    /// Nothing, because the operator wants it so.
    Off,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The host cannot confine it.
    #[error("This server cannot confine commands, so it does not run them. {0}")]
    Unconfined(&'static str),
    /// It asks for something that it must not get.
    #[error("{0}")]
    Refused(String),
    #[error("The helper of the sandbox ended before the command started.")]
    HelperLost,
    #[error("The sandbox did not start: {0}.")]
    Io(#[from] io::Error),
}

/// Starts commands inside walls.
#[derive(Clone, Debug)]
pub struct Sandbox {
    helper: PathBuf,
    tmp_root: PathBuf,
    configured: ConfiguredMode,
    /// Shared with all copies, so that a new probe is news to all.
    report: Arc<RwLock<Arc<Report>>>,
    hidden: Vec<PathBuf>,
    readable: Vec<PathBuf>,
}

impl Sandbox {
    /// Finds out what this host can enforce. `helper` is the path of this program; private
    /// folders of commands are made below `tmp_root`.
    pub async fn probe(helper: PathBuf, tmp_root: PathBuf, configured: ConfiguredMode) -> Self {
        let report = shared(Report::draw_up(&helper, &tmp_root, configured).await);
        Self { helper, tmp_root, configured, report, hidden: Vec::new(), readable: Vec::new() }
    }

    /// Finds out once more, for this and all its copies: the operator may have changed the host.
    pub async fn probe_again(&self) -> Arc<Report> {
        let report = Report::draw_up(&self.helper, &self.tmp_root, self.configured).await;
        let report = Arc::new(report);
        *self.report.write().unwrap_or_else(PoisonError::into_inner) = report.clone();
        report
    }

    /// Folders that no command may be given, not even as a part of a larger one: the data folder
    /// and the secret. A folder inside them, a work tree of a session, may still be given.
    #[must_use]
    pub fn hiding(mut self, hidden: impl IntoIterator<Item = PathBuf>) -> Self {
        self.hidden.extend(hidden.into_iter().map(|path| path.canonicalize().unwrap_or(path)));
        self
    }

    /// Folders that every command may read, such as toolchains in the operator's home.
    #[must_use]
    pub fn reading(mut self, readable: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(readable);
        self
    }

    /// The same sandbox in another mode, if this host offers it.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Option<Self> {
        let mut report = (*self.report()).clone();
        report.mode = report.offers(mode).then_some(mode);
        let offered = report.mode.is_some();
        // No longer what the others have.
        self.report = shared(report);
        offered.then_some(self)
    }

    /// What this host can enforce, for an operator to read.
    pub fn report(&self) -> Arc<Report> {
        self.report.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a command, once its walls are up.
    pub async fn spawn(&self, mut command: Command) -> Result<Running, SpawnError> {
        let streams = command.streams;
        let report = self.report();
        let Some(mode) = report.mode else {
            return Err(SpawnError::Unconfined(report.advice().unwrap_or_default()));
        };
        let mut on_the_host = None;
        if command.network == Network::Door {
            let (network, told) = match mode {
                Mode::Namespaces => (Network::Door, door::environment(None, None)),
                Mode::Landlock if report.keeps_to_doors() => {
                    let (door, port) = door::on_the_host().await?;
                    let told = door::environment(Some(port), door.password.as_ref());
                    on_the_host = Some((door, port));
                    (Network::Door, told)
                }
                Mode::Landlock | Mode::Off if command.keeps_to_the_door => {
                    let (door, port) = door::on_the_host().await?;
                    let told = door::environment(Some(port), door.password.as_ref());
                    on_the_host = Some((door, port));
                    (Network::On, told)
                }
                // It could go past it.
                Mode::Landlock => (Network::Off, Vec::new()),
                Mode::Off => (Network::On, Vec::new()),
            };
            command.network = network;
            command.env.splice(0..0, told);
        }
        command.limits.memory = command.limits.memory.min(report.host.most_memory());
        let mut policy = self.policy(command, mode)?;
        policy.door = on_the_host.as_ref().map(|(_, port)| *port);
        let mut running = Running::start(&self.helper, &policy, streams).await?;
        if let Some((door, _)) = on_the_host {
            running.door = Some(door);
        }
        Ok(running)
    }

    fn policy(&self, command: Command, mode: Mode) -> Result<Policy, SpawnError> {
        let refused = |reason: String| Err(SpawnError::Refused(reason));
        if command.argv.is_empty() {
            return refused("There is no command.".into());
        }
        let words = command.argv.iter().chain(command.env.iter().map(|(_, value)| value));
        if words.chain(command.env.iter().map(|(name, _)| name)).any(|word| word.contains('\0')) {
            return refused("A command cannot contain a NUL character.".into());
        }
        let mut writable = Vec::new();
        for path in &command.writable {
            writable.push(self.shown(path, mode)?);
        }
        let mut readable = Vec::new();
        for path in self.readable.iter().chain(&command.readable).filter(|path| path.exists()) {
            self.shown(path, mode)?;
            readable.push(path.clone());
        }
        let protected = command.protected.iter().map(|path| in_its_real_folder(path)).collect();
        if let (Some((hidden, system)), true) = (self.hidden_in_system(), mode != Mode::Off) {
            return refused(format!(
                "{} lies inside {system}, which every command can read. Move it elsewhere.",
                hidden.display()
            ));
        }
        let tmp = command.tmp.map(|path| self.shown(&path, mode)).transpose()?;
        Ok(Policy {
            mode,
            action: Action::Run { argv: command.argv, env: environment::with(command.env) },
            cwd: command.cwd,
            writable,
            readable,
            protected,
            tmp,
            tmp_root: self.tmp_root.clone(),
            held: command.held,
            network: command.network,
            door: None,
            limits: command.limits,
            timeout: command.timeout,
        })
    }

    fn hidden_in_system(&self) -> Option<(&PathBuf, &'static str)> {
        let system = |hidden: &PathBuf| {
            view::SYSTEM.iter().copied().find(|system| hidden.starts_with(system))
        };
        self.hidden.iter().find_map(|hidden| Some((hidden, system(hidden)?)))
    }

    /// Where a path really leads, if a command may have it.
    fn shown(&self, path: &Path, mode: Mode) -> Result<PathBuf, SpawnError> {
        let real = path.canonicalize().map_err(|error| {
            SpawnError::Refused(format!("{} cannot be used: {error}.", path.display()))
        })?;
        let around = self.hidden.iter().find(|hidden| hidden.starts_with(&real));
        match around {
            Some(_) if mode != Mode::Off => Err(SpawnError::Refused(format!(
                "{} contains Forge's own data, so no command may have it.",
                path.display()
            ))),
            _ => Ok(real),
        }
    }
}

fn shared(report: Report) -> Arc<RwLock<Arc<Report>>> {
    Arc::new(RwLock::new(Arc::new(report)))
}

/// The path with its folder resolved, but not itself: it may be a link, or not exist.
fn in_its_real_folder(path: &Path) -> PathBuf {
    let real = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (real, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
