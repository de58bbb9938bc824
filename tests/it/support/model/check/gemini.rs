//! The format of `generateContent`.

use std::collections::HashSet;

use serde_json::Value;

use super::{Check, is_name, is_said};

/// The words that a schema may have.
const WORDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "minimum",
    "maximum",
];

pub(super) fn body(check: &mut Check, model: &str, body: &Value) {
    let known = ["systemInstruction", "tools", "generationConfig", "contents", "toolConfig"];
    check.keys(body, &known, "the body");
    if let Some(system) = body.get("systemInstruction") {
        check.keys(system, &["parts", "role"], "the system prompt");
        check.that(is_said(&system["parts"][0]["text"]), "an empty system prompt");
    }
    let config = &body["generationConfig"];
    check.keys(config, &["maxOutputTokens", "temperature", "thinkingConfig"], "the configuration");
    if let Some(thinking) = config.get("thinkingConfig") {
        check.keys(
            thinking,
            &["includeThoughts", "thinkingLevel", "thinkingBudget"],
            "the thinking",
        );
        let both = thinking.get("thinkingLevel").and(thinking.get("thinkingBudget"));
        check.that(both.is_none(), "a level and a budget");
    }
    if let Some(tools) = body.get("tools") {
        let declared = tools[0]["functionDeclarations"].as_array().map_or(&[][..], Vec::as_slice);
        check.that(!declared.is_empty(), "no function is declared");
        let mut before = "";
        for function in declared {
            check.keys(function, &["name", "description", "parameters"], "a function");
            let name = function["name"].as_str().unwrap_or_default();
            check.tool_name(name, before);
            if let Some(parameters) = function.get("parameters") {
                check.that(parameters["type"] == "object", format!("{name} takes no object"));
                schema(check, parameters);
            }
            before = name;
        }
    }
    let choice = &body["toolConfig"]["functionCallingConfig"]["mode"];
    check.that(choice.is_null() || (choice == "NONE" && body.get("tools").is_some()), "a mode");
    contents(check, model, body);
}

fn schema(check: &mut Check, schema: &Value) {
    check.keys(schema, WORDS, "a schema");
    let fields = schema["properties"].as_object();
    if schema["type"] == "object" && schema.get("properties").is_some() {
        check.that(fields.is_some_and(|it| !it.is_empty()), "an object without fields");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        let there =
            fields.is_some_and(|it| required.as_str().is_some_and(|name| it.contains_key(name)));
        check.that(there, format!("{required} is required and not there"));
    }
    check.that(schema["type"] != "array" || schema["items"].is_object(), "a list of nothing");
    let below = fields.into_iter().flatten().map(|(_, it)| it);
    let below = below.chain(schema["anyOf"].as_array().into_iter().flatten());
    for part in below.chain(schema.get("items")) {
        self::schema(check, part);
    }
}

fn contents(check: &mut Check, model: &str, body: &Value) {
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids = HashSet::new();
    let mut open: Vec<(&Value, &Value)> = Vec::new();
    let mut before = "model";
    let prompt = |it: &Value| {
        let said = |it: &Value| it.get("text").is_some() || it.get("inlineData").is_some();
        it["role"] == "user" && it["parts"].as_array().is_some_and(|it| it.iter().any(said))
    };
    let turn = contents.iter().rposition(prompt).unwrap_or(0);
    for (n, content) in contents.iter().enumerate() {
        check.keys(content, &["role", "parts"], "a content");
        let role = content["role"].as_str().unwrap_or_default();
        let alternates = matches!((before, role), ("model", "user") | ("user", "model"));
        check.that(alternates, format!("content {n} of {role:?} follows one of {before:?}"));
        before = role;
        let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        check.that(!parts.is_empty(), format!("content {n} is empty"));
        let mut called = Vec::new();
        let mut answered = Vec::new();
        for part in parts {
            let signed = part.get("thoughtSignature").is_some();
            check.that(!signed || role == "model", "a proof of what a person said");
            let known =
                ["text", "inlineData", "functionCall", "functionResponse", "thoughtSignature"];
            check.keys(part, &known, "a part");
            let fields = part.as_object().map_or(0, serde_json::Map::len) - usize::from(signed);
            check.that(fields == 1, format!("content {n} has a part that is {fields} things"));
            if let Some(text) = part.get("text") {
                check.that(is_said(text), format!("content {n} has an empty text"));
            }
            if let Some(image) = part.get("inlineData") {
                check.keys(image, &["mimeType", "data"], "an image");
                let read = ["image/png", "image/jpeg", "image/webp"];
                let mime = image["mimeType"].as_str().unwrap_or_default();
                check.that(role == "user" && read.contains(&mime), format!("an image {mime}"));
            }
            if let Some(call) = part.get("functionCall") {
                check.keys(call, &["id", "name", "args"], "a call");
                check.that(role == "model" && call["args"].is_object(), "a call");
                check.that(is_name(call["name"].as_str().unwrap_or_default()), "a call of nothing");
                check.that(ids.insert(call["id"].clone()), format!("{} twice", call["id"]));
                let proved =
                    signed || !called.is_empty() || n < turn || !model.starts_with("gemini-3");
                check.that(proved, format!("the call {} has no proof", call["id"]));
                called.push((&call["id"], &call["name"]));
            }
            if let Some(result) = part.get("functionResponse") {
                check.keys(result, &["id", "name", "response"], "a result");
                check.that(role == "user", "a result of the model");
                let response = &result["response"];
                check.keys(response, &["output", "error"], "a response");
                let said = is_said(&response["output"]) || is_said(&response["error"]);
                check.that(said, format!("a result in {n} is empty"));
                answered.push((&result["id"], &result["name"]));
            }
        }
        check.that(open == answered, format!("calls {open:?} and results {answered:?}"));
        open = called;
    }
    check.that(open.is_empty(), format!("the calls {open:?} have no result"));
    check.that(before == "user", "nobody waits for a reply");
}
