//! `bash_output` and `bash_kill`: what a background job says, and its end.

use std::{io::SeekFrom, path::Path, sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::sync::CancellationToken;

use super::{Outcome, input};
use crate::{
    adapters::sandbox::Spill,
    domain::{ids::SessionId, output::Transcript},
    engine::{
        Engine,
        jobs::{Job, State},
    },
};

/// How long is waited for something new to tell.
const WAIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// Runs `bash_output`.
pub async fn output(
    engine: &Engine,
    session: SessionId,
    cancel: &CancellationToken,
    input: Value,
) -> Outcome {
    let input: input::BashOutput = match input::parse("bash_output", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let job = match find(engine, session, &input.job_id) {
        Ok(job) => job,
        Err(error) => return Outcome::failed(input.job_id, error),
    };
    let since = input.since.unwrap_or_else(|| job.told.load(Ordering::Acquire));
    // Asking again and again costs a step each time.
    let news = async {
        while length(&job.output).await <= since && job.state() == State::Running {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(WAIT, news) => {}
        () = cancel.cancelled() => {}
    }
    report(&job, since).await
}

/// Runs `bash_kill`.
pub async fn kill(engine: &Engine, session: SessionId, input: Value) -> Outcome {
    let input: input::BashKill = match input::parse("bash_kill", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let job = match find(engine, session, &input.job_id) {
        Ok(job) => job,
        Err(error) => return Outcome::failed(input.job_id, error),
    };
    job.kill();
    job.ended().await;
    let since = job.told.load(Ordering::Acquire);
    report(&job, since).await
}

async fn report(job: &Job, since: u64) -> Outcome {
    let title = job.id.clone();
    let (said, upto) = match read(&job.output, since).await {
        Ok(read) => read,
        Err(error) => return Outcome::failed(title, error),
    };
    job.tell(upto);
    let stands = stands(job, upto);
    let output = match said.is_empty() {
        true => format!("(Nothing new. {stands})"),
        false => format!("{said}\n({stands})"),
    };
    let state = if job.state() == State::Running { "running" } else { "over" };
    let metadata = json!({ "job": { "id": job.id, "state": state }, "since": since, "upto": upto });
    Outcome { output, error: None, title, metadata }
}

fn find(engine: &Engine, session: SessionId, id: &str) -> Result<std::sync::Arc<Job>, String> {
    engine.jobs.find(session, id).ok_or_else(|| {
        let running = engine.jobs.running(session);
        let ids: Vec<&str> = running.iter().map(|job| job.id.as_str()).collect();
        match ids.is_empty() {
            true => format!("There is no job {id}, and none runs: jobs end with the server."),
            false => format!("There is no job {id}; there are: {}.", ids.join(", ")),
        }
    })
}

/// How it stands with a job, in words for the model.
pub(super) fn stands(job: &Job, upto: u64) -> String {
    let full = match upto >= Spill::MOST {
        true => " Its output is longer than what is kept; the rest is lost.",
        false => "",
    };
    match job.state() {
        State::Running => {
            let seconds = job.started.elapsed().as_secs();
            format!("Job {} runs since {seconds} s; {upto} bytes were told.{full}", job.id)
        }
        State::Ended(how) | State::Over(how) => format!("Job {} is over. {how}{full}", job.id),
    }
}

async fn length(path: &Path) -> u64 {
    tokio::fs::metadata(path).await.map_or(0, |meta| meta.len())
}

/// What is in a job's output after so many bytes, bounded, and how many bytes there are.
pub(super) async fn read(path: &Path, since: u64) -> Result<(String, u64), String> {
    let mut file = match tokio::fs::File::open(path).await {
        // It is made with the first word.
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok((String::new(), 0)),
        opened => opened.map_err(unreadable)?,
    };
    let length = file.metadata().await.map_err(unreadable)?.len();
    let since = since.min(length);
    file.seek(SeekFrom::Start(since)).await.map_err(unreadable)?;
    let mut rest = file.take(length - since);
    let mut transcript = Transcript::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match rest.read(&mut buffer).await.map_err(unreadable)? {
            0 => break,
            read => transcript.push(&buffer[..read]),
        }
    }
    let whole = path.to_string_lossy();
    let cut = transcript.is_cut();
    Ok((transcript.text(cut.then_some(&*whole)), length))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(err: std::io::Error) -> String {
    format!("Its output cannot be read: {err}.")
}
