//! A Forge of its own: its folder, its process, its API.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::{
    client,
    model::{self, Model},
};

/// The one who does everything.
const LOGIN: &str = "bench";

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with an account, a provider and a project.
pub struct Forge {
    folder: tempfile::TempDir,
    running: Option<Running>,
    token: String,
    project: String,
    model: String,
}

struct Running {
    process: Child,
    address: SocketAddr,
}

impl Forge {
    /// Makes the folder, an account and a token, starts, and adds a provider and a project.
    pub fn set_up(model: &Model) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let repository = folder.path().join("roots/project");
        make_project(&repository)?;
        let (token, project) = (String::new(), String::new());
        let mut forge = Self { folder, running: None, token, project, model: String::new() };
        forge.command(
            &["admin", "create", "--login", LOGIN, "--password-stdin"],
            "a password of the benchmark\n",
        )?;
        let token = ["token", "create", "--login", LOGIN, "--name", LOGIN, "--scope", "admin"];
        forge.token = forge.command(&token, "")?.trim().to_owned();
        forge.start()?;
        let provider = json!({"name": "Bench", "kind": "openai", "url": model.url(),
            "key": "sk-bench", "models": ["bench"]});
        let provider = forge.post("/api/v1/providers", &provider)?;
        forge.model = format!("{}/bench", id(&provider)?);
        let allow = json!({"items": [{"tool": "bash", "pattern": "*", "action": "allow"}]});
        client::send(forge.address(), &forge.token, ("PUT", "/api/v1/rules"), Some(&allow))?;
        forge.project = forge.add(&repository)?;
        Ok(forge)
    }

    /// Adds a folder as a project that is trusted.
    fn add(&self, repository: &Path) -> anyhow::Result<String> {
        let project = json!({"path": repository.canonicalize()?});
        let project = id(&self.post("/api/v1/projects", &project)?)?;
        self.post(&format!("/api/v1/projects/{project}/trust"), &json!({}))?;
        Ok(project)
    }

    /// A project with so many files, in folders of a hundred.
    pub fn large_project(&self, files: usize) -> anyhow::Result<String> {
        let repository = self.folder.path().join("roots/large");
        make_project(&repository)?;
        for number in 0..files {
            let folder = repository.join(format!("lib/{:04}", number / 100));
            if number % 100 == 0 {
                fs::create_dir_all(&folder)?;
            }
            fs::write(
                folder.join(format!("{number}.rs")),
                format!("pub const N: u32 = {number};\n"),
            )?;
        }
        self.add(&repository)
    }

    /// Starts the server, and answers how long it took until it said that it is ready.
    pub fn start(&mut self) -> anyhow::Result<Duration> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let began = Instant::now();
        let mut process = self.forge().arg("serve").stdout(Stdio::piped()).stderr(log).spawn()?;
        let mut line = String::new();
        let out = process.stdout.take().context("no standard output")?;
        BufReader::new(out).read_line(&mut line)?;
        let Some(address) = line.trim_end().strip_prefix("listening on http://") else {
            let _ = process.kill();
            bail!("it did not start: {line}\n{}", fs::read_to_string(self.log())?);
        };
        let address = address.parse()?;
        self.running = Some(Running { process, address });
        while !client::is_ready(address) {
            ensure!(began.elapsed() < PATIENCE, "it does not get ready");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(began.elapsed())
    }

    /// Stops the server, the way an operator does.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let pid = running.process.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status()?;
        ensure!(asked.success(), "the server was gone");
        let ended = running.process.wait()?;
        ensure!(ended.success(), "the server ended with {ended}");
        Ok(())
    }

    /// Waits until the server does nothing any more.
    pub fn settle(&self) {
        let began = Instant::now();
        let mut before = self.cpu().ok();
        while began.elapsed() < Duration::from_secs(3) {
            thread::sleep(Duration::from_millis(500));
            let now = self.cpu().ok();
            if now == before {
                return;
            }
            before = now;
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.running.as_ref().map_or(SocketAddr::from(([127, 0, 0, 1], 0)), |it| it.address)
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Begins a session.
    pub fn session(&self) -> anyhow::Result<String> {
        self.session_in(&self.project)
    }

    /// Begins a session in a project.
    pub fn session_in(&self, project: &str) -> anyhow::Result<String> {
        let path = format!("/api/v1/projects/{project}/sessions");
        id(&self.post(&path, &json!({"model": self.model}))?)
    }

    /// Sends a prompt.
    pub fn prompt(&self, session: &str, text: &str) -> anyhow::Result<()> {
        let path = format!("/api/v1/sessions/{session}/prompt");
        self.post(&path, &json!({ "text": text })).map(drop)
    }

    /// Waits until a session has ended its answer well.
    pub fn until_idle(&self, session: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let path = format!("/api/v1/sessions/{session}");
        loop {
            let now = client::send(self.address(), &self.token, ("GET", &path), None)?;
            match now["status"].as_str() {
                Some("idle") => return Ok(()),
                Some("running") if began.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(5));
                }
                other => bail!("the session is {other:?}\n{}", fs::read_to_string(self.log())?),
            }
        }
    }

    /// Memory that the server and its children have in use, in MB.
    pub fn memory_mb(&self) -> anyhow::Result<f64> {
        let pid = self.pid()?;
        let mut kilobytes = resident(pid)?;
        for task in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                // It may have ended meanwhile.
                kilobytes += resident(child).unwrap_or(0.0);
            }
        }
        Ok(kilobytes * 1_024.0 / 1e6)
    }

    /// Processor time that the server has used, without its children.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()?))?;
        let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|it| it.parse::<u64>().ok());
        let ticks = ticks(11).zip(ticks(12)).context("/proc/PID/stat")?;
        // Linux shows these in hundredths of a second, whatever it counts in.
        Ok(Duration::from_millis((ticks.0 + ticks.1) * 10))
    }

    fn pid(&self) -> anyhow::Result<u32> {
        Ok(self.running.as_ref().context("the server is stopped")?.process.id())
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        client::send(self.address(), &self.token, ("POST", path), Some(body))
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn forge(&self) -> Command {
        let path = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
        command
            .current_dir(path)
            .env("FORGE_DATA__DIR", path.join("data"))
            .env("FORGE_SERVER__BIND", "127.0.0.1:0")
            .env("FORGE_PROJECTS__ROOTS", format!("[{:?}]", path.join("roots")))
            .stdin(Stdio::null());
        command
    }

    fn command(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut command = self.forge();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        process.stdin.take().context("no standard input")?.write_all(input.as_bytes())?;
        let done = process.wait_with_output()?;
        let failure = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(done.status.success(), "forge {}: {failure}", arguments.join(" "));
        Ok(String::from_utf8(done.stdout)?)
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.process.kill();
            let _ = running.process.wait();
        }
    }
}

fn id(row: &Value) -> anyhow::Result<String> {
    Ok(row["id"].as_str().with_context(|| format!("no id: {row}"))?.to_owned())
}

fn resident(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A git repository with source files of some kilobytes.
fn make_project(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path.join("src"))?;
    let made = Command::new("git").arg("init").arg("-q").arg(path).status()?;
    ensure!(made.success(), "git init");
    for number in 0..model::FILES {
        let mut text = String::new();
        for line in 0..120 {
            writeln!(text, "    let value_{line} = compute(\"{number}\", {line}); // line {line}")?;
        }
        fs::write(path.join(format!("src/part_{number:02}.rs")), text)?;
    }
    Ok(())
}
