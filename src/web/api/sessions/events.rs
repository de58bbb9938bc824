//! A session's events as JSON, for programs.

use std::{collections::HashMap, fmt::Write as _};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{Bytes, Data},
};
use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::json;

use super::{
    super::{
        super::{
            error::Error,
            extract::Owned,
            guard::Pass,
            live::{Live, follow},
        },
        asks::AskBody,
    },
    body::{MessageBody, PartBody, SessionBody},
};
use crate::{
    app::App,
    domain::{
        ids::MessageId,
        message::{Part, Reasoning, Text},
    },
    engine::hub::{Event, OpenPart},
    store::{
        entity::{message::Model as Message, session::Model as Session},
        journal::{SessionChange, Stored, Write},
    },
};

/// Follows a session by server-sent events
///
/// Each event has an `event` name and JSON `data`: `session`, `message`, `part`, `delta` (part,
/// `at` in Unicode characters, text), `output` (part, the last lines of what its command has said
/// so far, in place of what was told before), `ask`, `todos`, `queue`, `retry`, `resync`. Those that are
/// stored changes have an `id`, which grows; `Last-Event-ID` resumes after it. Whoever connects is
/// sent each open part with its text so far, then the deltas from exactly there.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/events", tag = "sessions",
    params(("Last-Event-ID" = Option<String>, Header, description = "The last event that was seen")),
    responses((status = 200, description = "The stream", content_type = "text/event-stream", body = String)),
)]
pub async fn stream(
    request: HttpRequest,
    app: Data<App>,
    pass: Pass,
    Owned(session): Owned<Session>,
) -> Result<HttpResponse, Error> {
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()).and_then(|text| text.trim().parse().ok());
    let id = session.id;
    let mut teller = Teller { session, waiting: HashMap::new() };
    let events = follow(app.get_ref().clone(), pass, id, last);
    let beginning = futures_util::stream::iter([Ok(Bytes::from_static(b": connected\n\n"))]);
    let frames = events.filter_map(move |live| {
        let frame = match live {
            Live::Beat => Some(Bytes::from_static(b": beat\n\n")),
            Live::Event(event) => teller.frame(&event),
        };
        std::future::ready(frame.map(Ok::<_, Error>))
    });
    Ok(event_stream().streaming(beginning.chain(frames)))
}

/// An answer that is a stream of events: never kept, never held back on the way.
pub fn event_stream() -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store, no-transform"))
        .insert_header((header::CONTENT_ENCODING, "identity"))
        .insert_header(("x-accel-buffering", "no"));
    answer
}

/// Puts what happens into words, and knows the session as it was last told.
struct Teller {
    session: Session,
    /// The prompts that wait, because what is told of one depends on what was told before.
    waiting: HashMap<MessageId, Message>,
}

impl Teller {
    fn frame(&mut self, event: &Event) -> Option<Bytes> {
        match event {
            Event::Stored(stored) => self.stored(stored),
            Event::Opened(open) => frame(None, "part", &opened(open)),
            Event::Delta { part, message, at, text } => {
                let delta = Delta { part_id: *part, message_id: *message, at: *at, text };
                frame(None, "delta", &delta)
            }
            Event::Output { part, text } => {
                frame(None, "output", &json!({ "part_id": part, "text": text }))
            }
            Event::Withdrawn { part } => {
                frame(None, "part", &json!({ "id": part, "withdrawn": true }))
            }
            Event::Retry(Some(retry)) => frame(
                None,
                "retry",
                &json!({ "attempt": retry.attempt, "next_at": retry.next_at, "reason": retry.reason }),
            ),
            Event::Retry(None) => {
                frame(None, "retry", &json!({ "attempt": null, "next_at": null, "reason": null }))
            }
            Event::Resync => frame(None, "resync", &json!({})),
        }
    }

    fn stored(&mut self, Stored { seq, write }: &Stored) -> Option<Bytes> {
        let seq = Some(*seq);
        match write {
            Write::Session(change) => {
                self.apply(change, seq);
                frame(seq, "session", &SessionBody::from(self.session.clone()))
            }
            Write::Message(row) => {
                let was_waiting = self.waiting.remove(&row.id).is_some();
                if row.queued.is_some() {
                    self.waiting.insert(row.id, (**row).clone());
                    return frame(seq, "queue", &MessageBody::from((**row).clone()));
                }
                let told = frame(seq, "message", &MessageBody::from((**row).clone()))?;
                if !was_waiting {
                    return Some(told);
                }
                let gone = frame(None, "queue", &MessageBody::from((**row).clone()))?;
                Some(Bytes::from([gone, told].concat()))
            }
            Write::Part(row) => frame(seq, "part", &PartBody::from((**row).clone())),
            Write::Todos(rows) => {
                let items: Vec<_> = rows.iter().map(super::history::TodoBody::from).collect();
                frame(seq, "todos", &json!({ "items": items }))
            }
            Write::Ask(row) => frame(seq, "ask", &AskBody::from((**row).clone())),
        }
    }

    fn apply(&mut self, change: &SessionChange, seq: Option<i64>) {
        let row = &mut self.session;
        row.seq = seq.unwrap_or(row.seq);
        if let Some(status) = change.status {
            row.status = status;
        }
        if let Some(name) = &change.name {
            row.name.clone_from(name);
        }
        if let Some(agent) = &change.agent {
            row.agent.clone_from(agent);
        }
        if let Some((provider, model)) = &change.model {
            row.provider_id = Some(*provider);
            row.model.clone_from(model);
        }
        if let Some(steps) = change.max_steps {
            row.max_steps = steps;
        }
        row.effort = change.effort.unwrap_or(row.effort);
        row.temperature = change.temperature.unwrap_or(row.temperature);
        if let Some(summary) = &change.summary {
            row.summary.clone_from(summary);
        }
        if let Some(archived) = change.archived_at {
            row.archived_at = archived;
        }
    }
}

#[derive(Serialize)]
struct Delta<'a> {
    part_id: crate::domain::ids::PartId,
    message_id: MessageId,
    /// Unicode characters before this text.
    at: usize,
    text: &'a str,
}

/// An open part as it stands, whole.
fn opened(open: &OpenPart) -> PartBody {
    let mut row = open.row.clone();
    let part = match row.kind.as_str() {
        "text" => Some(Part::Text(Text { text: open.text.clone() })),
        "reasoning" => {
            Some(Part::Reasoning(Reasoning { text: open.text.clone(), signature: None }))
        }
        _ => None,
    };
    if let Some(part) = part {
        row.data = part.data();
    }
    PartBody::from(row)
}

fn frame(seq: Option<i64>, event: &str, data: &impl Serialize) -> Option<Bytes> {
    let data = match serde_json::to_string(data) {
        Ok(data) => data,
        Err(err) => {
            tracing::error!(event, "an event that is no JSON: {err}");
            return None;
        }
    };
    let mut text = String::with_capacity(data.len() + 48);
    if let Some(seq) = seq {
        let _ = writeln!(text, "id: {seq}");
    }
    // JSON text has no line breaks of its own.
    let _ = write!(text, "event: {event}\ndata: {data}\n\n");
    Some(Bytes::from(text))
}
