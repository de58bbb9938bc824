//! Asks that a new rule answers: whoever waits for them goes on at once.

use std::{path::Path, sync::Arc};

use super::{Entered, Rules};
use crate::{
    domain::{
        ask::{Answer, Question, Reply},
        ids::ProjectId,
        message::Part,
        turn::Gate,
    },
    engine::{
        Engine, asks,
        gate::{Gatekeeper, Judged},
        refused::{Actor, Refused},
        to_its_end, tools,
    },
    store::{
        self,
        entity::{
            ask::Model as Ask, permission_rule::Model as Rule, project::Model as Project,
            user::Model as User,
        },
    },
};

/// Open asks that are looked at after one change of rules.
const MOST: u64 = 1_000;

/// Adds a rule at the end of its list, where it wins. It answers the open asks that it covers.
pub async fn add(
    engine: &Arc<Engine>,
    project: Option<ProjectId>,
    entered: &Entered,
    by: &Actor,
) -> Result<Vec<Rule>, Refused> {
    let (engine, entered, by) = (engine.clone(), entered.clone(), by.clone());
    to_its_end(async move {
        let list = Rules::of(&engine).add(project, &entered, &by).await?;
        settle_as(&engine, project, &by).await?;
        Ok(list)
    })
    .await
}

/// Puts a whole list in place of the present one. It answers the open asks that it covers.
pub async fn replace(
    engine: &Arc<Engine>,
    project: Option<ProjectId>,
    entered: Vec<Entered>,
    by: &Actor,
) -> Result<Vec<Rule>, Refused> {
    let (engine, by) = (engine.clone(), by.clone());
    to_its_end(async move {
        let list = Rules::of(&engine).replace(project, &entered, &by).await?;
        settle_as(&engine, project, &by).await?;
        Ok(list)
    })
    .await
}

async fn settle_as(
    engine: &Arc<Engine>,
    project: Option<ProjectId>,
    by: &Actor,
) -> Result<(), Refused> {
    if let Some(by) = store::users::find(&engine.db, by.user).await? {
        settle(engine, project, &by).await;
    }
    Ok(())
}

/// Settles the open asks of a project, or of all, that the rules as they are by now answer: as
/// answered by the person whose rule it is. What still has to be asked stays. What goes wrong with
/// one does not keep the others: they can be answered by hand.
///
/// The caller holds no session's moment and no project.
pub async fn settle(engine: &Arc<Engine>, project: Option<ProjectId>, by: &User) {
    let open = match store::asks::open_below(&engine.db, project, MOST).await {
        Ok(open) => open,
        Err(err) => return tracing::error!("looking for asks that a rule answers: {err}"),
    };
    for ask in open {
        if let Err(err) = settle_one(engine, &ask, by).await {
            tracing::error!(ask = %ask.id, "letting a rule answer: {err:#}");
        }
    }
}

async fn settle_one(engine: &Arc<Engine>, ask: &Ask, by: &User) -> anyhow::Result<()> {
    let question: Question = serde_json::from_value(ask.data.clone())?;
    let found = store::sessions::with_project(&engine.db, ask.session_id).await?;
    let Some((_, project)) = found else { return Ok(()) };
    let _stays = engine.runs.stays(project.id).await;
    let _moment = engine.runs.moment(ask.session_id).await;
    let Some(judged) = judge(engine, ask, &project).await? else { return Ok(()) };
    let answer = match judged.gate {
        Gate::Ask => return Ok(()),
        // Whether a loop goes on is for a person to say, whatever the rules allow.
        Gate::Allow if question.repeated => return Ok(()),
        Gate::Allow => Answer::Always,
        Gate::Deny => Answer::Deny,
    };
    let rule = Some(judged.because);
    let reply = Reply { version: 1, answer, message: None, saved: Vec::new(), rule };
    if asks::close(engine, ask, by, &reply).await? {
        asks::tell(engine, ask, by, reply);
    }
    Ok(())
}

/// What the gate says by now of the call that an ask is about.
async fn judge(engine: &Engine, ask: &Ask, project: &Project) -> anyhow::Result<Option<Judged>> {
    let Some(row) = store::messages::part(&engine.db, ask.part_id).await? else { return Ok(None) };
    let Part::Tool(call) = Part::read(&row.kind, row.data)? else { return Ok(None) };
    let Ok(subjects) = tools::subject(Path::new(&project.path), &call.tool, &call.input) else {
        return Ok(None);
    };
    let gate = Gatekeeper::of_session(engine, ask.session_id).await?;
    Ok(Some(gate.judge(&call.tool, &subjects)))
}
