//! What a model answers: pieces while it streams, then the whole reply.

use serde_json::{Map, Value};

use super::{message::Tokens, text::nul_in_json};

pub use super::fault::{Answer, Asked, Fault, FaultKind, classify, retry_after};
pub use super::provider::Kind;

/// A piece of a reply, as soon as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A tool call begins. `index` counts the calls of the reply from 0; `id` is the one that the
    /// finished [`RawCall`] has too.
    CallStarted {
        index: usize,
        id: String,
        name: String,
    },
    /// More of the arguments of a call, as JSON text.
    CallArguments {
        index: usize,
        text: String,
    },
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub text: String,
    pub reasoning: Option<Thought>,
    pub calls: Vec<RawCall>,
    pub finish: Finish,
    /// Absent where the provider did not say.
    pub usage: Option<Usage>,
}

impl Reply {
    /// How many bytes the model has written, as far as they are told.
    pub fn bytes(&self) -> usize {
        let thought = self.reasoning.as_ref().map_or(0, |it| it.text.len());
        let calls = self.calls.iter().map(|it| it.name.len() + it.arguments.len());
        self.text.len() + thought + calls.sum::<usize>()
    }
}

/// What a model thought, with the provider's opaque proof of it where there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thought {
    pub text: String,
    pub signature: Option<String>,
}

/// A tool call as the model wrote it; see [`parse_arguments`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall {
    /// Unique in its reply; made up where the provider gave none.
    pub id: String,
    /// Empty where the model named no tool.
    pub name: String,
    pub arguments: String,
    /// The provider's opaque proof of the thought behind the call, to be sent back with it.
    pub signature: Option<String>,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    /// The reply was cut at a limit: its last call may be incomplete and must not run.
    Length,
    ContentFilter,
    Other(String),
}

impl Finish {
    /// The word that a step is stored with.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

/// What a reply consumed, in Forge's terms and in the provider's.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    pub tokens: Tokens,
    /// Micro-dollars, where the provider itself says what it charged.
    pub cost_micros: Option<i64>,
    /// The provider's own account, to be kept.
    pub raw: Value,
}

/// Reads the arguments of a tool call. Nothing is repaired: half a `write` must not run.
///
/// No arguments mean an empty object. What follows a complete object is ignored, because some
/// models add a brace too many. The error is a sentence for the model.
pub fn parse_arguments(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
    let other = match values.next() {
        Some(Ok(Value::Object(_))) if nul_in_json(raw.as_bytes()).is_some() => {
            return Err(
                "The arguments have a NUL character (\\u0000), which cannot be kept, so the \
                        call was not run. Send them again without it."
                    .to_owned(),
            );
        }
        Some(Ok(object @ Value::Object(_))) => return Ok(object),
        Some(Ok(Value::Null)) | None => return Ok(Value::Object(Map::new())),
        Some(Ok(other)) => other,
        Some(Err(err)) if err.is_eof() => {
            return Err("The call was cut off before its arguments were complete, so it was not \
                        run. Split the work into smaller calls and send them again."
                .to_owned());
        }
        Some(Err(err)) => {
            return Err(format!(
                "The arguments are no valid JSON ({err}), so the call was not run. Send them \
                 again as one JSON object."
            ));
        }
    };
    let found = match other {
        Value::Array(_) => "an array",
        Value::String(_) => "a string",
        Value::Bool(_) => "true or false",
        _ => "a number",
    };
    Err(format!(
        "The arguments must be a JSON object, and these are {found}, so the call was not run. \
         Send them again as one JSON object."
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_arguments_are_an_empty_object() {
        for raw in ["", "  \n", "{}", "null"] {
            assert_eq!(parse_arguments(raw), Ok(json!({})), "{raw:?}");
        }
    }

    #[test]
    fn a_brace_too_many_is_ignored() {
        assert_eq!(parse_arguments(r#"{"path":"a"}}"#), Ok(json!({"path": "a"})));
        assert_eq!(parse_arguments("{\"path\":\"a\"}\n</tool>"), Ok(json!({"path": "a"})));
    }

    #[test]
    fn half_an_object_is_an_error_at_every_cut() {
        let whole = r#"{"path":"a.rs","content":"fn main() { \"x\" }\n"}"#;
        for cut in 1..whole.len() {
            let err = parse_arguments(&whole[..cut]).unwrap_err();
            assert!(err.contains("cut off") && err.contains("Split"), "{cut}: {err}");
        }
    }

    #[test]
    fn what_is_no_object_is_named() {
        assert!(parse_arguments("[1]").unwrap_err().contains("an array"));
        assert!(parse_arguments("\"{}\"").unwrap_err().contains("a string"));
        assert!(parse_arguments("{path: 1}").unwrap_err().contains("no valid JSON"));
        assert!(parse_arguments(&"[".repeat(1_000)).is_err());
    }

    #[test]
    fn a_nul_is_refused_and_what_only_looks_like_one_is_not() {
        let err = parse_arguments(r#"{"content":"a\u0000b"}"#).unwrap_err();
        assert!(err.contains("NUL"), "{err}");
        assert!(parse_arguments(r#"{"content":"printf '\\u0000'"}"#).is_ok());
    }

    #[test]
    fn a_kind_is_stored_as_its_word() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
        }
        assert!("smoke-signals".parse::<Kind>().is_err());
    }
}
