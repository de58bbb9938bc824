//! A control group for one command, in which the kernel bounds the number of its processes.
//!
//! The usual bound counts those of a user, and none of root. So where the server is root and there
//! are no namespaces, the command is put into a group below the server's own, if one can be made
//! there: with version 1, and with version 2 where the controller is already given to the groups
//! below. Nothing of the host is changed for it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// What the names of these groups begin with. The number of the helper follows.
const NAME: &str = "forge-command-";
/// A group can be removed only when all processes have left it, which may take them a moment.
const TRIES: u32 = 50;

/// A group that this process is in, until it is dropped.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    above: PathBuf,
}

impl Group {
    /// Enters a group of its own, in which there may be so many processes. Nothing where that
    /// cannot be had.
    pub(super) fn enter(processes: u64) -> Option<Self> {
        let above = own(
            &fs::read_to_string("/proc/self/cgroup").ok()?,
            &fs::read_to_string("/proc/self/mountinfo").ok()?,
        )?;
        let path = above.join(format!("{NAME}{}", std::process::id()));
        let _ = fs::remove_dir(&path);
        fs::create_dir(&path).ok()?;
        let group = Self { path, above };
        // This process is in it too.
        set(&group.path.join("pids.max"), &(processes + 1).to_string()).ok()?;
        set(&group.path.join("cgroup.procs"), "0").ok()?;
        Some(group)
    }

    /// Removes what helpers that were killed have left behind.
    pub(super) fn sweep(&self) {
        for entry in fs::read_dir(&self.above).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let Some(helper) = name.strip_prefix(NAME).and_then(|it| it.parse::<u32>().ok()) else {
                continue;
            };
            if !Path::new(&format!("/proc/{helper}")).exists() {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = set(&self.above.join("cgroup.procs"), "0");
        for _ in 0..TRIES {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn set(file: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(value.as_bytes())
}

/// The folder of the group that this process is in, where it counts processes.
fn own(groups: &str, mounts: &str) -> Option<PathBuf> {
    let counts = |names: &str| names.split(',').any(|it| it == "pids");
    let found = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        match controllers {
            "" => Some(("cgroup2", path)),
            names if counts(names) => Some(("cgroup", path)),
            _ => None,
        }
    });
    // A controller is either in a hierarchy of its own or in the common one.
    let (kind, path) = found.min_by_key(|(kind, _)| *kind)?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let is_it =
            after.next() == Some(kind) && (kind == "cgroup2" || after.nth(1).is_some_and(counts));
        let mut fields = before.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        // In a container the mount may begin at the group of the container.
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_it.then(|| Path::new(place).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_this_process_is_found() {
        let first = "9:name=systemd:/\n8:pids:/system.slice/forge\n1:cpu:/\n0::/\n";
        let mounts = "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";
        let place = Path::new("/sys/fs/cgroup/pids/system.slice/forge");
        assert_eq!(own(first, mounts).as_deref(), Some(place));

        let in_docker = "39 31 0:36 /docker/ab /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
        let place = Path::new("/sys/fs/cgroup/pids/");
        assert_eq!(own("8:pids:/docker/ab\n", in_docker).as_deref(), Some(place));

        let second = "31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let place = Path::new("/sys/fs/cgroup/user.slice");
        assert_eq!(own("0::/user.slice\n", second).as_deref(), Some(place));
        assert_eq!(own("0::/user.slice\n", ""), None);
        assert_eq!(own("1:cpu:/\n", mounts), None);
    }
}
