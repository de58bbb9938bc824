//! Content that is kept under the name of its hash, a file each, in the data folder.

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use sha2::{Digest as _, Sha256};

use crate::domain::undo::Hash;

/// A folder of blobs: `ab/cdef…`. All calls wait for the disk.
#[derive(Clone)]
pub struct Blobs {
    folder: Arc<Path>,
    /// Written to while a blob is removed, so that none is removed that is just asked for again.
    removing: Arc<RwLock<()>>,
}

/// The name that content is kept under.
pub fn hash(content: &[u8]) -> Hash {
    Hash(Sha256::digest(content).into())
}

/// The same for content that is too large to have at once.
pub fn hash_all(mut content: impl io::Read) -> io::Result<Hash> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(Hash(hasher.finalize().into())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
}

impl Blobs {
    /// The blobs of a data folder. Their own folder is made when it is first needed.
    pub fn below(data: &Path) -> Self {
        Self::at(&data.join("blobs"))
    }

    /// The blobs of a folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.into(), removing: Arc::default() }
    }

    /// Keeps content. What is there already is not written again.
    ///
    /// Nothing waits for the disk to have it: after a power cut a blob may be gone or damaged,
    /// and [`Blobs::get`] tells so.
    pub fn put(&self, content: &[u8]) -> io::Result<Hash> {
        let hash = hash(content);
        let path = self.path(hash);
        let _stays = self.removing.read().unwrap_or_else(PoisonError::into_inner);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.len() == content.len() as u64 => {
                // Its age protects it from being removed before anything refers to it.
                let _ = touch(&path);
                return Ok(hash);
            }
            Ok(_) => {}
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        let folder = path.parent().unwrap_or(&self.folder);
        let (temporary, mut file) = match temporary(folder) {
            Err(err) if err.kind() == ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                temporary(folder)?
            }
            made => made?,
        };
        let done = file.write_all(content).and_then(|()| fs::rename(&temporary, &path));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        done.map(|()| hash)
    }

    /// Content that was kept, whole and as it was, or an error.
    pub fn get(&self, wanted: Hash) -> io::Result<Vec<u8>> {
        let content = fs::read(self.path(wanted))?;
        match hash(&content) == wanted {
            true => Ok(content),
            false => Err(io::Error::new(ErrorKind::InvalidData, "a kept file is damaged")),
        }
    }

    /// How large a blob is, if it is there.
    pub fn size(&self, hash: Hash) -> Option<u64> {
        fs::symlink_metadata(self.path(hash)).ok().map(|meta| meta.len())
    }

    /// Removes what nothing refers to and what nobody has asked to keep for a while. Returns how
    /// many bytes that were.
    pub fn remove_unused(&self, in_use: &HashSet<Hash>, unused_for: Duration) -> io::Result<u64> {
        #[expect(clippy::disallowed_methods, reason = "compared with times that the kernel wrote")]
        let before = SystemTime::now().checked_sub(unused_for).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut freed = 0;
        for folder in listed(&self.folder)? {
            let Some(start) = folder.file_name().and_then(|name| name.to_str()) else { continue };
            for path in listed(&folder)? {
                let rest = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let name = format!("{start}{rest}").parse::<Hash>();
                if name.is_ok_and(|hash| in_use.contains(&hash)) {
                    continue;
                }
                let _goes = self.removing.write().unwrap_or_else(PoisonError::into_inner);
                let Ok(meta) = fs::symlink_metadata(&path) else { continue };
                if meta.is_file() && meta.modified()? <= before && fs::remove_file(&path).is_ok() {
                    freed += meta.len();
                }
            }
        }
        Ok(freed)
    }

    fn path(&self, hash: Hash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

fn touch(path: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a file's own time, compared by the sweep")]
    let now = SystemTime::now();
    File::options().append(true).open(path)?.set_modified(now)
}

/// What is in a folder; nothing where there is no such folder.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(err) => Err(err),
    }
}

fn temporary(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(err) if err.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (path, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn content_is_kept_once_and_for_nobody_else() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = Blobs::below(temp.path());
        let name = blobs.put(b"hello").unwrap();
        assert_eq!(blobs.put(b"hello").unwrap(), name);
        assert_eq!(blobs.get(name).unwrap(), b"hello");
        assert_eq!(blobs.size(name), Some(5));
        let text = name.to_string();
        let path = temp.path().join("blobs").join(&text[..2]).join(&text[2..]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(listed(path.parent().unwrap()).unwrap(), [path]);
    }

    #[test]
    fn damage_is_noticed_and_mended_by_keeping_again() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = Blobs::below(temp.path());
        let name = blobs.put(b"hello").unwrap();
        fs::write(blobs.path(name), b"").unwrap();
        assert_eq!(blobs.get(name).unwrap_err().kind(), ErrorKind::InvalidData);
        blobs.put(b"hello").unwrap();
        assert_eq!(blobs.get(name).unwrap(), b"hello");
        assert_eq!(blobs.get(hash(b"never kept")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn only_what_is_unused_and_old_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = Blobs::below(temp.path());
        assert_eq!(blobs.remove_unused(&HashSet::new(), Duration::ZERO).unwrap(), 0);
        let (used, unused) = (blobs.put(b"used").unwrap(), blobs.put(b"unused").unwrap());
        let in_use = HashSet::from([used]);
        assert_eq!(blobs.remove_unused(&in_use, Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(blobs.remove_unused(&in_use, Duration::ZERO).unwrap(), 6);
        assert_eq!((blobs.size(used), blobs.size(unused)), (Some(4), None));
    }
}
