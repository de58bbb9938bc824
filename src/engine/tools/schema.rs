//! Checks a tool's input against its JSON Schema, with words that a model can act on.
//!
//! Light slips are mended, because their meaning is beyond doubt: a number or a truth value given
//! as text, a whole number written with a fraction of zero, `null` for a field that may be left
//! out. Anything else is an error; nothing is guessed.

use serde_json::{Map, Number, Value, json};

/// An object with these properties and no others.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Mends and checks a value. `at` is what the value is called in a message.
pub(super) fn check(schema: &Value, value: &mut Value, at: &str) -> Result<(), String> {
    match schema["type"].as_str() {
        Some("object") => match value {
            Value::Object(fields) => check_fields(schema, fields, at),
            _ => Err(format!("{at} must be a JSON object, not {}.", described(value))),
        },
        Some("array") => {
            let Value::Array(items) = value else {
                return Err(format!("{at} must be a list, not {}.", described(value)));
            };
            for (index, item) in items.iter_mut().enumerate() {
                check(&schema["items"], item, &format!("{at}[{index}]"))?;
            }
            Ok(())
        }
        Some("integer") => check_integer(schema, value, at),
        Some("boolean") => {
            match value.as_str().map(str::to_ascii_lowercase).as_deref() {
                Some("true") => *value = Value::Bool(true),
                Some("false") => *value = Value::Bool(false),
                _ => {}
            }
            match value {
                Value::Bool(_) => Ok(()),
                _ => Err(format!("{at} must be true or false, not {}.", described(value))),
            }
        }
        _ => check_text(schema, value, at),
    }
}

fn check_fields(schema: &Value, fields: &mut Map<String, Value>, at: &str) -> Result<(), String> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let within =
        |name: &str| if at == "The input" { name.to_owned() } else { format!("{at}.{name}") };
    if let Some(name) = required.iter().find(|name| fields.get(**name).is_none_or(Value::is_null)) {
        return Err(format!("{} is missing.", within(name)));
    }
    fields.retain(|name, value| !value.is_null() || !properties.contains_key(name));
    for (name, value) in fields.iter_mut() {
        let Some(schema) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            return Err(format!(
                "{} is not a field; there are: {}.",
                within(name),
                known.join(", ")
            ));
        };
        check(schema, value, &within(name))?;
    }
    Ok(())
}

fn check_integer(schema: &Value, value: &mut Value, at: &str) -> Result<(), String> {
    let text = value.as_str().and_then(|text| text.trim().parse::<i64>().ok());
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    let float =
        value.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 9e15).map(|it| it as i64);
    let Some(number) = value.as_i64().or(text).or(float) else {
        return Err(format!("{at} must be a whole number, not {}.", described(value)));
    };
    let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
    match (least, most) {
        (Some(least), _) if number < least => {
            return Err(format!("{at} must be at least {least}, not {number}."));
        }
        (_, Some(most)) if number > most => {
            return Err(format!("{at} must be at most {most}, not {number}."));
        }
        _ => {}
    }
    *value = Value::Number(Number::from(number));
    Ok(())
}

fn check_text(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::String(text) = value else {
        return Err(format!("{at} must be text, not {}.", described(value)));
    };
    let words: Vec<&str> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match words.is_empty() || words.contains(&text.as_str()) {
        true => Ok(()),
        false => Err(format!("{at} must be one of {}.", words.join(", "))),
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
