//! A command under way: its outputs, its end, and ending it early.

use std::{
    io::{self, Cursor},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Chain, Lines},
    net::{
        UnixStream,
        unix::{
            OwnedReadHalf,
            pipe::{self, Receiver},
        },
    },
    process::Child,
};

use super::{
    SpawnError,
    command::Streams,
    door,
    policy::{Ending, Notice, Policy, Walls},
};
use crate::adapters::proxy::Door;

/// How long a helper that was asked to end everything may take before it is ended itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// A command that has started. Dropping it ends its whole tree.
#[derive(Debug)]
pub struct Running {
    helper: Child,
    notices: Lines<BufReader<Chain<Cursor<Vec<u8>>, OwnedReadHalf>>>,
    stopper: Stopper,
    output: Option<Receiver>,
    errors: Option<Receiver>,
    pub(super) door: Option<Door>,
    last_word: Option<Notice>,
    pub(super) walls: Walls,
}

/// Ends a command from elsewhere. It may be kept longer than the command.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<StdStream>);

impl Stopper {
    /// Asks the tree to end, and has it killed if it has not within a moment.
    pub fn kill(&self) {
        // The helper takes the end of our side for the order. It fails when all is over already.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// How a command ended, and what was noticed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub ending: Ending,
    /// Protected paths that the command changed, and that are as they were again.
    pub protected_restored: Vec<PathBuf>,
    /// Protected paths that the command changed, and that could not be put back.
    pub protected_lost: Vec<PathBuf>,
}

impl Exit {
    /// Whether it exited with code 0.
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Code(0)
    }
}

impl Running {
    /// Starts the helper with a policy, and waits until it has started the command.
    pub(super) async fn start(
        helper: &Path,
        policy: &Policy,
        streams: Streams,
    ) -> Result<Self, SpawnError> {
        let frame = policy.to_frame()?;
        let (ours, theirs) = StdStream::pair()?;
        let (output, output_end) = io::pipe()?;
        let (errors, errors_end) = match streams {
            Streams::Merged => (None, output_end.try_clone()?),
            Streams::Separate => {
                let (errors, end) = io::pipe()?;
                (Some(errors), end)
            }
        };
        // Nothing runs between fork and exec, so the server's memory is not copied.
        let mut command = tokio::process::Command::new(helper);
        command
            .arg(super::HELPER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(output_end))
            .stderr(Stdio::from(errors_end));
        let child = command.spawn()?;
        // It holds our copies of the other ends.
        drop(command);

        let stopper = Stopper(Arc::new(ours.try_clone()?));
        ours.set_nonblocking(true)?;
        let mut control = UnixStream::from_std(ours)?;
        control.write_all(&frame).await?;
        let (door, first) = door::receive(&control).await?;
        let (read, write) = control.into_split();
        // Its end would be the order to stop.
        write.forget();
        let mut running = Self {
            helper: child,
            notices: BufReader::new(Cursor::new(first).chain(read)).lines(),
            door,
            stopper,
            output: Some(Receiver::from_owned_fd(output.into())?),
            errors: errors
                .map(|errors| pipe::Receiver::from_owned_fd(errors.into()))
                .transpose()?,
            last_word: None,
            walls: Walls::default(),
        };
        match running.next_notice().await? {
            Some(Notice::Started(walls)) => running.walls = walls,
            Some(Notice::Refused(reason)) => return Err(SpawnError::Refused(reason)),
            Some(Notice::Finished { .. }) | None => return Err(SpawnError::HelperLost),
        }
        Ok(running)
    }

    /// The output of the command; both, if they are merged. Once.
    ///
    /// It must be read, or the command stops when the pipe is full.
    pub fn take_output(&mut self) -> Option<Receiver> {
        self.output.take()
    }

    /// The error output, if it is separate. Once.
    pub fn take_errors(&mut self) -> Option<Receiver> {
        self.errors.take()
    }

    /// What the command's way out leads to, if it was given one and this host can keep it to that.
    /// Once. Somebody has to serve it, or whoever knocks waits.
    pub fn take_door(&mut self) -> Option<Door> {
        self.door.take()
    }

    /// Ends the command with all that it started, within a second.
    pub fn kill(&self) {
        self.stopper.kill();
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits for the end. Nothing of the command's tree is left then.
    ///
    /// May be cancelled and called again.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        if self.last_word.is_none() {
            self.last_word = self.next_notice().await?;
        }
        // The helper is on its way out once it has spoken.
        if tokio::time::timeout(PATIENCE, self.helper.wait()).await.is_err() {
            self.helper.start_kill()?;
        }
        match &self.last_word {
            Some(Notice::Finished { ending, restored, lost }) => Ok(Exit {
                ending: *ending,
                protected_restored: restored.clone(),
                protected_lost: lost.clone(),
            }),
            Some(Notice::Refused(reason)) => Err(io::Error::other(reason.clone())),
            _ => Err(io::Error::other("the helper of the sandbox ended without a word")),
        }
    }

    async fn next_notice(&mut self) -> io::Result<Option<Notice>> {
        loop {
            match self.notices.next_line().await? {
                // What came along with the door.
                Some(line) if line.is_empty() => {}
                Some(line) => return Ok(Some(serde_json::from_str(&line)?)),
                None => return Ok(None),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
