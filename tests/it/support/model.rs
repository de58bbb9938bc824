//! A provider of models for tests: a real HTTP server that answers from a script, in each format
//! that is spoken with providers, by the path that it is asked at.
//!
//! It checks every request strictly against the public format, so that a conversation that a real
//! provider would refuse is refused here too, and fails the test when the server is dropped. It
//! depends on nothing else of the tests: a benchmark or a program of its own includes this file by
//! its path.

// Named, so that they are found also where this file is included by its path.
#[path = "model/check.rs"]
mod check;
#[path = "model/dialect.rs"]
mod dialect;
#[path = "model/http.rs"]
mod http;
#[path = "model/lists.rs"]
mod lists;
#[path = "model/script.rs"]
mod script;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle, time::timeout};

pub use self::{
    dialect::Dialect,
    script::{Gate, Script},
};

/// How long anything is waited for.
const LIMIT: Duration = Duration::from_secs(10);

/// The server. Dropping it ends every connection.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub dialect: Dialect,
    pub body: Value,
    /// The bytes of the body.
    pub raw: Vec<u8>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub outcome: Outcome,
}

/// What became of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answering,
    Answered,
    /// The other side hung up before the end.
    Aborted,
}

type Fallback = Box<dyn Fn(&Value) -> Script + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<Script>,
    fallback: Option<Fallback>,
    requests: Vec<Recorded>,
    violations: Vec<String>,
    connections: usize,
    calls: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl ScriptedModel {
    /// The key that it wants.
    pub const KEY: &str = "sk-scripted-0123456789abcdef";
    /// The models that it lists. It answers for any.
    pub const MODELS: [&str; 2] = ["scripted-large", "scripted-small"];

    /// Starts on a free port of this machine.
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    /// Starts at an address of this machine.
    pub async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address)
            .await
            .unwrap_or_else(|err| panic!("the scripted model cannot listen at {address}: {err}"));
        let address = listener.local_addr().unwrap_or_else(|err| panic!("no address: {err}"));
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(http::accept(listener, shared.clone()));
        Self { address, shared, accepting }
    }

    /// The address that a provider is set up with.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address without a path, as a provider of any kind can be set up with.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next request that is not yet provided for.
    pub fn push(&self, script: Script) {
        self.state().queue.push_back(script);
    }

    /// Answers every request for which nothing was pushed.
    pub fn fallback(&self, answer: impl Fn(&Value) -> Script + Send + 'static) {
        self.state().fallback = Some(Box::new(answer));
    }

    /// The chats that were asked for so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state().requests.clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.state().connections
    }

    /// What was wrong with the requests so far. What is taken does not fail the test.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }

    /// Waits until that many chats were asked for, and answers with all of them.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<Recorded> {
        self.wait(&format!("{count} requests"), |state| state.requests.len() >= count).await;
        self.requests()
    }

    /// Waits until the answer to this request (from 0) is over, and says how.
    pub async fn wait_for_outcome(&self, request: usize) -> Outcome {
        let outcome = |state: &State| state.requests.get(request).map(|it| it.outcome);
        let over = |state: &State| outcome(state).is_some_and(|it| it != Outcome::Answering);
        self.wait(&format!("the end of request {request}"), over).await;
        outcome(&self.state()).unwrap_or(Outcome::Answering)
    }

    async fn wait(&self, what: &str, reached: impl Fn(&State) -> bool) {
        let wait = async {
            loop {
                let changed = self.shared.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if reached(&self.state()) {
                    return;
                }
                changed.await;
            }
        };
        if timeout(LIMIT, wait).await.is_err() {
            panic!("the scripted model did not see {what}; it saw {:#?}", self.requests());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.accepting.abort();
        let violations = self.take_violations();
        if !std::thread::panicking() && !violations.is_empty() {
            panic!("a provider would have refused: {violations:#?}");
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a chat and decides on its answer.
    fn hear(
        &self,
        (dialect, model): (Dialect, Option<String>),
        headers: Vec<(String, String)>,
        raw: Vec<u8>,
    ) -> (usize, Script) {
        let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
        let model = model.or_else(|| Some(body["model"].as_str()?.to_owned())).unwrap_or_default();
        let mut violations = dialect.violations(&headers);
        violations.extend(check::violations(dialect.word(), &model, &body));
        let mut state = self.state();
        let script = match state.queue.pop_front() {
            _ if !violations.is_empty() => {
                let error = dialect.error(&violations[0]);
                state.violations.extend(violations);
                Script::fault(400, error)
            }
            Some(script) => script,
            None => match state.fallback.as_ref().map(|answer| answer(&body)) {
                Some(script) => script,
                None => {
                    state.violations.push("no answer was scripted for a request".to_owned());
                    Script::fault(400, json!({"error": {"message": "nothing is scripted"}}))
                }
            },
        };
        let outcome = Outcome::Answering;
        state.requests.push(Recorded { dialect, body, raw, headers, outcome });
        let number = state.requests.len() - 1;
        drop(state);
        self.changed.notify_waiters();
        (number, script)
    }

    fn over(&self, request: usize, outcome: Outcome) {
        if let Some(request) = self.state().requests.get_mut(request) {
            request.outcome = outcome;
        }
        self.changed.notify_waiters();
    }
}
