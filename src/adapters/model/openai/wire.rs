//! The shapes of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::super::sorted::Sorted;
use crate::domain::conversation::Image;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub stream: bool,
    pub stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Include>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Effort>,
    /// The router marks the end of the request by itself, so that a cache may begin there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<Cache>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub messages: Vec<Message<'a>>,
    /// Behind the messages, because it changes at the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub include_usage: bool,
}

#[derive(Serialize)]
pub(super) struct Include {
    pub include: bool,
}

#[derive(Serialize)]
pub(super) struct Effort {
    pub effort: &'static str,
}

#[derive(Serialize)]
pub(super) struct Cache {
    #[serde(rename = "type")]
    pub kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Sorted<'a>,
}

impl<'a> Tool<'a> {
    pub fn new(name: &'a str, description: &'a str, parameters: Sorted<'a>) -> Self {
        Self { kind: "function", function: Function { name, description, parameters } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// What a person said.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(&'a str),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

impl Piece<'_> {
    pub fn image(image: &Image) -> Self {
        let url = format!("data:{};base64,{}", image.mime, image.data);
        Self::ImageUrl { image_url: ImageUrl { url } }
    }
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub id: &'a str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: CalledFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub name: &'a str,
    pub arguments: String,
}
