//! What calls of the model cost: set aside before each, put down in the ledger after it.

use serde_json::Value;

use super::{
    ledger::{Called, Outcome, believed, count},
    record::value,
    run::Run,
};
use crate::{
    domain::{
        budget::Worst,
        message::{Step, Tokens},
        model::Usage,
        session::Failure,
    },
    engine::budgets,
    store::{
        entity::usage::Model as Line,
        journal::{SessionChange, Write},
    },
};

/// Bytes of a token, as a rule of thumb.
const BYTES_A_TOKEN: u64 = 4;
/// Micro-dollars of one call that are believed.
const MOST_COST: i64 = 1_000_000_000_000;

/// Whether a call may be made.
pub(super) enum Allowed {
    Yes,
    Aborted,
    No(Failure),
}

impl Run {
    /// Sets aside what the next call may cost, as far as budgets allow it.
    pub(super) async fn reserve(&mut self) -> anyhow::Result<Allowed> {
        self.hold = None;
        let bytes = self.size.of(&self.request);
        let worst = Worst::of(&self.meta, bytes, self.wanted_output);
        let reserved = budgets::reserve(&self.engine, &self.payer, worst, &self.session.model);
        let reserved = tokio::select! {
            biased;
            () = self.reins.cancel.cancelled() => return Ok(Allowed::Aborted),
            reserved = reserved => reserved?,
        };
        Ok(match reserved {
            Ok((hold, output)) => {
                self.hold = Some(hold);
                self.request.max_output_tokens = output.or(self.wanted_output);
                Allowed::Yes
            }
            Err(message) => Allowed::No(Failure {
                version: 1,
                code: "budget".into(),
                message,
                provider_message: None,
            }),
        })
    }

    /// What a call has cost: what the provider charged, or by the model's prices.
    pub(super) fn cost(&self, usage: Option<&Usage>, tokens: &Tokens) -> Option<i64> {
        let charged = usage.and_then(|usage| usage.cost_micros).filter(|cost| *cost >= 0);
        let cost = charged.or_else(|| self.meta.cost(tokens));
        cost.map(|cost| cost.min(MOST_COST))
    }

    /// The line of the ledger for a call. What it cost takes the place of what was set aside, once
    /// it is stored.
    pub(super) fn line(
        &mut self,
        step: &Step,
        charged: Option<i64>,
        raw: Option<Value>,
        outcome: Outcome,
    ) -> Box<Line> {
        let called = Called {
            payer: &self.payer,
            provider: self.provider,
            provider_name: &self.endpoint.name,
            model: &self.session.model,
            meta: &self.meta,
            message: self.answer.id,
        };
        let line = called.line(&self.engine, step, charged, raw, outcome);
        if let Some(hold) = &mut self.hold {
            hold.cost(step.cost_micros.unwrap_or(0), line.at);
        }
        line
    }

    /// Puts down what a call used that brought no reply, where that is known. One that was stopped,
    /// or cut off, while it wrote is counted from what it wrote: the provider has billed it.
    pub(super) async fn bill_try(
        &mut self,
        usage: Option<Usage>,
        written: usize,
        outcome: Outcome,
    ) -> anyhow::Result<()> {
        let tokens = match &usage {
            // Some say at the beginning what they have read, and at the end what they have written.
            Some(usage) => {
                let mut tokens = believed(usage.tokens);
                let output = (written as u64).div_ceil(BYTES_A_TOKEN);
                if output > tokens.output {
                    (tokens.output, tokens.estimated) = (output, true);
                }
                tokens
            }
            None if written > 0 => self.estimate(written),
            None => {
                self.hold = None;
                return Ok(());
            }
        };
        let cost_micros = self.cost(usage.as_ref(), &tokens);
        let step = Step { tokens, cost_micros, ..Step::default() };
        count(&mut self.answer, &mut self.summary, &step);
        let charged = usage.as_ref().and_then(|usage| usage.cost_micros);
        let line = self.line(&step, charged, usage.map(|usage| usage.raw), outcome);
        let change = SessionChange {
            summary: Some(value(&self.summary)),
            used: Some(line),
            ..SessionChange::default()
        };
        self.record(vec![Write::Session(Box::new(change))]).await?;
        self.hold = None;
        Ok(())
    }

    /// What a call used, by the rule of thumb of four bytes for each token, where the provider does
    /// not say: what was sent, and so many bytes that were written.
    pub(super) fn estimate(&mut self, written: usize) -> Tokens {
        Tokens {
            input: (self.size.of(&self.request) as u64).div_ceil(BYTES_A_TOKEN),
            output: (written as u64).div_ceil(BYTES_A_TOKEN),
            estimated: true,
            ..Tokens::default()
        }
    }
}
