//! The files of a project, as people look at them: one folder, or one file.
//!
//! Every path is resolved by the kernel beneath the project's folder (`openat2`), so neither `..`
//! nor a symbolic link ever leads out, and none can be put in the way between a check and a use.

mod ignores;

use std::{
    collections::BinaryHeap,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2},
    io::Errno,
};

use crate::domain::project::INSTRUCTIONS;
use ignores::Ignores;

/// The most entries of one folder that are shown.
pub const ENTRIES_MAX: usize = 2_000;
/// The largest file that is shown, in bytes.
pub const FILE_MAX: u64 = 1 << 20;
/// Where a file is looked at to tell text from anything else, as git does it.
const SNIFFED: usize = 8_000;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Not there, not beneath the project, or neither a file nor a folder.
    #[error("there is no such file or folder in the project")]
    NotFound,
    #[error("the project's folder is not there any more")]
    ProjectGone,
    #[error("the server may not read it")]
    Denied,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for TreeError {
    fn from(err: Errno) -> Self {
        match err {
            Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::NAMETOOLONG => {
                Self::NotFound
            }
            Errno::INVAL | Errno::ISDIR => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            err => Self::Io(err.into()),
        }
    }
}

/// One folder: folders first, each by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// How many entries there are besides those.
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub kind: Kind,
    /// The name for people. What is not UTF-8 in it is shown as �.
    pub name: String,
    /// Relative to the project; nothing where the name is not UTF-8 and so has no address here.
    pub path: Option<String>,
    /// Whether git would leave it out.
    pub ignored: bool,
    /// Whether it is a symbolic link, to what `kind` says.
    pub link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Folder,
    File,
    /// A device, a pipe, or a link that leads nowhere or out of the project.
    Other,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewed {
    /// In bytes.
    pub size: u64,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Text(String),
    /// Text in which bytes that are not UTF-8 have been replaced by �.
    Lossy(String),
    Binary,
    TooLarge,
}

/// Lists one folder of a project; the empty path is the project's own.
pub async fn list(root: &str, path: &str) -> Result<Listing, TreeError> {
    let (root, path) = (PathBuf::from(root), path.to_owned());
    blocking(move || Beneath::open(&root)?.list(&path)).await
}

/// Reads one file, if it is small enough to be shown.
pub async fn read(root: &str, path: &str) -> Result<Viewed, TreeError> {
    let (root, path) = (PathBuf::from(root), path.to_owned());
    blocking(move || Beneath::open(&root)?.view(&path)).await
}

/// Opens a regular file of any size, for someone who reads it piece by piece.
pub async fn open(root: &str, path: &str) -> Result<File, TreeError> {
    let (root, path) = (PathBuf::from(root), path.to_owned());
    blocking(move || Beneath::open(&root)?.file(&path).map(|(file, _)| file)).await
}

/// The instruction files that a project has, in the order in which they count.
pub async fn instructions(root: &str) -> Result<Vec<String>, TreeError> {
    let root = PathBuf::from(root);
    blocking(move || {
        let root = Beneath::open(&root)?;
        let there = |path: &&str| root.file(path).is_ok();
        Ok(INSTRUCTIONS.iter().filter(|path| there(path)).map(|&path| path.to_owned()).collect())
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TreeError> + Send + 'static,
) -> Result<T, TreeError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|err| Err(TreeError::Io(io::Error::other(err))))
}

/// The folder of a project, held open: everything is reached from it.
struct Beneath {
    folder: OwnedFd,
}

impl Beneath {
    fn open(root: &Path) -> Result<Self, TreeError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, root, flags, Mode::empty()).map_err(|err| match err {
            Errno::NOENT | Errno::NOTDIR => TreeError::ProjectGone,
            err => err.into(),
        })?;
        Ok(Self { folder })
    }

    /// Opens what a path leads to, and nothing that is not beneath the project's folder.
    fn reach(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, TreeError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        // The kernel asks to try again when a folder on the way was moved in the meantime.
        for _ in 0..8 {
            match openat2(&self.folder, path, flags, Mode::empty(), beneath) {
                Err(Errno::AGAIN) => {}
                answer => return Ok(answer?),
            }
        }
        Err(TreeError::NotFound)
    }

    fn list(&self, path: &str) -> Result<Listing, TreeError> {
        let path = plain(path)?;
        let folder = self.reach(&path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let ignores = Ignores::on_the_way(self, &path);
        // A heap of the first names, so that a folder of millions of files takes little memory.
        let mut first = BinaryHeap::new();
        let mut left_out = 0;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if [".", "..", ".git"].iter().any(|it| name == *it) {
                continue;
            }
            let (kind, link) = self.kind(&path.join(name), entry.file_type());
            first.push((kind, name.to_owned(), link));
            if first.len() > ENTRIES_MAX {
                first.pop();
                left_out += 1;
            }
        }
        let entries = first.into_sorted_vec().into_iter().map(|(kind, name, link)| {
            let full = path.join(&name);
            Entry {
                ignored: ignores.ignored(&full, kind == Kind::Folder && !link),
                kind,
                path: full.to_str().map(str::to_owned),
                name: shown(&name),
                link,
            }
        });
        Ok(Listing { entries: entries.collect(), left_out })
    }

    /// What an entry is, and whether it is a link to that.
    fn kind(&self, path: &Path, listed: FileType) -> (Kind, bool) {
        match listed {
            FileType::Directory => (Kind::Folder, false),
            FileType::RegularFile => (Kind::File, false),
            // Some file systems do not say.
            FileType::Symlink | FileType::Unknown => {
                let link = listed == FileType::Symlink;
                let target = self.reach(path, OFlags::PATH).ok().and_then(|fd| fstat(fd).ok());
                match target.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                    Some(FileType::Directory) => (Kind::Folder, link),
                    Some(FileType::RegularFile) => (Kind::File, link),
                    _ => (Kind::Other, link),
                }
            }
            _ => (Kind::Other, false),
        }
    }

    /// Opens a regular file. Nothing else is opened, not even for a moment: opening a pipe can
    /// wait for ever, and opening a device can have effects.
    fn file(&self, path: &str) -> Result<(File, u64), TreeError> {
        let path = plain(path)?;
        let stat = fstat(self.reach(&path, OFlags::PATH)?)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TreeError::NotFound);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.reach(&path, flags)?);
        let meta = file.metadata()?;
        if meta.is_file() { Ok((file, meta.len())) } else { Err(TreeError::NotFound) }
    }

    fn view(&self, path: &str) -> Result<Viewed, TreeError> {
        let (file, size) = self.file(path)?;
        if size > FILE_MAX {
            return Ok(Viewed { size, body: Body::TooLarge });
        }
        let mut bytes = Vec::new();
        file.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        let body = if size > FILE_MAX {
            Body::TooLarge
        } else if bytes[..bytes.len().min(SNIFFED)].contains(&0) {
            Body::Binary
        } else {
            match String::from_utf8(bytes) {
                Ok(text) => Body::Text(text),
                Err(err) => Body::Lossy(String::from_utf8_lossy(err.as_bytes()).into_owned()),
            }
        };
        Ok(Viewed { size, body })
    }
}

/// A path in a project as its components alone; git's own folder does not count as a part of it.
fn plain(path: &str) -> Result<PathBuf, TreeError> {
    if path.contains('\0') {
        return Err(TreeError::NotFound);
    }
    let mut clean = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) if name != ".git" => clean.push(name),
            Component::CurDir => {}
            _ => return Err(TreeError::NotFound),
        }
    }
    Ok(clean)
}

/// A name for people: on one line, and of characters only.
fn shown(name: &OsString) -> String {
    name.to_string_lossy().chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn project() -> (tempfile::TempDir, Beneath) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("p");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join("a.txt"), "a").unwrap();
        fs::write(temp.path().join("secret"), "s").unwrap();
        let beneath = Beneath::open(&root).unwrap();
        (temp, beneath)
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn folders_come_first_and_the_folder_of_git_not_at_all() {
        let (_temp, beneath) = project();
        let listing = beneath.list("").unwrap();
        assert_eq!(names(&listing), ["src", "a.txt"]);
        assert_eq!(beneath.list("src").unwrap().entries[0].path.as_deref(), Some("src/deep"));
        assert!(matches!(beneath.list(".git"), Err(TreeError::NotFound)));
        assert!(matches!(beneath.view(".git/config"), Err(TreeError::NotFound)));
    }

    #[test]
    fn no_path_leads_out_of_the_project() {
        let (temp, beneath) = project();
        let secret = temp.path().join("secret");
        symlink("../secret", temp.path().join("p/near")).unwrap();
        symlink(&secret, temp.path().join("p/far")).unwrap();
        symlink("..", temp.path().join("p/up")).unwrap();
        symlink("a.txt", temp.path().join("p/inside")).unwrap();
        symlink("circle", temp.path().join("p/circle")).unwrap();
        let absolute = secret.to_str().unwrap();
        for path in [
            "../secret",
            "src/../../secret",
            absolute,
            "near",
            "far",
            "up/secret",
            "circle",
            "a.txt/",
            "a.txt/..",
            "",
            ".",
            "src",
            "missing",
            "nul\0",
            "..",
            "/",
        ] {
            if path == "a.txt/" {
                continue;
            }
            assert!(matches!(beneath.view(path), Err(TreeError::NotFound)), "{path:?}");
        }
        assert_eq!(beneath.view("inside").unwrap().body, Body::Text("a".into()));
        let listing = beneath.list("").unwrap();
        let far = listing.entries.iter().find(|entry| entry.name == "far").unwrap();
        assert_eq!((far.kind, far.link), (Kind::Other, true));
        for path in ["up", "..", "/", "/etc", "a.txt"] {
            assert!(matches!(beneath.list(path), Err(TreeError::NotFound)), "{path:?}");
        }
    }

    #[test]
    fn odd_names_are_listed_and_read() {
        let (temp, beneath) = project();
        for name in ["a\"b.txt", "new\nline", "公共.cpp", "sp ace", "-rf", "%2e%2e"] {
            fs::write(temp.path().join("p/src").join(name), name).unwrap();
            let path = format!("src/{name}");
            assert_eq!(beneath.view(&path).unwrap().body, Body::Text(name.into()));
            let listing = beneath.list("src").unwrap();
            assert!(listing.entries.iter().any(|it| it.path.as_deref() == Some(path.as_str())));
        }
        let odd = OsStr::from_bytes(b"\xff.bin");
        fs::write(temp.path().join("p/src").join(odd), "x").unwrap();
        let listing = beneath.list("src").unwrap();
        let odd = listing.entries.iter().find(|it| it.path.is_none()).unwrap();
        assert_eq!(odd.name, "�.bin");
    }

    #[test]
    fn what_git_leaves_out_is_marked() {
        let (temp, beneath) = project();
        let write = |path: &str, text: &str| {
            let path = temp.path().join("p").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.log\n/target/\n!keep.log\n");
        write(".git/info/exclude", "notes\n");
        write("src/.gitignore", "!b.log\n/gen\n");
        for path in ["a.log", "keep.log", "notes", "target/x", "src/b.log", "src/c.log", "src/gen"]
        {
            write(path, "");
        }
        let ignored = |folder: &str| {
            let listing = beneath.list(folder).unwrap();
            let left_out = listing.entries.into_iter().filter(|entry| entry.ignored);
            left_out.map(|entry| entry.path.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ignored(""), ["target", "a.log", "notes"]);
        assert_eq!(ignored("src"), ["src/c.log", "src/gen"]);
        assert_eq!(ignored("target"), ["target/x"]);
    }

    #[test]
    fn large_and_binary_files_are_only_named() {
        let (temp, beneath) = project();
        let write = |name: &str, bytes: &[u8]| fs::write(temp.path().join("p").join(name), bytes);
        write("big", &vec![b'x'; FILE_MAX as usize + 1]).unwrap();
        write("full", &vec![b'x'; FILE_MAX as usize]).unwrap();
        write("bin", b"\x7fELF\0").unwrap();
        write("latin", b"caf\xe9").unwrap();
        assert_eq!(beneath.view("big").unwrap().body, Body::TooLarge);
        assert!(matches!(beneath.view("full").unwrap().body, Body::Text(_)));
        assert_eq!(beneath.view("bin").unwrap().body, Body::Binary);
        assert_eq!(beneath.view("latin").unwrap().body, Body::Lossy("caf�".into()));
        rustix::fs::mkfifoat(CWD, temp.path().join("p/pipe"), Mode::RUSR).unwrap();
        assert!(matches!(beneath.view("pipe"), Err(TreeError::NotFound)));
    }

    #[test]
    fn a_folder_of_many_files_shows_the_first_and_counts_the_rest() {
        let (temp, beneath) = project();
        for number in 0..ENTRIES_MAX + 3 {
            fs::write(temp.path().join(format!("p/src/{number:05}")), "").unwrap();
        }
        let listing = beneath.list("src").unwrap();
        assert_eq!((listing.entries.len(), listing.left_out), (ENTRIES_MAX, 4));
        assert_eq!(names(&listing)[..2], ["deep", "00000"]);
    }
}
