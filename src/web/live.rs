//! What a page or a script that follows a session is sent, whatever it is drawn as.
//!
//! Whoever connects is told what changed since what they have seen, then each part that is open as
//! it stands, and then what happens from exactly there. A follower that falls behind catches up
//! from the database; deltas may be lost on the way, stored changes never.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::Stream;
use tokio::sync::broadcast::error::RecvError;

use super::guard::Pass;
use crate::{
    app::App,
    domain::{
        ids::{PartId, SessionId, UserId},
        message::Part,
    },
    engine::hub::Event,
    store::{
        DbErr, OwnedRow as _, asks,
        entity::session::Model as Session,
        journal::{SessionChange, Stored, Write},
        messages, todos,
    },
};

/// Something to send.
#[derive(Clone, Debug)]
pub enum Live {
    Event(Arc<Event>),
    /// Nothing happened for a while; the connection is to be kept.
    Beat,
}

/// How often a silent connection is kept, and its right to go on looked at.
const BEAT: Duration = Duration::from_secs(15);

/// More changes than this are not sent one by one: the follower reads the session again.
const MOST: u64 = 2_000;

/// Follows a session from `after`, or from now.
pub fn follow(
    app: App,
    pass: Pass,
    session: SessionId,
    after: Option<i64>,
) -> impl Stream<Item = Live> {
    async_stream::stream! {
        let user = pass.user();
        let mut last = after;
        let mut rights = app.engine.hub.rights();
        // What changed between the door and here was told to nobody.
        if !may_follow(&app, &pass, session).await {
            return;
        }
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + BEAT, BEAT);
        'connected: loop {
            let mut watch = app.engine.hub.watch(session);
            let Ok(missed) = missed(&app, user, session, last).await else { return };
            let Some(missed) = missed else { return };
            let mut sent = HashSet::new();
            let mut closed = HashSet::new();
            for event in missed.events {
                if let Event::Stored(stored) = &event {
                    sent.insert(stored.seq);
                    closed.extend(closed_part(stored));
                }
                yield Live::Event(Arc::new(event));
            }
            last = Some(missed.floor);
            let mut open = HashSet::new();
            for part in watch.open {
                if !closed.contains(&part.row.id) {
                    open.insert(part.row.id);
                    yield Live::Event(Arc::new(Event::Opened(part)));
                }
            }
            for (part, text) in watch.outputs {
                yield Live::Event(Arc::new(Event::Output { part, text }));
            }
            if watch.retry.is_some() {
                yield Live::Event(Arc::new(Event::Retry(watch.retry)));
            }
            loop {
                tokio::select! {
                    biased;
                    event = watch.events.recv() => match event {
                        Ok(event) => {
                            if let Event::Stored(stored) = &*event {
                                // A part that was told of as open may have closed while the
                                // missed was read: that it is closed must be told after that.
                                let closes = matches!(
                                    &stored.write,
                                    Write::Part(row) if open.remove(&row.id)
                                );
                                let told = stored.seq <= missed.floor || sent.contains(&stored.seq);
                                if told && !closes {
                                    continue;
                                }
                                last = last.max(Some(stored.seq));
                            }
                            // What closed before it was caught up with is whole already.
                            if let Event::Delta { part, .. } = &*event
                                && closed.contains(part)
                            {
                                continue;
                            }
                            yield Live::Event(event);
                        }
                        Err(RecvError::Lagged(_)) => continue 'connected,
                        Err(RecvError::Closed) => return,
                    },
                    changed = rights.recv() => {
                        let concerns = !matches!(changed, Ok(other) if other != user);
                        if concerns && !may_follow(&app, &pass, session).await {
                            return;
                        }
                    }
                    () = app.stopping.cancelled() => return,
                    _ = beat.tick() => {
                        if !may_follow(&app, &pass, session).await {
                            return;
                        }
                        yield Live::Beat;
                    }
                }
            }
        }
    }
}

/// Whether the person would still get in, and the session is still theirs.
pub async fn may_follow(app: &App, pass: &Pass, session: SessionId) -> bool {
    matches!(pass.holds(app).await, Ok(true))
        && matches!(Session::find_owned(&app.db, pass.user(), session).await, Ok(Some(_)))
}

struct Missed {
    events: Vec<Event>,
    /// The `seq` up to which everything is known to be in `events`.
    floor: i64,
}

/// What changed after a `seq`. `None` where the session is not theirs any more.
async fn missed(
    app: &App,
    user: UserId,
    session: SessionId,
    after: Option<i64>,
) -> Result<Option<Missed>, DbErr> {
    let Some(row) = Session::find_owned(&app.db, user, session).await? else { return Ok(None) };
    let floor = row.seq;
    let Some(after) = after.filter(|after| *after < floor) else {
        // A number from the future is of another database: what was seen does not hold here.
        let events =
            if after.is_some_and(|after| after > floor) { vec![Event::Resync] } else { vec![] };
        return Ok(Some(Missed { events, floor }));
    };
    let (changed, parts) = messages::changed_since(&app.db, session, after, MOST).await?;
    if (changed.len() + parts.len()) as u64 >= MOST {
        return Ok(Some(Missed { events: vec![Event::Resync], floor }));
    }
    let asks = asks::changed_since(&app.db, session, after).await?;
    let list = todos::of(&app.db, session).await?;
    let mut stored: Vec<Stored> = Vec::new();
    stored.extend(
        changed
            .into_iter()
            .map(|row| Stored { seq: row.seq, write: Write::Message(Box::new(row)) }),
    );
    stored.extend(
        parts.into_iter().map(|row| Stored { seq: row.seq, write: Write::Part(Box::new(row)) }),
    );
    stored.extend(
        asks.into_iter().map(|row| Stored { seq: row.seq, write: Write::Ask(Box::new(row)) }),
    );
    if let Some(seq) = list.first().map(|row| row.seq).filter(|seq| *seq > after) {
        stored.push(Stored { seq, write: Write::Todos(list) });
    }
    stored.sort_by_key(|change| change.seq);
    // The session's own change has no row of its own: it is told last, as it stands.
    let whole = SessionChange {
        status: Some(row.status),
        name: Some(row.name),
        agent: Some(row.agent),
        model: row.provider_id.map(|provider| (provider, row.model)),
        max_steps: Some(row.max_steps),
        effort: Some(row.effort),
        temperature: Some(row.temperature),
        summary: Some(row.summary),
        archived_at: Some(row.archived_at),
        used: None,
    };
    stored.push(Stored { seq: floor, write: Write::Session(Box::new(whole)) });
    Ok(Some(Missed { events: stored.into_iter().map(Event::Stored).collect(), floor }))
}

/// The part that a change closes, if it is one.
fn closed_part(stored: &Stored) -> Option<PartId> {
    let Write::Part(row) = &stored.write else { return None };
    // Long text is stored while it streams; only the hub knows that it is still open.
    match Part::read(&row.kind, row.data.clone()) {
        Ok(Part::Tool(call)) => call.status.is_final().then_some(row.id),
        Ok(_) | Err(_) => None,
    }
}
