//! Sessions: begun, prompted, stopped, removed.

use std::{sync::Arc, time::Duration};

use super::{
    Engine, attachments, models, refused::Refused, runner, snapshots::SnapshotsError, to_its_end,
};
use crate::{
    domain::{
        conversation::Effort,
        ids::{AttachmentId, MessageId, PartId, SessionId},
        message::{Part, Role, Text, Tokens},
        session::{Queued, SessionStatus, Summary},
    },
    store::{
        self, OwnedRow as _,
        entity::{
            message::Model as Message, part::Model as PartRow, project::Model as Project,
            session::Model as Session, user::Model as User,
        },
        journal::{self, SessionChange, Write},
        messages,
    },
};

/// The longest prompt, in bytes.
pub const PROMPT_MAX: usize = 200_000;
/// The longest name of a session, in characters.
pub const NAME_MAX: usize = 120;
/// Prompts that may wait in one session.
pub const QUEUE_MAX: usize = 32;
/// How long the removal of a session waits for what is still being noted of it.
const NOTING: Duration = Duration::from_secs(5);
/// The agents there are.
pub const AGENTS: &[&str] = &["build"];

/// What a session begins with.
#[derive(Clone, Debug, Default)]
pub struct New {
    pub name: Option<String>,
    pub agent: Option<String>,
    /// `<provider id>/<model id>`; absent: the one of the newest session, or the first there is.
    pub model: Option<String>,
    pub max_steps: Option<u32>,
    pub effort: Option<Effort>,
    pub temperature: Option<f64>,
}

/// What is changed of a session; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub max_steps: Option<u32>,
    /// `Some(None)` leaves it to the model, here and below.
    pub effort: Option<Option<Effort>>,
    pub temperature: Option<Option<f64>>,
    pub archived: Option<bool>,
}

/// A prompt that is to be sent.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub text: String,
    pub attachments: Vec<AttachmentId>,
    pub when: Queued,
}

/// A prompt that was taken.
#[derive(Clone, Debug)]
pub struct Sent {
    pub message: Message,
    /// Whether it waits for the agent to be done.
    pub queued: bool,
}

/// Begins a session. Nothing runs until it is prompted.
pub async fn create(
    engine: &Engine,
    user: &User,
    project: &Project,
    new: New,
) -> Result<Session, Refused> {
    let agent = agent(new.agent)?.unwrap_or_else(|| AGENTS[0].to_owned());
    let offer = match new.model {
        Some(name) => models::find(engine, user.id, &name).await?,
        None => models::usual(engine, user.id).await?,
    };
    offer.check(new.effort, new.temperature)?;
    let _stays = engine.runs.stays(project.id).await;
    let project = Project::find_owned(&engine.db, project.owner_id, project.id).await?;
    let project = project.ok_or(Refused::Gone)?;
    let now = engine.clock.now();
    let session = Session {
        id: SessionId::mint(now, engine.entropy.as_ref()),
        project_id: project.id,
        user_id: user.id,
        name: name(new.name)?.unwrap_or_else(|| "New session".to_owned()),
        agent,
        provider_id: Some(offer.provider),
        model: offer.id,
        effort: new.effort,
        temperature: new.temperature,
        status: SessionStatus::Idle,
        max_steps: max_steps(engine, new.max_steps)?,
        parent_id: None,
        seq: 0,
        summary: serde_json::to_value(Summary { version: 1, ..Summary::default() })
            .map_err(anyhow::Error::from)?,
        archived_at: None,
        created_at: now,
        updated_at: now,
    };
    Ok(store::sessions::create(engine.db.write(), session).await?)
}

/// Changes a session.
pub async fn change(
    engine: &Arc<Engine>,
    user: &User,
    session: &Session,
    change: Change,
) -> Result<(), Refused> {
    let mut fields = SessionChange {
        name: name(change.name)?,
        agent: agent(change.agent)?,
        ..SessionChange::default()
    };
    let settings = (change.effort.flatten(), change.temperature.flatten());
    if change.model.is_some() || settings != (None, None) {
        let name = match &change.model {
            Some(name) => name.clone(),
            None => session.model_name().unwrap_or_default(),
        };
        let offer = models::find(engine, user.id, &name).await?;
        offer.check(settings.0, settings.1)?;
        fields.model = change.model.map(|_| (offer.provider, offer.id));
    }
    (fields.effort, fields.temperature) = (change.effort, change.temperature);
    if change.max_steps.is_some() {
        fields.max_steps = Some(max_steps(engine, change.max_steps)?);
    }
    let now = engine.clock.now();
    fields.archived_at = change.archived.map(|archived| archived.then_some(now));
    let writes = vec![Write::Session(Box::new(fields))];
    let (engine, session) = (engine.clone(), session.id);
    to_its_end(async move {
        if change.archived == Some(true) {
            engine.jobs.end(session).await;
        }
        put(&engine, session, writes).await
    })
    .await
}

/// Stores changes of a session, and tells who watches.
async fn put(engine: &Engine, session: SessionId, writes: Vec<Write>) -> Result<(), Refused> {
    let stored = journal::record(&engine.db, session, engine.clock.now(), writes).await?;
    engine.hub.stored(session, stored);
    Ok(())
}

/// Sends a prompt of words alone: answered at once, or queued while the agent is at work.
pub async fn prompt(
    engine: &Arc<Engine>,
    user: &User,
    session: &Session,
    text: &str,
    when: Queued,
) -> Result<Sent, Refused> {
    let prompt = Prompt { text: text.to_owned(), attachments: Vec::new(), when };
    send(engine, user, session, prompt).await
}

/// Sends a prompt, with files beside its words or in their place.
pub async fn send(
    engine: &Arc<Engine>,
    user: &User,
    session: &Session,
    prompt: Prompt,
) -> Result<Sent, Refused> {
    let text = check_text(&prompt.text, prompt.attachments.len())?.to_owned();
    let (engine, user, session) = (engine.clone(), user.clone(), session.clone());
    to_its_end(async move {
        let _stays = engine.runs.stays(session.project_id).await;
        let files = attachments::parts(&engine, &user, &session, &prompt.attachments).await?;
        take(&engine, &user, session.id, (text, files), prompt.when).await
    })
    .await
}

/// Takes a prompt that is fit to be sent.
async fn take(
    engine: &Arc<Engine>,
    user: &User,
    session: SessionId,
    (text, files): (String, Vec<Part>),
    when: Queued,
) -> Result<Sent, Refused> {
    let _moment = engine.runs.moment(session).await;
    let session = store::sessions::with_project(&engine.db, session).await?.ok_or(Refused::Gone)?.0;
    let busy = engine.runs.is_running(session.id) || session.status.is_active();
    let now = engine.clock.now();
    if busy && messages::queued(&engine.db, session.id).await?.len() >= QUEUE_MAX {
        return Err(Refused::Conflict(format!(
            "{QUEUE_MAX} prompts wait already. Remove one, or wait."
        )));
    }
    let mut first = false;
    if !busy {
        let dropped = engine.snapshots.drop_reverted(session.id).await;
        if !dropped.map_err(anyhow::Error::from)?.is_empty() {
            // Rows that are gone are no change that is told of.
            engine.hub.resync(session.id);
        }
        first = messages::last_position(&engine.db, session.id).await? == 0;
    }
    let message = Message {
        id: MessageId::mint(now, engine.entropy.as_ref()),
        session_id: session.id,
        position: messages::last_position(&engine.db, session.id).await? + 1,
        role: Role::User,
        queued: busy.then_some(when),
        user_id: Some(user.id),
        agent: session.agent.clone(),
        model: session.model.clone(),
        cost_micros: None,
        tokens: serde_json::to_value(Tokens::default()).map_err(anyhow::Error::from)?,
        error: None,
        seq: 0,
        reverted_at: None,
        created_at: now,
        completed_at: Some(now),
    };
    // The words come first, also where there are none: they can be changed while the prompt waits.
    let parts = std::iter::once(Part::Text(Text { text: text.clone() })).chain(files);
    let row = |(position, part): (i32, &Part)| PartRow {
        id: PartId::mint(now, engine.entropy.as_ref()),
        message_id: message.id,
        session_id: session.id,
        position,
        kind: part.kind().to_owned(),
        data: part.data(),
        seq: 0,
        created_at: now,
    };
    let parts: Vec<Part> = parts.collect();
    let rows = (0..).zip(&parts).map(row).map(|row| Write::Part(Box::new(row)));
    let mut writes = vec![Write::Message(Box::new(message.clone()))];
    writes.extend(rows);
    if !busy {
        let name = (first && session.name == "New session").then(|| title_of(&parts));
        let status = Some(SessionStatus::Running);
        writes.push(Write::Session(Box::new(SessionChange {
            status,
            name,
            ..SessionChange::default()
        })));
    }
    let stored = journal::record(&engine.db, session.id, now, writes).await?;
    engine.hub.stored(session.id, stored);
    if busy {
        engine.runs.steered(session.id);
    } else {
        runner::wake(engine, session.id);
    }
    Ok(Sent { message, queued: busy })
}

/// Trims a prompt of words alone, and refuses one that is empty or too long.
pub fn check_prompt(text: &str) -> Result<&str, Refused> {
    check_text(text, 0)
}

/// The same of a prompt with so many files, which need no words beside them.
pub fn check_text(text: &str, files: usize) -> Result<&str, Refused> {
    let text = text.trim();
    if text.is_empty() && files == 0 {
        return Err(Refused::field("text", "Write what should be done."));
    }
    if text.len() > PROMPT_MAX {
        return Err(Refused::field("text", format!("Keep it under {} KB.", PROMPT_MAX / 1000)));
    }
    Ok(text)
}

/// Stops what the agent does, and what it has left running in the background. `false` where
/// nothing goes on.
pub async fn abort(engine: &Arc<Engine>, session: &Session) -> Result<bool, Refused> {
    // At once, and again for what may start in the last moment of the run.
    let mut jobs = engine.jobs.running(session.id).len();
    engine.jobs.kill(session.id);
    let stopped = abort_run(engine, session).await?;
    jobs += engine.jobs.running(session.id).len();
    engine.jobs.end(session.id).await;
    Ok(stopped || jobs > 0)
}

async fn abort_run(engine: &Arc<Engine>, session: &Session) -> Result<bool, Refused> {
    let mut stopped = false;
    // Between two runs there is none for a moment, and the next may begin just then.
    for _ in 0..3 {
        stopped |= engine.runs.abort(session.id).await;
        let _moment = engine.runs.moment(session.id).await;
        if !engine.runs.is_running(session.id) {
            break;
        }
    }
    if stopped {
        return Ok(true);
    }
    // It waits for a person since before the server was started anew: nothing runs, so there is
    // nothing to stop but the waiting.
    if runner::stop_waiting(engine, session.id).await? {
        return Ok(true);
    }
    // The run had just ended, and the next prompt that waited has its run by now.
    Ok(engine.runs.abort(session.id).await)
}

/// Removes a session; what runs in it is stopped first.
pub async fn delete(engine: &Arc<Engine>, session: Session) -> Result<(), Refused> {
    let engine = engine.clone();
    to_its_end(async move {
        let over = engine.runs.end(session.id).await;
        engine.jobs.end(session.id).await;
        // What a command has changed is noted for a session that is still there.
        let noted = engine.snapshots.noted(session.id);
        if tokio::time::timeout(NOTING, noted).await.is_err() {
            return Err(Refused::Conflict(SnapshotsError::Noting.to_string()));
        }
        store::sessions::delete(&engine.db, session.id).await?;
        drop(over);
        engine.forget(session.id).await;
        let sweeper = engine.clone();
        tokio::spawn(async move { sweeper.sweep().await });
        Ok(())
    })
    .await
}

/// Changes the text or the kind of a prompt that waits.
pub async fn edit_queued(
    engine: &Arc<Engine>,
    message: Message,
    text: Option<&str>,
    kind: Option<Queued>,
) -> Result<(), Refused> {
    let text = text.map(check_prompt).transpose()?.map(str::to_owned);
    let engine = engine.clone();
    to_its_end(async move {
        let session = message.session_id;
        let _moment = engine.runs.moment(session).await;
        let waiting = messages::queued(&engine.db, session).await?;
        let mut whole =
            waiting.into_iter().find(|it| it.message.id == message.id).ok_or_else(sent)?;
        let mut writes = Vec::new();
        // Files stay as they are.
        let at = whole.parts.iter().position(|row| row.kind == "text");
        if let (Some(text), Some(at)) = (text, at) {
            let mut row = whole.parts.remove(at);
            row.data = Part::Text(Text { text }).data();
            writes.push(Write::Part(Box::new(row)));
        }
        if kind.is_some() {
            whole.message.queued = kind;
        }
        writes.push(Write::Message(Box::new(whole.message)));
        put(&engine, session, writes).await?;
        engine.runs.steered(session);
        Ok(())
    })
    .await
}

/// Puts a prompt that waits into another place among those that wait, from 0; beyond the last it
/// becomes the last.
pub async fn place_queued(
    engine: &Arc<Engine>,
    message: Message,
    place: usize,
) -> Result<(), Refused> {
    let engine = engine.clone();
    to_its_end(async move {
        let session = message.session_id;
        let _moment = engine.runs.moment(session).await;
        let waiting = messages::queued(&engine.db, session).await?;
        let mut order: Vec<Message> = waiting.into_iter().map(|it| it.message).collect();
        let places: Vec<i64> = order.iter().map(|it| it.position).collect();
        let from = order.iter().position(|it| it.id == message.id).ok_or_else(sent)?;
        let moved = order.remove(from);
        order.insert(place.min(order.len()), moved);
        let mut writes = Vec::new();
        for (mut message, position) in order.into_iter().zip(places) {
            if message.position != position {
                message.position = position;
                writes.push(Write::Message(Box::new(message)));
            }
        }
        if !writes.is_empty() {
            put(&engine, session, writes).await?;
        }
        Ok(())
    })
    .await
}

/// Removes a prompt that waits.
pub async fn remove_queued(engine: &Arc<Engine>, message: Message) -> Result<(), Refused> {
    let engine = engine.clone();
    to_its_end(async move {
        let _moment = engine.runs.moment(message.session_id).await;
        if !messages::delete_queued(&engine.db, message.id).await? {
            return Err(sent());
        }
        engine.hub.resync(message.session_id);
        Ok(())
    })
    .await
}

fn sent() -> Refused {
    Refused::Conflict("The prompt was sent in the meantime.".into())
}

/// A name for a session from its first prompt: its first line, cut at a word.
pub fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("New session");
    if line.chars().count() <= 60 {
        return line.to_owned();
    }
    let cut: String = line.chars().take(60).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{whole}…")
}

fn name(given: Option<String>) -> Result<Option<String>, Refused> {
    let Some(name) = given else { return Ok(None) };
    let name = name.trim();
    if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(Refused::field("name", format!("Give a name of 1 to {NAME_MAX} characters.")));
    }
    Ok(Some(name.to_owned()))
}

fn agent(given: Option<String>) -> Result<Option<String>, Refused> {
    match given {
        Some(name) if !AGENTS.contains(&name.as_str()) => Err(Refused::field(
            "agent",
            format!("There is no such agent; there is: {}.", AGENTS.join(", ")),
        )),
        given => Ok(given),
    }
}

fn max_steps(engine: &Engine, given: Option<u32>) -> Result<i32, Refused> {
    let limit = engine.config.agent.max_steps;
    let steps = given.unwrap_or(limit);
    if !(1..=limit).contains(&steps) {
        return Err(Refused::field("max_steps", format!("Give a number from 1 to {limit}.")));
    }
    Ok(i32::try_from(steps).unwrap_or(i32::MAX))
}

/// A name from what a prompt says, or else from the first file that it comes with.
fn title_of(parts: &[Part]) -> String {
    let words = parts.iter().find_map(|part| match part {
        Part::Text(it) => Some(it.text.as_str()).filter(|text| !text.is_empty()),
        Part::File(it) => Some(it.name.as_str()),
        _ => None,
    });
    title(words.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_the_first_line_cut_at_a_word() {
        assert_eq!(title("\n  Fix it \nplease"), "Fix it");
        let long = "word ".repeat(30);
        let title = title(&long);
        assert!(title.ends_with("word…") && title.chars().count() <= 61, "{title}");
    }
}
