//! Looking now and then at what a command uses with all that it started.
//!
//! The kernel bounds each process, and the number of them only for users who are not root. What
//! they use together is bounded here, within a moment.

use std::{fs, path::PathBuf};

use rustix::process::{Pid, getpid};

use super::{
    command::Limits,
    policy::{Bound, Policy},
    supervise::collect_descendants,
};

/// What a disk may shrink by before its end is the command's fault.
const NOTICED: u64 = 16 << 20;

/// Which processes are the command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// All that this process sees: it is the first one of their namespace.
    Namespace,
    /// Those below this process.
    Descendants,
}

pub(super) struct Watch {
    tree: Tree,
    limits: Limits,
    /// Folders on the disks in question, with what was free there at the start.
    disks: Vec<(PathBuf, u64)>,
}

impl Watch {
    pub(super) fn over(tree: Tree, policy: &Policy) -> Self {
        let folders = policy.writable.iter().chain(&policy.tmp).cloned();
        let disks = folders.filter_map(|folder| Some((folder.clone(), free(&folder)?)));
        Self { tree, limits: policy.limits.clone(), disks: disks.collect() }
    }

    pub(super) fn exceeded(&self) -> Option<Bound> {
        let processes = self.processes();
        if processes.len() as u64 > self.limits.processes {
            return Some(Bound::Processes);
        }
        // One alone is bounded by the kernel, without delay.
        if processes.len() > 1 && processes.iter().map(memory).sum::<u64>() > self.limits.memory {
            return Some(Bound::Memory);
        }
        let used_up = |(folder, before): &(PathBuf, u64)| {
            free(folder).is_some_and(|left| left < self.limits.free && left + NOTICED < *before)
        };
        self.disks.iter().any(used_up).then_some(Bound::Disk)
    }

    fn processes(&self) -> Vec<String> {
        match self.tree {
            Tree::Namespace => {
                let own = getpid().to_string();
                let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
                let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                names
                    .filter(|name| name.bytes().all(|it| it.is_ascii_digit()) && *name != own)
                    .collect()
            }
            Tree::Descendants => {
                let mut all: Vec<Pid> = Vec::new();
                collect_descendants(getpid(), &mut all);
                all.iter().map(ToString::to_string).collect()
            }
        }
    }
}

/// Bytes of memory that a process shares with no file.
fn memory(process: &String) -> u64 {
    let found = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let mut pages = found.split(' ').skip(1).map(|it| it.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

fn free(folder: &PathBuf) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
