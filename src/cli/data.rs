//! The data folder: made for its owner alone, and by whom it is used.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};

/// Makes the folder, or takes it from everybody else where it is Forge's already.
pub fn prepare(dir: &Path) -> anyhow::Result<()> {
    let name = || format!("data.dir {}", dir.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).with_context(name)?;
    let mode = fs::metadata(dir).with_context(name)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let is_ours = dir.join("forge.db").exists() || dir.join("secret").exists();
    let is_empty = fs::read_dir(dir).with_context(name)?.next().is_none();
    if is_ours || is_empty {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).with_context(name)?;
    } else {
        tracing::warn!("others may look into {}: run chmod 700 on it", dir.display());
    }
    Ok(())
}

/// How a process uses the data folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Beside others: a server.
    Shared,
    /// While no server runs.
    Alone,
}

/// Notes that the folder is used, until what is answered is dropped or the process ends.
pub fn hold(dir: &Path, how: Use) -> anyhow::Result<fs::File> {
    let path = dir.join("lock");
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.with_context(|| format!("opening {}", path.display()))?;
    let (operation, otherwise) = match how {
        Use::Shared => (
            FlockOperation::NonBlockingLockShared,
            "Something else works on the data folder alone. Wait until it has finished.",
        ),
        Use::Alone => (
            FlockOperation::NonBlockingLockExclusive,
            "A server uses the data folder. Stop it first, then run this again.",
        ),
    };
    match flock(&file, operation) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => anyhow::bail!(otherwise),
        Err(err) => Err(err).with_context(|| format!("locking {}", path.display())),
    }
}
