//! Parts that still grow: what is finished of one is drawn once, and only its open end again.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    tool,
    view::{Body, PartView},
};
use crate::{
    domain::{
        ids::{MessageId, PartId},
        message::{Part, ToolCall},
    },
    engine::hub::OpenPart,
    web::markdown::Growing,
};

/// How long words are gathered before they are sent together.
const GATHERED: Duration = Duration::from_millis(40);
/// Bytes of open text for which a page waits a millisecond longer, so that drawing the same text
/// again and again costs no more than its length.
const BYTES_A_MILLISECOND: usize = 200;
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A part that still grows, as one watcher has it.
pub struct Growth {
    pub id: PartId,
    pub message: MessageId,
    kind: Kind,
    text: Growing,
    /// When what has come is to be sent.
    pub due: Option<Instant>,
}

enum Kind {
    Text,
    Reasoning,
    Tool(Box<ToolCall>),
}

/// What is new of a part.
pub struct Grown {
    /// Blocks that are finished now.
    pub settled: Option<String>,
    /// Its open end.
    pub open: String,
}

impl Growth {
    pub fn of(open: OpenPart) -> Self {
        let OpenPart { row, text, .. } = open;
        let kind = match Part::read(&row.kind, row.data) {
            Ok(Part::Reasoning(_)) => Kind::Reasoning,
            Ok(Part::Tool(call)) => Kind::Tool(call),
            _ => Kind::Text,
        };
        Self { id: row.id, message: row.message_id, kind, text: Growing::new(text), due: None }
    }

    /// Takes in more text; it is sent a little later, with what comes until then.
    pub fn push(&mut self, text: &str) {
        self.text.push(text);
        let long = Duration::from_millis((self.text.open_len() / BYTES_A_MILLISECOND) as u64);
        let wait = (GATHERED + long).min(LONGEST_WAIT);
        self.due.get_or_insert_with(|| Instant::now() + wait);
    }

    /// The id of the element that holds its open end.
    pub fn end_id(&self) -> String {
        format!("part-{}-open", self.id)
    }

    /// Draws what is new.
    pub fn grown(&mut self) -> Grown {
        self.due = None;
        let settled = self.text.newly_settled();
        Grown { settled, open: self.text.open() }
    }

    /// Draws it as it stands. What comes next fits behind it.
    pub fn view(&mut self) -> PartView {
        self.due = None;
        let body = match &self.kind {
            Kind::Tool(call) => Body::Tool(Box::new(tool::preparing(call))),
            Kind::Text | Kind::Reasoning => {
                let mut html = self.text.settled();
                html.extend(self.text.newly_settled());
                html.push_str(&self.end(&self.text.open()));
                match self.kind {
                    Kind::Reasoning => Body::Reason(html),
                    _ => Body::Prose(html),
                }
            }
        };
        PartView { id: self.id.to_string(), status: "running", live: true, body }
    }

    /// The element that holds the open end.
    pub fn end(&self, html: &str) -> String {
        format!(r#"<div class="open" id="{}">{html}</div>"#, self.end_id())
    }
}
