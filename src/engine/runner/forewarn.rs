//! Saying what undo will not cover before a command runs: in the ask about it, and with the call.

use std::time::Duration;

use serde_json::json;

use super::{record::value, run::Run};
use crate::{
    domain::{ask::Question, session::AskStatus},
    engine::tools::bash::Note,
    store::journal::Write,
};

/// An ask waits so long for what is to be said in it. The call says it in any case.
const PATIENCE: Duration = Duration::from_secs(3);

impl Run {
    /// Says in new asks about commands what undo would not cover.
    pub(super) async fn forewarn(&self, writes: &mut [Write]) {
        let mut asks = Vec::new();
        for write in writes {
            if let Write::Ask(ask) = write
                && ask.status == AskStatus::Open
                && let Ok(question) = serde_json::from_value::<Question>(ask.data.clone())
                && question.tool == "bash"
            {
                asks.push((ask, question));
            }
        }
        if asks.is_empty() {
            return;
        }
        let commands = asks.iter().filter_map(|(_, question)| question.input["command"].as_str());
        let commands = commands.collect::<Vec<_>>().join("\n");
        let look = self.engine.snapshots.before_asking(&self.recorder, &commands);
        let look = tokio::time::timeout(PATIENCE, look);
        let said = match self.reins.cancel.run_until_cancelled(look).await {
            Some(Ok(Ok(found))) => found.said(),
            Some(Ok(Err(err))) => {
                tracing::error!(session = %self.session.id, "looking before an ask: {err}");
                None
            }
            Some(Err(_)) | None => None,
        };
        let Some(said) = said else { return };
        for (ask, mut question) in asks {
            question.reasons.push(said.clone());
            ask.data = value(&question);
        }
    }

    /// Puts what a running call has to say into its row, for everybody to see.
    pub(super) async fn take_note(&mut self, note: Note) -> anyhow::Result<()> {
        let call = self.calls.iter_mut().find(|call| call.row.id == note.part);
        if let Some(call) = call.filter(|call| !call.call.status.is_final()) {
            call.call.metadata = json!({ "not_covered": note.text });
            let write = call.write();
            self.record(vec![write]).await?;
        }
        // Whoever waited for it may have gone.
        let _ = note.said.send(());
        Ok(())
    }
}
