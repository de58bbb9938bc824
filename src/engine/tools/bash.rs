//! `bash`: a command, run in the sandbox, to its end or in the background.

pub mod background;

mod network;
mod told;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use self::told::told;
use super::{Outcome, Subject, disk::Trouble, input, workdir};
use crate::{
    adapters::git::protected_paths,
    adapters::{
        proxy::{Door, Proxy, Visit},
        sandbox::{self, Captured, Command, Running, Spill, Stopper, capture},
    },
    domain::{
        ids::{PartId, SessionId},
        output::{Bounds, Transcript},
    },
    engine::{
        Engine, caches,
        gate::Gatekeeper,
        hub::Teller,
        snapshots::{Changes, MessageRecorder},
    },
};

/// Where and for whom a command runs.
pub struct BashContext<'a> {
    pub engine: &'a Arc<Engine>,
    pub root: &'a Path,
    pub session: SessionId,
    pub part: PartId,
    pub recorder: &'a MessageRecorder,
    pub cancel: &'a CancellationToken,
    /// What the call was judged by; it starts nowhere else.
    pub allowed: &'a [Subject],
    /// Says which hosts it may reach.
    pub gate: &'a Gatekeeper,
    /// Where is said what undo does not cover, before the command runs.
    pub notes: &'a mpsc::UnboundedSender<Note>,
}

/// Something to be said of a call that is still running.
#[derive(Debug)]
pub struct Note {
    pub part: PartId,
    pub text: String,
    /// Told once it has been said.
    pub said: oneshot::Sender<()>,
}

impl BashContext<'_> {
    /// Says something of the call, and waits until everybody can see it.
    async fn say(&self, text: String) {
        let (said, heard) = oneshot::channel();
        if self.notes.send(Note { part: self.part, text, said }).is_ok() {
            let _ = self.cancel.run_until_cancelled(heard).await;
        }
    }
}

/// What is told of a command that was stopped before it ran.
const NOT_STARTED: &str = "The command was stopped before it started.";
const TIMEOUT: u64 = 120_000;
const TIMEOUT_MAX: u64 = 600_000;
/// Changed files that are listed with a call.
const LISTED: usize = 200;
/// What people are shown of a command that runs.
pub const GLANCE: Bounds = Bounds { lines: 20, bytes: 4 << 10 };

/// Runs a command to its end, its time-out or the end of the run; one for the background only
/// until it is on its way.
pub async fn run(context: &BashContext<'_>, input: Value) -> Outcome {
    let input: input::Bash = match input::parse("bash", input) {
        Ok(input) => input,
        Err(error) => return failed(error, Value::Null),
    };
    let cwd = match starts_in(context, &input) {
        Ok(cwd) => cwd,
        Err(error) => return failed(error, Value::Null),
    };
    if input.background
        && let Err(error) = context.engine.jobs.room(context.session)
    {
        return failed(error, Value::Null);
    }
    let timeout = match input.timeout_ms {
        Some(given) => given.clamp(1, TIMEOUT_MAX),
        None if input.background => context.engine.config.agent.background_minutes * 60_000,
        None => TIMEOUT,
    };
    let snapshots = &context.engine.snapshots;
    let mut scan = match snapshots.before_command(context.recorder, &input.command).await {
        Ok(scan) => scan,
        Err(error) => return failed(error.to_string(), Value::Null),
    };
    scan.in_background = input.background;
    let not_covered = scan.not_captured.said();
    if let Some(text) = &not_covered {
        context.say(text.clone()).await;
    }
    if context.cancel.is_cancelled() {
        return failed(NOT_STARTED.to_owned(), Value::Null);
    }
    let held = match scan.keep(context.part).await {
        Ok(held) => held,
        Err(error) => return failed(error.to_string(), Value::Null),
    };
    let (nested, beyond) = scan.protected();
    let command = Command {
        argv: vec!["/bin/bash".into(), "-c".into(), input.command.clone()],
        protected: [protected_paths(context.root), nested].concat(),
        timeout: Some(Duration::from_millis(timeout)),
        held: Some(held),
        cwd,
        ..Command::default()
    };
    let ran = match spawn(context, command).await {
        Ok(started) if input.background => {
            let mut outcome = background::start(context, started, timeout, scan).await;
            let more = json!({ "not_covered": not_covered, "description": input.description });
            background::merge(&mut outcome.metadata, more);
            return outcome;
        }
        Ok(started) => execute(context, started).await,
        Err(error) => Err(error),
    };
    let changes = snapshots.after_command(scan).await;
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => {
            tracing::error!(session = %context.session, "recording what a command changed: {error}");
            return failed(
                format!("The command ran, but what it changed could not be recorded: {error}."),
                Value::Null,
            );
        }
    };
    let mut outcome = match ran {
        Ok(Ran { captured, spill, visits }) => {
            let mut outcome = told(&captured, &spill, timeout);
            network::tell(&mut outcome, context, &visits);
            outcome
        }
        Err(error) => failed(error, json!({})),
    };
    background::merge(&mut outcome.metadata, metadata(&changes));
    let more = json!({ "not_covered": not_covered, "description": input.description });
    background::merge(&mut outcome.metadata, more);
    if beyond > 0 {
        outcome.say(&format!(
            "{beyond} repositories inside the project were not protected: there are too many."
        ));
    }
    changes.taken.iter().take(LISTED).for_each(|it| outcome.say(&it.to_string()));
    outcome
}

/// The folder to start in, if it is the one that was judged: its path may lead elsewhere by now.
fn starts_in(context: &BashContext<'_>, input: &input::Bash) -> Result<PathBuf, String> {
    let folder = workdir(context.root, input.workdir.as_deref())?;
    let real = folder.as_ref().map(|it| &it.real);
    let judged = |subject: &Subject| {
        matches!(subject, Subject::Command { text, folder }
            if *text == input.command && folder.as_ref().map(|it| &it.real) == real)
    };
    let allowed = context.allowed.iter().any(judged);
    match folder {
        Some(target) if !allowed => Err(Trouble::Moved.about(&target)),
        None if !allowed => {
            Err("The command is not the one that was judged. Make the call again.".into())
        }
        Some(target) if target.real.is_dir() => Ok(target.real),
        Some(target) => Err(format!("{} is no folder.", target.shown())),
        None => Ok(context.root.to_path_buf()),
    }
}

/// What is kept with a call of what its command changed.
pub fn metadata(changes: &Changes) -> Value {
    let paths = |captured: bool| -> Vec<&str> {
        let some = changes.changed.iter().filter(|it| it.is_captured() == captured);
        some.map(|it| it.path.as_str()).take(LISTED).collect()
    };
    let taken = changes.taken.iter().take(LISTED).map(|it| it.path.as_str());
    json!({
        "changed": paths(true),
        "not_captured": paths(false),
        "taken_away": taken.collect::<Vec<_>>(),
    })
}

impl Outcome {
    /// Adds a line to what the model reads.
    fn say(&mut self, line: &str) {
        let text = self.error.as_mut().unwrap_or(&mut self.output);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    }
}

/// A command on its way.
struct Started {
    running: Running,
    proxy: Proxy,
    /// Where it reaches the proxy.
    door: Option<Door>,
    spill: Spill,
}

/// A command that ran.
struct Ran {
    captured: Captured,
    spill: Spill,
    /// What it reached over the network, and what it did not.
    visits: Vec<Visit>,
}

/// Starts a command in the sandbox.
async fn spawn(context: &BashContext<'_>, command: Command) -> Result<Started, String> {
    let folder = context.engine.outputs_of(context.session);
    tokio::fs::create_dir_all(&folder)
        .await
        .map_err(|err| format!("No room for output: {err}."))?;
    let settings = &context.engine.config.sandbox;
    let mut command = Command {
        env: path_of(&settings.path),
        writable: vec![context.root.to_path_buf()],
        readable: settings.readable.clone(),
        network: network::of(context),
        ..command
    };
    for cache in caches::present(settings) {
        let variables = cache.variables.iter();
        command.env.extend(
            variables.map(|(name, path)| ((*name).to_owned(), path.to_string_lossy().into())),
        );
        command.protected.extend(cache.protected);
        command.writable.push(cache.path);
    }
    let proxy = Proxy::new(context.engine.outside.clone(), Arc::new(network::judge(context)));
    let mut running = context.engine.sandbox.spawn(command).await.map_err(|err| err.to_string())?;
    let door = running.take_door();
    let spill = Spill::to(folder.join(format!("{}.txt", context.part)));
    Ok(Started { running, proxy, door, spill })
}

impl Started {
    fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Reads it to its end. Who watches is told meanwhile what it says.
    async fn until_its_end(mut self, teller: &Teller, part: PartId) -> Result<Ran, String> {
        let heard = |said: &Transcript| teller.output(part, &said.glance(GLANCE));
        let captured = capture(&mut self.running, Some(&mut self.spill), heard);
        let captured = self.proxy.serve_while(self.door.as_ref(), captured).await;
        teller.hush(part);
        let captured =
            captured.map_err(|err| format!("The command's output could not be read: {err}."))?;
        Ok(Ran { captured, spill: self.spill, visits: self.proxy.traffic().visits() })
    }
}

/// Reads a command to its end, or to the end of the run.
async fn execute(context: &BashContext<'_>, started: Started) -> Result<Ran, String> {
    let stopper = started.stopper();
    let teller = context.engine.hub.teller(context.session);
    let mut ran = std::pin::pin!(started.until_its_end(&teller, context.part));
    tokio::select! {
        ran = &mut ran => ran,
        () = context.cancel.cancelled() => {
            stopper.kill();
            ran.await
        }
    }
}

/// The operator's folders with programs, before the system's own.
fn path_of(folders: &[PathBuf]) -> Vec<(String, String)> {
    if folders.is_empty() {
        return Vec::new();
    }
    let mut path = String::new();
    for folder in folders {
        path.push_str(&folder.to_string_lossy());
        path.push(':');
    }
    path.push_str(sandbox::PATH);
    vec![("PATH".into(), path)]
}

fn failed(error: String, metadata: Value) -> Outcome {
    Outcome { error: Some(error), metadata, ..Outcome::default() }
}
