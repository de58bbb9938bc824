//! The calls of a reply: judged, asked about, run, and what became of them.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use futures_util::future::{BoxFuture, FutureExt as _};
use serde_json::Value;

use super::{
    Decided,
    record::{filled, value},
    run::Run,
};
use crate::{
    domain::{
        ask::Question,
        ids::{AskId, TodoId},
        message::{Part, ToolCall, ToolStatus, Verdict},
        session::{AskKind, AskStatus, SessionStatus, TodoItem},
        turn::{Effect, Gate, Order, Planned},
    },
    engine::{
        gate::Judged,
        snapshots::{MessageRecorder, Noting},
        tools::{self, Outcome, Subject, Target},
    },
    store::{
        entity::{ask::Model as Ask, part::Model as PartRow, todo::Model as Todo},
        journal::Write,
    },
};

/// A call of the newest reply, with its row.
pub(super) struct RunningCall {
    pub row: PartRow,
    pub call: ToolCall,
    pub effect: Effect,
    pub judged: Judged,
    /// What the call is about, as it was judged.
    pub subjects: Vec<Subject>,
    /// Whether a person has still to answer.
    pub asked: bool,
    /// Whether a person has looked at this very call and allowed it.
    pub approved: bool,
    /// Whether its row has been stored.
    pub stored: bool,
}

/// What is to be done next.
#[derive(Default)]
pub(super) struct Plan {
    /// Calls to start, by index.
    pub run: Vec<usize>,
    /// The order that ends the step: a call of the model, or the end.
    pub next: Option<Order>,
}

/// What became of a call.
pub(super) struct CallEnd {
    pub call: usize,
    pub outcome: Outcome,
    /// The new list, where the call was one that writes it.
    pub todos: Option<Vec<TodoItem>>,
}

impl RunningCall {
    /// A call as it was stored before a restart.
    pub(super) fn stored(row: PartRow, call: ToolCall) -> Self {
        let effect = effect_of(&call.tool);
        Self { stored: true, ..Self::settled(row, call, effect) }
    }

    /// A call that needs no verdict: it has its result, or never gets one.
    fn settled(row: PartRow, call: ToolCall, effect: Effect) -> Self {
        let (judged, subjects) = (Judged::settled(), Vec::new());
        Self { row, call, effect, judged, subjects, asked: false, approved: false, stored: false }
    }

    pub(super) fn planned(&self) -> Planned {
        let mut hasher = DefaultHasher::new();
        self.call.tool.hash(&mut hasher);
        self.call.input.to_string().hash(&mut hasher);
        Planned { effect: self.effect, gate: self.judged.gate, signature: hasher.finish() }
    }

    pub(super) fn write(&self) -> Write {
        let part = Part::Tool(Box::new(self.call.clone()));
        Write::Part(Box::new(filled(self.row.clone(), &part)))
    }
}

impl Run {
    /// Judges a call that the model has just made.
    pub(super) fn judge_call(&self, row: PartRow, mut call: ToolCall) -> RunningCall {
        let effect = effect_of(&call.tool);
        if call.status.is_final() {
            return RunningCall::settled(row, call, effect);
        }
        let subjects = match tools::subject(&self.root, &call.tool, &call.input) {
            Ok(subjects) => subjects,
            Err(err) => {
                call.status = ToolStatus::Error;
                call.error = Some(err);
                return RunningCall::settled(row, call, effect);
            }
        };
        call.title = title_of(&call.tool, &call.input, &subjects);
        let judged = self.gate.judge(&call.tool, &subjects);
        if judged.gate != Gate::Ask {
            call.verdict = Some(verdict(&judged, judged.gate == Gate::Allow, None));
        }
        RunningCall { judged, subjects, ..RunningCall::settled(row, call, effect) }
    }

    /// Judges a stored call anew, after a restart. Paths may lead elsewhere by now: what a person
    /// was asked about is all that an answer allows, so without that the call has no subject, and
    /// does not run.
    pub(super) fn rejudge(&mut self, index: usize, asked: Option<&Question>) {
        let Some(call) = self.calls.get_mut(index) else { return };
        let found = tools::subject(&self.root, &call.call.tool, &call.call.input);
        let subjects = found.unwrap_or_default();
        call.judged = self.gate.judge(&call.call.tool, &subjects);
        let same = |asked: &Question| {
            asked.subject == call.judged.subject && asked.folder == folder_of(&subjects)
        };
        if asked.is_some_and(same) {
            call.subjects = subjects;
        }
    }

    /// Applies orders to the calls: what changes is added to the writes, what is to be done returned.
    pub(super) fn plan(&mut self, orders: Vec<Order>, writes: &mut Vec<Write>) -> Plan {
        let mut plan = Plan::default();
        let mut touched = Vec::new();
        for order in orders {
            match order {
                Order::Run(index) => {
                    if let Some(call) = self.calls.get_mut(index) {
                        call.call.status = ToolStatus::Running;
                        call.call.started_at_ms = Some(self.engine.clock.now().timestamp_millis());
                        touched.push(index);
                        plan.run.push(index);
                    }
                }
                Order::Ask { call, repeated } => {
                    touched.push(call);
                    self.ask(call, repeated, writes);
                }
                Order::Refuse(index) => {
                    if let Some(call) = self.calls.get_mut(index) {
                        refuse(call);
                        touched.push(index);
                    }
                }
                Order::CallModel | Order::SumUp | Order::Stop(_) => plan.next = Some(order),
            }
        }
        // A call that is new has a row to store, whatever was ordered for it.
        let fresh = (0..self.calls.len()).filter(|index| !self.calls[*index].stored);
        touched.extend(fresh);
        touched.sort_unstable();
        touched.dedup();
        let mut rows: Vec<Write> = touched.iter().map(|index| self.calls[*index].write()).collect();
        for index in touched {
            self.calls[index].stored = true;
        }
        rows.append(writes);
        // Text comes before the calls, and an ask after the part that it is about.
        rows.sort_by_key(|write| match write {
            Write::Part(row) => (0, row.position),
            Write::Ask(_) => (1, 0),
            _ => (2, 0),
        });
        *writes = rows;
        plan
    }

    fn ask(&mut self, index: usize, repeated: bool, writes: &mut Vec<Write>) {
        let now = self.engine.clock.now();
        let id = AskId::mint(now, self.engine.entropy.as_ref());
        let session_id = self.session.id;
        let Some(call) = self.calls.get_mut(index) else { return };
        call.asked = true;
        let mut reasons = call.judged.reasons.clone();
        if repeated {
            reasons.push("The agent goes in circles: it has made the same calls with the same results twice.".into());
        }
        let question = Question {
            version: 1,
            tool: call.call.tool.clone(),
            subject: call.judged.subject.clone(),
            folder: folder_of(&call.subjects),
            input: call.call.input.clone(),
            reasons,
            always: if repeated { Vec::new() } else { call.judged.always.clone() },
            because: call.judged.because.clone(),
            repeated,
        };
        writes.push(Write::Ask(Box::new(Ask {
            id,
            session_id,
            part_id: call.row.id,
            kind: AskKind::Permission,
            data: value(&question),
            status: AskStatus::Open,
            reply: None,
            decided_by: None,
            decided_at: None,
            seq: 0,
            created_at: now,
        })));
        writes.push(Write::status(SessionStatus::Waiting));
    }

    /// Keeps with the call who decided what.
    pub(super) fn note_decision(&mut self, index: usize, decided: Decided) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.asked = false;
        call.approved = decided.allowed && decided.rule.is_none();
        let by_rule = decided.rule.is_some();
        if let Some(rule) = decided.rule {
            call.judged.because = rule;
        }
        call.call.verdict = Some(verdict(&call.judged, decided.allowed, Some(decided.login)));
        // What a rule refuses is said when the order to refuse it comes.
        if !decided.allowed && !by_rule {
            call.call.error = Some(match decided.message {
                Some(message) => format!("A person refused this call and says: {message}"),
                None => "A person refused this call. Do not try it another way.".into(),
            });
        }
    }

    /// Starts a call whose row says that it runs.
    pub(super) fn start_call(&self, index: usize) -> BoxFuture<'static, CallEnd> {
        let Some(call) = self.calls.get(index) else {
            return futures_util::future::pending().boxed();
        };
        let job = Job {
            tool: call.call.tool.clone(),
            input: call.call.input.clone(),
            subjects: call.subjects.clone(),
            engine: self.engine.clone(),
            root: self.root.clone(),
            session: self.session.id,
            part: call.row.id,
            recorder: self.recorder.clone(),
            veil: self.gate.veil(),
            gate: self.gate.clone(),
            cancel: self.reins.cancel.clone(),
            _noting: self.engine.snapshots.noting(self.session.id),
            notes: self.notes.0.clone(),
        };
        if let Some(refused) = self.refused_by_now(call) {
            return std::future::ready(CallEnd { call: index, outcome: refused, todos: None })
                .boxed();
        }
        // A task of its own: it goes on while the run waits for the database, which it may hold.
        let work = tokio::spawn(job.run());
        async move {
            let (outcome, todos) = work.await.unwrap_or_else(|err| {
                tracing::error!("a tool failed inside: {err}");
                let error = Some("The tool failed inside. Try another way.".to_owned());
                (Outcome { error, ..Outcome::default() }, None)
            });
            CallEnd { call: index, outcome, todos }
        }
        .boxed()
    }

    /// What is told of a call that may not run any more: it may have waited for long behind an ask,
    /// and the rules, as they are by now, do not let it pass. A person's yes stands for what the
    /// rules ask about, not for what they refuse.
    fn refused_by_now(&self, call: &RunningCall) -> Option<Outcome> {
        let judged = self.gate.judge(&call.call.tool, &call.subjects);
        let error = match judged.gate {
            _ if call.subjects.is_empty() => MOVED.to_owned(),
            Gate::Allow => return None,
            Gate::Ask if call.approved => return None,
            Gate::Ask | Gate::Deny => format!(
                "The rules have changed while this call waited ({}). Make it again if it is needed.",
                judged.because
            ),
        };
        Some(Outcome { error: Some(error), ..Outcome::default() })
    }

    /// Puts what became of a call into its row.
    pub(super) async fn finish_call(&mut self, end: CallEnd, writes: &mut Vec<Write>) {
        let now = self.engine.clock.now().timestamp_millis();
        let Some(call) = self.calls.get_mut(end.call) else { return };
        let Outcome { output, error, title, metadata } = end.outcome;
        let changes = call.effect == Effect::Changes;
        call.call.status = if error.is_some() { ToolStatus::Error } else { ToolStatus::Done };
        call.call.output = output;
        call.call.error = error;
        call.call.metadata = metadata;
        if !title.is_empty() {
            call.call.title = title;
        }
        let started = call.call.started_at_ms.unwrap_or(now);
        call.call.duration_ms = Some(u64::try_from(now - started).unwrap_or(0));
        writes.push(call.write());
        if let Some(todos) = end.todos {
            writes.push(Write::Todos(self.todo_rows(todos)));
        }
        if changes && self.recorder.has_changes() {
            match self.refresh_changes().await {
                Ok(()) => writes.push(self.session_change(None)),
                Err(err) => tracing::error!(session = %self.session.id, "comparing files: {err:#}"),
            }
        }
    }

    /// Ends what has not ended, with a reason that the model is told.
    pub(super) fn abort_calls(&mut self, writes: &mut Vec<Write>, reason: &str) {
        for call in self.calls.iter_mut().filter(|call| !call.call.status.is_final()) {
            call.asked = false;
            call.call.status = ToolStatus::Aborted;
            call.call.error = Some(reason.to_owned());
            writes.push(call.write());
        }
    }

    fn todo_rows(&self, todos: Vec<TodoItem>) -> Vec<Todo> {
        let now = self.engine.clock.now();
        let row = |(position, item): (i32, TodoItem)| Todo {
            id: TodoId::mint(now, self.engine.entropy.as_ref()),
            session_id: self.session.id,
            text: item.text,
            status: item.status,
            position,
            seq: 0,
        };
        (0..).zip(todos).map(row).collect()
    }
}

/// What is told of a call that is not any more what a person was asked about.
const MOVED: &str =
    "Its path leads elsewhere by now than when it was asked about. Make the call again.";

/// All that a call needs to run by itself.
struct Job {
    tool: String,
    input: Value,
    subjects: Vec<Subject>,
    engine: Arc<crate::engine::Engine>,
    root: std::path::PathBuf,
    session: crate::domain::ids::SessionId,
    part: crate::domain::ids::PartId,
    recorder: Arc<MessageRecorder>,
    veil: tools::Veil,
    gate: crate::engine::gate::Gatekeeper,
    cancel: tokio_util::sync::CancellationToken,
    /// The next run, and undo, wait for its end.
    _noting: Noting,
    notes: tokio::sync::mpsc::UnboundedSender<tools::bash::Note>,
}

impl Job {
    async fn run(self) -> (Outcome, Option<Vec<TodoItem>>) {
        match self.tool.as_str() {
            "todo_write" => tools::todo_write::run(self.input),
            "bash_output" => {
                let (engine, cancel) = (&self.engine, &self.cancel);
                (tools::jobs::output(engine, self.session, cancel, self.input).await, None)
            }
            "bash_kill" => (tools::jobs::kill(&self.engine, self.session, self.input).await, None),
            "bash" => {
                let _turn = tokio::select! {
                    turn = self.engine.heavy.acquire() => turn,
                    () = self.cancel.cancelled() => {
                        let error = Some("The command was stopped before it started.".to_owned());
                        return (Outcome { error, ..Outcome::default() }, None);
                    }
                };
                let context = tools::bash::BashContext {
                    engine: &self.engine,
                    root: &self.root,
                    session: self.session,
                    part: self.part,
                    recorder: &self.recorder,
                    cancel: &self.cancel,
                    allowed: &self.subjects,
                    gate: &self.gate,
                    notes: &self.notes,
                };
                (tools::bash::run(&context, self.input).await, None)
            }
            tool => {
                let spilled = [self.engine.outputs_of(self.session)];
                let context = tools::FileContext {
                    root: &self.root,
                    session: self.session,
                    files: &self.engine.files,
                    recorder: self.recorder.as_ref(),
                    readable: &spilled,
                    allowed: &self.subjects,
                    veil: self.veil,
                };
                let _turn = match tool {
                    "grep" | "glob" => self.engine.heavy.acquire().await.ok(),
                    _ => None,
                };
                (tools::run(tool, &context, self.input).await, None)
            }
        }
    }
}

fn effect_of(tool: &str) -> Effect {
    match tools::find(tool).map(|spec| spec.effect) {
        Some(tools::Effect::Reads) => Effect::Reads,
        Some(tools::Effect::Changes) | None => Effect::Changes,
    }
}

fn refuse(call: &mut RunningCall) {
    if call.call.status.is_final() {
        return;
    }
    call.call.status = ToolStatus::Denied;
    call.call.error.get_or_insert_with(|| {
        format!("A rule refuses this call ({}). Do not try it another way.", call.judged.because)
    });
}

fn verdict(judged: &Judged, allowed: bool, answered_by: Option<String>) -> Verdict {
    Verdict {
        action: if allowed { "allow" } else { "deny" }.into(),
        rule: judged.because.clone(),
        answered_by,
    }
}

/// Where a command starts, for people.
fn folder_of(subjects: &[Subject]) -> Option<String> {
    subjects.iter().find_map(|subject| match subject {
        Subject::Command { folder, .. } => folder.as_ref().map(Target::shown),
        _ => None,
    })
}

/// What a call is about, in a line for the page.
fn title_of(tool: &str, input: &Value, subjects: &[Subject]) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let title = match tool {
        "grep" | "glob" => text("pattern"),
        "bash_output" | "bash_kill" => text("job_id"),
        "bash" => text("command").map(|command| match folder_of(subjects) {
            Some(folder) => format!("in {folder}: {command}"),
            None => command,
        }),
        "todo_write" => None,
        _ => {
            let paths = subjects.iter().filter_map(|subject| match subject {
                Subject::Path(target) => Some(target),
                _ => None,
            });
            Some(tools::apply_patch::title(paths))
        }
    };
    crate::domain::text::cut(&title.unwrap_or_default(), 300).to_owned()
}
