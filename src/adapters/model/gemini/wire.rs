//! The shapes of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::super::sorted::Sorted;
use crate::domain::conversation::{Call, CallResult, Image};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tools<'a>>,
    pub generation_config: GenerationConfig,
    pub contents: Vec<Content<'a>>,
    /// Behind the contents, because it changes at the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<FunctionCalling>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tools<'a> {
    pub function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
pub(super) struct Declaration<'a> {
    pub name: &'a str,
    pub description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCalling {
    pub function_calling_config: FunctionCallingConfig,
}

#[derive(Serialize)]
pub(super) struct FunctionCallingConfig {
    pub mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_config: Option<ThinkingConfig>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    pub include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

#[derive(Serialize)]
pub(super) struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(flatten)]
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Data<'a> {
    Text(Cow<'a, str>),
    #[serde(rename = "inlineData")]
    Image(Blob<'a>),
    FunctionCall(FunctionCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: String,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Sorted<'a>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Response<'a>,
}

/// What came of a call, under the names that the format knows.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

impl<'a> Part<'a> {
    fn of(data: Data<'a>) -> Self {
        Self { data, thought_signature: None }
    }

    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::of(Data::Text(text.into()))
    }

    pub fn image(image: &'a Image) -> Self {
        let blob = Blob { mime_type: image.mime.to_string(), data: &image.data };
        Self::of(Data::Image(blob))
    }

    pub fn call(call: &'a Call) -> Self {
        let call = FunctionCall { id: &call.id, name: &call.name, args: Sorted(&call.arguments) };
        Self::of(Data::FunctionCall(call))
    }

    pub fn result(result: &'a CallResult) -> Self {
        let output = result.output.as_str();
        let response = if result.ok { Response::Output(output) } else { Response::Error(output) };
        let data = FunctionResponse { id: &result.id, name: &result.name, response };
        Self::of(Data::FunctionResponse(data))
    }

    /// The same part with a proof, where there is one.
    pub fn signed(mut self, proof: Option<&str>) -> Self {
        self.thought_signature = proof.map(str::to_owned);
        self
    }
}
