//! Finding out what this host lets Forge enforce, by doing it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Mode,
    command::{Limits, Network, Streams},
    policy::{Action, Ending, Policy, Walls},
    running::Running,
};

/// Longer than any attempt that works takes.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the operator has configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfiguredMode {
    /// Commands run confined, or not at all.
    #[default]
    Required,
    /// Commands run unconfined. Only the operator can choose this.
    Off,
}

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
}

impl Report {
    /// Tries both ways at once.
    pub(super) async fn draw_up(
        helper: &Path,
        tmp_root: &Path,
        configured: ConfiguredMode,
    ) -> Self {
        let forbidden = match forbidden_file(tmp_root) {
            Ok(forbidden) => forbidden,
            Err(error) => {
                let reason = format!("{} cannot be written: {error}.", tmp_root.display());
                return Self::new(configured, Err(reason.clone()), Err(reason));
            }
        };
        let (namespaces, landlock) = tokio::join!(
            attempt(helper, tmp_root, &forbidden, Mode::Namespaces),
            attempt(helper, tmp_root, &forbidden, Mode::Landlock),
        );
        let _ = fs::remove_file(forbidden);
        Self::new(configured, namespaces, landlock)
    }

    fn new(
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
            namespaces: namespaces.map(drop),
            landlock: landlock.map(drop),
            landlock_version: version.unwrap_or(0),
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

    /// What is in force, in a sentence.
    pub fn summary(&self) -> &'static str {
        match self.mode {
            Some(Mode::Namespaces) => {
                "Commands run in a view of the system of their own, with a network of their own."
            }
            Some(Mode::Landlock) => {
                "Commands run confined by Landlock: they cannot open files outside their folders \
                 and have no network."
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
                "Memory and disk are bounded for each process and file, not for a whole command.",
            );
        }
        found
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

/// A file that every confined process must fail to open.
fn forbidden_file(tmp_root: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(tmp_root)?;
    let path = tmp_root.join(format!("probe-{}", std::process::id()));
    fs::write(&path, "out of reach")?;
    path.canonicalize()
}

async fn attempt(
    helper: &Path,
    tmp_root: &Path,
    forbidden: &Path,
    mode: Mode,
) -> Result<Walls, String> {
    let policy = Policy {
        mode,
        action: Action::Probe { forbidden: forbidden.to_owned() },
        cwd: "/".into(),
        writable: Vec::new(),
        readable: Vec::new(),
        protected: Vec::new(),
        tmp: None,
        tmp_root: tmp_root.to_owned(),
        held: None,
        network: Network::Off,
        limits: Limits::default(),
        timeout: Some(PATIENCE),
    };
    let trial = async {
        let mut running = Running::start(helper, &policy, Streams::Merged)
            .await
            .map_err(|error| error.to_string())?;
        let exit = running.wait().await.map_err(|error| error.to_string())?;
        match exit.ending {
            Ending::Code(0) => Ok(running.walls),
            other => Err(format!("The trial ended with {other:?}.")),
        }
    };
    tokio::time::timeout(PATIENCE, trial)
        .await
        .unwrap_or_else(|_| Err("The trial took too long.".to_owned()))
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
        let works = || Ok(Walls { landlock: 7 });
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
    fn only_the_operator_switches_it_off() {
        let report = Report::new(ConfiguredMode::Off, Ok(Walls::default()), fails());
        assert_eq!(report.mode, Some(Mode::Off));
        assert!(!report.weaknesses().is_empty());
    }
}
