//! What Git has kept of a folder's files, read without running Git.
//!
//! Before a command runs, the earlier content of every file that it may change has to be kept.
//! Of a file that is as it was committed or added, Git has that content already, so it is enough
//! to know its name there. A repository may be made by anybody: each object is bounded while it
//! is read, and is only believed when its content hashes to its name.

mod index;
mod pack;

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use flate2::read::ZlibDecoder;
use sha1::{Digest as _, Sha1};

pub use self::index::{Entry, Index};
use self::pack::Pack;

/// The name of an object.
pub type Oid = [u8; 20];

/// The name that Git gives to a file's content.
pub fn oid(content: &[u8]) -> Oid {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", content.len()));
    hasher.update(content);
    hasher.finalize().into()
}

/// A folder's own repository.
pub struct Repository {
    /// Where the index is.
    git: PathBuf,
    /// Where the objects are, for all worktrees.
    common: PathBuf,
}

/// When an index was written, how large it is, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexVersion(i64, i64, u64, u64);

/// Settings under which the index or the objects are not what this reads.
const STRANGE: [&str; 1] = ["objectformat"];

impl Repository {
    /// The repository whose top is this folder, if there is one that can be read.
    pub fn at(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        let git = match fs::symlink_metadata(&dot_git).ok()? {
            meta if meta.is_dir() => dot_git,
            meta if meta.is_file() => {
                let text = small(&dot_git)?;
                root.join(text.strip_prefix("gitdir:")?.trim())
            }
            _ => return None,
        };
        let common = match small(&git.join("commondir")) {
            Some(text) => git.join(text.trim()),
            None => git.clone(),
        };
        let config = small(&common.join("config"))?.to_lowercase();
        let strange = STRANGE.iter().any(|word| config.contains(word));
        (!strange).then_some(Self { git, common })
    }

    /// What is added, and how each file was at that time.
    pub fn index(&self) -> io::Result<Index> {
        Index::read(&self.git.join("index"))
    }

    /// Tells one version of the index from another without reading it.
    pub fn index_version(&self) -> Option<IndexVersion> {
        use std::os::unix::fs::MetadataExt as _;
        let meta = fs::symlink_metadata(self.git.join("index")).ok()?;
        Some(IndexVersion(meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
    }

    /// Attributes that hold for this copy of the repository alone.
    pub fn attributes(&self) -> Option<String> {
        small(&self.common.join("info/attributes"))
    }

    /// Opens the store of objects, to read many of them.
    pub fn objects(&self) -> Objects {
        let folder = self.common.join("objects");
        let packs = fs::read_dir(folder.join("pack")).into_iter().flatten().flatten();
        let packs = packs.filter_map(|entry| Pack::open(&entry.path())).collect();
        Objects { folder, packs }
    }
}

/// The objects of a repository.
pub struct Objects {
    folder: PathBuf,
    packs: Vec<Pack>,
}

/// No object that a file is made of is larger, whatever it claims.
const LARGEST: u64 = 16 << 20;

impl Objects {
    /// Those of no repository.
    pub fn none() -> Self {
        Self { folder: PathBuf::new(), packs: Vec::new() }
    }

    /// The content of a file as Git has it, of at most `most` bytes; `None` where it is not there
    /// or cannot be trusted.
    pub fn content(&self, name: Oid, most: u64) -> Option<Vec<u8>> {
        let content = self.loose(name, most).or_else(|| self.packed(name, most))?;
        (content.len() as u64 <= most && oid(&content) == name).then_some(content)
    }

    fn loose(&self, name: Oid, most: u64) -> Option<Vec<u8>> {
        let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = regular(&self.folder.join(&hex[..2]).join(&hex[2..]))?;
        let mut object = Vec::new();
        ZlibDecoder::new(file).take(most + 64).read_to_end(&mut object).ok()?;
        let end = object.iter().position(|byte| *byte == 0)?;
        if !object.starts_with(b"blob ") {
            return None;
        }
        object.drain(..=end);
        Some(object)
    }

    fn packed(&self, name: Oid, most: u64) -> Option<Vec<u8>> {
        self.packs.iter().find_map(|pack| {
            let at = pack.find(name)?;
            pack.content(at, most.min(LARGEST))
        })
    }
}

/// Opens a regular file, and neither waits for a pipe nor follows a link.
fn regular(path: &Path) -> Option<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = fs::File::options().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// The text of a file that is never large.
fn small(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    regular(path)?.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
