//! Puts right what a run left in the middle when the server, or the run itself, ended.

use std::sync::Arc;

use serde_json::json;

use super::{
    cut_off::CutOff,
    late,
    record::{filled, value},
};
use crate::{
    domain::{
        ids::{MessageId, SessionId},
        message::{Part, Role, ToolCall, ToolStatus},
        session::{AskStatus, Failure, SessionStatus},
    },
    engine::{
        Engine,
        snapshots::{Changes, Recovered},
        tools::bash,
    },
    store::{
        self, DbErr, asks,
        entity::{part::Model as PartRow, session::Model as Session},
        journal::{self, SessionChange, Write},
        messages,
    },
};

/// Repairs every session that some run left in the middle; for the start of the server.
///
/// A session that waits for a person goes on waiting, with what it asked. In every other one the
/// unfinished calls are aborted, and it can be continued at once.
///
/// What commands had changed when they were cut off is recorded first.
pub async fn repair(engine: &Arc<Engine>) -> anyhow::Result<usize> {
    let recovered = engine.snapshots.recover().await.unwrap_or_else(|err| {
        tracing::error!("looking for cut-off commands: {err}");
        Vec::new()
    });
    for recovered in recovered {
        let part = recovered.part;
        if let Err(err) = cut_off(engine, recovered).await {
            tracing::error!(%part, "telling of a cut-off command: {err:#}");
        }
    }
    let left = store::sessions::left_running(&engine.db).await?;
    let count = left.len();
    for session in left {
        let waits = session.status == SessionStatus::Waiting
            && !asks::open_in(&engine.db, session.id).await?.is_empty();
        close(engine, session, if waits { Left::Waiting } else { Left::Stopped(interrupted()) })
            .await?;
    }
    Ok(count)
}

/// Tells with the call what is known of a command that was cut off.
async fn cut_off(engine: &Engine, recovered: Recovered) -> anyhow::Result<()> {
    let Some(row) = messages::part(&engine.db, recovered.part).await? else { return Ok(()) };
    let session = row.session_id;
    let Ok(Part::Tool(mut call)) = Part::read(&row.kind, row.data.clone()) else { return Ok(()) };
    // A job went on after its call had its result, which stays as the model has read it.
    if call.status.is_final() {
        lost_job(&mut call, recovered.changes);
        return told(engine, session, row, call).await;
    }
    call.status = ToolStatus::Aborted;
    call.error = Some(match recovered.changes {
        None => UNRECORDED.to_owned(),
        Some(changes) => {
            call.metadata = bash::metadata(&changes);
            let taken = changes.taken.iter().take(20).map(|it| format!("\n{it}"));
            RECORDED.to_owned() + &taken.collect::<String>()
        }
    });
    told(engine, session, row, call).await
}

/// What is kept of a job that ended with the server.
fn lost_job(call: &mut ToolCall, changes: Option<Changes>) {
    let how = "It was stopped, because the server ended.";
    let id = call.metadata["job"]["id"].clone();
    let over = json!({ "job": { "id": id, "state": "over", "how": how } });
    bash::background::merge(&mut call.metadata, over);
    let more = match changes {
        Some(changes) => bash::metadata(&changes),
        None => json!({ "unrecorded": "the server ended" }),
    };
    bash::background::merge(&mut call.metadata, more);
}

/// Says of a call whose job is not there any more that it is over. `false` where it says so.
pub async fn forget_job(engine: &Engine, row: PartRow) -> anyhow::Result<bool> {
    let Ok(Part::Tool(mut call)) = Part::read(&row.kind, row.data.clone()) else {
        return Ok(false);
    };
    if call.metadata["job"]["state"] != "running" {
        return Ok(false);
    }
    lost_job(&mut call, None);
    told(engine, row.session_id, row, call).await?;
    Ok(true)
}

async fn told(
    engine: &Engine,
    session: SessionId,
    row: PartRow,
    call: Box<ToolCall>,
) -> anyhow::Result<()> {
    let mut writes = vec![Write::Part(Box::new(filled(row, &Part::Tool(call))))];
    writes.extend(late::summary(engine, session).await?);
    let stored = journal::record(&engine.db, session, engine.clock.now(), writes).await?;
    engine.hub.stored(session, stored);
    Ok(())
}

/// Closes a reply that cannot go on, with what is told of it.
pub(super) async fn give_up(
    engine: &Engine,
    session: Session,
    failure: Failure,
) -> Result<(), DbErr> {
    close(engine, session, Left::Failed(failure)).await
}

/// Ends the waiting of a session whose run ended with the server. `false` where it does not wait.
pub async fn stop_waiting(engine: &Engine, session: SessionId) -> Result<bool, DbErr> {
    let _moment = engine.runs.moment(session).await;
    match store::sessions::with_project(&engine.db, session).await? {
        Some((session, _)) if session.status.is_active() && !engine.runs.is_running(session.id) => {
            close(engine, session, Left::Stopped(super::run::aborted())).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Repairs a session whose run ended with an error of our own.
pub(super) async fn after_failure(engine: &Arc<Engine>, session: SessionId) {
    let closed = async {
        match store::sessions::with_project(&engine.db, session).await? {
            Some((session, _)) => close(engine, session, Left::Failed(broken())).await,
            None => Ok(()),
        }
    };
    if let Err(err) = closed.await {
        tracing::error!(%session, "repairing a session: {err}");
    }
}

enum Left {
    Waiting,
    Stopped(Failure),
    Failed(Failure),
}

async fn close(engine: &Engine, session: Session, left: Left) -> Result<(), DbErr> {
    let now = engine.clock.now();
    let last = messages::page(&engine.db, session.id, None, 1).await?.pop();
    let open = asks::open_in(&engine.db, session.id).await?;
    let mut writes = Vec::new();
    let (mut answer, mut used) = (None, None);
    if let Some(last) =
        last.filter(|it| it.message.role == Role::Assistant && it.message.completed_at.is_none())
    {
        if !matches!(left, Left::Waiting) {
            used = CutOff::find(engine, &session, &last).await.unwrap_or_else(|err| {
                tracing::error!(session = %session.id, "billing a call that was cut off: {err:#}");
                None
            });
        }
        for row in last.parts {
            let asked = open.iter().any(|ask| ask.part_id == row.id);
            let Ok(Part::Tool(mut call)) = Part::read(&row.kind, row.data.clone()) else {
                continue;
            };
            let keeps = asked && matches!(left, Left::Waiting);
            // A call that was allowed to run but had not started is as unfinished as one that had.
            if call.status.is_final() || keeps {
                continue;
            }
            let unrecorded = call.tool == "bash" && call.status == ToolStatus::Running;
            call.status = ToolStatus::Aborted;
            call.error = Some(if unrecorded { UNRECORDED } else { STOPPED }.into());
            writes.push(Write::Part(Box::new(filled(row, &Part::Tool(call)))));
        }
        if let Left::Stopped(failure) | Left::Failed(failure) = &left {
            let mut message = last.message;
            if let Err(err) = finish(engine, &session, message.id).await {
                tracing::error!(session = %session.id, "recording files after a stop: {err:#}");
            }
            message.completed_at = Some(now);
            message.error = Some(value(failure));
            answer = Some(message);
        }
    }
    if let Left::Stopped(failure) | Left::Failed(failure) = &left {
        let mut summary = late::totals(engine, session.id).await.unwrap_or_else(|err| {
            tracing::error!(session = %session.id, "comparing files: {err:#}");
            None
        });
        if let (Some(used), Some(answer), Some(summary)) = (&used, &mut answer, &mut summary) {
            used.count(answer, summary);
        }
        writes.extend(answer.map(|answer| Write::Message(Box::new(answer))));
        writes.push(Write::Session(Box::new(SessionChange {
            summary: summary.as_ref().map(value),
            used: used.map(|used| used.line),
            ..SessionChange::default()
        })));
        for mut ask in open {
            ask.status = AskStatus::Withdrawn;
            ask.decided_at = Some(now);
            writes.push(Write::Ask(Box::new(ask)));
        }
        let status =
            if failure.code == "internal" { SessionStatus::Error } else { SessionStatus::Aborted };
        writes.push(Write::status(status));
    }
    let stored = journal::record(&engine.db, session.id, now, writes).await?;
    engine.hub.stored(session.id, stored);
    Ok(())
}

/// Records how the message left the files it changed.
async fn finish(engine: &Engine, session: &Session, message: MessageId) -> anyhow::Result<()> {
    let Some((session, project)) = store::sessions::with_project(&engine.db, session.id).await?
    else {
        return Ok(());
    };
    let root = std::path::Path::new(&project.path);
    Ok(engine.snapshots.finish_message(session.id, message, root).await?)
}

const STOPPED: &str = "The call was stopped before it finished, because the server ended.";
const RECORDED: &str = "The command was stopped before it finished, because the server ended. \
     What it had changed by then is recorded.";
/// How the project was before it could not be read any more.
const UNRECORDED: &str = "The command was stopped before it finished, because the server ended. \
     What it had changed by then was not recorded: look at the files, and know that undo does not \
     cover it.";

fn interrupted() -> Failure {
    Failure {
        version: 1,
        code: "interrupted".into(),
        message: "The server ended while the agent was at work. What was done so far is kept; send a prompt to go on.".into(),
        provider_message: None,
    }
}

fn broken() -> Failure {
    Failure {
        version: 1,
        code: "internal".into(),
        message: "Something broke on our side. It has been logged. What was done so far is kept; send a prompt to go on.".into(),
        provider_message: None,
    }
}
