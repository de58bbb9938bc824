//! Answers of people to what agents ask.

use std::sync::Arc;

use super::{
    Engine,
    refused::Refused,
    runner::{self, Begin, Decided, News},
    to_its_end,
};
use crate::{
    domain::{
        ask::{Answer, MESSAGE_MAX, ProposedRule, Question, Reply},
        ids::RuleId,
        permission::{Action, Rule},
        session::AskStatus,
    },
    store::{
        self,
        asks::Decision,
        entity::{ask::Model as Ask, permission_rule::Model as RuleRow, user::Model as User},
    },
};

/// What a person answers.
#[derive(Clone, Debug)]
pub struct Answered {
    pub answer: Answer,
    /// With a denial: a word to the agent.
    pub message: Option<String>,
    /// With "always": the pattern, where it was edited.
    pub pattern: Option<String>,
}

/// Takes an answer. The first one wins; the second is told so.
pub async fn answer(
    engine: &Arc<Engine>,
    ask: Ask,
    by: &User,
    answered: Answered,
) -> Result<(), Refused> {
    let (engine, by) = (engine.clone(), by.clone());
    to_its_end(async move { take(&engine, ask, &by, answered).await }).await
}

async fn take(
    engine: &Arc<Engine>,
    ask: Ask,
    by: &User,
    answered: Answered,
) -> Result<(), Refused> {
    let message =
        answered.message.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if message.as_ref().is_some_and(|text| text.len() > MESSAGE_MAX) {
        return Err(Refused::field("message", format!("Keep it under {MESSAGE_MAX} bytes.")));
    }
    let question: Question = serde_json::from_value(ask.data.clone())
        .map_err(|err| anyhow::anyhow!("ask {}: {err}", ask.id))?;
    let saved = match answered.answer {
        Answer::Always => always(question, answered.pattern)?,
        Answer::Once | Answer::Deny => Vec::new(),
    };
    let allowed = answered.answer.allows();
    let reply = Reply {
        version: 1,
        answer: answered.answer,
        message: message.clone(),
        saved: saved.clone(),
    };
    let reply = serde_json::to_value(&reply).map_err(anyhow::Error::from)?;
    let status = if allowed { AskStatus::Allowed } else { AskStatus::Denied };
    let decision = Decision { status, reply, by: Some(by.id), at: engine.clock.now() };
    let (session, part) = (ask.session_id, ask.part_id);
    let _moment = engine.runs.moment(session).await;
    let Some(stored) = store::asks::decide(&engine.db, ask, decision).await? else {
        return Err(Refused::Conflict(
            "This was answered already, or the agent no longer waits for it.".into(),
        ));
    };
    engine.hub.stored(session, stored);
    for rule in saved {
        save(engine, session, by, rule).await?;
    }
    let decided = Decided { part, allowed, message, login: by.login.clone() };
    if !engine.runs.tell(session, News::Decided(decided.clone())) {
        // The server was started anew while the agent waited.
        runner::start(engine, session, Begin::Answered(decided));
    }
    Ok(())
}

/// The rules that "always" saves: those that were proposed, the first with an edited pattern.
fn always(question: Question, pattern: Option<String>) -> Result<Vec<ProposedRule>, Refused> {
    let mut rules = question.always;
    let Some(first) = rules.first_mut() else {
        return Err(Refused::Conflict(
            "This cannot be allowed for always. Allow it once, or write a rule.".into(),
        ));
    };
    if let Some(pattern) =
        pattern.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    {
        first.pattern = pattern;
    }
    for rule in &rules {
        Rule::parse(&rule.tool, &rule.pattern, Action::Allow)
            .map_err(|err| Refused::field("pattern", err.to_string()))?;
    }
    Ok(rules)
}

async fn save(
    engine: &Engine,
    session: crate::domain::ids::SessionId,
    by: &User,
    rule: ProposedRule,
) -> Result<(), Refused> {
    let Some((session, _)) = store::sessions::with_project(&engine.db, session).await? else {
        return Err(Refused::Gone);
    };
    let now = engine.clock.now();
    let row = RuleRow {
        id: RuleId::mint(now, engine.entropy.as_ref()),
        project_id: Some(session.project_id),
        tool: rule.tool,
        pattern: rule.pattern,
        action: Action::Allow.to_string(),
        position: 0,
        created_by: Some(by.id),
        created_at: now,
    };
    Ok(store::rules::append(&engine.db, row).await?)
}
