//! What is in force on this host, in words for an operator.

use super::{
    Mode,
    host::{Host, Step},
    landlock::DOORS,
    policy::Walls,
    probe::ConfiguredMode,
};

/// What this host can enforce, and what is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How commands run. `None`: they are refused.
    pub mode: Option<Mode>,
    /// With namespaces: works, or why it does not.
    pub namespaces: Result<(), String>,
    /// With Landlock alone: works, or why it does not.
    pub landlock: Result<(), String>,
    /// The version of the kernel's Landlock interface; 0 where there is none.
    pub landlock_version: u8,
    /// Whether a command with Landlock alone gets a control group that bounds its processes.
    pub groups: bool,
    /// What the host says of itself.
    pub host: Host,
}

/// One of the walls, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    /// Whether it holds here.
    pub works: bool,
    /// What it does, or why it does not.
    pub detail: String,
}

impl Report {
    /// Takes the strongest way that works.
    pub(super) fn new(
        configured: ConfiguredMode,
        namespaces: Result<Walls, String>,
        landlock: Result<Walls, String>,
    ) -> Self {
        let mode = match (configured, &namespaces, &landlock) {
            (ConfiguredMode::Off, ..) => Some(Mode::Off),
            (ConfiguredMode::Required, Ok(_), _) => Some(Mode::Namespaces),
            (ConfiguredMode::Required, Err(_), Ok(_)) => Some(Mode::Landlock),
            (ConfiguredMode::Required, Err(_), Err(_)) => None,
        };
        let version =
            [&namespaces, &landlock].into_iter().flatten().map(|walls| walls.landlock).max();
        Self {
            mode,
            groups: landlock.as_ref().is_ok_and(|walls| walls.grouped),
            namespaces: namespaces.map(drop),
            landlock: landlock.map(drop),
            landlock_version: version.unwrap_or(0),
            host: Host::default(),
        }
    }

    /// Whether commands could run in this mode here.
    pub fn offers(&self, mode: Mode) -> bool {
        match mode {
            Mode::Namespaces => self.namespaces.is_ok(),
            Mode::Landlock => self.landlock.is_ok(),
            Mode::Off => true,
        }
    }

    /// Whether Landlock alone can keep a command to one port.
    pub(super) fn keeps_to_doors(&self) -> bool {
        self.landlock_version >= DOORS as u8
    }

    /// Whether commands can be let out to single hosts, and to no other.
    pub fn has_network(&self) -> bool {
        match self.mode {
            Some(Mode::Namespaces) => true,
            Some(Mode::Landlock) => self.keeps_to_doors(),
            Some(Mode::Off) | None => false,
        }
    }

    /// What is in force, in a sentence.
    pub fn summary(&self) -> &'static str {
        match self.mode {
            Some(Mode::Namespaces) => {
                "Commands run in a view of the system of their own, with a network of their own."
            }
            Some(Mode::Landlock) => {
                "Commands run confined by Landlock: they cannot open files outside their folders \
                 and have no network of their own."
            }
            Some(Mode::Off) => {
                "The sandbox is switched off. Commands can read and change whatever the server can."
            }
            None => "This host cannot confine commands, so they are refused.",
        }
    }

    /// What the mode in force leaves open, a sentence each.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        match self.mode {
            Some(Mode::Off) => found.push(
                "Nothing but the rules stands between an agent and the server's own files and keys.",
            ),
            Some(Mode::Landlock) => {
                found.push(
                    "Whether a file exists, and its size, can be found out by guessing its path.",
                );
                found.push(
                    "Programs that insist on /tmp fail, and tests cannot open local connections.",
                );
                found.push(
                    "Changes to .git/hooks and .git/config are put back only after the command.",
                );
                match self.keeps_to_doors() {
                    true => found.push(
                        "Where a rule allows a host, commands can also connect to any machine that \
                         happens to listen on the port of their proxy.",
                    ),
                    false => found.push(
                        "Commands have no network even where a rule allows a host: this kernel \
                         cannot keep them to the proxy. From 6.7 on it can.",
                    ),
                }
                if self.host.root && !self.groups {
                    found.push(
                        "The server runs as root, whose processes the kernel does not count: a \
                         command that starts them without end can bring the machine down.",
                    );
                }
                if self.landlock_version < 6 {
                    found.push(
                        "Commands can send signals to other processes of the server's user.",
                    );
                }
            }
            Some(Mode::Namespaces) if self.landlock_version < 3 => {
                found.push("There is no second wall of Landlock behind the namespaces.");
            }
            Some(Mode::Namespaces) | None => {}
        }
        if self.mode.is_some() {
            found.push(
                "What a whole command uses of memory, processes and disk is looked at five times a \
                 second: it can go beyond its bounds for that long.",
            );
        }
        found
    }

    /// Every wall, and whether it stands.
    pub fn checks(&self) -> Vec<Check> {
        let check = |name, works, detail: String| Check { name, works, detail };
        let version = self.landlock_version;
        let filters = self.namespaces.is_ok() || self.landlock.is_ok();
        vec![
            match &self.namespaces {
                Ok(()) => check(
                    "Namespaces",
                    true,
                    "A view of files, processes and network of a command's own.".into(),
                ),
                Err(reason) => check("Namespaces", false, reason.clone()),
            },
            match (&self.landlock, version) {
                (Ok(()), version) => check(
                    "Landlock",
                    true,
                    format!("Version {version}. {}", what_landlock_does(version)),
                ),
                (Err(_), 1..) => check(
                    "Landlock",
                    false,
                    format!("Version {version} is there, and does not suffice alone: 3 would."),
                ),
                (Err(reason), 0) => check("Landlock", false, reason.clone()),
            },
            check(
                "System call filter",
                filters,
                match (filters, self.host.filters) {
                    (true, _) => "What opens namespaces, traces others or reaches deep into the \
                                  kernel is refused."
                        .into(),
                    (false, true) => "The kernel has it; neither trial got that far.".into(),
                    (false, false) => "The kernel has no seccomp filters.".into(),
                },
            ),
            check(
                "Limits",
                self.mode.is_some(),
                "Time on the processor, memory, file size, open files and processes; what a \
                 command uses as a whole is watched."
                    .into(),
            ),
            check(
                "Network by rules",
                self.has_network(),
                match (self.mode, self.has_network()) {
                    (_, true) => "None, except by a proxy to hosts that a rule allows.".into(),
                    (Some(Mode::Off), _) => "Commands have the server's network.".into(),
                    (Some(_), _) => "None at all: Landlock from version 4 on could keep commands \
                                     to the proxy."
                        .into(),
                    (None, _) => "No command runs.".into(),
                },
            ),
        ]
    }

    /// What a command can do, and what it cannot, a sentence each.
    pub fn meaning(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut can = vec!["Read and change the files of its project, and run its programs."];
        let mut cannot = Vec::new();
        match self.mode {
            None => {
                return (
                    Vec::new(),
                    vec!["Run. Reading and changing files with other tools works."],
                );
            }
            Some(Mode::Off) => {
                return (
                    vec![
                        "Read and change every file that the server can, its database and keys \
                         included.",
                        "Reach every address that the server can, and end its processes.",
                    ],
                    vec!["Run longer than its time, or gain rights that the server does not have."],
                );
            }
            Some(Mode::Namespaces) => {
                can.push(
                    "Write to a /tmp and a home folder of its own, which are gone afterwards.",
                );
                can.push("Open local connections, as tests do, that nobody else sees.");
                cannot.push("See files outside: no other project, no home, nothing of Forge.");
                cannot.push("See or signal processes that are not its own.");
                cannot.push("Change .git/hooks and .git/config, or move .git away.");
            }
            Some(Mode::Landlock) => {
                can.push(
                    "Write to a folder of its own in place of /tmp, which is gone afterwards.",
                );
                cannot.push("Open files outside: no other project, no home, nothing of Forge.");
                cannot.push("Look into processes that are not its own.");
                cannot.push("Open local connections, as some tests do.");
            }
        }
        can.push("Read the programs and libraries of the system.");
        match self.has_network() {
            true => can.push("Reach hosts on the public Internet that a network rule allows."),
            false => cannot.push("Reach any network, whatever the rules say."),
        }
        cannot.push("Reach the server itself, its network, or the metadata of a cloud.");
        cannot.push("Outlive its call, or gain rights.");
        (can, cannot)
    }

    /// What the operator can do to get more, step by step.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.mode == Some(Mode::Off) {
            steps.push(Step {
                what: "Confine commands again: set this in the configuration, and restart.".into(),
                line: Some("[sandbox] mode = \"required\"".into()),
            });
        }
        if self.namespaces.is_err() {
            steps.extend(self.host.for_namespaces());
            steps.extend(self.host.for_processes().filter(|_| !self.groups));
        }
        steps.extend(self.host.for_landlock(self.landlock_version));
        steps
    }

    /// What the operator can change to get more.
    pub fn advice(&self) -> Option<&'static str> {
        match self.mode {
            Some(Mode::Namespaces) => None,
            Some(Mode::Off) => Some(
                "Set sandbox.mode to \"required\" and restart, so that commands run confined again.",
            ),
            Some(Mode::Landlock) => Some(
                "For more, let this user open namespaces: on Ubuntu give the forge binary an \
                 AppArmor profile with `userns`; in Docker run with a seccomp profile that allows \
                 unshare, mount, pivot_root and mount_setattr, with apparmor=unconfined and \
                 systempaths=unconfined; or use Podman.",
            ),
            None => Some(
                "Use a kernel from 6.2 on with Landlock enabled (add landlock to the lsm= boot \
                 parameter), or allow user namespaces (sysctl user.max_user_namespaces, and \
                 kernel.unprivileged_userns_clone on older Debian). Only if this server does \
                 nothing else and may be lost, set sandbox.mode to \"off\".",
            ),
        }
    }
}

fn what_landlock_does(version: u8) -> &'static str {
    match version {
        0..=3 => "It keeps files apart.",
        4..=5 => "It keeps files apart, and TCP ports.",
        6..=8 => "It keeps files apart, TCP ports, signals and abstract sockets.",
        _ => "It keeps files apart, ports, signals and sockets.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails() -> Result<Walls, String> {
        Err("no".into())
    }

    #[test]
    fn the_strongest_way_that_works_is_taken() {
        let mode =
            |namespaces, landlock| Report::new(ConfiguredMode::Required, namespaces, landlock).mode;
        let works = || Ok(Walls { landlock: 7, grouped: false });
        assert_eq!(mode(works(), works()), Some(Mode::Namespaces));
        assert_eq!(mode(fails(), works()), Some(Mode::Landlock));
        assert_eq!(mode(fails(), fails()), None);
    }

    #[test]
    fn a_host_that_confines_nothing_is_never_taken_for_switched_off() {
        let report = Report::new(ConfiguredMode::Required, fails(), fails());
        assert_eq!(report.mode, None);
        assert!(report.advice().is_some_and(|advice| advice.contains("Landlock")));
    }

    #[test]
    fn what_root_starts_is_told_of_where_nothing_counts_it() {
        let told = |grouped| {
            let landlock = Ok(Walls { landlock: 7, grouped });
            let mut report = Report::new(ConfiguredMode::Required, fails(), landlock);
            report.host.root = true;
            let weak = report.weaknesses().iter().any(|it| it.contains("does not count"));
            let step = report.steps().iter().any(|it| it.what.contains("an ordinary user:"));
            (weak, step)
        };
        assert_eq!((told(false), told(true)), ((true, true), (false, false)));
    }

    #[test]
    fn only_the_operator_switches_it_off() {
        let report = Report::new(ConfiguredMode::Off, Ok(Walls::default()), fails());
        assert_eq!(report.mode, Some(Mode::Off));
        assert!(!report.weaknesses().is_empty());
    }
}
