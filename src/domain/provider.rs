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
    /// Chat Completions with what `OpenRouter` adds to it.
    Openrouter,
    /// `Ollama`'s own chat format.
    Ollama,
    /// Messages.
    Anthropic,
    /// `generateContent`.
    Gemini,
}

words! {
    Kind {
        Openai => "openai", Openrouter => "openrouter", Ollama => "ollama",
        Anthropic => "anthropic", Gemini => "gemini",
    }
}

impl Kind {
    /// All kinds, in the order in which people are offered them.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::Anthropic, Self::Gemini, Self::Openrouter, Self::Ollama];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "OpenAI",
            Self::Openrouter => "OpenRouter",
            Self::Ollama => "Ollama",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Google Gemini",
        }
    }

    /// The address that is meant where none is given.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::Openai => "https://api.openai.com/v1",
            Self::Openrouter => "https://openrouter.ai/api/v1",
            Self::Ollama => "http://localhost:11434",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// Whether nobody is served there without a key. Servers of one's own, which speak the formats
    /// of the other kinds, often want none.
    pub fn needs_key(self) -> bool {
        matches!(self, Self::Openrouter | Self::Anthropic | Self::Gemini)
    }

    /// What it is good for, in a sentence for who sets it up.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Openai => "OpenAI, and every server that speaks its Chat Completions.",
            Self::Openrouter => "Models of many makers with one key, and what each reply cost.",
            Self::Ollama => "Models on a machine of your own. It usually needs no key.",
            Self::Anthropic => "Claude, through Anthropic's Messages.",
            Self::Gemini => "Gemini, with a key of Google AI Studio.",
        }
    }
}

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
    /// What holds, made by [`Meta::settle`] of what follows and of the catalogue.
    #[serde(default)]
    pub models: BTreeMap<String, ModelMeta>,
    /// What the provider's own list says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<String, ModelMeta>,
    /// What an admin entered, which goes before all else and stays when the list is read again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entered: BTreeMap<String, ModelMeta>,
}

/// The version of [`Meta`] that is written: the first that tells apart where values come from.
pub const META_VERSION: u32 = 2;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Entered,
    Listed,
    Catalogue,
}

impl Meta {
    /// Works out what holds, also of the models that sessions can use and nothing else is said of:
    /// what was entered, else what the list says, else what `catalogue` knows of a model of this
    /// id.
    pub fn settle(&mut self, chosen: &[String], catalogue: impl Fn(&str) -> ModelMeta) {
        if self.version < META_VERSION && self.listed.is_empty() && self.entered.is_empty() {
            self.listed = std::mem::take(&mut self.models);
        }
        self.version = META_VERSION;
        let (listed, nothing) = (&self.listed, ModelMeta::default());
        self.entered.retain(|id, it| *it != nothing || !listed.contains_key(id));
        let ids = self.listed.keys().chain(self.entered.keys()).chain(chosen);
        let settled = ids.map(|id| {
            let known =
                |all: &BTreeMap<String, ModelMeta>| all.get(id).cloned().unwrap_or_default();
            let holds = known(&self.entered).or(&known(&self.listed)).or(&catalogue(id));
            (id.clone(), holds)
        });
        self.models = settled.collect();
    }

    /// Where a value of a model comes from; `None` where it is not known.
    pub fn source<T>(&self, id: &str, value: impl Fn(&ModelMeta) -> Option<T>) -> Option<Source> {
        let is_in = |all: &BTreeMap<String, ModelMeta>| all.get(id).and_then(&value).is_some();
        match () {
            () if is_in(&self.entered) => Some(Source::Entered),
            () if is_in(&self.listed) => Some(Source::Listed),
            () if is_in(&self.models) => Some(Source::Catalogue),
            () => None,
        }
    }
}

impl ModelMeta {
    /// Whether some price would credit whoever calls the model. No such price is believed.
    pub fn has_negative_price(&self) -> bool {
        let prices =
            [self.price_input, self.price_output, self.price_cache_read, self.price_cache_write];
        prices.into_iter().flatten().any(|price| price < 0)
    }

    /// The same, with what is unknown taken from another.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            context: self.context.or(other.context),
            output_limit: self.output_limit.or(other.output_limit),
            tools: self.tools.or(other.tools),
            reasoning: self.reasoning.or(other.reasoning),
            images: self.images.or(other.images),
            price_input: self.price_input.or(other.price_input),
            price_output: self.price_output.or(other.price_output),
            price_cache_read: self.price_cache_read.or(other.price_cache_read),
            price_cache_write: self.price_cache_write.or(other.price_cache_write),
        }
    }

    /// What tokens cost in micro-dollars, rounded up; `None` where a price that counts is unknown.
    pub fn cost(&self, tokens: &Tokens) -> Option<i64> {
        if self.has_negative_price() {
            return None;
        }
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
    fn a_negative_price_credits_nobody() {
        let meta = ModelMeta {
            price_input: Some(1_000_000),
            price_output: Some(1_000_000),
            price_cache_read: Some(-1_000_000),
            ..ModelMeta::default()
        };
        assert_eq!(meta.cost(&Tokens { input: 5, ..Tokens::default() }), None);
    }

    #[test]
    fn each_kind_of_tokens_has_its_own_price() {
        let meta = ModelMeta {
            price_input: Some(3_000_000),
            price_output: Some(15_000_000),
            price_cache_read: Some(300_000),
            price_cache_write: Some(3_750_000),
            ..ModelMeta::default()
        };
        let tokens = Tokens {
            input: 1_000,
            cache_read: 10_000,
            cache_write: 2_000,
            output: 100,
            reasoning: 60,
            estimated: false,
        };
        // Reasoning is a share of the output and costs nothing more.
        assert_eq!(meta.cost(&tokens), Some(3_000 + 3_000 + 7_500 + 1_500));
        let plain = ModelMeta { price_cache_read: None, price_cache_write: None, ..meta };
        assert_eq!(plain.cost(&tokens), Some(3_000 + 30_000 + 6_000 + 1_500));
    }

    #[test]
    fn what_was_entered_goes_before_the_list_and_that_before_the_catalogue() {
        let of =
            |context, output_limit| ModelMeta { context, output_limit, ..ModelMeta::default() };
        let mut meta = Meta {
            listed: [("m".to_owned(), of(Some(2), None))].into(),
            entered: [("m".to_owned(), of(Some(1), None)), ("n".to_owned(), of(None, None))].into(),
            ..Meta::default()
        };
        meta.settle(&[], |_| ModelMeta { tools: Some(true), ..of(Some(3), Some(3)) });
        let expected = ModelMeta { tools: Some(true), ..of(Some(1), Some(3)) };
        assert_eq!(meta.models["m"], expected);
        assert_eq!(meta.models["n"].context, Some(3));
        assert_eq!(meta.source("m", |it| it.context), Some(Source::Entered));
        assert_eq!(meta.source("m", |it| it.output_limit), Some(Source::Catalogue));
        assert_eq!(meta.source("m", |it| it.price_input), None);
        meta.entered.clear();
        meta.settle(&[], |_| ModelMeta::default());
        assert_eq!(meta.models["m"], of(Some(2), None), "the list shows again");
    }

    #[test]
    fn what_the_catalogue_said_is_never_taken_for_the_list() {
        let (mut meta, chosen) = (Meta::default(), ["m".to_owned()]);
        meta.settle(&chosen, |_| ModelMeta { context: Some(3), ..ModelMeta::default() });
        meta.settle(&chosen, |_| ModelMeta::default());
        assert_eq!((meta.models["m"].context, meta.listed.len()), (None, 0));
    }

    #[test]
    fn what_was_stored_before_is_taken_for_the_list() {
        let old = r#"{"version": 1, "models": {"m": {"context": 5}}}"#;
        let mut meta: Meta = serde_json::from_str(old).unwrap();
        meta.settle(&[], |_| ModelMeta::default());
        assert_eq!(meta.models["m"].context, Some(5));
        assert_eq!(meta.source("m", |it| it.context), Some(Source::Listed));
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
