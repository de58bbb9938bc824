//! The scripted model as a program, for tests that are not in Rust.
//!
//! It prints one line of JSON with its address, key and models. Then each line on standard input is
//! a command, `{"id": 1, "command": {"push": [{"say": "Hello"}]}}`, and is answered by a line with
//! the same id. At the end of input it stops, and fails if a request was not what a provider takes.

use std::{collections::HashMap, io::BufRead as _, time::Duration};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::model::{Gate, Script, ScriptedModel};

#[expect(dead_code, reason = "the tests in Rust use all of it, this program a part")]
#[path = "../it/support/model.rs"]
mod model;

#[derive(Deserialize)]
struct Line {
    id: u64,
    command: Command,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    /// Answers the next request that is not yet provided for.
    Push(Vec<Act>),
    /// Answers every request for which nothing was pushed.
    Fallback(Vec<Act>),
    /// Lets answers through a gate.
    Open(String),
    /// Answered when an answer has come to the gate.
    Reached(String),
    /// The bodies of the requests so far.
    Requests,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Say(String),
    Think(String),
    Call { tool: String, input: Value },
    Gate(String),
    Usage { prompt: u64, cached: u64, output: u64 },
    PaceMs(u64),
    Header { name: String, value: String },
    Fault { status: u16, body: Value },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let server = ScriptedModel::start().await;
    let (key, models) = (ScriptedModel::KEY, ScriptedModel::MODELS);
    println!("{}", json!({"url": server.url(), "key": key, "models": models}));
    let mut gates = Gates::default();
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().try_for_each(|line| sender.send(line).ok())
    });
    while let Some(line) = lines.recv().await {
        let line = line?;
        let Line { id, command } = serde_json::from_str(&line).with_context(|| line.clone())?;
        let done = json!({ "id": id });
        match command {
            Command::Push(acts) => server.push(gates.script(acts)),
            Command::Fallback(acts) => {
                let script = gates.script(acts);
                server.fallback(move |_| script.clone());
            }
            Command::Open(gate) => gates.named(&gate).open(),
            Command::Reached(gate) => {
                let gate = gates.named(&gate);
                let waiting = tokio::spawn(async move { gate.reached().await });
                tokio::spawn(async move {
                    println!("{}", json!({"id": id, "reached": waiting.await.is_ok()}));
                });
                continue;
            }
            Command::Requests => {
                let bodies = server.requests().into_iter().map(|request| request.body);
                println!("{}", json!({"id": id, "requests": bodies.collect::<Vec<_>>()}));
                continue;
            }
        }
        println!("{done}");
    }
    Ok(())
}

#[derive(Default)]
struct Gates(HashMap<String, Gate>);

impl Gates {
    fn named(&mut self, name: &str) -> Gate {
        self.0.entry(name.to_owned()).or_default().clone()
    }

    fn script(&mut self, acts: Vec<Act>) -> Script {
        acts.into_iter().fold(Script::new(), |script, act| match act {
            Act::Say(text) => script.say(&text),
            Act::Think(text) => script.think(&text),
            Act::Call { tool, input } => script.call(&tool, input),
            Act::Gate(name) => script.gate(&self.named(&name)),
            Act::Usage { prompt, cached, output } => script.usage(prompt, cached, output),
            Act::PaceMs(ms) => script.pace(Duration::from_millis(ms)),
            Act::Header { name, value } => script.header(&name, &value),
            Act::Fault { status, body } => Script::fault(status, body),
        })
    }
}
