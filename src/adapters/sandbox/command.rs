//! What a caller asks the sandbox to run.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// A program to run, what it may see and change, and for how long.
///
/// Everything that is not named here, or among the system's own folders, does not exist for it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The program and its arguments. A bare name is looked up in the `PATH` of the sandbox.
    pub argv: Vec<String>,
    /// Where it starts: an absolute path inside one of the folders below.
    pub cwd: PathBuf,
    /// Added to the environment of the sandbox; the last of a name wins. Nothing of the
    /// server's own environment is ever passed on.
    pub env: Vec<(String, String)>,
    /// Folders it may change. They must exist.
    pub writable: Vec<PathBuf>,
    /// Files and folders it may read and execute. Those that do not exist are left out.
    pub readable: Vec<PathBuf>,
    /// Paths inside the writable folders that it may read but not change. The folders on the way
    /// to them cannot be moved away either.
    pub protected: Vec<PathBuf>,
    /// A folder that it sees as its `/tmp` (with namespaces) or as `TMPDIR`, to be kept from one
    /// call to the next. Without one it gets an empty one of its own.
    pub tmp: Option<PathBuf>,
    /// A file that stays locked (shared) as long as any process of the command, or the helper, is
    /// there, also when the server has died. It must exist.
    pub held: Option<PathBuf>,
    pub network: Network,
    /// It is a program of Forge's own that goes through the door by itself. So it gets one also
    /// where nothing else would keep it to that.
    pub keeps_to_the_door: bool,
    pub limits: Limits,
    /// After this long the whole tree of processes is ended. `None`: it may take for ever.
    pub timeout: Option<Duration>,
    pub streams: Streams,
}

/// How far a command reaches beyond its own loopback interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    #[default]
    Off,
    /// Only through a door that the server holds: see [`Running::take_door`](super::Running). It
    /// is told of it in its environment, as a proxy.
    Door,
    /// The server's network, its loopback included.
    On,
}

/// How the two outputs of a command are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// Both in the order in which they were written, as a terminal shows them.
    #[default]
    Merged,
    Separate,
}

/// Bounds on what a command uses. Each holds for one process, except where it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on the processor.
    pub cpu: Duration,
    /// Bytes of memory that it may write to, and that the whole tree has for itself. Address space
    /// that is only reserved, as the runtimes of JavaScript, Go and Java do, is not counted.
    pub memory: u64,
    /// Bytes of the largest file that it may write.
    pub file: u64,
    pub open_files: u64,
    /// Processes of the whole tree. The kernel keeps threads below it too where it can.
    pub processes: u64,
    /// Bytes in the private `/tmp` of one command, all files together. Only with namespaces.
    pub tmp: u64,
    /// Bytes that have to stay free on the disks that it may write to.
    pub free: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            cpu: Duration::from_secs(60 * 60),
            memory: 8 * GIB,
            file: 8 * GIB,
            open_files: 4096,
            processes: 4096,
            tmp: GIB,
            free: GIB / 4,
        }
    }
}
