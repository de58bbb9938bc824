//! Calls that outlive their run: it was stopped, and what they changed is still being noted.

use std::sync::Arc;

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};

use super::{
    call::CallEnd,
    record::{filled, summary_of, value},
    run::Run,
};
use crate::{
    domain::{
        ids::{PartId, SessionId},
        message::{Part, ToolStatus},
        session::Summary,
    },
    engine::{
        Engine,
        snapshots::{MessageRecorder, Noting},
        tools::Outcome,
    },
    store::{
        self,
        journal::{self, SessionChange, Write},
        messages,
    },
};

/// What is left of a run.
pub(super) struct Late {
    engine: Arc<Engine>,
    session: SessionId,
    recorder: Arc<MessageRecorder>,
    /// The rows of the calls, by their index.
    parts: Vec<PartId>,
    running: FuturesUnordered<BoxFuture<'static, CallEnd>>,
    /// Until all is stored, the next run does not begin.
    _noting: Noting,
}

impl Late {
    pub fn new(
        run: &Run,
        parts: Vec<PartId>,
        running: &mut FuturesUnordered<BoxFuture<'static, CallEnd>>,
    ) -> Self {
        Self {
            engine: run.engine.clone(),
            session: run.session.id,
            recorder: run.recorder.clone(),
            parts,
            running: std::mem::take(running),
            _noting: run.engine.snapshots.noting(run.session.id),
        }
    }

    /// Waits for the calls, and brings what is told of them and of the session up to date.
    pub async fn finish(self) {
        let Self { engine, session, recorder, parts, mut running, _noting } = self;
        let mut ends = Vec::new();
        while let Some(CallEnd { call, outcome, .. }) = running.next().await {
            ends.extend(parts.get(call).map(|part| (*part, outcome)));
        }
        let stored = async {
            recorder.settle().await?;
            let mut writes = Vec::new();
            for (part, outcome) in ends {
                writes.extend(stopped(&engine, part, outcome).await?);
            }
            writes.extend(summary(&engine, session).await?);
            let stored = journal::record(&engine.db, session, engine.clock.now(), writes).await?;
            engine.hub.stored(session, stored);
            anyhow::Ok(())
        };
        if let Err(err) = stored.await {
            tracing::error!(%session, "noting a stopped call: {err:#}");
        }
    }
}

/// A call that was stopped, with what is known by now.
async fn stopped(engine: &Engine, part: PartId, outcome: Outcome) -> anyhow::Result<Option<Write>> {
    let Some(row) = messages::part(&engine.db, part).await? else { return Ok(None) };
    let Ok(Part::Tool(mut call)) = Part::read(&row.kind, row.data.clone()) else {
        return Ok(None);
    };
    // It may have been done already when its run was stopped.
    call.status = if outcome.error.is_some() { ToolStatus::Aborted } else { ToolStatus::Done };
    call.output = outcome.output;
    call.error = outcome.error;
    call.metadata = outcome.metadata;
    Ok(Some(Write::Part(Box::new(filled(row, &Part::Tool(call))))))
}

/// The session's totals, with its list of changed files as it is now.
pub(super) async fn totals(engine: &Engine, session: SessionId) -> anyhow::Result<Option<Summary>> {
    let Some((row, _)) = store::sessions::with_project(&engine.db, session).await? else {
        return Ok(None);
    };
    let mut summary = summary_of(&row.summary);
    summary.files = engine.snapshots.changed_files(session).await?;
    Ok(Some(summary))
}

/// The same, to be stored.
pub(super) async fn summary(engine: &Engine, session: SessionId) -> anyhow::Result<Option<Write>> {
    let write = |summary: Summary| {
        let summary = Some(value(&summary));
        Write::Session(Box::new(SessionChange { summary, ..SessionChange::default() }))
    };
    Ok(totals(engine, session).await?.map(write))
}

/// Brings the list of changed files of a session at rest up to date; a run does so itself.
pub async fn refresh_summary(engine: &Engine, session: SessionId) -> anyhow::Result<()> {
    let _moment = engine.runs.moment(session).await;
    if engine.runs.is_running(session) {
        return Ok(());
    }
    let Some(summary) = summary(engine, session).await? else { return Ok(()) };
    let stored = journal::record(&engine.db, session, engine.clock.now(), vec![summary]).await?;
    engine.hub.stored(session, stored);
    Ok(())
}
