//! Forge's own git: cloning, creating and looking at repositories.
//!
//! It runs in the sandbox like everything else, because what a repository says in its own
//! configuration can name programs to run.

mod address;
mod cloning;
mod reading;
mod repository;
mod route;
mod status;

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::adapters::{
    reach::Hosts,
    sandbox::{Command, Ending, Sandbox, SpawnError, Streams},
};
use reading::{explain, read_answer, read_words};
use route::Route;

pub use cloning::Clone;
pub use repository::{is_repository, protected_paths};
pub use status::{GitStatus, StatusEntry};

/// Git, as Forge uses it.
#[derive(Clone, Debug)]
pub struct Git {
    sandbox: Sandbox,
    config: PathBuf,
    /// Where it may clone from.
    hosts: Hosts,
}

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It was not even tried.
    #[error("{0}")]
    Refused(String),
    /// Git said no; its own words.
    #[error("Git did not succeed: {0}")]
    Failed(String),
    #[error("Git took too long and was stopped.")]
    TimedOut,
    #[error(transparent)]
    Sandbox(#[from] SpawnError),
    #[error("Git could not be run: {0}.")]
    Io(#[from] io::Error),
}

/// One run of git.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// What follows `git` and its safety options.
    pub arguments: Vec<String>,
    pub cwd: PathBuf,
    pub writable: Vec<PathBuf>,
    pub readable: Vec<PathBuf>,
    pub timeout: Duration,
    /// Bytes of output after which git is stopped.
    pub most: usize,
}

/// What git printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub output: Vec<u8>,
    /// There was more.
    pub is_cut: bool,
}

const PATIENCE: Duration = Duration::from_secs(30);
const MOST_OUTPUT: usize = 4 << 20;

/// Options that win over whatever a repository has configured.
const OPTIONS: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "safe.directory=*",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.askPass=true",
    "-c",
    "credential.helper=",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "advice.detachedHead=false",
];

/// For the processes that git starts in another repository, which do not get the options.
const CONFIG: &str = "[safe]\n\tdirectory = *\n[core]\n\tfsmonitor = false\n\thooksPath = /dev/null\n\
                      [init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n";

impl Git {
    /// `folder` takes a small file with git's own settings.
    pub fn new(sandbox: Sandbox, folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let config = folder.canonicalize()?.join("gitconfig");
        fs::write(&config, CONFIG)?;
        Ok(Self { sandbox, config, hosts: Hosts::default() })
    }

    /// Lets it clone from these hosts, and not from the public Internet alone.
    #[must_use]
    pub fn reaching(self, hosts: Hosts) -> Self {
        Self { hosts, ..self }
    }

    /// Makes a new repository in a folder that does not exist yet, or is empty.
    pub async fn init(&self, to: &Path) -> Result<(), GitError> {
        make_empty_folder(to)?;
        let arguments = words(&["init", "--quiet", "--initial-branch=main"]);
        let root = to.canonicalize()?;
        let invocation = Invocation { writable: vec![root.clone()], ..looking(root, arguments) };
        self.run(invocation, &mut |_: &str| {}).await.map(drop)
    }

    /// How the work tree differs from the last commit. `None` where there is no repository.
    pub async fn status(&self, root: &Path) -> Result<Option<GitStatus>, GitError> {
        if !is_repository(root) {
            return Ok(None);
        }
        // Whether a submodule is clean, git finds out by running itself in there, with the settings
        // of the submodule, which may name programs. That another commit is checked out shows.
        let quiet = "--ignore-submodules=dirty";
        let arguments = words(&["status", "--porcelain=v2", "-z", "--branch", quiet]);
        let answer = self.look(root, arguments).await?;
        let mut status = GitStatus::parse(&answer.output);
        status.is_cut |= answer.is_cut;
        Ok(Some(status))
    }

    /// The branch that the repository's origin starts from, or else the one that is checked out.
    pub async fn default_branch(&self, root: &Path) -> Result<Option<String>, GitError> {
        if !is_repository(root) {
            return Ok(None);
        }
        for reference in ["refs/remotes/origin/HEAD", "HEAD"] {
            let arguments = words(&["symbolic-ref", "--quiet", "--short", reference]);
            match self.look(root, arguments).await {
                Ok(answer) => {
                    let name = String::from_utf8_lossy(&answer.output).trim().to_owned();
                    let name = name.strip_prefix("origin/").unwrap_or(&name).to_owned();
                    return Ok(Some(name).filter(|name| !name.is_empty()));
                }
                Err(GitError::Failed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Runs git on a repository that it may only read.
    pub async fn look(&self, root: &Path, arguments: Vec<String>) -> Result<Answer, GitError> {
        let root = root.canonicalize()?;
        self.run(looking(root, arguments), &mut |_: &str| {}).await
    }

    /// Runs git without a network. `progress` hears what it says on its error output, line by line.
    pub async fn run(
        &self,
        invocation: Invocation,
        progress: &mut (impl FnMut(&str) + Send),
    ) -> Result<Answer, GitError> {
        self.run_by(&Route::default(), invocation, progress).await
    }

    /// Runs git with a way to somewhere.
    async fn run_by(
        &self,
        route: &Route,
        invocation: Invocation,
        progress: &mut (impl FnMut(&str) + Send),
    ) -> Result<Answer, GitError> {
        let options = ["git"].iter().chain(OPTIONS).map(|word| (*word).to_owned());
        let options = options.chain(route.options.iter().cloned());
        let mut readable = invocation.readable;
        readable.push(self.config.clone());
        let command = Command {
            argv: options.chain(invocation.arguments).collect(),
            cwd: invocation.cwd,
            env: [self.environment(), route.environment.clone()].concat(),
            writable: invocation.writable,
            readable,
            network: route.network(),
            keeps_to_the_door: route.proxy.is_some(),
            timeout: Some(invocation.timeout),
            streams: Streams::Separate,
            ..Command::default()
        };
        let mut running = self.sandbox.spawn(command).await?;
        let (stopper, door) = (running.stopper(), running.take_door());
        let (output, errors) = (running.take_output(), running.take_errors());
        let read = async {
            tokio::join!(
                read_answer(output, invocation.most, stopper),
                read_words(errors, progress),
            )
        };
        let (answer, words) = match &route.proxy {
            Some(proxy) => proxy.serve_while(door.as_ref(), read).await,
            None => read.await,
        };
        let (answer, words) = (answer?, words?);
        let exit = running.wait().await?;
        match exit.ending {
            Ending::Code(0) => Ok(answer),
            Ending::Killed if answer.is_cut => Ok(answer),
            Ending::TimedOut => Err(GitError::TimedOut),
            Ending::Code(code) => Err(GitError::Failed(explain(&words, code))),
            Ending::TooMuch(_) => {
                Err(GitError::Failed("it used more memory, processes or disk than it may.".into()))
            }
            Ending::Signal(_) | Ending::Killed => {
                Err(GitError::Failed("it was stopped before it was done.".into()))
            }
        }
    }

    fn environment(&self) -> Vec<(String, String)> {
        let config = self.config.to_string_lossy();
        [
            ("GIT_CONFIG_GLOBAL", config.as_ref()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            // What is cloned by its own way is let through there.
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_ASKPASS", "true"),
            ("SSH_ASKPASS", "true"),
            ("LC_ALL", "C.UTF-8"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}

fn looking(root: PathBuf, arguments: Vec<String>) -> Invocation {
    Invocation {
        arguments,
        cwd: root.clone(),
        writable: Vec::new(),
        readable: vec![root],
        timeout: PATIENCE,
        most: MOST_OUTPUT,
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// True if the folder was made.
fn make_empty_folder(path: &Path) -> Result<bool, GitError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut entries = fs::read_dir(path)?;
            if entries.next().is_none() {
                return Ok(false);
            }
            let name = path.file_name().unwrap_or(OsStr::new("The folder")).to_string_lossy();
            Err(GitError::Refused(format!("{name} is not empty. Choose another name.")))
        }
        Err(error) => Err(error.into()),
    }
}

fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}
