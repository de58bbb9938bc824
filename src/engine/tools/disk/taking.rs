//! Taking files away, and what it takes to put things back as they were.

use std::path::{Path, PathBuf};

use rustix::{fs::AtFlags, io::Errno};

use super::{Base, Identity, Loaded, Missing, Trouble};

impl Base {
    /// Removes a file. Refuses where it is not as it was loaded.
    pub fn remove(&self, way: &Path, before: &Loaded) -> Result<(), Trouble> {
        use std::os::unix::fs::MetadataExt as _;
        let name = way.file_name().ok_or(Trouble::Folder)?;
        if before.meta.mode() & 0o222 == 0 {
            return Err(Trouble::ReadOnly);
        }
        if Identity::of(&self.look(way)?) != Identity::of(&before.meta) {
            return Err(Trouble::Changed);
        }
        let folder = self.walk(way.parent().unwrap_or(Path::new("")), Missing::Fails)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// The folders above a file that are not there, the outermost first.
    pub fn missing_above(&self, way: &Path) -> Vec<PathBuf> {
        let above = way.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty());
        let mut missing: Vec<PathBuf> = above
            .take_while(|folder| matches!(self.look(folder), Err(Trouble::Missing)))
            .map(Path::to_owned)
            .collect();
        missing.reverse();
        missing
    }

    /// Removes a folder if nothing is in it.
    pub fn remove_folder(&self, way: &Path) -> Result<(), Trouble> {
        let name = way.file_name().ok_or(Trouble::Folder)?;
        let folder = self.walk(way.parent().unwrap_or(Path::new("")), Missing::Fails)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}
