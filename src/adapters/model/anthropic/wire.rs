//! The shapes of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::super::sorted::Sorted;
use crate::domain::conversation::{Call, CallResult, Image};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub max_tokens: u64,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub system: &'a [Block<'a>],
    pub messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    /// The model decides how much; what it thinks is told in summary.
    Adaptive {
        display: &'static str,
    },
    Enabled {
        budget_tokens: u64,
    },
    Disabled,
}

#[derive(Serialize)]
pub(super) struct OutputConfig {
    pub effort: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToolChoice {
    None,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub input_schema: Sorted<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<Cache>,
}

/// Marks the end of a beginning that later requests share.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Cache {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl Cache {
    pub const EPHEMERAL: Self = Self { kind: "ephemeral" };
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub role: Role,
    pub content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Sorted<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    /// A block of a thought, as it came.
    #[serde(untagged)]
    Opaque(Value),
}

#[derive(Serialize)]
pub(super) struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: String,
    data: &'a str,
}

impl<'a> Block<'a> {
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into(), cache_control: None }
    }

    pub fn image(image: &'a Image) -> Self {
        let media_type = image.mime.to_string();
        let source = Source { kind: "base64", media_type, data: &image.data };
        Self::Image { source, cache_control: None }
    }

    pub fn call(call: &'a Call) -> Self {
        Self::ToolUse { id: &call.id, name: &call.name, input: Sorted(&call.arguments) }
    }

    pub fn result(result: &'a CallResult) -> Self {
        Self::ToolResult {
            tool_use_id: &result.id,
            content: &result.output,
            is_error: !result.ok,
            cache_control: None,
        }
    }

    /// The same block with a mark, where it can have one.
    pub fn marked(mut self) -> Self {
        match &mut self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(Cache::EPHEMERAL),
            Self::ToolUse { .. } | Self::Opaque(_) => {}
        }
        self
    }
}
