//! The stream of a session's page: what happens, as pieces of the page.
//!
//! A browser that comes back is given what changed since, and then has the page that a fresh load
//! would give it. Every piece may come twice.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Bytes, Data},
};
use futures_util::{Stream, StreamExt as _};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::{
    oob::{self, Message},
    open::Growth,
    painter::Painter,
};
use crate::{
    app::App,
    domain::{
        message::Role,
        session::{AskStatus, SessionStatus},
    },
    engine::hub::Event,
    store::{
        OwnedRow as _,
        entity::session::Model as Session,
        journal::{SessionChange, Stored, Write},
        messages,
    },
    web::{
        api::sessions::events::event_stream,
        error::Error,
        extract::{Owned, Query},
        guard::Pass,
        live::{Live, follow},
        page::Frame,
        words::sign,
    },
};

/// What the page that connects shows already.
#[derive(Deserialize)]
pub struct Seen {
    /// Everything up to this change.
    seq: Option<i64>,
    /// Messages from this place on.
    from: Option<i64>,
}

/// `GET /sessions/{id}/events`
pub async fn stream(
    request: HttpRequest,
    app: Data<App>,
    frame: Frame,
    pass: Pass,
    Owned(session): Owned<Session>,
    Query(Seen { seq, from }): Query<Seen>,
) -> Result<HttpResponse, Error> {
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()).and_then(|text| text.trim().parse().ok());
    let painter = Painter {
        app: app.get_ref().clone(),
        frame,
        user: pass.user(),
        session: session.id,
        from: from.unwrap_or(0),
        open: Vec::new(),
    };
    let beginning = futures_util::stream::iter([Ok(Bytes::from_static(b": connected\n\n"))]);
    let messages = messages(painter, pass, last.or(seq)).map(Ok::<_, Error>);
    Ok(event_stream().streaming(beginning.chain(messages)))
}

/// What is sent, until the person may not watch any more.
fn messages(mut painter: Painter, pass: Pass, seen: Option<i64>) -> impl Stream<Item = Bytes> {
    async_stream::stream! {
        let app = painter.app.clone();
        let (user, session) = (painter.user, painter.session);
        let open = app.engine.hub.watch(session).open;
        painter.open = open.into_iter().map(Growth::of).collect();
        let (missed, floor) = match missed(&mut painter, seen).await {
            Ok(missed) => missed,
            Err(err) => {
                tracing::error!(%session, "drawing what a watcher has missed: {err:#}");
                return;
            }
        };
        yield bytes(&missed);
        let mut events = std::pin::pin!(follow(app.clone(), pass.clone(), session, Some(floor)));
        loop {
            let due = painter.due();
            let words = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let drawn = tokio::select! {
                biased;
                live = events.next() => match live {
                    Some(Live::Event(event)) => draw(&mut painter, &event).await,
                    Some(Live::Beat) => {
                        yield Bytes::from_static(b": beat\n\n");
                        continue;
                    }
                    None => break,
                },
                () = words => Ok(painter.grown(Instant::now())),
            };
            match drawn {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => yield bytes(&messages),
                Err(err) => {
                    tracing::error!(%session, "drawing for a watcher: {err:#}");
                    break;
                }
            }
        }
        // Gone, or not theirs any more. After anything else the browser comes back by itself.
        if let Ok(None) = Session::find_owned(&app.db, user, session).await {
            let ended = Message { id: None, event: Some("ended"), html: "gone".to_owned() };
            yield bytes(&[ended]);
        }
    }
}

fn bytes(messages: &[Message]) -> Bytes {
    Bytes::from(messages.iter().map(Message::to_string).collect::<String>())
}

async fn missed(painter: &mut Painter, seen: Option<i64>) -> anyhow::Result<(Vec<Message>, i64)> {
    let mut scene = painter.scene().await?;
    let floor = scene.session.seq;
    Ok((painter.since(&mut scene, seen).await?, floor))
}

/// Draws something that happened.
async fn draw(painter: &mut Painter, event: &Event) -> anyhow::Result<Vec<Message>> {
    match event {
        Event::Stored(stored) => {
            let mut messages = stored_change(painter, stored).await?;
            match messages.last_mut() {
                Some(last) => last.id = Some(stored.seq),
                // Nothing to see, but seen.
                None => messages.push(Message {
                    id: Some(stored.seq),
                    event: None,
                    html: String::new(),
                }),
            }
            Ok(messages)
        }
        Event::Opened(open) => painter.opened(open.clone()),
        Event::Delta { part, text, .. } => {
            if let Some(growth) = painter.open.iter_mut().find(|it| it.id == *part) {
                growth.push(text);
            }
            Ok(Vec::new())
        }
        Event::Output { part, text } => {
            Ok(vec![Message::html(oob::text(&format!("said-{part}"), text))])
        }
        Event::Withdrawn { part } => {
            painter.open.retain(|growth| growth.id != *part);
            Ok(vec![Message::html(oob::remove(&format!("part-{part}")))])
        }
        Event::Retry(Some(retry)) => {
            let mut messages = painter.retry(retry).await?;
            let said = format!("{} Trying again soon.", retry.reason);
            messages.push(Message::html(oob::text("announcer", &said)));
            Ok(messages)
        }
        Event::Retry(None) => {
            let running = painter.sign(sign(SessionStatus::Running))?;
            Ok(vec![Message::html(oob::remove("retry-part") + &running)])
        }
        Event::Resync => {
            let mut scene = painter.scene().await?;
            painter.since(&mut scene, None).await
        }
    }
}

async fn stored_change(painter: &mut Painter, stored: &Stored) -> anyhow::Result<Vec<Message>> {
    match &stored.write {
        Write::Session(change) => session_change(painter, change).await,
        Write::Message(row) => {
            let mut scene = painter.scene().await?;
            if row.role == Role::User {
                return painter.prompt(&mut scene, (**row).clone()).await;
            }
            let whole = messages::whole(&painter.app.db, (**row).clone()).await?;
            painter.article(&mut scene, whole).await
        }
        Write::Part(row) => {
            painter.open.retain(|growth| growth.id != row.id);
            let mut messages = painter.stored_part(row.id).await?;
            if row.kind == "step" {
                messages.push(Message::html(oob::text("announcer", "A step is done.")));
            }
            Ok(messages)
        }
        Write::Todos(_) => Ok(vec![Message::html(painter.todos().await?)]),
        Write::Ask(row) => {
            let mut messages = painter.stored_part(row.part_id).await?;
            let mut html = painter.tray().await?;
            if row.status == AskStatus::Open {
                html.push_str(&oob::text("announcer", "The agent asks for your permission."));
            }
            messages.push(Message::html(html));
            Ok(messages)
        }
    }
}

async fn session_change(
    painter: &mut Painter,
    change: &SessionChange,
) -> anyhow::Result<Vec<Message>> {
    let mut scene = painter.scene().await?;
    let mut messages = Vec::new();
    let mut html = String::new();
    if let Some(status) = change.status {
        if status.is_active()
            && let Some(answer) = painter.answer().await?
        {
            messages.extend(painter.article(&mut scene, answer).await?);
        }
        html.push_str(&painter.status(&scene.session).await?);
        let said = match status {
            SessionStatus::Running | SessionStatus::Waiting => None,
            SessionStatus::Idle => Some("The agent is done."),
            SessionStatus::Aborted => Some("The agent was stopped."),
            SessionStatus::Error => Some("The agent could not go on."),
        };
        html.extend(said.map(|said| oob::text("announcer", said)));
    }
    if let Some(name) = &change.name {
        html.push_str(&oob::text("session-name", name));
        if change.status.is_none() {
            html.push_str(&painter.list(&scene.session).await?);
        }
    }
    if change.summary.is_some() {
        html.push_str(&painter.totals(&scene.session).await?);
    }
    messages.push(Message::html(html));
    Ok(messages)
}
