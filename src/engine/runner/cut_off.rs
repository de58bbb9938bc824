//! Calls of the model that the end of the server, or of a run, cut off in the middle of the reply.
//!
//! The provider bills them, so the ledger has them too: as far as their text was stored.

use super::ledger::{Called, Outcome, count, payer};
use crate::{
    domain::{
        message::{Part, Step, Tokens},
        session::Summary,
    },
    engine::{Engine, providers::known},
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session, usage::Model as Line},
        messages::{self, Whole},
    },
};

/// What such a call used.
pub(super) struct CutOff {
    step: Step,
    pub line: Box<Line>,
}

impl CutOff {
    /// Looks for one in the last answer of a session.
    pub async fn find(
        engine: &Engine,
        session: &Session,
        last: &Whole,
    ) -> anyhow::Result<Option<Self>> {
        // A reply that came to its end has a step behind it.
        let open = last.parts.rsplit(|row| row.kind == "step").next().unwrap_or_default();
        let written = open.iter().map(|row| match Part::read(&row.kind, row.data.clone()) {
            Ok(Part::Text(text)) => text.text.len(),
            Ok(Part::Reasoning(reasoning)) => reasoning.text.len(),
            Ok(_) | Err(_) => 0,
        });
        let written: usize = written.sum();
        let Some(provider) = session.provider_id.filter(|_| written > 0) else { return Ok(None) };
        let found = store::providers::usable(&engine.db, session.user_id, provider).await?;
        let (name, meta) = found.map_or_else(Default::default, |it| {
            let meta = known(&it).models.remove(&session.model).unwrap_or_default();
            (it.name, meta)
        });
        let summary: Summary = serde_json::from_value(session.summary.clone()).unwrap_or_default();
        let sent = messages::conversation(&engine.db, session.id).await?;
        let sent = sent.iter().flat_map(|it| &it.parts).map(|row| row.data.to_string().len());
        let tokens = Tokens {
            input: (sent.sum::<usize>() as u64 / 4).max(summary.context_tokens),
            output: (written as u64).div_ceil(4),
            estimated: true,
            ..Tokens::default()
        };
        let step = Step { tokens, cost_micros: meta.cost(&tokens), ..Step::default() };
        let Some((_, project)) = store::sessions::with_project(&engine.db, session.id).await?
        else {
            return Ok(None);
        };
        let called = Called {
            payer: &payer(engine, session, &project).await?,
            provider,
            provider_name: &name,
            model: &session.model,
            meta: &meta,
            message: last.message.id,
        };
        let line = called.line(engine, &step, None, None, Outcome::Aborted);
        Ok(Some(Self { step, line }))
    }

    /// Adds it to the totals of its answer and of its session.
    pub fn count(&self, answer: &mut Message, summary: &mut Summary) {
        count(answer, summary, &self.step);
    }
}
