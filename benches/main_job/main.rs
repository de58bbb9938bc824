//! What the main job costs: the agent's loop, the start, memory, and live text.
//!
//! It runs the real program, `forge serve` on a port and a data folder of its own, and drives it
//! through the JSON API. The model is a small server in this process, which notes when the last
//! byte of a reply leaves and when the next request has arrived: what lies between is Forge's own
//! time. `cargo bench --bench main_job` prints a table; with `-- --check` a missed limit is a
//! failure. Names after the `--` choose what is measured: start, alone, deltas, together, commands.

mod client;
mod forge;
mod model;
mod report;

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

use self::{
    client::Stream,
    forge::Forge,
    model::{Job, Model},
    report::{Report, median, percentile},
};

/// Starts whose time is measured.
const STARTS: usize = 9;
/// Sessions one after another, and the steps of each.
const ALONE: (usize, usize) = (6, 40);
/// Sessions at the same time, and the steps of each.
const TOGETHER: (usize, usize) = (20, 40);
/// Commands one after the other, and the files of a large project.
const COMMANDS: (usize, usize) = (20, 50_000);
/// Pieces of text a second, and for how long.
const DELTAS: (u32, Duration) = (500, Duration::from_secs(6));

fn main() -> anyhow::Result<()> {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let is_set = |option: &str| options.iter().any(|it| it == option);
    if is_set("--test") || is_set("--list") {
        // The runner of tests starts benchmarks too; this one is not quick enough to be a test.
        return Ok(());
    }
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    let mut report = Report::default();
    let model = Model::start()?;
    let mut forge = Forge::set_up(&model)?;

    if is_wanted("start") {
        starts(&mut forge, &mut report)?;
    }
    if is_wanted("alone") {
        alone(&forge, &model, &mut report)?;
    }
    if is_wanted("deltas") {
        deltas(&forge, &model, &mut report)?;
    }
    if is_wanted("together") {
        together(&forge, &model, &mut report)?;
    }
    if is_wanted("commands") {
        commands(&forge, &model, &mut report)?;
    }
    forge.settle();
    report.noted("memory, idle after all that", forge.memory_mb()?, "MB");
    forge.stop()?;

    report.print();
    ensure!(!is_set("--check") || report.is_met(), "a limit was missed");
    Ok(())
}

/// From the start of the process to the first answer that it is ready.
fn starts(forge: &mut Forge, report: &mut Report) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        forge.stop()?;
        times.push(ms(forge.start()?));
    }
    report.at_most("start to ready, median", median(&times), 100.0, "ms");
    report.noted("start to ready, slowest", percentile(&times, 1.0), "ms");
    forge.settle();
    report.at_most("memory, idle after the start", forge.memory_mb()?, 40.0, "MB");
    Ok(())
}

/// Steps of one session at a time.
fn alone(forge: &Forge, model: &Model, report: &mut Report) -> anyhow::Result<()> {
    let (sessions, steps) = ALONE;
    let mut times = Vec::new();
    for number in 0..sessions + 1 {
        let job = model.expect(Job::Steps(steps));
        let session = forge.session()?;
        forge.prompt(&session, &job.prompt())?;
        let took = job.wait()?;
        forge.until_idle(&session)?;
        // The first one warms up what every later one finds warm.
        if number > 0 {
            times.extend(took.into_iter().map(ms));
        }
    }
    report.at_most("step, one session, median", median(&times), 3.0, "ms");
    report.at_most("step, one session, 95th percentile", percentile(&times, 0.95), 8.0, "ms");
    report.noted("step, one session, 99th percentile", percentile(&times, 0.99), "ms");
    report.counted(times.len(), "steps of one session at a time");
    Ok(())
}

/// Steps of many sessions at once, whose model takes no time to think.
fn together(forge: &Forge, model: &Model, report: &mut Report) -> anyhow::Result<()> {
    let (sessions, steps) = TOGETHER;
    let mut running = Vec::new();
    for _ in 0..sessions {
        running.push((forge.session()?, model.expect(Job::Steps(steps))));
    }
    let before = (Instant::now(), forge.cpu()?);
    for (session, job) in &running {
        forge.prompt(session, &job.prompt())?;
    }
    let mut most = 0.0_f64;
    while !running.iter().all(|(_, job)| job.is_done()) {
        ensure!(before.0.elapsed() < Duration::from_secs(30), "the sessions do not end");
        most = most.max(forge.memory_mb()?);
        thread::sleep(Duration::from_millis(20));
    }
    let (took, cpu) = (before.0.elapsed(), forge.cpu()? - before.1);
    let mut times = Vec::new();
    for (session, job) in &running {
        times.extend(job.wait()?.into_iter().map(ms));
        forge.until_idle(session)?;
    }
    most = most.max(forge.memory_mb()?);
    report.at_most("step, 20 sessions at once, median", median(&times), 20.0, "ms");
    let p95 = percentile(&times, 0.95);
    report.noted("step, 20 sessions at once, 95th percentile", p95, "ms");
    report.at_most("memory with 20 sessions, most", most, 120.0, "MB");
    let steps = times.len() as f64;
    report.noted("processor time of a step, 20 sessions at once", ms(cpu) / steps, "ms");
    report.noted("steps a second, 20 sessions at once", steps / took.as_secs_f64(), "");
    report.counted(times.len(), "steps of 20 sessions at once");
    Ok(())
}

/// What looking for what a command changed adds to it, in a small project and in a large one.
fn commands(forge: &Forge, model: &Model, report: &mut Report) -> anyhow::Result<()> {
    let (count, files) = COMMANDS;
    let large = forge.large_project(files)?;
    let small = (forge.project(), model::FILES);
    for (project, files) in [small, (large.as_str(), files)] {
        let job = model.expect(Job::Commands { times: count, command: "echo" });
        let session = forge.session_in(project)?;
        forge.prompt(&session, &job.prompt())?;
        let times: Vec<f64> = job.wait()?.into_iter().map(ms).collect();
        forge.until_idle(&session)?;
        let first = times.first().copied().unwrap_or_default();
        report.noted(&format!("first command among {files} files"), first, "ms");
        let next = median(times.get(1..).unwrap_or_default());
        report.noted(&format!("each further command among {files} files, median"), next, "ms");
    }
    Ok(())
}

/// Text that streams: how late it arrives at a program that follows, and what following costs.
fn deltas(forge: &Forge, model: &Model, report: &mut Report) -> anyhow::Result<()> {
    let (rate, length) = DELTAS;
    let count = (length.as_secs_f64() * f64::from(rate)) as usize;
    let mut costs = Vec::new();
    let mut late = Vec::new();
    for followed in [false, true] {
        let job = model.expect(Job::Text { rate, count });
        let session = forge.session()?;
        let stream = match followed {
            true => Some(Stream::open(forge.address(), forge.token(), &session)?),
            false => None,
        };
        let reader = stream.map(|stream| thread::spawn(move || stream.lateness(count)));
        let before = (Instant::now(), forge.cpu()?);
        forge.prompt(&session, &job.prompt())?;
        job.wait()?;
        costs.push((forge.cpu()? - before.1).as_secs_f64() / before.0.elapsed().as_secs_f64());
        forge.until_idle(&session)?;
        if let Some(reader) = reader {
            let read = reader.join().map_err(|_| anyhow::anyhow!("the reader failed"))?;
            late = read.context("the stream")?.into_iter().map(ms).collect();
        }
    }
    report.at_most("delta to an open stream, median", median(&late), 1.0, "ms");
    let p95 = percentile(&late, 0.95);
    report.at_most("delta to an open stream, 95th percentile", p95, 3.0, "ms");
    report.noted("delta to an open stream, 99th percentile", percentile(&late, 0.99), "ms");
    let hundreds = f64::from(rate) / 100.0;
    let percent = |share: f64| share * 100.0 / hundreds;
    let cost = percent(costs[1] - costs[0]);
    report.at_most("a stream's processor time, for 100 deltas a second", cost, 3.0, "%");
    report.noted("the session's own, without a stream", percent(costs[0]), "%");
    report.counted(late.len(), "deltas");
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
