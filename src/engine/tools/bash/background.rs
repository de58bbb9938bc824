//! A command in the background: on its way, and what is told of it once it is over.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{BashContext, Ran, Started, failed, metadata, network, told::how};
use crate::{
    adapters::sandbox::Captured,
    domain::{
        ids::{PartId, SessionId},
        message::{Part, ToolCall},
        output::{Bounds, Transcript},
    },
    engine::{
        Engine,
        jobs::Job,
        runner,
        snapshots::{Changes, Scan, SnapshotsError},
        tools::{Outcome, jobs},
    },
    store::{
        entity::part::Model as PartRow,
        journal::{self, Write},
        messages,
    },
};

/// How long a command is watched for saying at once that it cannot work.
const FIRST_WORDS: Duration = Duration::from_millis(700);
/// What is kept with the call of what a job has said.
const SAID: Bounds = Bounds { lines: 200, bytes: 16 << 10 };
/// How long is waited for the call that started a job to be stored.
const STORED: Duration = Duration::from_secs(30);

/// Lets a command go on, and says how to get at it.
pub(super) async fn start(
    context: &BashContext<'_>,
    started: Started,
    timeout: u64,
    scan: Scan,
) -> Outcome {
    let (engine, session, part) = (context.engine.clone(), context.session, context.part);
    let output = started.spill.path().to_owned();
    let job = engine.jobs.put(session, part, output, started.stopper());
    // A stop that came before it was in the list has not reached it.
    if context.cancel.is_cancelled() {
        job.kill();
    }
    let watched = Watched { engine, session, part, job: job.clone(), timeout };
    tokio::spawn(watched.until_its_end(started, scan));
    let _ = tokio::time::timeout(FIRST_WORDS, job.ended()).await;
    let (said, upto) = match jobs::read(&job.output, 0).await {
        Ok(read) => read,
        Err(error) => return failed(error, Value::Null),
    };
    job.tell(upto);
    let stands = format!("({})", jobs::stands(&job, upto));
    let output = if said.is_empty() { stands } else { format!("{said}\n{stands}") };
    let metadata = json!({ "job": { "id": job.id, "state": "running" } });
    Outcome { output, metadata, ..Outcome::default() }
}

/// A job, and whom to tell of it.
struct Watched {
    engine: Arc<Engine>,
    session: SessionId,
    part: PartId,
    job: Arc<Job>,
    timeout: u64,
}

impl Watched {
    async fn until_its_end(self, started: Started, scan: Scan) {
        let teller = self.engine.hub.teller(self.session);
        let ran = started.until_its_end(&teller, self.part).await;
        let how = self.how(&ran);
        self.job.has_ended(how.clone());
        let changes = self.engine.snapshots.after_command(scan).await;
        if let Err(err) = self.tell(&how, ran.ok(), changes).await {
            tracing::error!(session = %self.session, part = %self.part, "telling of a job: {err:#}");
        }
        self.job.is_over();
        if let Err(err) = runner::refresh_summary(&self.engine, self.session).await {
            tracing::error!(session = %self.session, "comparing files: {err:#}");
        }
    }

    fn how(&self, ran: &Result<Ran, String>) -> String {
        match ran {
            Ok(ran) => match how(ran.captured.exit.ending, self.timeout) {
                (Some(code), _) => format!("It ended with exit code {code}."),
                (None, why) => why.unwrap_or_default(),
            },
            Err(err) => err.clone(),
        }
    }

    /// Puts what became of the job beside its call. What the model was told there stays.
    async fn tell(
        &self,
        how: &str,
        ran: Option<Ran>,
        changes: Result<Changes, SnapshotsError>,
    ) -> anyhow::Result<()> {
        let Some((row, mut call)) = self.stored_call().await? else { return Ok(()) };
        let meta = &mut call.metadata;
        merge(meta, json!({ "job": { "id": self.job.id, "state": "over", "how": how } }));
        if let Some(Ran { captured, visits, .. }) = ran {
            merge(meta, self.said(&captured));
            if !visits.is_empty() {
                merge(meta, json!({ "network": network::metadata(&visits) }));
            }
        }
        match changes {
            Ok(changes) => merge(meta, metadata(&changes)),
            Err(err) => {
                tracing::error!(session = %self.session, "recording what a job changed: {err}");
                merge(meta, json!({ "unrecorded": err.to_string() }));
            }
        }
        let now = self.engine.clock.now();
        // Its own time, not that of the call, which returned at once.
        let took = call.started_at_ms.map(|started| now.timestamp_millis() - started);
        call.duration_ms = took.and_then(|took| u64::try_from(took).ok());
        let row = runner::filled(row, &Part::Tool(call));
        let writes = vec![Write::Part(Box::new(row))];
        let stored = journal::record(&self.engine.db, self.session, now, writes).await?;
        self.engine.hub.stored(self.session, stored);
        Ok(())
    }

    fn said(&self, Captured { exit, transcript, .. }: &Captured) -> Value {
        let mut short = Transcript::within(SAID);
        short.push(transcript.text(None).as_bytes());
        json!({
            "exit_code": how(exit.ending, self.timeout).0,
            "lines": transcript.lines(),
            "bytes": transcript.bytes(),
            "cut": transcript.is_cut() || short.is_cut(),
            "protected_restored": exit.protected_restored,
            "said": short.text(None),
        })
    }

    /// The call, once its run has stored that it returned: else that would be stored over this.
    async fn stored_call(&self) -> anyhow::Result<Option<(PartRow, Box<ToolCall>)>> {
        let until = tokio::time::Instant::now() + STORED;
        loop {
            let Some(row) = messages::part(&self.engine.db, self.part).await? else {
                return Ok(None);
            };
            let Ok(Part::Tool(call)) = Part::read(&row.kind, row.data.clone()) else {
                return Ok(None);
            };
            if call.status.is_final() || tokio::time::Instant::now() > until {
                return Ok(Some((row, call)));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Adds the fields of an object to those of another.
pub(crate) fn merge(into: &mut Value, more: Value) {
    if !into.is_object() {
        *into = json!({});
    }
    if let (Value::Object(fields), Value::Object(more)) = (into, more) {
        fields.extend(more);
    }
}
