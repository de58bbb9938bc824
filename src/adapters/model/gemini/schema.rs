//! The part of JSON Schema that Gemini takes.
//!
//! It refuses a request for one word too many, so that only the words that its reference names are
//! sent. What they leave out, Forge checks itself when a call comes.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; what is deeper takes anything.
const DEEPEST: usize = 16;

/// Words whose values go as they are.
const PLAIN: &[&str] = &[
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
    "title",
];

/// The schema of a function's arguments; `None` for one that takes none, for an object without
/// fields is refused.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let reduced = reduced(schema, 0);
    let fields = reduced.get("properties").and_then(Value::as_object);
    fields.is_some_and(|it| !it.is_empty()).then_some(reduced)
}

fn reduced(schema: &Value, depth: usize) -> Value {
    let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else {
        return json!({"type": "string"});
    };
    let mut kept = Map::new();
    for (word, value) in schema.iter().filter(|(word, _)| PLAIN.contains(&word.as_str())) {
        kept.insert(word.clone(), value.clone());
    }
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|it| schema.get(*it)?.as_array());
    if let Some(alternatives) = alternatives {
        let is_null = |it: &&Value| it.get("type").is_some_and(|it| it == "null");
        if alternatives.iter().any(|it| is_null(&it)) {
            kept.insert("nullable".into(), true.into());
        }
        let some: Vec<_> = alternatives
            .iter()
            .filter(|it| !is_null(it))
            .map(|it| reduced(it, depth + 1))
            .collect();
        match <[Value; 1]>::try_from(some) {
            // One that may be left out is no choice.
            Ok([Value::Object(only)]) => {
                let own = std::mem::replace(&mut kept, only);
                kept.extend(own);
            }
            Ok([other]) => return other,
            Err(some) => drop(kept.insert("anyOf".into(), some.into())),
        }
        return Value::Object(kept);
    }
    let of_type = type_of(schema, &mut kept);
    match of_type.as_str() {
        "object" => object(schema, depth, &mut kept),
        "array" => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            kept.insert("items".into(), reduced(items, depth + 1));
        }
        _ => {}
    }
    // Only words can be listed, and only of a string.
    let words = schema.get("enum").and_then(Value::as_array);
    let constant = schema.get("const").map(|it| vec![it.clone()]);
    let words = words.cloned().or(constant).filter(|it| it.iter().all(Value::is_string));
    if let Some(words) = words.filter(|it| of_type == "string" && !it.is_empty()) {
        kept.insert("enum".into(), words.into());
        kept.insert("format".into(), "enum".into());
    }
    kept.insert("type".into(), of_type.into());
    Value::Object(kept)
}

/// The one type; of several, the first that is not null.
fn type_of(schema: &Map<String, Value>, kept: &mut Map<String, Value>) -> String {
    let known =
        |it: &str| ["string", "number", "integer", "boolean", "array", "object"].contains(&it);
    let words: Vec<&str> = match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if words.len() > 1 && words.contains(&"null") {
        kept.insert("nullable".into(), true.into());
    }
    let otherwise = if schema.contains_key("properties") {
        "object"
    } else if schema.contains_key("items") {
        "array"
    } else {
        "string"
    };
    words.into_iter().find(|it| known(it)).unwrap_or(otherwise).to_owned()
}

fn object(schema: &Map<String, Value>, depth: usize, kept: &mut Map<String, Value>) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    if fields.is_empty() {
        return;
    }
    let mut names: Vec<_> = fields.keys().collect();
    names.sort();
    let properties: Map<_, _> =
        names.iter().map(|it| ((*it).clone(), reduced(&fields[*it], depth + 1))).collect();
    let required = schema.get("required").and_then(Value::as_array);
    // A required field that is not there is refused.
    let required: Vec<_> = required
        .into_iter()
        .flatten()
        .filter(|it| it.as_str().is_some_and(|it| fields.contains_key(it)))
        .cloned()
        .collect();
    kept.insert("properties".into(), properties.into());
    if !required.is_empty() {
        kept.insert("required".into(), required.into());
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_the_words_that_are_taken_stay() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "description": "Where.", "default": "."},
                "limit": {"type": ["integer", "null"], "exclusiveMinimum": 0, "minimum": 1},
                "mode": {"const": "fast"},
                "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
                "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
                "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "description": "?"},
            },
            "required": ["path", "gone"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "limit": {"type": "integer", "nullable": true, "minimum": 1},
                "mode": {"type": "string", "enum": ["fast"], "format": "enum"},
                "edits": {"type": "array", "items": {"type": "string"}},
                "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                "maybe": {"type": "boolean", "nullable": true, "description": "?"},
            },
            "required": ["path"],
        });
        assert_eq!(parameters(&schema), Some(expected));
    }

    #[test]
    fn a_tool_without_arguments_has_no_schema() {
        assert_eq!(parameters(&json!({"type": "object", "properties": {}})), None);
        assert_eq!(parameters(&json!({"type": "object"})), None);
        assert_eq!(parameters(&json!(true)), None);
    }

    #[test]
    fn a_schema_without_end_is_cut() {
        let mut schema = json!({"type": "string"});
        for _ in 0..200 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        assert!(parameters(&schema).unwrap().to_string().len() < 2_000);
    }
}
