//! Commands that mean harm, while a Forge beside them has to answer all the time.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use forge::adapters::{
    git::protected_paths,
    sandbox::{Bound, Command, Ending, Mode, Sandbox, capture},
};
use tokio::task::JoinHandle;

use super::support::{Said, mark, modes_of, processes_with, show, until};
use crate::support::TestApp;

/// The longest that an answer may take while a command does its worst, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// A Forge that is asked for its health again and again.
struct Alive {
    app: TestApp,
    over: Arc<AtomicBool>,
    asking: JoinHandle<(u32, Duration)>,
    project: PathBuf,
}

impl Alive {
    async fn start() -> Self {
        let app = TestApp::start().await;
        let project = app.folder.path().canonicalize().unwrap().join("roots/project");
        fs::create_dir_all(&project).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (stop, browser) = (over.clone(), app.stranger());
        let asking = tokio::spawn(async move {
            let (mut answers, mut slowest) = (0, Duration::ZERO);
            while !stop.load(Ordering::Relaxed) {
                let start = Instant::now();
                browser.get("/health/ready").await.assert_status(200);
                slowest = slowest.max(start.elapsed());
                answers += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            (answers, slowest)
        });
        Self { app, over, asking, project }
    }

    fn sandbox(&self) -> &Sandbox {
        &self.app.app.engine.sandbox
    }

    fn command(&self, script: &str) -> Command {
        Command {
            argv: ["bash", "-c", script].map(str::to_owned).into(),
            cwd: self.project.clone(),
            writable: vec![self.project.clone()],
            timeout: Some(Duration::from_secs(20)),
            ..Command::default()
        }
    }

    async fn run(&self, mode: Mode, command: Command) -> Said {
        let sandbox = self.sandbox().clone().in_mode(mode).unwrap();
        let mut running = sandbox.spawn(command).await.unwrap();
        let captured = capture(&mut running, None, |_| {}).await.unwrap();
        Said { text: captured.transcript.text(None), captured }
    }

    /// It has answered throughout, and quickly.
    async fn assert_answered(self) {
        self.over.store(true, Ordering::Relaxed);
        let (answers, slowest) = self.asking.await.expect("the server answered throughout");
        assert!(answers > 0 && slowest < PATIENCE, "{answers} answers, the slowest in {slowest:?}");
    }
}

#[actix_web::test]
async fn a_fork_bomb_ends_and_the_server_answers() {
    // It would stop by itself at 2,000 processes: a test must not be what brings a machine down.
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mark = mark();
        let mut command = alive.command(
            "b() { [ $1 -gt 0 ] && { b $(($1 - 1)) & b $(($1 - 1)) & }; sleep 15; }; b 10",
        );
        command.argv.extend(["bash".into(), mark.clone()]);
        command.limits.processes = 300;
        let start = Instant::now();
        let said = alive.run(mode, command).await;
        // For others than root the kernel itself refuses the next one.
        let refused = said.text.contains("Resource temporarily unavailable");
        let ended = said.captured.exit.ending != Ending::Code(0);
        assert!(ended || refused, "{mode:?}: {said:?}");
        assert!(start.elapsed() < Duration::from_secs(30), "{mode:?}: {:?}", start.elapsed());
        assert_eq!(processes_with(&mark), [""; 0], "{mode:?}");
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn too_many_processes_end_their_command() {
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mark = mark();
        let mut command =
            alive.command(&format!("for i in $(seq 60); do sleep {mark} & done; sleep 15"));
        command.limits.processes = 40;
        let said = alive.run(mode, command).await;
        // The kernel may have refused the last ones before it was looked.
        let ended = said.captured.exit.ending;
        let refused = said.text.contains("Resource temporarily unavailable");
        assert!(ended == Ending::TooMuch(Bound::Processes) || refused, "{mode:?}: {said:?}");
        assert_eq!(processes_with(&mark), [""; 0], "{mode:?}");
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn memory_is_bounded_for_one_process_and_for_all_together() {
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mut command = alive.command("perl -e '$x = \"a\" x (1 << 30); print length $x'");
        command.limits.memory = 200 << 20;
        let said = alive.run(mode, command).await;
        assert!(!said.is_good() && !said.text.contains("1073741824"), "{mode:?}: {said:?}");

        let one = "perl -e '$x = \"a\" x (30 << 20); sleep 15'";
        let mut command = alive.command(&format!("for i in $(seq 10); do {one} & done; wait"));
        command.limits.memory = 200 << 20;
        let said = alive.run(mode, command).await;
        let ending = said.captured.exit.ending;
        assert_eq!(ending, Ending::TooMuch(Bound::Memory), "{mode:?}: {said:?}");
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn a_disk_is_not_filled() {
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mut command = alive.command("head -c 50M /dev/zero > big; stat -c %s big; rm big");
        command.limits.file = 10 << 20;
        let said = alive.run(mode, command).await;
        assert!(said.text.contains("10485760"), "one file, {mode:?}: {said:?}");

        if mode == Mode::Namespaces {
            let mut command = alive.command(
                "for i in $(seq 10); do head -c 10M /dev/zero > /tmp/$i || echo full; done",
            );
            command.limits.tmp = 20 << 20;
            let said = alive.run(mode, command).await;
            assert!(said.text.contains("full"), "{said:?}");
        }

        // Many files, until the disk has less left than it must.
        let found = rustix::fs::statvfs(&alive.project).unwrap();
        let mut command = alive.command(
            "for i in $(seq 200); do head -c 5M /dev/zero > fill$i; sleep 0.02; done; echo LEAK",
        );
        command.limits.free = (found.f_bavail * found.f_frsize).saturating_sub(60 << 20);
        let said = alive.run(mode, command).await;
        let ending = said.captured.exit.ending;
        assert_eq!(ending, Ending::TooMuch(Bound::Disk), "{mode:?}: {said:?}");
        for entry in fs::read_dir(&alive.project).unwrap().flatten() {
            let _ = fs::remove_file(entry.path());
        }
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn nothing_outlives_its_command() {
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mark = mark();
        let sleeper = format!("trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}");
        for how in [
            format!("(setsid bash -c '{sleeper}' &)"),
            format!("nohup bash -c '{sleeper}' >/dev/null 2>&1 & disown"),
            format!("setsid setsid bash -c '(trap \"\" TERM; exec sleep {mark}) & exit' &"),
            format!(
                "perl -MPOSIX -e 'for (1..3) {{ exit if fork; POSIX::setsid() }} \
                 $SIG{{TERM}} = q(IGNORE); exec q(sleep), q({mark})' &"
            ),
        ] {
            let script = format!("{how}\nfor i in $(seq 100); do sleep 0.01; done; echo over");
            let said = alive.run(mode, alive.command(&script)).await;
            assert_eq!(said.text, "over", "{how} in {mode:?}");
            assert_eq!(processes_with(&mark), [""; 0], "{how} in {mode:?}");
        }
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn the_server_is_neither_read_nor_signalled_nor_reached() {
    let alive = Alive::start().await;
    let (data, port) =
        (alive.app.app.config.data.dir.clone(), alive.app.base.rsplit(':').next().unwrap());
    let other = alive.project.with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("code.rs"), "fn secret() {}").unwrap();
    fs::write(data.join("secret-of-this-test"), "fn secret() {}").unwrap();
    let pid = std::process::id();
    let (data, other) = (show(&data), show(&other));
    for mode in modes_of(alive.sandbox()) {
        for script in [
            format!("ls {data} && echo LEAK"),
            format!("cat {data}/forge.db && echo LEAK"),
            format!("cat {data}/secret && echo LEAK"),
            format!("grep -q secret {data}/secret-of-this-test && echo LEAK"),
            format!("echo x > {data}/forge.db-wal && echo LEAK"),
            format!("rm -rf {data}; ls {data} && echo LEAK"),
            format!("cat {other}/code.rs && echo LEAK"),
            format!("echo x > {other}/new && echo LEAK"),
            format!("ls {other} && echo LEAK"),
            format!("ls -l /proc/{pid}/fd && echo LEAK"),
            format!("cat /proc/{pid}/fd/* | grep -q . && echo LEAK"),
            format!("cat /proc/{pid}/environ && echo LEAK"),
            format!("cat /proc/{pid}/maps | grep -q . && echo LEAK"),
            format!("head -c 1 /proc/{pid}/mem && echo LEAK"),
            format!("ls /proc/{pid}/root/ && echo LEAK"),
            format!("ls /proc/{pid}/cwd/ && echo LEAK"),
            format!("echo 1000 > /proc/{pid}/oom_score_adj && echo LEAK"),
            format!("for p in /proc/[0-9]*; do cat $p/root{data}/secret && echo LEAK; done"),
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo LEAK"),
            format!("exec 3<>/dev/tcp/localhost/{port} && echo LEAK"),
            "exec 3<>/dev/tcp/1.1.1.1/443 && echo LEAK".into(),
            "exec 3<>/dev/tcp/169.254.169.254/80 && echo LEAK".into(),
        ] {
            let said = alive.run(mode, alive.command(&script)).await;
            assert!(!said.text.contains("LEAK"), "{script} in mode {mode:?}: {said:?}");
        }
        // Before its version 6 Landlock lets signals through, and the page of the sandbox says so.
        if mode == Mode::Namespaces || alive.sandbox().report().landlock_version >= 6 {
            let script = format!(
                "for s in TERM INT HUP KILL; do kill -$s {pid} && echo LEAK; done; kill -KILL -1"
            );
            let said = alive.run(mode, alive.command(&script)).await;
            assert!(!said.text.contains("LEAK"), "{mode:?}: {said:?}");
        }
    }
    assert!(fs::exists(format!("{data}/forge.db")).unwrap());
    alive.assert_answered().await;
}

#[actix_web::test]
async fn a_race_of_links_leads_nowhere() {
    let alive = Alive::start().await;
    let data = alive.app.app.config.data.dir.canonicalize().unwrap();
    let git = alive.project.join(".git");
    let entries = || -> BTreeSet<_> {
        let files = fs::read_dir(&data).unwrap().flatten().map(|it| it.file_name());
        // SQLite comes and goes with these.
        files.filter(|it| !it.to_string_lossy().contains("-wal")).collect()
    };
    for mode in modes_of(alive.sandbox()) {
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        let before = entries();
        // A link that leads here and there while something reads and writes through it.
        let script = format!(
            "mkdir -p inside; echo mine > inside/secret; \
             (for i in $(seq 300); do ln -sfn inside link; ln -sfn {0} link; done) & \
             for i in $(seq 300); do grep -qv mine link/secret 2>/dev/null && echo LEAK; \
             echo x 2>/dev/null > link/new; done; wait; true",
            show(&data)
        );
        let said = alive.run(mode, alive.command(&script)).await;
        assert!(!said.text.contains("LEAK"), "{mode:?}: {said:?}");
        assert_eq!(entries(), before, "{mode:?}");

        // The folder with what is protected, swapped while it is looked at and put back.
        let script = format!(
            "(while :; do mv .git aside; ln -s {0} .git; rm .git; mv aside .git; done) \
             2>/dev/null & sleep 0.4; echo evil > .git/hooks/post-commit; echo evil > .git/config",
            show(&data)
        );
        let mut command = alive.command(&script);
        command.protected = protected_paths(&alive.project);
        alive.run(mode, command).await;
        assert_eq!(entries(), before, "{mode:?}");
        assert!(!data.join("hooks").exists() && !data.join("config").exists(), "{mode:?}");
        let hooks = fs::read_dir(git.join("hooks")).map_or(0, Iterator::count);
        assert_eq!(hooks, 0, "{mode:?}");
        let config = fs::read_to_string(git.join("config")).unwrap();
        assert_eq!(config, "[core]\n", "{mode:?}");
        let _ = fs::remove_dir_all(&alive.project);
        fs::create_dir(&alive.project).unwrap();
    }
    alive.assert_answered().await;
}

#[actix_web::test]
async fn a_flood_of_output_is_cut_and_the_server_answers() {
    let alive = Alive::start().await;
    for mode in modes_of(alive.sandbox()) {
        let mut command = alive.command("yes");
        command.timeout = Some(Duration::from_secs(2));
        let said = alive.run(mode, command).await;
        assert_eq!(said.captured.exit.ending, Ending::TimedOut, "{mode:?}");
        assert!(said.text.len() < 60 << 10, "{mode:?}: {} bytes", said.text.len());
    }
    until("all have ended", || processes_with("yes").is_empty()).await;
    alive.assert_answered().await;
}
