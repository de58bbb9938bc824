//! The data folder: made for its owner alone.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
};

use anyhow::Context as _;

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
