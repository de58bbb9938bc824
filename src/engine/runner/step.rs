//! One call of the model: streamed, tried again where that helps, and turned into parts.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    bill::Allowed,
    call::{Plan, RunningCall},
    ledger::{Outcome, believed, count},
    record::{filled, value},
    run::Run,
};
use crate::{
    domain::{
        conversation::ToolChoice,
        message::{Part, Reasoning, Step, Text, ToolCall, ToolStatus},
        model::{Delta, Fault, Finish, RawCall, Reply, Usage, parse_arguments},
        retry::{self, Decision},
        session::Failure,
        turn::{Heard, Turn},
    },
    engine::hub::Retry,
    store::{
        entity::part::Model as PartRow,
        journal::{self, SessionChange, Write},
        messages,
    },
};

/// How a call of the model ended.
pub(super) enum StepEnd {
    /// With what to do next; what is to be stored has been added to the writes.
    Replied(Plan),
    Aborted,
    Failed(Failure),
}

/// A part that is being streamed.
struct Draft {
    row: PartRow,
    kind: DraftKind,
    text: String,
    /// Bytes of a call that are not shown.
    arguments: usize,
    saved: Instant,
    saved_len: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DraftKind {
    Text,
    Reasoning,
    /// A call, by its index in the reply.
    Call(usize),
}

/// How one try ended.
enum Try {
    Reply(Reply),
    /// With what was used nevertheless, where the provider has said so.
    Fault(Fault, Option<Usage>),
    Aborted(Option<Usage>),
}

/// While a part is long, its text is stored so often.
const SAVE_EVERY: Duration = Duration::from_secs(1);

impl Run {
    /// Calls the model, and plans what its reply asks for.
    pub(super) async fn call_model(
        &mut self,
        choice: ToolChoice,
        turn: &mut Turn,
        writes: &mut Vec<Write>,
    ) -> anyhow::Result<StepEnd> {
        self.request.tools_allowed = choice;
        let started = Instant::now();
        let mut drafts = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.reserve().await? {
                Allowed::Yes => {}
                Allowed::Aborted => return Ok(StepEnd::Aborted),
                Allowed::No(failure) => return Ok(StepEnd::Failed(failure)),
            }
            match self.try_model(&mut drafts).await? {
                Try::Reply(reply) => {
                    if !reply.calls.is_empty() {
                        self.refresh_gate().await?;
                    }
                    return Ok(StepEnd::Replied(
                        self.take_reply(reply, drafts, started, turn, writes),
                    ));
                }
                Try::Aborted(usage) => {
                    self.bill_try(usage, written(&drafts), Outcome::Aborted).await?;
                    self.keep(drafts).await?;
                    return Ok(StepEnd::Aborted);
                }
                Try::Fault(fault, usage) => {
                    self.bill_try(usage, written(&drafts), Outcome::Failed).await?;
                    let failure = match self.decide(&fault, attempt) {
                        Ok(wait) => {
                            self.withdraw(&mut drafts).await?;
                            if self.wait(attempt, wait, &fault).await {
                                continue;
                            }
                            return Ok(StepEnd::Aborted);
                        }
                        Err(failure) => failure,
                    };
                    self.keep(drafts).await?;
                    return Ok(StepEnd::Failed(failure));
                }
            }
        }
    }

    /// One try, streamed to whoever watches.
    async fn try_model(&mut self, drafts: &mut Vec<Draft>) -> anyhow::Result<Try> {
        let asked = self.engine.models.stream(&self.endpoint, &self.request);
        let mut stream = tokio::select! {
            biased;
            () = self.reins.cancel.cancelled() => return Ok(Try::Aborted(None)),
            stream = asked => match stream {
                Ok(stream) => stream,
                Err(fault) => return Ok(Try::Fault(fault, None)),
            },
        };
        loop {
            let delta = tokio::select! {
                biased;
                () = self.reins.cancel.cancelled() => return Ok(Try::Aborted(stream.usage())),
                delta = stream.next() => delta,
            };
            match delta {
                Ok(Some(delta)) => self.draw(delta, drafts).await?,
                Ok(None) => break,
                Err(fault) => return Ok(Try::Fault(fault, stream.usage())),
            }
        }
        let usage = stream.usage();
        Ok(match stream.reply().await {
            Ok(reply) => Try::Reply(reply),
            Err(fault) => Try::Fault(fault, usage),
        })
    }

    /// Shows a piece of the reply.
    async fn draw(&mut self, delta: Delta, drafts: &mut Vec<Draft>) -> anyhow::Result<()> {
        let (kind, text) = match delta {
            Delta::Text(text) => (DraftKind::Text, text),
            Delta::Reasoning(text) => (DraftKind::Reasoning, text),
            Delta::CallStarted { index, id, name } => {
                let mut row = self.new_part("tool");
                let arguments = name.len();
                let call = ToolCall { call_id: id, tool: name, ..ToolCall::default() };
                row = filled(row, &Part::Tool(Box::new(call)));
                self.teller.open(row.clone());
                drafts.push(Draft { arguments, ..Draft::new(row, DraftKind::Call(index)) });
                return Ok(());
            }
            Delta::CallArguments { index, text } => {
                let kind = DraftKind::Call(index);
                if let Some(draft) = drafts.iter_mut().find(|draft| draft.kind == kind) {
                    draft.arguments += text.len();
                }
                return Ok(());
            }
        };
        if text.is_empty() {
            return Ok(());
        }
        let at = match drafts.iter().position(|draft| draft.kind == kind) {
            Some(at) => at,
            None => {
                let part = kind.part(String::new());
                let row = filled(self.new_part(part.kind()), &part);
                self.teller.open(row.clone());
                drafts.push(Draft::new(row, kind));
                drafts.len() - 1
            }
        };
        let draft = &mut drafts[at];
        draft.text.push_str(&text);
        self.teller.append(draft.row.id, text);
        if draft.saved.elapsed() >= SAVE_EVERY && draft.text.len() > draft.saved_len {
            draft.saved = Instant::now();
            draft.saved_len = draft.text.len();
            // Stored but not told: whoever watches has the text already, piece by piece.
            let row = filled(draft.row.clone(), &kind.part(draft.text.clone()));
            let write = vec![Write::Part(Box::new(row))];
            let now = self.engine.clock.now();
            journal::record(&self.engine.db, self.session.id, now, write).await?;
        }
        Ok(())
    }

    /// Turns a whole reply into parts and plans its calls.
    fn take_reply(
        &mut self,
        reply: Reply,
        mut drafts: Vec<Draft>,
        started: Instant,
        turn: &mut Turn,
        writes: &mut Vec<Write>,
    ) -> Plan {
        let written = reply.bytes();
        let thought = reply.reasoning.map(|thought| {
            Part::Reasoning(Reasoning { text: thought.text, signature: thought.signature })
        });
        let text = (!reply.text.trim().is_empty()).then_some(Part::Text(Text { text: reply.text }));
        for (kind, part) in [(DraftKind::Reasoning, thought), (DraftKind::Text, text)] {
            let draft = take(&mut drafts, kind);
            match (part, draft) {
                (Some(part), draft) => {
                    let row = draft.unwrap_or_else(|| self.new_part(part.kind()));
                    writes.push(Write::Part(Box::new(filled(row, &part))));
                    self.step.push(part);
                }
                (None, Some(row)) => self.teller.withdraw(row.id),
                (None, None) => {}
            }
        }
        let cut = reply.finish == Finish::Length;
        for (index, raw) in reply.calls.into_iter().enumerate() {
            let row =
                take(&mut drafts, DraftKind::Call(index)).unwrap_or_else(|| self.new_part("tool"));
            let call = read_call(raw, cut);
            let call = self.judge_call(row, call);
            self.calls.push(call);
        }
        for draft in drafts {
            self.teller.withdraw(draft.row.id);
        }
        let usage = reply.usage;
        let tokens = match &usage {
            Some(usage) => believed(usage.tokens),
            None => self.estimate(written),
        };
        let step = Step {
            tokens,
            cost_micros: self.cost(usage.as_ref(), &tokens),
            finish_reason: reply.finish.as_str().to_owned(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.count(&step);
        let charged = usage.as_ref().and_then(|usage| usage.cost_micros);
        let line = self.line(&step, charged, usage.map(|usage| usage.raw), Outcome::Done);
        let planned = self.calls.iter().map(RunningCall::planned).collect();
        let plan = self.plan(turn.hear(Heard::Reply(planned)), writes);
        let row = filled(self.new_part("step"), &Part::Step(step.clone()));
        writes.push(Write::Part(Box::new(row)));
        self.step.push(Part::Step(step));
        writes.push(Write::Session(Box::new(SessionChange {
            summary: Some(value(&self.summary)),
            used: Some(line),
            ..SessionChange::default()
        })));
        plan
    }

    /// Adds a step to the totals of the answer and of the session.
    fn count(&mut self, step: &Step) {
        count(&mut self.answer, &mut self.summary, step);
        self.summary.steps += 1;
        self.summary.context_tokens = step.tokens.input
            + step.tokens.cache_read
            + step.tokens.cache_write
            + step.tokens.output;
    }

    /// How long to wait before the next try, or why there is none.
    fn decide(&self, fault: &Fault, attempt: u32) -> Result<Duration, Failure> {
        let failure = |message: String| Failure {
            version: 1,
            code: fault.kind.as_str().to_owned(),
            message,
            provider_message: fault.provider_message.clone(),
        };
        if !fault.retryable() {
            return Err(failure(fault.message.clone()));
        }
        let jitter = (self.engine.entropy.bits() % 1_000) as f64 / 1_000.0;
        match retry::delay(attempt, fault.retry_after, jitter) {
            Decision::Wait(wait) => Ok(wait),
            Decision::GiveUp(reason) => Err(failure(format!("{} {reason}", fault.message))),
        }
    }

    /// Waits for the next try; `false` where a person stopped the run meanwhile.
    async fn wait(&self, attempt: u32, wait: Duration, fault: &Fault) -> bool {
        let next_at = self.engine.clock.now() + wait;
        self.teller.retry(Some(Retry { attempt, next_at, reason: fault.message.clone() }));
        tracing::info!(session = %self.session.id, attempt, kind = fault.kind.as_str(), "a model call failed, trying again");
        let go_on = tokio::select! {
            () = self.reins.cancel.cancelled() => false,
            () = self.reins.retry_now.notified() => true,
            () = tokio::time::sleep(wait) => true,
        };
        self.teller.retry(None);
        go_on
    }

    /// Takes back what a failed try has shown.
    async fn withdraw(&mut self, drafts: &mut Vec<Draft>) -> anyhow::Result<()> {
        for draft in drafts.drain(..).rev() {
            self.next_position = self.next_position.min(draft.row.position);
            self.take_back(&draft).await?;
        }
        Ok(())
    }

    /// Takes a draft away from whoever watches, and from what is stored where some of it was.
    async fn take_back(&self, draft: &Draft) -> anyhow::Result<()> {
        if draft.saved_len > 0 {
            messages::delete_part(&self.engine.db, draft.row.id).await?;
        }
        self.teller.withdraw(draft.row.id);
        Ok(())
    }

    /// Keeps the text of a try that is not made again; calls that were not whole are not kept.
    async fn keep(&mut self, drafts: Vec<Draft>) -> anyhow::Result<()> {
        let mut writes = Vec::new();
        for draft in drafts {
            let whole = !matches!(draft.kind, DraftKind::Call(_)) && !draft.text.trim().is_empty();
            if !whole {
                self.take_back(&draft).await?;
                continue;
            }
            let part = draft.kind.part(draft.text);
            writes.push(Write::Part(Box::new(filled(draft.row, &part))));
            self.step.push(part);
        }
        self.record(writes).await
    }
}

impl Draft {
    fn new(row: PartRow, kind: DraftKind) -> Self {
        let (text, arguments) = (String::new(), 0);
        Self { row, kind, text, arguments, saved: Instant::now(), saved_len: 0 }
    }
}

impl DraftKind {
    fn part(self, text: String) -> Part {
        match self {
            Self::Reasoning => Part::Reasoning(Reasoning { text, signature: None }),
            Self::Text | Self::Call(_) => Part::Text(Text { text }),
        }
    }
}

/// Bytes that a try has written so far.
fn written(drafts: &[Draft]) -> usize {
    drafts.iter().map(|draft| draft.text.len() + draft.arguments).sum()
}

fn take(drafts: &mut Vec<Draft>, kind: DraftKind) -> Option<PartRow> {
    let at = drafts.iter().position(|draft| draft.kind == kind)?;
    Some(drafts.remove(at).row)
}

/// Reads what a model sent as a call. What cannot be run has its error already.
fn read_call(raw: RawCall, cut: bool) -> ToolCall {
    let mut call = ToolCall {
        call_id: raw.id,
        tool: raw.name,
        signature: raw.signature,
        ..ToolCall::default()
    };
    let error = match parse_arguments(&raw.arguments) {
        Ok(input) if !cut => {
            call.input = input;
            return call;
        }
        Ok(_) => "The reply was cut off at its length limit, so the call was not run. Split the work into smaller calls.".to_owned(),
        Err(err) => err,
    };
    call.input = Value::String(crate::domain::text::cut(&raw.arguments, 2_000).to_owned());
    call.status = ToolStatus::Error;
    call.error = Some(error);
    call
}
