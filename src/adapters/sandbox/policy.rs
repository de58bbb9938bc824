//! What the server and its helper tell each other.
//!
//! They share a socket, which is the helper's standard input. The server writes one [`Policy`];
//! the helper answers with [`Notice`]s, one line each. The end of the server's side, by a request
//! to stop or because the server is gone, ends the command.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Mode,
    command::{Limits, Network},
};

/// Larger than any real policy: its bulk is the command line, which the kernel bounds too.
const LARGEST_POLICY: u32 = 4 << 20;

/// Everything that the helper needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Policy {
    pub mode: Mode,
    pub action: Action,
    pub cwd: PathBuf,
    pub writable: Vec<PathBuf>,
    pub readable: Vec<PathBuf>,
    pub protected: Vec<PathBuf>,
    pub tmp: Option<PathBuf>,
    /// Where a private folder is made when there are no namespaces to have a `/tmp` in.
    pub tmp_root: PathBuf,
    /// A file that is locked until all is over.
    pub held: Option<PathBuf>,
    pub network: Network,
    /// The port of the host's loopback interface that is the door, without namespaces.
    pub door: Option<u16>,
    pub limits: Limits,
    pub timeout: Option<Duration>,
}

/// What happens once the walls are up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Action {
    Run {
        argv: Vec<String>,
        env: Vec<(String, String)>,
    },
    /// Only see whether the walls hold: this file must not open.
    Probe {
        forbidden: PathBuf,
    },
}

/// What the helper tells the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Notice {
    Started(Walls),
    /// The command was not run, for this reason.
    Refused(String),
    Finished {
        ending: Ending,
        /// Protected paths that were changed and put back.
        restored: Vec<PathBuf>,
        /// Protected paths that were changed and could not be put back.
        lost: Vec<PathBuf>,
    },
}

/// What was in force when the command started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Walls {
    /// The version of Landlock's interface; 0 where there is none.
    pub landlock: u8,
    /// Whether the kernel counted the command's processes in a group of its own.
    pub grouped: bool,
}

/// What the process that becomes the command tells the helper, before it does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Setup {
    Ready(Walls),
    Failed(String),
}

/// How a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited with this code.
    Code(i32),
    /// It died of this signal.
    Signal(i32),
    TimedOut,
    /// It was ended on request.
    Killed,
    /// It was ended because the whole of it used too much.
    TooMuch(Bound),
}

/// What is bounded for a command with all that it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    Processes,
    Memory,
    /// What has to stay free on the disks.
    Disk,
}

impl Policy {
    /// The folders that lead from a writable folder to a protected path, outer ones first. They
    /// must stay where they are, or what is protected could be replaced as a whole.
    pub(super) fn pinned(&self) -> BTreeSet<PathBuf> {
        let inside = |folder: &Path| {
            self.writable.iter().any(|root| folder.starts_with(root) && folder != root)
        };
        let above = self.protected.iter().flat_map(|path| path.ancestors().skip(1));
        above.filter(|folder| inside(folder)).map(Path::to_owned).collect()
    }

    pub(super) fn to_frame(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let length = u32::try_from(json.len()).ok().filter(|length| *length <= LARGEST_POLICY);
        let length = length.ok_or_else(|| io::Error::other("the command is too long"))?;
        Ok([&length.to_be_bytes(), json.as_slice()].concat())
    }

    pub(super) fn read_frame(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > LARGEST_POLICY {
            return Err(io::Error::other("the policy is too long"));
        }
        let mut json = vec![0; length as usize];
        from.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// Writes one value as a line.
pub(super) fn write_line(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Reads everything, and the first value in it.
pub(super) fn read_line<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut text = String::new();
    from.read_to_string(&mut text)?;
    Ok(text.lines().next().map(serde_json::from_str).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy {
            mode: Mode::Landlock,
            action: Action::Run { argv: vec!["true".into()], env: vec![("A".into(), "ü".into())] },
            cwd: "/p".into(),
            writable: vec!["/p".into()],
            readable: vec![],
            protected: vec!["/p/.git/config".into()],
            tmp: None,
            tmp_root: "/t".into(),
            held: None,
            network: Network::Off,
            door: None,
            limits: Limits::default(),
            timeout: Some(Duration::from_millis(1500)),
        }
    }

    #[test]
    fn the_folders_on_the_way_to_a_protected_path_are_pinned_and_the_root_is_not() {
        let protected = vec!["/p/.git/hooks".into(), "/p/.git/modules/a/config".into()];
        let pinned = Policy { protected, ..policy() }.pinned();
        let expected = ["/p/.git", "/p/.git/modules", "/p/.git/modules/a"];
        assert_eq!(pinned.into_iter().collect::<Vec<_>>(), expected.map(PathBuf::from));
    }

    #[test]
    fn a_policy_arrives_as_it_was_sent() {
        let policy = policy();
        let frame = policy.to_frame().unwrap();
        let read = Policy::read_frame(frame.as_slice()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{policy:?}"));
    }

    #[test]
    fn a_length_beyond_reason_is_refused_before_memory_is_taken() {
        assert!(Policy::read_frame([0xff; 8].as_slice()).is_err());
    }

    #[test]
    fn nothing_said_is_no_value() {
        assert_eq!(read_line::<Notice>(b"".as_slice()).unwrap(), None);
    }
}
