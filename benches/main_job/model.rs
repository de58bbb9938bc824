//! The model: a small server that answers as scripted, and notes when.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::json;

/// What all times in this process are counted from.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What stands before the number of a job in its prompt.
const MARK: &str = "benchmark-job-";

/// Longer than any job takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files that a step reads, one after the other.
pub const FILES: usize = 50;

/// What the model does for a prompt.
#[derive(Clone, Copy)]
pub enum Job {
    /// Replies so often with a word and a call that reads a file, and once more with a word.
    Steps(usize),
    /// Replies so often with a call that runs this command, which gets a number as its last word:
    /// who makes the same call again and again is asked about it.
    Commands { times: usize, command: &'static str },
    /// Replies once, with so many pieces of text at so many a second.
    Text { rate: u32, count: usize },
}

pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<HashMap<usize, Progress>>,
    changed: Condvar,
}

struct Progress {
    job: Job,
    replies: usize,
    /// When the last byte of the newest reply left.
    replied: Option<Instant>,
    /// What lay between each reply and the request after it.
    times: Vec<Duration>,
    done: bool,
}

/// A job that was promised to a prompt.
pub struct Promise {
    number: usize,
    shared: Arc<Shared>,
}

impl Model {
    pub fn start() -> anyhow::Result<Self> {
        LazyLock::force(&EPOCH);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let serving = shared.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = serving.clone();
                // The other side may hang up whenever it likes.
                thread::spawn(move || drop(serve(connection, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Prepares what the model does for a prompt.
    pub fn expect(&self, job: Job) -> Promise {
        let mut jobs = self.shared.lock();
        let number = jobs.len();
        let progress = Progress { job, replies: 0, replied: None, times: Vec::new(), done: false };
        jobs.insert(number, progress);
        Promise { number, shared: self.shared.clone() }
    }
}

impl Promise {
    /// The prompt that the job is promised to.
    pub fn prompt(&self) -> String {
        format!("Read the files. This is {MARK}{}.", self.number)
    }

    pub fn is_done(&self) -> bool {
        self.shared.lock().get(&self.number).is_some_and(|job| job.done)
    }

    /// Waits for the last byte of the last reply, and answers with the times of the steps.
    pub fn wait(&self) -> anyhow::Result<Vec<Duration>> {
        let jobs = self.shared.lock();
        let open = |jobs: &mut HashMap<usize, Progress>| {
            jobs.get(&self.number).is_some_and(|job| !job.done)
        };
        let waited = self.shared.changed.wait_timeout_while(jobs, PATIENCE, open);
        let (jobs, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let job = jobs.get(&self.number).context("a job that is not there")?;
        if !job.done {
            bail!("job {} did not end: {} replies", self.number, job.replies);
        }
        Ok(job.times.clone())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Progress>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When each piece in a text was sent.
pub fn sent_at(text: &str) -> impl Iterator<Item = Instant> {
    let sent = |piece: &str| {
        let micros = piece.split_once('~')?.0.parse().ok()?;
        Some(*EPOCH + Duration::from_micros(micros))
    };
    text.split('@').skip(1).filter_map(sent)
}

fn serve(connection: TcpStream, shared: &Shared) -> anyhow::Result<()> {
    connection.set_nodelay(true)?;
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::with_capacity(64 * 1_024, connection);
    let mut body = Vec::new();
    while read_request(&mut reader, &mut body)? {
        let arrived = Instant::now();
        let number = job_of(&body).context("a request of no job")?;
        let (job, turn) = {
            let mut jobs = shared.lock();
            let progress = jobs.get_mut(&number).context("an unknown job")?;
            progress.times.extend(progress.replied.take().map(|it| arrived.duration_since(it)));
            progress.replies += 1;
            (progress.job, progress.replies)
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        writer.write_all(head.as_bytes())?;
        let is_last = match job {
            Job::Steps(steps) => {
                let is_last = turn > steps;
                if is_last {
                    writer.write_all(&text("Done."))?;
                } else {
                    writer.write_all(&text("I read the next file."))?;
                    writer.write_all(&read(turn))?;
                }
                is_last
            }
            Job::Commands { times, command } => {
                let is_last = turn > times;
                writer.write_all(&if is_last { text("Done.") } else { run(turn, command) })?;
                is_last
            }
            Job::Text { rate, count } => {
                speak(&mut writer, rate, count)?;
                true
            }
        };
        let calls = !is_last;
        let end = end(if calls { "tool_calls" } else { "stop" });
        let mut jobs = shared.lock();
        let progress = jobs.get_mut(&number).context("an unknown job")?;
        // Taken before the bytes leave: what the sending costs counts as Forge's time.
        progress.replied = Some(Instant::now());
        progress.done = is_last;
        drop(jobs);
        writer.write_all(&end)?;
        shared.changed.notify_all();
    }
    Ok(())
}

/// Reads a whole request, of which only the body is wanted. `false` where no other comes.
fn read_request(reader: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> anyhow::Result<bool> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    body.resize(length, 0);
    reader.read_exact(body)?;
    Ok(true)
}

/// The number of the job that a request is about. Its prompt stands before everything that grows.
fn job_of(body: &[u8]) -> Option<usize> {
    let at = body.windows(MARK.len()).position(|window| window == MARK.as_bytes())? + MARK.len();
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&body[at..at + digits]).ok()?.parse().ok()
}

/// Says pieces of text at a rate, each with the time at which it is sent.
fn speak(writer: &mut TcpStream, rate: u32, count: usize) -> anyhow::Result<()> {
    let pause = Duration::from_secs(1) / rate;
    let mut due = Instant::now();
    for _ in 0..count {
        if let Some(wait) = due.checked_duration_since(Instant::now()) {
            thread::sleep(wait);
        }
        due += pause;
        let now = EPOCH.elapsed().as_micros();
        writer.write_all(&text(&format!("@{now}~ ")))?;
    }
    Ok(())
}

fn text(text: &str) -> Vec<u8> {
    delta(json!({"content": text}), None)
}

fn read(step: usize) -> Vec<u8> {
    call(step, "read", &json!({"path": format!("src/part_{:02}.rs", step % FILES)}))
}

fn run(step: usize, command: &str) -> Vec<u8> {
    call(step, "bash", &json!({"command": format!("{command} {step}")}))
}

fn call(step: usize, tool: &str, input: &serde_json::Value) -> Vec<u8> {
    let call = json!({"index": 0, "id": format!("call_{step}"), "type": "function",
        "function": {"name": tool, "arguments": input.to_string()}});
    delta(json!({"tool_calls": [call]}), None)
}

/// The last chunks of a reply.
fn end(reason: &str) -> Vec<u8> {
    let mut bytes = delta(json!({}), Some(reason));
    let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020});
    let event = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "bench", "choices": [], "usage": usage});
    bytes.extend(chunk(&format!("data: {event}\n\n")));
    bytes.extend(chunk("data: [DONE]\n\n"));
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn delta(delta: serde_json::Value, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let event = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "bench", "choices": [choice]});
    chunk(&format!("data: {event}\n\n"))
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}
