//! Answers of people to what agents ask.

use std::sync::Arc;

use anyhow::Context as _;

use super::{
    Engine,
    refused::Refused,
    rules::settle,
    runner::{self, Begin, Decided, News},
    to_its_end,
};
use crate::{
    domain::{
        ask::{Answer, MESSAGE_MAX, ProposedRule, Question, Reply},
        ids::{ProjectId, RuleId},
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

/// Takes an answer. The first one wins; the second is told so. What "always" saves as a rule
/// answers other asks too.
pub async fn answer(
    engine: &Arc<Engine>,
    ask: Ask,
    by: &User,
    answered: Answered,
) -> Result<(), Refused> {
    let (engine, by) = (engine.clone(), by.clone());
    to_its_end(async move {
        let found = store::sessions::with_project(&engine.db, ask.session_id).await?;
        let project = found.ok_or(Refused::Gone)?.1.id;
        let saved = take(&engine, project, ask, &by, answered).await?;
        if saved {
            settle(&engine, Some(project), &by).await;
        }
        Ok(())
    })
    .await
}

/// Returns whether a rule was saved.
async fn take(
    engine: &Arc<Engine>,
    project: ProjectId,
    ask: Ask,
    by: &User,
    answered: Answered,
) -> Result<bool, Refused> {
    let message =
        answered.message.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if message.as_ref().is_some_and(|text| text.len() > MESSAGE_MAX) {
        return Err(Refused::field("message", format!("Keep it under {MESSAGE_MAX} bytes.")));
    }
    let saved = match answered.answer {
        Answer::Always => always(question(&ask)?, answered.pattern)?,
        Answer::Once | Answer::Deny => Vec::new(),
    };
    let reply = Reply {
        version: 1,
        answer: answered.answer,
        message: message.clone(),
        saved: saved.clone(),
        rule: None,
    };
    let _stays = engine.runs.stays(project).await;
    let _moment = engine.runs.moment(ask.session_id).await;
    if !close(engine, &ask, by, &reply).await? {
        return Err(Refused::Conflict(
            "This was answered already, or the agent no longer waits for it.".into(),
        ));
    }
    let any_saved = !saved.is_empty();
    for rule in saved {
        save(engine, project, by, rule).await?;
    }
    tell(engine, &ask, by, reply);
    Ok(any_saved)
}

fn question(ask: &Ask) -> anyhow::Result<Question> {
    serde_json::from_value(ask.data.clone()).with_context(|| format!("ask {}", ask.id))
}

/// Stores an answer, and shows it to whoever watches. `false`: somebody was first.
pub(super) async fn close(
    engine: &Engine,
    ask: &Ask,
    by: &User,
    reply: &Reply,
) -> anyhow::Result<bool> {
    let allowed = reply.answer.allows();
    let decision = Decision {
        status: if allowed { AskStatus::Allowed } else { AskStatus::Denied },
        reply: serde_json::to_value(reply)?,
        by: Some(by.id),
        at: engine.clock.now(),
    };
    let stored = store::asks::decide(&engine.db, ask.clone(), decision).await?;
    let Some(stored) = stored else { return Ok(false) };
    engine.hub.stored(ask.session_id, stored);
    Ok(true)
}

/// Brings an answer that was stored to the agent that waits for it.
pub(super) fn tell(engine: &Arc<Engine>, ask: &Ask, by: &User, reply: Reply) {
    let decided = Decided {
        part: ask.part_id,
        allowed: reply.answer.allows(),
        message: reply.message,
        login: by.login.clone(),
        rule: reply.rule,
    };
    if !engine.runs.tell(ask.session_id, News::Decided(decided.clone())) {
        // The server was started anew while the agent waited.
        runner::start(engine, ask.session_id, Begin::Answered(decided));
    }
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
    project: ProjectId,
    by: &User,
    rule: ProposedRule,
) -> Result<(), Refused> {
    let now = engine.clock.now();
    let row = RuleRow {
        id: RuleId::mint(now, engine.entropy.as_ref()),
        project_id: Some(project),
        tool: rule.tool,
        pattern: rule.pattern,
        action: Action::Allow.to_string(),
        position: 0,
        created_by: Some(by.id),
        created_at: now,
    };
    Ok(store::rules::append(&engine.db, row).await?)
}
