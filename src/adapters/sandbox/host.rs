//! What this host says of itself: why something does not work here, and what would change that.
//!
//! Nothing here decides what is enforced; that is found out by trying it. This is for the words.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

/// How much of the host's memory one command may take, in hundredths.
const SHARE: u64 = 75;

/// A host as far as the sandbox depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The release of the kernel: `6.8.0-45-generic`.
    pub kernel: String,
    /// What kind of container this seems to be.
    pub container: Option<&'static str>,
    /// How many user namespaces there may be; nothing where the kernel has none.
    pub user_namespaces: Option<u64>,
    /// Older Debian: whether others than root may make them.
    pub unprivileged: Option<bool>,
    /// Ubuntu from 23.10 on: whether AppArmor keeps them from programs without a profile.
    pub apparmor_restricts: bool,
    /// Whether a filter of system calls holds for the server itself, as in Docker.
    pub filtered: bool,
    /// Whether the kernel has filters of system calls.
    pub filters: bool,
    /// The security modules that are switched on, where the host tells.
    pub modules: Option<Vec<String>>,
    /// Whether the server is root.
    pub root: bool,
    /// Bytes of memory that there are.
    pub memory: u64,
}

/// Something that the operator can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub what: String,
    /// A line to type, or to put into a file.
    pub line: Option<String>,
}

impl Step {
    fn new(what: &str, line: Option<&str>) -> Self {
        Self { what: what.to_owned(), line: line.map(str::to_owned) }
    }
}

impl Host {
    /// Looks.
    pub(super) fn look() -> Self {
        let number = |path: &str| read(path).and_then(|text| text.parse::<u64>().ok());
        let status = read("/proc/self/status").unwrap_or_default();
        let filter = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        let modules = read("/sys/kernel/security/lsm")
            .map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>());
        let limit = number("/sys/fs/cgroup/memory.max");
        let machine = rustix::system::sysinfo();
        let memory = (machine.totalram as u64).saturating_mul(machine.mem_unit.into());
        Self {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            container: container(),
            user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged: number("/proc/sys/kernel/unprivileged_userns_clone").map(|it| it != 0),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
                .is_some_and(|it| it != 0),
            filtered: filter.is_some_and(|it| it.trim() == "2"),
            filters: Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
            modules,
            root: rustix::process::geteuid().is_root(),
            memory: limit.map_or(memory, |limit| limit.min(memory)),
        }
    }

    /// How much memory one command may take at most, so that some is left for the server.
    pub(super) fn most_memory(&self) -> u64 {
        match self.memory {
            0 => u64::MAX,
            memory => memory / 100 * SHARE,
        }
    }

    /// What would let commands have namespaces here.
    pub(super) fn for_namespaces(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.user_namespaces == Some(0) {
            steps.push(Step::new(
                "This host allows no user namespaces. Allow them, and keep that in a file below \
                 /etc/sysctl.d:",
                Some("sysctl -w user.max_user_namespaces=15000"),
            ));
        }
        if self.user_namespaces.is_none() {
            steps.push(Step::new(
                "This kernel has no user namespaces. Use one that is built with CONFIG_USER_NS.",
                None,
            ));
        }
        if self.unprivileged == Some(false) && !self.root {
            steps.push(Step::new(
                "This host keeps user namespaces for root. Open them to others, and keep that in a \
                 file below /etc/sysctl.d:",
                Some("sysctl -w kernel.unprivileged_userns_clone=1"),
            ));
        }
        if self.apparmor_restricts {
            steps.push(Step::new(
                "AppArmor keeps user namespaces from programs without a profile. Give Forge one, \
                 with the path of its binary, in /etc/apparmor.d/forge, and load it with \
                 apparmor_parser -r:",
                Some(
                    "abi <abi/4.0>, profile forge /usr/local/bin/forge flags=(unconfined) \
                     { userns, }",
                ),
            ));
        }
        if self.filtered || self.container.is_some() {
            steps.push(Step::new(
                "The container keeps namespaces from the server. Run it with a seccomp profile \
                 that allows unshare, clone, mount, umount2, pivot_root, open_tree, move_mount and \
                 mount_setattr, and without masked paths below /proc:",
                Some(
                    "docker run --security-opt seccomp=forge.json --security-opt \
                     apparmor=unconfined --security-opt systempaths=unconfined …",
                ),
            ));
            steps.push(Step::new(
                "Or run it with Podman as an ordinary user, with namespaces of its own:",
                Some("podman run --security-opt unmask=ALL --userns=keep-id …"),
            ));
        }
        if steps.is_empty() {
            steps.push(Step::new(
                "Nothing of what usually keeps namespaces from a server is in its way here. The \
                 reason above is the kernel's own: a kernel from 5.12 on is needed, and a security \
                 module may forbid mounts.",
                None,
            ));
        }
        steps
    }

    /// What would bound the processes of commands where namespaces and control groups do not.
    pub(super) fn for_processes(&self) -> Option<Step> {
        let step = Step::new(
            "Run the server as an ordinary user: without namespaces the kernel bounds the \
             processes of everybody but root. In a container bound them from outside too:",
            Some("docker run --user 1000:1000 --pids-limit 4096 …"),
        );
        self.root.then_some(step)
    }

    /// What would let Landlock stand alone here, or behind the namespaces.
    pub(super) fn for_landlock(&self, version: u8) -> Vec<Step> {
        let mut steps = Vec::new();
        let missing = self.modules.as_ref().is_some_and(|it| !it.iter().any(|it| it == "landlock"));
        if missing {
            let listed = self.modules.as_deref().unwrap_or_default().join(",");
            steps.push(Step::new(
                "Landlock is not among the security modules that are switched on. Add it to the \
                 line of the kernel (GRUB_CMDLINE_LINUX in /etc/default/grub), and restart:",
                Some(&format!("lsm=landlock,{listed}")),
            ));
        } else if version == 0 {
            steps.push(Step::new(
                "Use a kernel from 6.2 on with Landlock (CONFIG_SECURITY_LANDLOCK), and landlock \
                 in its lsm= line. In a container it is the kernel of the host that counts.",
                None,
            ));
        } else if version < 6 {
            steps.push(Step::new(
                "A newer kernel has a better Landlock: from 6.7 on it can keep commands to the \
                 proxy, from 6.12 on it keeps them from sending signals to the server.",
                None,
            ));
        }
        if !self.filters {
            steps.push(Step::new("Use a kernel that is built with CONFIG_SECCOMP_FILTER.", None));
        }
        steps
    }
}

fn container() -> Option<&'static str> {
    let exists = |path: &str| Path::new(path).exists();
    if exists("/run/.containerenv") {
        return Some("Podman");
    }
    if exists("/.dockerenv") {
        return Some("Docker");
    }
    let groups = read("/proc/1/cgroup").unwrap_or_default();
    match () {
        () if groups.contains("kubepods") => Some("Kubernetes"),
        () if groups.contains("docker") => Some("Docker"),
        () if groups.contains("lxc") => Some("LXC"),
        () => None,
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: &[Step]) -> String {
        let lines = steps.iter().map(|it| it.line.clone().unwrap_or(it.what.clone()));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_in_the_way_is_named_with_what_to_type() {
        let ordinary = Host { user_namespaces: Some(15_000), filters: true, ..Host::default() };
        let none = Host { user_namespaces: Some(0), ..ordinary.clone() };
        assert!(lines(&none.for_namespaces()).contains("user.max_user_namespaces"));
        let debian = Host { unprivileged: Some(false), ..ordinary.clone() };
        assert!(lines(&debian.for_namespaces()).contains("kernel.unprivileged_userns_clone=1"));
        let by_root = Host { root: true, ..debian };
        assert!(!lines(&by_root.for_namespaces()).contains("unprivileged_userns_clone"));
        let ubuntu = Host { apparmor_restricts: true, ..ordinary.clone() };
        assert!(lines(&ubuntu.for_namespaces()).contains("profile forge"));
        let docker = Host { container: Some("Docker"), filtered: true, ..ordinary.clone() };
        assert!(lines(&docker.for_namespaces()).contains("systempaths=unconfined"));
        assert_eq!(ordinary.for_namespaces().len(), 1, "there is always something to say");
    }

    #[test]
    fn landlock_is_switched_on_or_a_newer_kernel_used() {
        let host = Host { filters: true, ..Host::default() };
        let off = Host { modules: Some(vec!["yama".into(), "apparmor".into()]), ..host.clone() };
        assert_eq!(lines(&off.for_landlock(0)), "lsm=landlock,yama,apparmor");
        assert!(lines(&host.for_landlock(0)).contains("6.2"));
        assert!(lines(&host.for_landlock(3)).contains("6.12"));
        assert!(host.for_landlock(7).is_empty());
        assert!(lines(&Host::default().for_landlock(7)).contains("SECCOMP"));
    }

    #[test]
    fn some_memory_is_left_for_the_server() {
        let host = Host { memory: 4 << 30, ..Host::default() };
        assert!(host.most_memory() > 2 << 30 && host.most_memory() < 4 << 30);
        assert_eq!(Host::default().most_memory(), u64::MAX);
    }
}
