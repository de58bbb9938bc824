//! What the ledger says of calls of the model.

use serde_json::{Value, json};

use super::record::value;
use crate::{
    domain::{
        ids::{MessageId, ProviderId, UsageId},
        message::{Step, Tokens},
        provider::ModelMeta,
        session::Summary,
        zone::bucket,
    },
    engine::{
        Engine,
        budgets::{self, Payer},
    },
    store::{
        self, DbErr,
        entity::{
            message::Model as Message, project::Model as Project, session::Model as Session,
            usage::Model as Line,
        },
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

/// Who pays for the calls of a session.
pub(super) async fn payer(
    engine: &Engine,
    session: &Session,
    project: &Project,
) -> Result<Payer, DbErr> {
    let person = store::users::find(&engine.db, session.user_id).await?;
    Ok(Payer {
        user: session.user_id,
        calendar: budgets::calendar(engine, person.as_ref()),
        login: person.map(|person| person.login).unwrap_or_default(),
        project: project.id,
        project_name: project.name.clone(),
        session: session.id,
    })
}

/// A call of a model, as the ledger names it.
pub(super) struct Called<'a> {
    pub payer: &'a Payer,
    pub provider: ProviderId,
    pub provider_name: &'a str,
    pub model: &'a str,
    pub meta: &'a ModelMeta,
    pub message: MessageId,
}

impl Called<'_> {
    /// Its line of the ledger.
    pub(super) fn line(
        &self,
        engine: &Engine,
        step: &Step,
        charged: Option<i64>,
        raw: Option<Value>,
        outcome: Outcome,
    ) -> Box<Line> {
        let Self { payer, meta, .. } = self;
        let now = engine.clock.now();
        let tokens = step.tokens;
        let count = |count: u64| count.cast_signed();
        Box::new(Line {
            id: UsageId::mint(now, engine.entropy.as_ref()),
            at: now,
            bucket: bucket(now),
            user_id: payer.user,
            user_login: payer.login.clone(),
            project_id: payer.project,
            project_name: payer.project_name.clone(),
            session_id: payer.session,
            message_id: self.message,
            provider_id: self.provider,
            provider_name: self.provider_name.to_owned(),
            model: self.model.to_owned(),
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
                "input": meta.price_input, "output": meta.price_output,
                "cache_read": meta.price_cache_read, "cache_write": meta.price_cache_write,
                "charged": charged,
            }),
        })
    }
}

/// Adds what a call used to the totals of its answer and of its session.
pub(super) fn count(answer: &mut Message, summary: &mut Summary, step: &Step) {
    let mut tokens: Tokens = serde_json::from_value(answer.tokens.clone()).unwrap_or_default();
    tokens += step.tokens;
    answer.tokens = value(&tokens);
    match step.cost_micros {
        Some(cost) => {
            answer.cost_micros = Some(answer.cost_micros.unwrap_or(0) + cost);
            summary.cost_micros += cost;
        }
        None => summary.cost_incomplete = true,
    }
    summary.tokens += step.tokens;
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
