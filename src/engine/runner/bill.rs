//! What calls of the model cost: set aside before each, put down in the ledger after it.

use serde_json::{Value, json};

use super::{record::value, run::Run};
use crate::{
    domain::{
        budget::Worst,
        conversation::Item,
        ids::UsageId,
        message::{Step, Tokens},
        model::Usage,
        session::Failure,
        zone::bucket,
    },
    engine::budgets,
    store::{
        entity::usage::Model as Line,
        journal::{SessionChange, Write},
    },
};

/// How a call ended, as the ledger says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Failed,
    Aborted,
}

/// Tokens of one call that are believed: a provider that says more is broken.
const MOST_TOKENS: u64 = 1_000_000_000;
/// Micro-dollars of one call that are believed.
const MOST_COST: i64 = 1_000_000_000_000;

/// Tokens as they are counted: no sum of them is more than a number can be.
pub(super) fn believed(tokens: Tokens) -> Tokens {
    let count = |count: u64| count.min(MOST_TOKENS);
    Tokens {
        input: count(tokens.input),
        output: count(tokens.output),
        reasoning: count(tokens.reasoning),
        cache_read: count(tokens.cache_read),
        cache_write: count(tokens.cache_write),
        estimated: tokens.estimated,
    }
}

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
        let worst = Worst::of(&self.meta, self.request_bytes(), self.wanted_output);
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
        let now = self.engine.clock.now();
        if let Some(hold) = &mut self.hold {
            hold.cost(step.cost_micros.unwrap_or(0), now);
        }
        let tokens = step.tokens;
        let count = |count: u64| count.cast_signed();
        Box::new(Line {
            id: UsageId::mint(now, self.engine.entropy.as_ref()),
            at: now,
            bucket: bucket(now),
            user_id: self.session.user_id,
            user_login: self.payer.login.clone(),
            project_id: self.session.project_id,
            project_name: self.payer.project_name.clone(),
            session_id: self.session.id,
            message_id: self.answer.id,
            provider_id: self.provider,
            provider_name: self.endpoint.name.clone(),
            model: self.session.model.clone(),
            outcome: outcome.word().to_owned(),
            input: count(tokens.input),
            cache_read: count(tokens.cache_read),
            cache_write: count(tokens.cache_write),
            output: count(tokens.output),
            reasoning: count(tokens.reasoning),
            cost_micros: step.cost_micros,
            estimated: tokens.estimated,
            raw: raw.filter(|raw| !raw.is_null()),
            prices: json!({
                "input": self.meta.price_input, "output": self.meta.price_output,
                "cache_read": self.meta.price_cache_read,
                "cache_write": self.meta.price_cache_write,
                "charged": charged,
            }),
        })
    }

    /// Puts down what a call used that brought no reply, where that is known. One that was stopped
    /// while it wrote is counted from what it wrote: the provider has billed it.
    pub(super) async fn bill_try(
        &mut self,
        usage: Option<Usage>,
        written: usize,
        outcome: Outcome,
    ) -> anyhow::Result<()> {
        let stopped = outcome == Outcome::Aborted && written > 0;
        let mut tokens = match &usage {
            Some(usage) => believed(usage.tokens),
            None if stopped => {
                let input = self.request_bytes() as u64 / 4;
                Tokens { input, estimated: true, ..Tokens::default() }
            }
            None => {
                self.hold = None;
                return Ok(());
            }
        };
        let output = (written as u64).div_ceil(4);
        if stopped && output > tokens.output {
            (tokens.output, tokens.estimated) = (output, true);
        }
        let cost_micros = self.cost(usage.as_ref(), &tokens);
        let step = Step { tokens, cost_micros, ..Step::default() };
        self.count_tokens(&step);
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

    /// How many bytes of text are sent to the model.
    pub(super) fn request_bytes(&self) -> usize {
        let tools =
            self.request.tools.iter().map(|tool| {
                tool.name.len() + tool.description.len() + tool.schema.to_string().len()
            });
        self.request.system.len()
            + tools.sum::<usize>()
            + self.request.items.iter().map(Item::bytes).sum::<usize>()
    }
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }
}
