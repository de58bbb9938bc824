//! Reads lists of models.

use serde_json::Value;

use super::{super::ModelInfo, text};

/// The models of a listing, or `None` where it is none.
pub(in super::super) fn models(list: &Value) -> Option<Vec<ModelInfo>> {
    let models = list.get("data").or_else(|| list.get("models")).unwrap_or(list).as_array()?;
    Some(models.iter().filter_map(model).collect())
}

fn model(it: &Value) -> Option<ModelInfo> {
    let can = |name: &str| it.get("capabilities")?.get(name)?.as_bool();
    let id = text(it, "id").or_else(|| text(it, "name"))?;
    Some(ModelInfo {
        name: text(it, "display_name").or_else(|| text(it, "name")).unwrap_or(id).to_owned(),
        context: limit(
            it,
            &["context_length", "context_window", "max_model_len", "max_context_length"],
        ),
        output_limit: limit(it, &["max_completion_tokens", "max_output_tokens"]),
        tools: can("function_calling"),
        images: can("vision"),
        ..ModelInfo::named(id)
    })
}

/// The models that `OpenRouter` lists, with their prices and what they can.
pub(in super::super) fn openrouter_models(list: &Value) -> Option<Vec<ModelInfo>> {
    Some(list.get("data")?.as_array()?.iter().filter_map(openrouter_model).collect())
}

fn openrouter_model(it: &Value) -> Option<ModelInfo> {
    let can = |list: Option<&Value>, word: &str| {
        Some(list?.as_array()?.iter().any(|it| it.as_str() == Some(word)))
    };
    let parameters = it.get("supported_parameters");
    let modalities = it.get("architecture").and_then(|it| it.get("input_modalities"));
    let price = |name: &str| price(it.get("pricing")?.get(name)?);
    let top = it.get("top_provider").unwrap_or(&Value::Null);
    let id = text(it, "id")?;
    Some(ModelInfo {
        name: text(it, "name").unwrap_or(id).to_owned(),
        context: limit(it, &["context_length"]).or_else(|| limit(top, &["context_length"])),
        output_limit: limit(top, &["max_completion_tokens"]),
        tools: can(parameters, "tools"),
        reasoning: can(parameters, "reasoning"),
        images: can(modalities, "image"),
        input_price: price("prompt"),
        output_price: price("completion"),
        cache_read_price: price("input_cache_read"),
        cache_write_price: price("input_cache_write"),
        ..ModelInfo::named(id)
    })
}

/// A limit under the first of these names that says one. Zero stands for unknown.
fn limit(value: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| value.get(name)?.as_u64()).filter(|number| *number > 0)
}

/// Micro-dollars per million tokens, from dollars per token in decimal digits. A price below zero
/// stands for one that varies.
fn price(value: &Value) -> Option<i64> {
    let dollars = match value {
        Value::String(digits) => digits.trim().parse::<f64>().ok()?,
        number => number.as_f64()?,
    };
    let micros = (dollars * 1e12).round();
    // No model costs a million dollars per million tokens; what is above is no price.
    (0.0..=1e12).contains(&micros).then_some(micros as i64)
}
