//! Commands that run now, each with a file in the data folder, so that what they change is found
//! also when the server is killed.
//!
//! The file is there before the command starts and goes when all that it changed is stored. It
//! holds how the project was. It survives the server, not a power cut: nothing waits for the disk.
//! Its time goes on with the command, so that what a person changes later can be told apart. The
//! helper of the sandbox keeps it locked as long as there are processes of the command.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use flate2::Crc;
use serde::{Deserialize, Serialize};
use tokio_util::task::AbortOnDropHandle;

use super::baseline::Baseline;
use crate::domain::ids::{MessageId, PartId, SessionId};

/// The first line says what it is, and which form of it.
const MARK: &[u8] = b"forge command 1\n";
/// A project with the most files takes some tens of megabytes.
const LARGEST: u64 = 512 << 20;
/// More than these do not run at a time.
const MOST: usize = 256;
/// How often the time of the file is set.
const BEAT: Duration = Duration::from_secs(1);
/// How long after the server the last processes of a command may end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folder of these files.
#[derive(Clone)]
pub(super) struct OpenCommands {
    folder: Arc<Path>,
}

/// Whose command it is, and where it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub session: SessionId,
    pub message: MessageId,
    pub root: PathBuf,
    /// When the project was looked at.
    pub since: (i64, u32),
}

/// A command that runs, or whose changes are being noted.
pub(super) struct Open {
    pub path: PathBuf,
    _beating: AbortOnDropHandle<()>,
}

/// A command that was running when the server was killed.
pub(super) struct Left {
    pub part: PartId,
    path: PathBuf,
    file: File,
    /// When it was surely running still.
    pub beat: (i64, u32),
}

impl OpenCommands {
    pub fn below(data: &Path) -> Self {
        Self { folder: data.join("commands").into() }
    }

    /// Stores a command that is about to start.
    pub fn store(&self, part: PartId, head: &Head, baseline: &Baseline) -> io::Result<PathBuf> {
        let path = self.folder.join(part.to_string());
        let temporary = self.folder.join(format!(".{part}.tmp"));
        let content = encode(head, baseline)?;
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = match options.open(&temporary) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                options.open(&temporary)?
            }
            opened => opened?,
        };
        let done = file.write_all(&content).and_then(|()| fs::rename(&temporary, &path));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        done.map(|()| path)
    }

    /// The commands that were running when the server was killed, in the order of their calls.
    pub fn left(&self) -> io::Result<Vec<Left>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut left = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match (name.parse(), File::open(&path)) {
                (Ok(part), Ok(file)) if left.len() < MOST => {
                    let meta = file.metadata()?;
                    let beat = (meta.mtime(), u32::try_from(meta.mtime_nsec()).unwrap_or_default());
                    left.push(Left { part, path, file, beat });
                }
                _ => {
                    tracing::warn!(path = %path.display(), "not a command that can be read; removed");
                    let _ = fs::remove_file(&path);
                }
            }
        }
        left.sort_by_key(|it| it.part);
        Ok(left)
    }
}

impl Open {
    /// Keeps the time of a command's file going.
    pub fn beat(path: PathBuf) -> Self {
        let at = path.clone();
        let beating = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(BEAT);
            loop {
                ticks.tick().await;
                let path = at.clone();
                // A failure shows as an old time, and more is asked about.
                let _ = tokio::task::spawn_blocking(move || touch(&path)).await;
            }
        });
        Self { path, _beating: AbortOnDropHandle::new(beating) }
    }

    /// Everything is stored.
    pub async fn close(self) {
        if let Err(err) = tokio::fs::remove_file(&self.path).await {
            tracing::warn!(path = %self.path.display(), %err, "the file of a command stays");
        }
    }
}

impl Left {
    /// Reads what was stored. Waits until no process of the command is left.
    pub fn read(&self) -> io::Result<(Head, Baseline)> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("its processes do not end"));
                }
                Err(TryLockError::Error(err)) => return Err(err),
            }
        }
        if self.file.metadata()?.len() > LARGEST {
            return Err(io::Error::other("it is too large"));
        }
        decode(&fs::read(&self.path)?)
    }

    /// It has been dealt with.
    pub fn remove(&self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    if let Err(err) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %err, "the file of a command stays");
    }
}

fn touch(path: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "compared with times that the kernel wrote")]
    let now = SystemTime::now();
    File::options().append(true).open(path)?.set_modified(now)
}

fn encode(head: &Head, baseline: &Baseline) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(256 + baseline.files.len() * 128);
    content.extend_from_slice(MARK);
    content.extend_from_slice(&[0; 4]);
    let mut content = postcard::to_extend(&(head, baseline), content).map_err(io::Error::other)?;
    let (start, body) = content.split_at_mut(MARK.len() + 4);
    start[MARK.len()..].copy_from_slice(&sum(body));
    Ok(content)
}

fn decode(content: &[u8]) -> io::Result<(Head, Baseline)> {
    let broken =
        || io::Error::new(io::ErrorKind::InvalidData, "it is broken, or of another version");
    let (start, body) = content.split_at_checked(MARK.len() + 4).ok_or_else(broken)?;
    if !start.starts_with(MARK) || start[MARK.len()..] != sum(body) {
        return Err(broken());
    }
    postcard::from_bytes(body).map_err(|_| broken())
}

fn sum(body: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(body);
    crc.sum().to_le_bytes()
}
