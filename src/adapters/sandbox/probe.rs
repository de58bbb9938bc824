//! Finding out what this host lets Forge enforce, by doing it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Mode,
    command::{Limits, Network, Streams},
    host::Host,
    policy::{Action, Ending, Policy, Walls},
    report::Report,
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
                let report = Self::new(configured, Err(reason.clone()), Err(reason));
                return Self { host: Host::look(), ..report };
            }
        };
        let (namespaces, landlock) = tokio::join!(
            attempt(helper, tmp_root, &forbidden, Mode::Namespaces),
            attempt(helper, tmp_root, &forbidden, Mode::Landlock),
        );
        let _ = fs::remove_file(forbidden);
        Self { host: Host::look(), ..Self::new(configured, namespaces, landlock) }
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
        door: None,
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
