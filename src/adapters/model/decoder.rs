//! Reads a streamed reply, in bytes that are cut anywhere: the frame around what each format says.

use std::{borrow::Cow, collections::VecDeque, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{
    Decode, Peer, Progress,
    heard::{Heard, Stop},
    sse::{Line, Lines, MAX_LINE},
};
use crate::domain::{
    model::{Delta, Fault, Reply, Usage},
    text::json_without_nul,
};

/// What one format says in a piece of a stream.
pub(super) trait Format: Send {
    /// Takes one JSON value of the stream, which is no error.
    fn chunk(
        &mut self,
        chunk: &Value,
        heard: &mut Heard,
        said: &mut VecDeque<Delta>,
    ) -> Result<(), Stop>;

    /// What must go back along with the thought of the reply, once that is whole.
    fn signature(&mut self) -> Option<String> {
        None
    }
}

/// How the JSON values of a stream are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// Server-sent events.
    Events,
    /// One value a line.
    Lines,
}

/// See [`Decode`].
pub(super) struct Decoder<F> {
    lines: Lines,
    body: Body<F>,
}

impl<F: Format> Decoder<F> {
    pub fn new(peer: Peer, frame: Frame, format: F) -> Self {
        let body = Body {
            heard: Heard::new(peer),
            format,
            frame,
            data: Vec::new(),
            event_is_error: false,
            foreign: Vec::new(),
        };
        Self { lines: Lines::default(), body }
    }
}

impl<F: Format> Decode for Decoder<F> {
    fn push(&mut self, bytes: &[u8], said: &mut VecDeque<Delta>) -> Result<(), Fault> {
        let Self { lines, body } = self;
        if body.heard.done {
            return Ok(());
        }
        match lines.push(bytes, |line| body.line(&line, said)) {
            Ok(()) | Err(Stop::Done) => Ok(()),
            Err(stop) => Err(body.heard.fault(stop)),
        }
    }

    fn progress(&self) -> Progress {
        match (self.body.heard.done, &self.body.heard.finish) {
            (true, _) => Progress::Done,
            (false, Some(_)) => Progress::Said,
            (false, None) => Progress::Open,
        }
    }

    fn end(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Fault> {
        let Self { lines, body } = self;
        let last = match lines.last() {
            Some(line) if !body.heard.done => body.line(&line, said),
            _ => Ok(()),
        };
        match last.and_then(|()| body.end(said)) {
            Ok(()) | Err(Stop::Done) => body.heard.check(),
            Err(stop) => Err(body.heard.fault(stop)),
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.body.heard.usage.clone()
    }

    fn reply(mut self: Box<Self>) -> Reply {
        let signature = self.body.format.signature();
        self.body.heard.into_reply(signature)
    }
}

struct Body<F> {
    heard: Heard,
    format: F,
    frame: Frame,
    /// The data of the event that is being read, where it was no JSON line by line.
    data: Vec<u8>,
    event_is_error: bool,
    /// The beginning of a body that is not framed as it should be.
    foreign: Vec<u8>,
}

impl<F: Format> Body<F> {
    fn line(&mut self, line: &Line<'_>, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        match *line {
            Line::Data(data) if self.data.is_empty() => {
                let trimmed = data.trim_ascii();
                match trimmed {
                    b"" => Ok(()),
                    b"[DONE]" => self.heard.stop(),
                    // Not only at the blank line that ends the event: that may come much later.
                    _ => match json(trimmed) {
                        Some(chunk) => self.chunk(&chunk, said),
                        None => self.keep(data),
                    },
                }
            }
            Line::Data(data) => self.keep(data),
            Line::Event(name) => {
                self.event_is_error = name == b"error";
                Ok(())
            }
            Line::Blank => {
                let event = self.event(said);
                self.event_is_error = false;
                event
            }
            Line::Ignored => Ok(()),
            Line::Foreign(line) => self.foreign(line, said),
        }
    }

    fn foreign(&mut self, line: &[u8], said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        // A line of an indented body is no value by itself, so that it is kept for the end.
        if self.frame == Frame::Lines
            && self.foreign.is_empty()
            && let Some(chunk) = json(line).filter(Value::is_object)
        {
            return self.chunk(&chunk, said);
        }
        if self.foreign.len() + line.len() > MAX_LINE {
            return Err(Stop::TooLong);
        }
        self.foreign.extend_from_slice(line);
        self.foreign.push(b'\n');
        Ok(())
    }

    fn keep(&mut self, data: &[u8]) -> Result<(), Stop> {
        if self.data.len() + data.len() > MAX_LINE {
            return Err(Stop::TooLong);
        }
        self.data.extend_from_slice(data);
        self.data.push(b'\n');
        Ok(())
    }

    /// An event whose data went over several lines.
    fn event(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() {
            return Ok(());
        }
        match json(&data) {
            Some(chunk) => self.chunk(&chunk, said),
            None if self.event_is_error => {
                Err(Stop::Error(String::from_utf8_lossy(&data).into_owned().into()))
            }
            None => Err(Stop::NoJson),
        }
    }

    /// What is left when nothing more comes: an open event, or a body that is not framed.
    fn end(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        self.event(said)?;
        let foreign = std::mem::take(&mut self.foreign);
        match json(&foreign) {
            Some(Value::Array(chunks)) => chunks.iter().try_for_each(|it| self.chunk(it, said)),
            Some(body) => self.chunk(&body, said),
            None if self.frame == Frame::Lines && !foreign.is_empty() => Err(Stop::NoJson),
            None => Ok(()),
        }
    }

    fn chunk(&mut self, chunk: &Value, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        let error = chunk.get("error").filter(|it| !it.is_null());
        if error.is_some() || self.event_is_error {
            return Err(Stop::Error(chunk.clone()));
        }
        self.format.chunk(chunk, &mut self.heard, said)
    }
}

/// What every chunk repeats and no format reads: left out, a chunk costs half as much.
const UNREAD: [&str; 9] = [
    "id",
    "object",
    "created",
    "created_at",
    "model",
    "modelVersion",
    "responseId",
    "system_fingerprint",
    "obfuscation",
];

/// The value, read with replacement characters where the bytes are no UTF-8 and for NUL; of an object
/// what is read of it.
fn json(bytes: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = json_without_nul(&text);
    if text.trim_ascii_start().starts_with('{') {
        return serde_json::from_str::<Chunk>(&text).ok().map(|it| it.0);
    }
    serde_json::from_str(&text).ok()
}

struct Chunk(Value);

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Members).map(Self)
    }
}

/// The name of a member, borrowed where it is written without escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(Name(name)) = members.next_key()? {
            if UNREAD.contains(&name.as_ref()) {
                members.next_value::<IgnoredAny>()?;
            } else {
                read.insert(name.into_owned(), members.next_value()?);
            }
        }
        Ok(Value::Object(read))
    }
}
