//! A file system, a network and a process table of a command's own.
//!
//! The view is put together from nothing: an empty root, and in it the system's programs read
//! only, the folders of the command, a private `/tmp` and a few devices. What was not put there
//! does not exist.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::{self, File, Metadata},
    io,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode as FileMode, OFlags},
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
        mount_change, mount_remount, move_mount, open_tree, unmount,
    },
    process::{chdir, getegid, geteuid, pivot_root},
    system::sethostname,
    thread::UnshareFlags,
};

use super::{
    command::Network,
    policy::Policy,
    sys::{self, SingleThread},
};

/// What every command may read and execute: the programs of the system and what they need to
/// start. Nothing in it is a secret on an ordinary machine.
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/profile",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    // Node ends itself when this exists and cannot be read.
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

pub(super) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Where the new root is put together; any folder that exists everywhere will do.
const STAGE: &str = "/tmp";

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const INERT: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Moves this process into namespaces of its own, as the same user with all rights inside.
pub(super) fn enter_namespaces(proof: &SingleThread, network: Network) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if network != Network::On {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(proof, flags).map_err(naming("new namespaces"))?;
    fs::write("/proc/self/setgroups", "deny").map_err(naming("groups"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(naming("the user"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(naming("the group"))?;
    if network != Network::On {
        sys::raise_loopback().map_err(naming("the loopback interface"))?;
    }
    Ok(())
}

/// Replaces what this process sees by the view that the policy describes. Runs as the first
/// process of the new namespaces.
pub(super) fn build(policy: &Policy) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(naming("private mounts"))?;
    // All sources are opened before the stage covers a part of the tree.
    let pieces = pieces(policy)?;

    let root = Path::new(STAGE);
    tmpfs(root, "mode=0755,size=1m")?;
    for folder in ["proc", "tmp", "dev/shm"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", root.join("proc"), "proc", quiet, None).map_err(naming("/proc"))?;
    if policy.tmp.is_none() {
        tmpfs(&root.join("tmp"), &format!("mode=1777,size={}", policy.limits.tmp))?;
    }
    tmpfs(&root.join("dev/shm"), "mode=1777,size=256m")?;
    for (path, piece) in &pieces {
        piece.place(&inside(root, path)).map_err(naming(path.display()))?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), root.join("dev").join(name))?;
    }
    protect(root, policy)?;

    chdir(root)?;
    pivot_root(".", ".").map_err(naming("the new root"))?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    let sealed = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount_remount("/", sealed, "").map_err(naming("a read-only root"))?;
    sethostname(b"sandbox")?;
    // A bound on the processes of the tree, where the kernel keeps one per namespace.
    let _ = fs::write("/proc/sys/kernel/pid_max", policy.limits.processes.max(512).to_string());
    Ok(())
}

/// Something that is put into the view.
enum Piece {
    Mount { tree: OwnedFd, of: Metadata },
    Link(PathBuf),
}

/// What the view consists of, by path, so that a folder comes before what is inside it.
fn pieces(policy: &Policy) -> io::Result<BTreeMap<PathBuf, Piece>> {
    let mut pieces = BTreeMap::new();
    for path in SYSTEM.iter().map(Path::new).chain(policy.readable.iter().map(PathBuf::as_path)) {
        if let Ok(piece) = Piece::open(path, READ_ONLY | INERT) {
            // A link is only as good as what it leads to.
            if let (Piece::Link(_), Ok(target)) = (&piece, path.canonicalize())
                && !SYSTEM.iter().any(|shown| target.starts_with(shown))
                && let Ok(target_piece) = Piece::open(&target, READ_ONLY | INERT)
            {
                pieces.insert(target, target_piece);
            }
            pieces.insert(path.to_owned(), piece);
        }
    }
    for path in DEVICES.iter().map(Path::new) {
        let piece = Piece::open(path, libc::MOUNT_ATTR_NOSUID).map_err(naming(path.display()))?;
        pieces.insert(path.to_owned(), piece);
    }
    for path in &policy.writable {
        let piece = Piece::open(path, INERT).map_err(naming(path.display()))?;
        pieces.insert(path.clone(), piece);
    }
    if let Some(tmp) = &policy.tmp {
        pieces.insert("/tmp".into(), Piece::open(tmp, INERT).map_err(naming(tmp.display()))?);
    }
    Ok(pieces)
}

impl Piece {
    fn open(path: &Path, attributes: u64) -> io::Result<Self> {
        let of = fs::symlink_metadata(path)?;
        if of.is_symlink() {
            return Ok(Self::Link(fs::read_link(path)?));
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let tree = open_tree(CWD, path, flags)?;
        sys::set_mount_attributes(&tree, attributes)?;
        Ok(Self::Mount { tree, of })
    }

    fn place(&self, at: &Path) -> io::Result<()> {
        if let Some(folder) = at.parent() {
            fs::create_dir_all(folder)?;
        }
        match self {
            Self::Link(target) => match symlink(target, at) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                result => result,
            },
            Self::Mount { tree, of } => {
                if of.is_dir() {
                    fs::create_dir_all(at)?;
                } else if !at.try_exists()? {
                    File::create(at)?;
                }
                attach(tree, at)
            }
        }
    }
}

/// Mounts the protected paths read-only on themselves, and the folders that lead to them on
/// themselves as they are: a mount can be neither renamed nor removed.
fn protect(root: &Path, policy: &Policy) -> io::Result<()> {
    for folder in policy.pinned() {
        cover(&inside(root, &folder), INERT).map_err(naming(folder.display()))?;
    }
    for path in &policy.protected {
        cover(&inside(root, path), READ_ONLY | INERT).map_err(naming(path.display()))?;
    }
    Ok(())
}

/// Mounts a file or folder on itself. What is missing, or a link, is left to the guard.
fn cover(path: &Path, attributes: u64) -> io::Result<()> {
    let Ok(Piece::Mount { tree, .. }) = Piece::open(path, attributes) else { return Ok(()) };
    attach(&tree, path)
}

fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    let target =
        rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, FileMode::empty())?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", &target, "", flags)?)
}

fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(naming(at.display()))
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
    root.join(parts.collect::<PathBuf>())
}

/// Says what it was about when a step fails.
fn naming<E: Into<io::Error>>(what: impl std::fmt::Display) -> impl FnOnce(E) -> io::Error {
    move |error| {
        let error = error.into();
        io::Error::new(error.kind(), format!("{what}: {error}"))
    }
}
