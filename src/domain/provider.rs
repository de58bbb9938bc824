//! What is known of providers and their models.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::message::{Tokens, UnknownWord, words};

/// Which requests a provider understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Chat Completions.
    Openai,
}

words! { Kind { Openai => "openai" } }

/// What is known of one model. What is not known is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMeta {
    /// Tokens that one request and its answer may have together.
    pub context: Option<u64>,
    pub output_limit: Option<u64>,
    pub tools: Option<bool>,
    pub reasoning: Option<bool>,
    pub images: Option<bool>,
    /// Micro-dollars per million tokens.
    pub price_input: Option<i64>,
    pub price_output: Option<i64>,
    pub price_cache_read: Option<i64>,
    pub price_cache_write: Option<i64>,
}

/// The `meta` column of a provider: per model id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    #[serde(default)]
    pub models: BTreeMap<String, ModelMeta>,
}

impl ModelMeta {
    /// What tokens cost in micro-dollars, rounded up; `None` where a price that counts is unknown.
    pub fn cost(&self, tokens: &Tokens) -> Option<i64> {
        let input = self.price_input?;
        let shares = [
            (tokens.input, input),
            (tokens.output, self.price_output?),
            (tokens.cache_read, self.price_cache_read.unwrap_or(input)),
            (tokens.cache_write, self.price_cache_write.unwrap_or(input)),
        ];
        let millionths: i128 =
            shares.iter().map(|(count, price)| i128::from(*count) * i128::from(*price)).sum();
        i64::try_from((millionths + 999_999) / 1_000_000).ok()
    }
}

/// A model as a session names it: `<provider id>/<model id>`.
pub fn split_model(name: &str) -> Option<(super::ids::ProviderId, &str)> {
    let (provider, model) = name.split_once('/')?;
    let provider = provider.parse().ok()?;
    (!model.is_empty() && model.len() <= 200).then_some((provider, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_is_no_price_and_not_zero() {
        assert_eq!(ModelMeta::default().cost(&Tokens { input: 5, ..Tokens::default() }), None);
    }

    #[test]
    fn cost_is_in_micro_dollars_and_rounded_up() {
        let meta = ModelMeta {
            price_input: Some(2_500_000),
            price_output: Some(10_000_000),
            ..ModelMeta::default()
        };
        let tokens = Tokens { input: 1000, output: 10, ..Tokens::default() };
        assert_eq!(meta.cost(&tokens), Some(2_600));
        assert_eq!(meta.cost(&Tokens { input: 1, ..Tokens::default() }), Some(3));
    }
}
