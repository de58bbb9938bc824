//! What a run stores, and tells once it is stored.

use serde_json::Value;

use super::run::Run;
use crate::{
    domain::{
        ids::{MessageId, PartId},
        message::{Part, Role, Tokens},
        session::{Failure, SessionStatus, Summary},
    },
    store::{
        entity::{message::Model as Message, part::Model as PartRow},
        journal::{self, SessionChange, Write},
    },
};

impl Run {
    /// Stores changes, then tells whoever watches.
    pub(super) async fn record(&self, writes: Vec<Write>) -> anyhow::Result<()> {
        let now = self.engine.clock.now();
        let stored = journal::record(&self.engine.db, self.session.id, now, writes).await?;
        self.teller.stored(stored);
        Ok(())
    }

    /// A new row for a part of the answer, after all there are.
    pub(super) fn new_part(&mut self, kind: &str) -> PartRow {
        let now = self.engine.clock.now();
        let position = self.next_position;
        self.next_position += 1;
        PartRow {
            id: PartId::mint(now, self.engine.entropy.as_ref()),
            message_id: self.answer.id,
            session_id: self.session.id,
            position,
            kind: kind.to_owned(),
            data: Value::Null,
            seq: 0,
            created_at: now,
        }
    }

    /// A new answer, at the end of the conversation.
    pub(super) fn new_answer(&self, position: i64) -> Message {
        let now = self.engine.clock.now();
        Message {
            id: MessageId::mint(now, self.engine.entropy.as_ref()),
            session_id: self.session.id,
            position,
            role: Role::Assistant,
            queued: None,
            user_id: None,
            agent: self.session.agent.clone(),
            model: self.session.model.clone(),
            cost_micros: None,
            tokens: value(&Tokens::default()),
            error: None,
            seq: 0,
            reverted_at: None,
            created_at: now,
            completed_at: None,
        }
    }

    /// The end of the answer as it is stored: with what went wrong, if anything.
    pub(super) fn close_answer(&mut self, failure: Option<&Failure>) -> Write {
        self.answer.completed_at = Some(self.engine.clock.now());
        self.answer.error = failure.map(value);
        Write::Message(Box::new(self.answer.clone()))
    }

    /// A change of the session's status and totals.
    pub(super) fn session_change(&self, status: Option<SessionStatus>) -> Write {
        Write::Session(Box::new(SessionChange {
            status,
            summary: Some(value(&self.summary)),
            ..SessionChange::default()
        }))
    }
}

/// A part as its row stores it.
pub(in crate::engine) fn filled(mut row: PartRow, part: &Part) -> PartRow {
    row.data = part.data();
    row
}

/// A value for a JSON column. Our own types always become JSON.
pub(super) fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

/// The totals of a session as they are stored.
pub(super) fn summary_of(stored: &Value) -> Summary {
    serde_json::from_value(stored.clone()).unwrap_or(Summary { version: 1, ..Summary::default() })
}
