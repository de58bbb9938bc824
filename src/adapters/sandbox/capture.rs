//! Reading what a command says: bounded in memory, whole in a file.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

use super::{Exit, Running};
use crate::domain::output::Transcript;

/// How long output is waited for after the end of the command.
const DRAIN: Duration = Duration::from_millis(500);
/// How often is told what there is so far, at most.
const HEARD: Duration = Duration::from_millis(250);

/// The file that takes the whole output.
#[derive(Debug)]
pub struct Spill {
    path: PathBuf,
    file: Option<File>,
    written: u64,
}

impl Spill {
    /// What is beyond this is not kept.
    pub const MOST: u64 = 64 << 20;

    /// The file is made when there is something to put into it.
    pub fn to(path: PathBuf) -> Self {
        Self { path, file: None, written: 0 }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(Self::MOST - self.written).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path).await?),
        };
        file.write_all(bytes).await?;
        // It may be read while it grows.
        file.flush().await?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Captured {
    pub exit: Exit,
    pub transcript: Transcript,
    /// Why the whole output could not be kept, if that was asked for and failed.
    pub spill_error: Option<io::Error>,
}

/// Reads a command's output to the end, and waits for it.
///
/// `heard` is called a few times a second while something comes, so that a page can show what
/// there is so far. A spill file that cannot be written does not stop the command.
pub async fn capture(
    running: &mut Running,
    mut spill: Option<&mut Spill>,
    mut heard: impl FnMut(&Transcript),
) -> io::Result<Captured> {
    let mut transcript = Transcript::default();
    let mut spill_error = None;
    let mut output = running.take_output();
    let mut buffer = vec![0; 64 << 10];
    let mut exit = None;
    // When what has come is told; what comes until then is told with it.
    let mut due: Option<Instant> = None;
    while let Some(from) = &mut output {
        if due.is_some_and(|due| due <= Instant::now()) {
            heard(&transcript);
            due = None;
        }
        // When the helper is gone nobody writes any more, unless it was killed from outside.
        let length = if exit.is_some() {
            let rest = tokio::time::timeout(DRAIN, from.read(&mut buffer)).await;
            rest.unwrap_or(Ok(0))?
        } else {
            tokio::select! {
                biased;
                length = from.read(&mut buffer) => length?,
                () = until(due) => continue,
                end = running.wait() => {
                    exit = Some(end?);
                    continue;
                }
            }
        };
        if length == 0 {
            output = None;
            continue;
        }
        transcript.push(&buffer[..length]);
        if let (Some(spill), None) = (&mut spill, &spill_error) {
            spill_error = spill.write(&buffer[..length]).await.err();
        }
        due.get_or_insert_with(|| Instant::now() + HEARD);
    }
    if let Some(Spill { file: Some(file), .. }) = spill {
        spill_error = spill_error.or(file.flush().await.err());
    }
    let exit = match exit {
        Some(exit) => exit,
        None => running.wait().await?,
    };
    Ok(Captured { exit, transcript, spill_error })
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
