//! The shapes of a request.

use serde::Serialize;

use super::super::sorted::Sorted;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub stream: bool,
    pub truncate: bool,
    pub shift: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    pub options: Options,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Think {
    Whether(bool),
    Level(&'static str),
}

#[derive(Serialize)]
pub(super) struct Options {
    pub num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_predict: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: Sorted<'a>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<&'a str>,
    },
    Assistant {
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        content: &'a str,
        tool_name: &'a str,
        tool_call_id: &'a str,
    },
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub id: &'a str,
    pub function: CalledFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub name: &'a str,
    pub arguments: Sorted<'a>,
}
