//! A place with a project, a secret beside it, and a sandbox in every mode this host offers.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use forge::adapters::sandbox::{Captured, Command, ConfiguredMode, Ending, Mode, Sandbox, capture};
use tempfile::TempDir;

/// Where places are made, when this process was started in a set-up of its own.
pub const FOLDER: &str = "FORGE_TEST_FOLDER";
/// The modes that this host must offer there.
pub const EXPECTED: &str = "FORGE_TEST_MODES";

pub struct Place {
    _home: TempDir,
    pub project: PathBuf,
    pub secret: PathBuf,
    pub sandbox: Sandbox,
}

/// What a shell command said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub text: String,
    pub captured: Captured,
}

impl Said {
    pub fn is_good(&self) -> bool {
        self.captured.exit.ending == Ending::Code(0)
    }
}

pub async fn place() -> Place {
    // Not below /tmp, of which a command may have one of its own.
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    place_in(&folder.unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into())).await
}

pub async fn place_in(folder: &Path) -> Place {
    let home = tempfile::tempdir_in(folder).unwrap();
    let root = home.path().canonicalize().unwrap();
    let (project, secret) = (root.join("project"), root.join("data"));
    for folder in [&project, &secret] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(secret.join("key"), "the-secret-key").unwrap();
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_forge"));
    let tmp_root = secret.join("tmp");
    let sandbox = Sandbox::probe(helper, tmp_root, ConfiguredMode::Required).await;
    let sandbox = sandbox.hiding([secret.clone()]);
    Place { _home: home, project, secret, sandbox }
}

impl Place {
    /// The modes that confine and that this host offers. There must be one, or nothing is tested.
    pub fn modes(&self) -> Vec<Mode> {
        modes_of(&self.sandbox)
    }

    pub async fn probe_again(&self) {
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_forge"));
        Sandbox::probe(helper, self.secret.join("tmp"), ConfiguredMode::Required).await;
    }

    pub fn in_mode(&self, mode: Mode) -> Sandbox {
        self.sandbox.clone().in_mode(mode).unwrap()
    }

    pub fn command(&self, script: &str) -> Command {
        Command {
            argv: ["bash", "-c", script].map(str::to_owned).into(),
            cwd: self.project.clone(),
            writable: vec![self.project.clone()],
            timeout: Some(Duration::from_secs(60)),
            ..Command::default()
        }
    }

    pub async fn run(&self, mode: Mode, script: &str) -> Said {
        self.run_command(mode, self.command(script)).await
    }

    pub async fn run_command(&self, mode: Mode, command: Command) -> Said {
        let mut running = self.in_mode(mode).spawn(command).await.unwrap();
        let captured = capture(&mut running, None, |_| {}).await.unwrap();
        Said { text: captured.transcript.text(None), captured }
    }
}

/// The modes that confine and that this host offers. There must be one, or nothing is tested.
pub fn modes_of(sandbox: &Sandbox) -> Vec<Mode> {
    let report = sandbox.report();
    let modes = [Mode::Namespaces, Mode::Landlock].into_iter().filter(|it| report.offers(*it));
    let modes: Vec<_> = modes.collect();
    assert!(!modes.is_empty(), "this host confines nothing: {report:?}");
    if let Ok(expected) = std::env::var(EXPECTED) {
        assert_eq!(format!("{modes:?}"), expected, "{report:?}");
    }
    modes
}

/// Processes that have this word among their arguments.
pub fn processes_with(word: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| {
            fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line.split(|byte| *byte == 0).any(|it| it == word.as_bytes()))
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Waits until something is so, and fails with its name if it does not come to be.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A number of seconds to sleep that no other process sleeps, to be found by.
pub fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:05}", 300 + NEXT.fetch_add(1, Ordering::Relaxed), std::process::id() % 100_000)
}

pub fn show(path: &Path) -> String {
    path.display().to_string()
}
