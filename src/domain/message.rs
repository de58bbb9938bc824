//! What a session consists of: messages, each an ordered list of parts.
//!
//! A page is a function of the parts alone, and so is what is sent to a model. A part is stored as
//! its type and a JSON value with a version; the shapes are those of [`Part`].

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::AttachmentId;

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// The state of a tool call. A call ends in one of the last four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Known, but not started: it waits for its turn or for a person.
    #[default]
    Pending,
    Running,
    Done,
    Error,
    Denied,
    Aborted,
}

impl ToolStatus {
    /// Whether the call has its result.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text(Text),
    Reasoning(Reasoning),
    Tool(Box<ToolCall>),
    File(FilePart),
    Patch(Patch),
    Step(Step),
}

/// What somebody wrote, in Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    pub text: String,
}

/// A file that was sent with a prompt. Its content is kept apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    pub attachment_id: AttachmentId,
    pub name: String,
    pub mime: String,
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
}

/// What a file is to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Image,
    Text,
}

/// What a model thought before it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    pub text: String,
    /// The provider's opaque proof, to be sent back unchanged to the model that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A tool call with all that became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, unique in its message.
    pub call_id: String,
    pub tool: String,
    /// The arguments. A JSON object, or a string where what the model sent is no JSON.
    pub input: Value,
    /// The provider's opaque proof of the thought behind the call, to be sent back unchanged to
    /// the model that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    pub status: ToolStatus,
    /// What the model is told, bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Why it failed, was denied or was stopped, in a sentence that the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The subject of the call for the page: a path, a command, a pattern.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the page draws besides the output; its shape depends on the tool.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    /// What allowed or refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Milliseconds since 1970 at which it started to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Why a tool call was allowed or refused: the rule, and the person where one was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `allow` or `deny`.
    pub action: String,
    /// The deciding rule in words, with where it comes from: `project rule: bash cargo test *`.
    pub rule: String,
    /// The login of the person who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

/// The files that a step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    pub files: Vec<PatchedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// Relative to the project.
    pub path: String,
    pub additions: u32,
    pub deletions: u32,
}

/// The end of one call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub tokens: Tokens,
    /// Micro-dollars; absent where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<i64>,
    /// What the provider said of why it ended: `stop`, `tool_calls`, `length`, …
    pub finish_reason: String,
    pub duration_ms: u64,
}

/// Tokens of one or of many model calls. The four kinds of input and output do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    /// The share of `output` that was reasoning, where the provider tells it apart.
    #[serde(default)]
    pub reasoning: u64,
    #[serde(default)]
    pub cache_read: u64,
    #[serde(default)]
    pub cache_write: u64,
    /// Counted by Forge from bytes, because the provider did not say.
    #[serde(default)]
    pub estimated: bool,
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.estimated |= other.estimated;
    }
}

/// The version that new parts are stored with.
pub const PART_VERSION: u64 = 1;

#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error("a part of type {0:?} with version {1} is from a newer Forge")]
    Newer(String, u64),
    #[error("a part of type {0:?} cannot be read: {1}")]
    Broken(String, serde_json::Error),
}

impl Part {
    /// The value of the `type` column.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::Tool(_) => "tool",
            Self::File(_) => "file",
            Self::Patch(_) => "patch",
            Self::Step(_) => "step",
        }
    }

    /// The value of the `data` column: the fields of the part and a `version`.
    pub fn data(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        if let Value::Object(fields) = &mut value {
            fields.remove("type");
            fields.insert("version".into(), PART_VERSION.into());
        }
        value
    }

    /// Reads what [`Part::kind`] and [`Part::data`] wrote.
    pub fn read(kind: &str, mut data: Value) -> Result<Self, PartError> {
        if let Value::Object(fields) = &mut data {
            let version = fields.remove("version").and_then(|it| it.as_u64()).unwrap_or(1);
            if version > PART_VERSION {
                return Err(PartError::Newer(kind.to_owned(), version));
            }
            fields.insert("type".into(), kind.into());
        }
        serde_json::from_value(data).map_err(|err| PartError::Broken(kind.to_owned(), err))
    }

    /// The tool call, where the part is one.
    pub fn tool(&self) -> Option<&ToolCall> {
        match self {
            Self::Tool(call) => Some(call),
            _ => None,
        }
    }
}

macro_rules! words {
    ($($type:ident { $($variant:ident => $word:literal),* $(,)? })*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),* })
            }
        }

        impl FromStr for $type {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownWord(text.to_owned())),
                }
            }
        }
    )*};
}
pub(crate) use words;

/// A word that is none of those a column or a field may hold.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not one of the words that may stand here")]
pub struct UnknownWord(pub String);

words! {
    Role { User => "user", Assistant => "assistant" }
    FileKind { Image => "image", Text => "text" }
    ToolStatus {
        Pending => "pending", Running => "running", Done => "done",
        Error => "error", Denied => "denied", Aborted => "aborted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_back_as_it_was_written() {
        let call = ToolCall { call_id: "c1".into(), tool: "read".into(), ..ToolCall::default() };
        for part in [Part::Text(Text { text: "hi".into() }), Part::Tool(Box::new(call))] {
            assert_eq!(part.data()["version"], PART_VERSION);
            assert_eq!(Part::read(part.kind(), part.data()).unwrap(), part);
        }
    }

    #[test]
    fn a_part_of_a_newer_forge_is_refused_by_name() {
        let err = Part::read("text", serde_json::json!({"version": 2, "text": ""})).unwrap_err();
        assert!(err.to_string().contains("newer"));
    }
}
