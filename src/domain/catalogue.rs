//! What is known of models: what a provider's listing says, filled up from `private/models.toml`.

use std::sync::LazyLock;

use figment::{
    Figment,
    providers::{Format, Toml},
};
use serde::{Deserialize, Serialize};

use super::provider::ModelMeta;

/// A model that a provider offers. Unknown is `None`, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    pub id: String,
    /// What people are shown; the id where the provider has no other name.
    pub name: String,
    /// Tokens that the model can read and write in all.
    pub context: Option<u64>,
    /// Tokens that the model can write.
    pub output_limit: Option<u64>,
    pub tools: Option<bool>,
    pub reasoning: Option<bool>,
    pub images: Option<bool>,
    /// Micro-dollars per million tokens, here and below.
    pub input_price: Option<i64>,
    pub output_price: Option<i64>,
    pub cache_read_price: Option<i64>,
    pub cache_write_price: Option<i64>,
}

impl ModelInfo {
    /// A model of which nothing else is known yet.
    pub fn named(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, ..Self::default() }
    }

    /// Fills what is unknown from the catalogue. Prices only where `host`, which the provider is
    /// asked at, is the maker's own: others sell the same models at other prices.
    pub fn completed(mut self, host: &str) -> Self {
        let Some((model, at_the_maker)) = CATALOGUE.find(&self.id, host) else { return self };
        self.context = self.context.or(model.context);
        self.output_limit = self.output_limit.or(model.output_limit);
        self.tools = self.tools.or(model.tools);
        self.reasoning = self.reasoning.or(model.reasoning);
        self.images = self.images.or(model.images);
        if at_the_maker {
            self.input_price = self.input_price.or(model.price.input);
            self.output_price = self.output_price.or(model.price.output);
            self.cache_read_price = self.cache_read_price.or(model.price.cache_read);
            self.cache_write_price = self.cache_write_price.or(model.price.cache_write);
        }
        self
    }
}

impl From<ModelInfo> for ModelMeta {
    fn from(info: ModelInfo) -> Self {
        Self {
            context: info.context,
            output_limit: info.output_limit,
            tools: info.tools,
            reasoning: info.reasoning,
            images: info.images,
            price_input: info.input_price,
            price_output: info.output_price,
            price_cache_read: info.cache_read_price,
            price_cache_write: info.cache_write_price,
        }
    }
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::read(include_str!("../../private/models.toml")).unwrap_or_default()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    version: u32,
    makers: Vec<Maker>,
    models: Vec<Known>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Maker {
    name: String,
    hosts: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    id: String,
    maker: String,
    context: Option<u64>,
    output_limit: Option<u64>,
    tools: Option<bool>,
    reasoning: Option<bool>,
    images: Option<bool>,
    #[serde(default)]
    price: Price,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: Option<i64>,
    output: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
}

impl Catalogue {
    fn read(text: &str) -> Result<Self, String> {
        let read: Self =
            Figment::from(Toml::string(text)).extract().map_err(|err| err.to_string())?;
        if read.version == 1 { Ok(read) } else { Err("the version is not 1".to_owned()) }
    }

    /// The model of this id, or the one that the id is a dated snapshot of, and whether `host` is
    /// its maker's.
    fn find(&self, id: &str, host: &str) -> Option<(&Known, bool)> {
        let known = self.models.iter().find(|it| it.id == id || is_snapshot(id, &it.id))?;
        let maker = self.makers.iter().find(|it| it.name == known.maker);
        Some((known, maker.is_some_and(|it| it.hosts.iter().any(|it| it == host))))
    }
}

/// Whether `id` is `model` with a date behind it, as in `gpt-4o-2024-08-06` and
/// `claude-haiku-4-5-20251001`.
fn is_snapshot(id: &str, model: &str) -> bool {
    let Some(date) = id.strip_prefix(model).and_then(|it| it.strip_prefix('-')) else {
        return false;
    };
    let lengths: Vec<_> = date.split('-').map(str::len).collect();
    let is_date = matches!(lengths[..], [4, 2, 2] | [8]);
    is_date && date.bytes().all(|it| it.is_ascii_digit() || it == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sound() {
        let read = Catalogue::read(include_str!("../../private/models.toml")).unwrap();
        assert!(read.models.len() > 10);
        for model in &read.models {
            assert!(read.makers.iter().any(|it| it.name == model.maker), "{}", model.id);
            assert!(
                model.context.zip(model.output_limit).is_none_or(|(all, output)| all > output),
                "{}",
                model.id
            );
            assert_eq!(model.context.is_some(), model.output_limit.is_some(), "{}", model.id);
            let cached = model.price.cache_read;
            assert!(cached.is_none_or(|it| Some(it) < model.price.input), "{}", model.id);
            assert!(model.price.cache_write.is_none_or(|it| Some(it) > model.price.input));
            let prices = (model.price.input, model.price.output);
            assert!(prices.0 < prices.1 || prices == (None, None), "{}", model.id);
            let same = read.models.iter().filter(|it| it.id == model.id);
            assert_eq!(same.count(), 1, "{}", model.id);
        }
    }

    #[test]
    fn a_snapshot_is_known_by_its_model() {
        let snapshot = ModelInfo::named("gpt-4o-2024-08-06").completed("api.openai.com");
        assert_eq!((snapshot.context, snapshot.input_price), (Some(128_000), Some(2_500_000)));
        let claude = ModelInfo::named("claude-haiku-4-5-20251001").completed("api.anthropic.com");
        assert_eq!((claude.context, claude.cache_write_price), (Some(200_000), Some(1_250_000)));
        let newer = ModelInfo::named("claude-opus-5-5").completed("api.anthropic.com");
        assert_eq!(newer.input_price, Some(4_000_000), "5.5 is no snapshot of 5");
        let other = ModelInfo::named("gpt-4o-audio-preview").completed("api.openai.com");
        assert_eq!(other, ModelInfo::named("gpt-4o-audio-preview"));
    }

    #[test]
    fn prices_hold_only_at_the_maker() {
        let elsewhere = ModelInfo::named("gpt-4o").completed("models.example.com");
        assert_eq!((elsewhere.context, elsewhere.input_price), (Some(128_000), None));
    }

    #[test]
    fn what_the_listing_says_comes_first() {
        let listed = ModelInfo { context: Some(9), ..ModelInfo::named("gpt-4o") };
        assert_eq!(listed.completed("").context, Some(9));
    }
}
