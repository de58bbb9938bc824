//! One run: answers a prompt, and then those that wait, until there is nothing more to do.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    Begin, Decided, News,
    call::{CallEnd, RunningCall},
    endpoint::{endpoint, refuse},
    files,
    late::Late,
    ledger::payer,
    limits::Limits,
    record::summary_of,
    step::StepEnd,
};
use crate::{
    adapters::model::{Endpoint, Kind, highest_temperature, takes_effort},
    domain::{
        conversation::{self, CallIds, Exchange, Request, Size, ToolChoice, ToolSpec},
        ids::{ProviderId, SessionId},
        message::{Part, Role},
        provider::ModelMeta,
        session::{AskStatus, Failure, Queued, SessionStatus, Summary},
        turn::{Heard, Order, Reason, Turn},
    },
    engine::{
        Engine,
        budgets::{Hold, Payer},
        gate::Gatekeeper,
        hub::Teller,
        snapshots::MessageRecorder,
        system_prompt,
        tools::{self, bash::Note},
    },
    store::{
        self, asks,
        entity::{message::Model as Message, session::Model as Session},
        journal::Write,
        messages::{self, Whole},
    },
};

/// How a run is steered from outside.
pub(super) struct Reins {
    pub cancel: CancellationToken,
    pub news: mpsc::UnboundedReceiver<News>,
    pub retry_now: Arc<Notify>,
    /// Whether prompts may wait that are to steer it.
    pub steered: Arc<AtomicBool>,
    /// Takes the calls that outlive the run.
    pub late: Option<oneshot::Sender<Late>>,
}

/// All that a run works with.
pub(super) struct Run {
    pub engine: Arc<Engine>,
    pub session: Session,
    pub root: PathBuf,
    pub teller: Teller,
    pub reins: Reins,
    pub gate: Gatekeeper,
    pub endpoint: Endpoint,
    pub meta: ModelMeta,
    pub provider: ProviderId,
    pub payer: Payer,
    /// How long answers may be at most by themselves; a budget can make the next one shorter.
    pub wanted_output: Option<u32>,
    /// What is set aside for the call that goes on.
    pub hold: Option<Hold>,
    /// What is sent to the model; its items grow with each step.
    pub request: Request,
    pub size: Size,
    pub ids: CallIds,
    pub summary: Summary,
    pub limits: Limits,
    /// The answer that is being written.
    pub answer: Message,
    pub next_position: i32,
    /// The parts of the newest step, until they are part of the conversation.
    pub step: Vec<Part>,
    /// The calls of the newest reply, by their index in the turn.
    pub calls: Vec<RunningCall>,
    pub recorder: Arc<MessageRecorder>,
    /// What calls say while they run.
    pub notes: (mpsc::UnboundedSender<Note>, mpsc::UnboundedReceiver<Note>),
}

/// How an answer ended.
pub(super) enum Ended {
    Done,
    Aborted,
    Failed(Failure),
}

/// How long tools get after an abort to note what they have changed. Their processes are ended at
/// once; what still notes after this goes on by itself.
const ABORT_GRACE: Duration = Duration::from_secs(10);

pub(super) async fn run(
    engine: Arc<Engine>,
    session: SessionId,
    begin: Begin,
    reins: Reins,
) -> anyhow::Result<()> {
    let Some((session, project)) = store::sessions::with_project(&engine.db, session).await? else {
        return Ok(());
    };
    let teller = engine.hub.teller(session.id);
    let found = endpoint(&engine, &session).await?;
    let conversation = messages::conversation(&engine.db, session.id).await?;
    let session_provider = session.provider_id.context("a model without a provider");
    let (endpoint, meta) = match found {
        Ok(found) => found,
        Err(failure) => {
            return match begin {
                Begin::Prompts => refuse(&engine, &session, &teller, failure).await,
                Begin::Answered(_) => Ok(super::repair::give_up(&engine, session, failure).await?),
            };
        }
    };
    let session_provider = session_provider?;
    let gate = Gatekeeper::of_session(&engine, session.id).await?;
    let root = PathBuf::from(&project.path);
    let last = conversation.last().context("a run without a prompt")?.message.clone();
    let recorder = engine.snapshots.recorder(&root, session.id, last.id);
    let payer = payer(&engine, &session, &project).await?;
    let mut run = Run {
        request: Request {
            model: session.model.clone(),
            system: system_prompt::build(&session, &project).await,
            items: Vec::new(),
            tools: tool_specs(),
            effort: session.effort.filter(|_| takes_effort(endpoint.kind, &session.model, &meta)),
            temperature: temperature(&session, endpoint.kind),
            meta: meta.clone(),
            ..Request::default()
        },
        size: Size::default(),
        ids: CallIds::default(),
        limits: Limits::new(
            &engine.config.agent,
            summary_of(&session.summary).cost_micros,
            Instant::now(),
        ),
        summary: summary_of(&session.summary),
        answer: last,
        next_position: 0,
        step: Vec::new(),
        calls: Vec::new(),
        recorder: Arc::new(recorder),
        notes: mpsc::unbounded_channel(),
        engine,
        session,
        root,
        teller,
        reins,
        gate,
        endpoint,
        meta,
        provider: session_provider,
        payer,
        wanted_output: None,
        hold: None,
    };
    run.wanted_output = run.request.max_output_tokens;
    run.go(begin, conversation).await
}

impl Run {
    async fn go(&mut self, begin: Begin, mut conversation: Vec<Whole>) -> anyhow::Result<()> {
        let mut turn = Turn::new(u32::try_from(self.session.max_steps).unwrap_or(1));
        let orders = match begin {
            Begin::Answered(decided) => {
                let open = conversation.pop().context("an answer that is not there")?;
                self.remember(&conversation).await?;
                self.resume(&mut turn, open, decided).await?
            }
            Begin::Prompts => {
                self.remember(&conversation).await?;
                if self.answer.role == Role::Assistant && !self.next_prompt(Queued::Queue).await? {
                    return Ok(());
                }
                self.begin_answer().await?;
                turn.start()
            }
        };
        // A prompt that waits is answered by a run of its own, which finds the session, its model
        // and its provider as they are then.
        let ended = self.answer(&mut turn, orders).await?;
        self.end_answer(ended).await?;
        Ok(())
    }

    /// Puts stored messages into what is sent to the model.
    pub(super) async fn remember(&mut self, conversation: &[Whole]) -> anyhow::Result<()> {
        let mut files = files::read(&self.engine, self.session.id, conversation).await?;
        for whole in conversation {
            let parts: Result<Vec<Part>, _> =
                whole.parts.iter().map(|row| Part::read(&row.kind, row.data.clone())).collect();
            let (role, model) = (whole.message.role, whole.message.model.as_str());
            let parts = parts?;
            if role == Role::User {
                let files = files.remove(&whole.message.id).unwrap_or_default();
                self.request.items.extend(conversation::prompt_item(&parts, files));
                continue;
            }
            let exchange = Exchange { role, model, parts: &parts };
            let items = conversation::message_items(&mut self.ids, &exchange);
            self.request.items.extend(items);
        }
        Ok(())
    }

    /// Opens an answer after the last message, and says that the agent is at work.
    pub(super) async fn begin_answer(&mut self) -> anyhow::Result<()> {
        self.answer = self.new_answer(self.answer.position + 1);
        self.next_position = 0;
        self.recorder =
            Arc::new(self.engine.snapshots.recorder(&self.root, self.session.id, self.answer.id));
        self.record(vec![
            Write::Message(Box::new(self.answer.clone())),
            Write::status(SessionStatus::Running),
        ])
        .await
    }

    /// Carries out orders until the turn stops. Calls that go on then are handed over.
    async fn answer(&mut self, turn: &mut Turn, orders: Vec<Order>) -> anyhow::Result<Ended> {
        let mut running = FuturesUnordered::new();
        let ended = self.carry_out(turn, orders, &mut running).await;
        if let (false, Some(late)) = (running.is_empty(), self.reins.late.take()) {
            let parts = self.calls.iter().map(|call| call.row.id).collect();
            let _ = late.send(Late::new(self, parts, &mut running));
        }
        ended
    }

    async fn carry_out(
        &mut self,
        turn: &mut Turn,
        orders: Vec<Order>,
        running: &mut FuturesUnordered<BoxFuture<'static, CallEnd>>,
    ) -> anyhow::Result<Ended> {
        let mut writes = Vec::new();
        let mut plan = self.plan(orders, &mut writes);
        loop {
            if !writes.is_empty() {
                self.forewarn(&mut writes).await;
                self.record(std::mem::take(&mut writes)).await?;
                // What it cost stands in the ledger now.
                self.hold = None;
            }
            if !plan.run.is_empty() {
                self.refresh_gate().await?;
            }
            for call in std::mem::take(&mut plan.run) {
                running.push(self.start_call(call));
            }
            match plan.next.take() {
                Some(Order::Stop(Reason::Done | Reason::Limit)) => return Ok(Ended::Done),
                Some(Order::Stop(Reason::Circles)) => return Ok(Ended::Failed(circles())),
                Some(order) => {
                    self.settle_step();
                    self.deliver_steering().await?;
                    let choice = self.choice(&order, turn);
                    match self.call_model(choice, turn, &mut writes).await? {
                        StepEnd::Replied(next) => plan = next,
                        StepEnd::Aborted => return Ok(Ended::Aborted),
                        StepEnd::Failed(failure) => return Ok(Ended::Failed(failure)),
                    }
                    continue;
                }
                None => {}
            }
            self.limits.waits(running.is_empty(), Instant::now());
            let orders = tokio::select! {
                biased;
                () = self.reins.cancel.cancelled() => {
                    let rest = async { while running.next().await.is_some() {} };
                    let _ = tokio::time::timeout(ABORT_GRACE, rest).await;
                    return Ok(Ended::Aborted);
                }
                Some(end) = running.next() => {
                    let (call, result) = (end.call, end.outcome.signature());
                    self.finish_call(end, &mut writes).await;
                    turn.hear(Heard::Ran { call, result })
                }
                Some(note) = self.notes.1.recv() => {
                    self.take_note(note).await?;
                    Vec::new()
                }
                news = self.reins.news.recv() => match news {
                    Some(News::Decided(decided)) => self.hear(turn, decided, &mut writes),
                    None => return Ok(Ended::Aborted),
                },
            };
            self.limits.waits(false, Instant::now());
            plan = self.plan(orders, &mut writes);
        }
    }

    /// Which tools the model may call next: none, where a limit is reached and it is to sum up.
    fn choice(&mut self, order: &Order, turn: &mut Turn) -> ToolChoice {
        let limit = match order {
            Order::SumUp => Some(format!("{} steps", self.session.max_steps)),
            _ => self.limits.reached(self.summary.cost_micros, Instant::now()),
        };
        let Some(limit) = limit else { return ToolChoice::Auto };
        turn.sum_up();
        let text = include_str!("../../../private/prompts/limit.md").replace("{limit}", &limit);
        self.request.items.extend(conversation::Item::user(text.trim_ascii(), Vec::new()));
        ToolChoice::None
    }

    /// Takes a person's answer to an ask into the call and the turn.
    pub(super) fn hear(
        &mut self,
        turn: &mut Turn,
        decided: Decided,
        writes: &mut Vec<Write>,
    ) -> Vec<Order> {
        let Some(call) = self.calls.iter().position(|call| call.row.id == decided.part) else {
            return Vec::new();
        };
        let allowed = decided.allowed;
        self.note_decision(call, decided);
        if !self.calls.iter().any(|call| call.asked) {
            writes.push(Write::status(SessionStatus::Running));
        }
        turn.hear(Heard::Decided { call, allowed })
    }

    /// Puts the newest step into what is sent to the model.
    pub(super) fn settle_step(&mut self) {
        let mut parts = std::mem::take(&mut self.step);
        parts.extend(self.calls.drain(..).map(|call| Part::Tool(Box::new(call.call))));
        let items = conversation::step_items(&mut self.ids, &self.session.model, &parts);
        self.request.items.extend(items);
    }

    /// Closes the answer and says how it stands with the session.
    async fn end_answer(&mut self, ended: Ended) -> anyhow::Result<()> {
        let (status, failure) = match ended {
            Ended::Done => (SessionStatus::Idle, None),
            Ended::Aborted => (SessionStatus::Aborted, Some(aborted())),
            Ended::Failed(failure) => (SessionStatus::Error, Some(failure)),
        };
        self.recorder.settle().await?;
        // Also where this answer has changed nothing: an earlier one may have been noted meanwhile.
        self.summary.files = self.engine.snapshots.changed_files(self.session.id).await?;
        let mut writes = Vec::new();
        // From here on nobody answers: an ask is either answered or withdrawn.
        let _moment = self.engine.runs.moment(self.session.id).await;
        if status != SessionStatus::Idle {
            self.abort_calls(&mut writes, "The call was stopped before it finished.");
            for mut ask in asks::open_in(&self.engine.db, self.session.id).await? {
                ask.status = AskStatus::Withdrawn;
                ask.decided_at = Some(self.engine.clock.now());
                writes.push(Write::Ask(Box::new(ask)));
            }
        }
        self.settle_step();
        writes.push(self.close_answer(failure.as_ref()));
        writes.push(self.session_change(Some(status)));
        self.record(writes).await
    }

    /// Reads the rules anew where some rule or some trust has changed.
    pub(super) async fn refresh_gate(&mut self) -> anyhow::Result<()> {
        if !self.gate.is_current(&self.engine) {
            self.gate = Gatekeeper::of_session(&self.engine, self.session.id).await?;
        }
        Ok(())
    }

    /// Brings the list of changed files in the session's totals up to date.
    pub(super) async fn refresh_changes(&mut self) -> anyhow::Result<()> {
        if self.recorder.has_changes() {
            self.recorder.settle().await?;
            self.summary.files = self.engine.snapshots.changed_files(self.session.id).await?;
        }
        Ok(())
    }
}

/// Whether a prompt waits in a session that is ready for it.
pub(super) async fn waits(engine: &Engine, session: SessionId) -> Result<bool, store::DbErr> {
    let Some((session, _)) = store::sessions::with_project(&engine.db, session).await? else {
        return Ok(false);
    };
    // After an error or a stop the queue is kept for the person to look at.
    Ok(session.status == SessionStatus::Idle
        && !messages::queued(&engine.db, session.id).await?.is_empty())
}

/// What is said of an answer that a person stopped.
pub(super) fn aborted() -> Failure {
    Failure {
        version: 1,
        code: "aborted".into(),
        message: "Stopped. What was done so far is kept; send a prompt to go on.".into(),
        provider_message: None,
    }
}

/// What is said of an answer that went in circles.
fn circles() -> Failure {
    Failure {
        version: 1,
        code: "circles".into(),
        message:
            "The agent made the same calls with the same results again and again, and was stopped. \
                  What was done so far is kept; say what it should do instead."
                .into(),
        provider_message: None,
    }
}

/// The session's temperature, as far as its model takes one.
fn temperature(session: &Session, kind: Kind) -> Option<f32> {
    let most = highest_temperature(kind, &session.model)?;
    #[expect(clippy::cast_possible_truncation, reason = "a number between 0 and 2")]
    session.temperature.map(|it| (it as f32).clamp(0.0, most))
}

/// All tools as a model is told of them.
fn tool_specs() -> Vec<ToolSpec> {
    let spec = |tool: &tools::Spec| ToolSpec {
        name: tool.name.into(),
        description: tool.description.into(),
        schema: (tool.schema)(),
    };
    tools::all().iter().map(spec).collect()
}
