//! What the walls around a command cost: the time until one that does nothing is over, and the
//! memory of the server while one says very much.
//!
//! `cargo bench --bench sandbox` prints a table; with `-- --check` a missed limit is a failure. The
//! time is measured in turns with the same program without walls. The memory is that of the real
//! program, `forge serve`, which is told by a scripted model to run the command, as an agent would.

#[expect(dead_code, reason = "the main job uses all of it, this benchmark a part")]
#[path = "main_job/client.rs"]
mod client;
#[expect(dead_code, reason = "the main job uses all of it, this benchmark a part")]
#[path = "main_job/forge.rs"]
mod forge;
#[expect(dead_code, reason = "the main job uses all of it, this benchmark a part")]
#[path = "main_job/model.rs"]
mod model;
#[path = "main_job/report.rs"]
mod report;

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use ::forge::adapters::sandbox::{Command, ConfiguredMode, Ending, Mode, PATH, Sandbox, capture};
use anyhow::ensure;

use self::{
    forge::Forge,
    model::{Job, Model},
    report::{Report, median, percentile},
};

/// How often each is run; the median counts.
const TIMES: usize = 60;
/// Milliseconds that the walls may add to a command.
const ADDED: f64 = 15.0;
/// What is said by a command that says very much, and the memory that the server may use then, MB.
const FLOOD: (&str, u64) = ("yes | head -c 500M #", 500 << 20);
const MEMORY: f64 = 100.0;

fn main() -> anyhow::Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let is_set = |option: &str| options.iter().any(|it| it == option);
    if is_set("--test") || is_set("--list") {
        // The runner of tests starts benchmarks too; this one is not quick enough to be a test.
        return Ok(());
    }
    let mut report = Report::default();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(nothing(&mut report))?;
    much(&mut report)?;
    report.counted(TIMES, "times each, of which the median is shown");
    report.print();
    ensure!(!is_set("--check") || report.is_met(), "a limit was missed");
    Ok(())
}

/// A command that does nothing, in every way that this host can confine it, and without walls.
async fn nothing(report: &mut Report) -> anyhow::Result<()> {
    let temp = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let root = temp.path().canonicalize()?;
    let project = root.join("project");
    fs::create_dir(&project)?;
    let helper = env!("CARGO_BIN_EXE_forge").into();
    let sandbox = Sandbox::probe(helper, root.join("tmp"), ConfiguredMode::Required).await;
    let modes = [(Mode::Namespaces, "namespaces"), (Mode::Landlock, "Landlock")];
    let modes = modes.into_iter().filter_map(|(mode, name)| {
        Some((name, sandbox.clone().in_mode(mode)?, Vec::with_capacity(TIMES)))
    });
    let mut modes: Vec<_> = modes.collect();
    ensure!(!modes.is_empty(), "this host cannot confine commands");
    let mut bare = Vec::with_capacity(TIMES);
    for time in 0..=TIMES {
        let spent = without_walls(&project).await?;
        // The first time only fills the system's memory of the files.
        bare.extend((time > 0).then_some(spent));
        for (_, sandbox, times) in &mut modes {
            let spent = within_walls(sandbox, &project).await?;
            times.extend((time > 0).then_some(spent));
        }
    }
    report.noted("true without walls", median(&bare), "ms");
    for (name, _, times) in &modes {
        let spent = median(times);
        report.noted(&format!("true, {name}"), spent, "ms");
        report.noted(&format!("true, {name}, slowest of twenty"), percentile(times, 0.95), "ms");
        report.noted(&format!("{name}, times of no walls"), spent / median(&bare), "x");
        report.at_most(&format!("{name} add"), spent - median(&bare), ADDED, "ms");
    }
    Ok(())
}

async fn without_walls(project: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut command = tokio::process::Command::new("true");
    command.env_clear().env("PATH", PATH).current_dir(project).stdin(Stdio::null());
    let output = command.output().await?;
    let spent = since(start);
    ensure!(output.status.success(), "true failed");
    Ok(spent)
}

async fn within_walls(sandbox: &Sandbox, project: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    let command = Command {
        argv: vec!["true".into()],
        cwd: project.to_owned(),
        writable: vec![project.to_owned()],
        timeout: Some(Duration::from_secs(60)),
        ..Command::default()
    };
    let mut running = sandbox.spawn(command).await?;
    let captured = capture(&mut running, None, |_| ()).await?;
    let spent = since(start);
    ensure!(captured.exit.ending == Ending::Code(0), "{:?}", captured.exit);
    Ok(spent)
}

/// A command that says very much, by the way that the commands of agents take.
fn much(report: &mut Report) -> anyhow::Result<()> {
    let (command, bytes) = FLOOD;
    let model = Model::start()?;
    let mut forge = Forge::set_up(&model)?;
    let session = forge.session()?;
    let job = model.expect(Job::Commands { times: 1, command });
    forge.settle();
    report.noted("memory of the server before", forge.memory_mb()?, "MB");
    let start = Instant::now();
    forge.prompt(&session, &job.prompt())?;
    let mut most = 0.0_f64;
    while !job.is_done() {
        ensure!(start.elapsed() < Duration::from_secs(120), "the command does not end");
        most = most.max(forge.memory_mb()?);
        thread::sleep(Duration::from_millis(10));
    }
    let spent = start.elapsed();
    forge.until_idle(&session)?;
    most = most.max(forge.memory_mb()?);
    let path = format!("/api/v1/sessions/{session}/messages");
    let said = client::send(forge.address(), forge.token(), ("GET", &path), None)?.to_string();
    ensure!(said.contains(&bytes.to_string()), "the command did not say all: {said}");
    report.at_most("memory while 500 MB are said, most", most, MEMORY, "MB");
    let rate = bytes as f64 / 1e6 / spent.as_secs_f64();
    report.noted("what is said, read at", rate, "MB/s");
    forge.stop()
}

/// Milliseconds since then.
fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
