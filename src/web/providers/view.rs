//! What the pages of providers show.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::Entered;
use crate::{
    domain::{
        ids::ProviderId,
        provider::{Kind, ModelMeta},
    },
    engine::{
        providers::{Outcome, Tested, chosen, known},
        refused::Fields,
    },
    store::entity::provider::Model as Provider,
    web::page::Frame,
};

/// The most models that are drawn at once; the others are found with the filter.
const ROWS: usize = 300;

#[derive(Template)]
#[template(path = "providers/index.html")]
pub(super) struct Index {
    pub frame: Frame,
    pub list: ListPanel,
    pub form: Option<FormPanel>,
    pub models: Option<ModelsPanel>,
    /// Whether members may have their own.
    pub personal: bool,
}

#[derive(Template)]
#[template(path = "providers/list.html")]
pub(super) struct ListPanel {
    frame: Frame,
    pub items: Vec<Item>,
    /// Whether it comes beside another fragment and replaces the list of the page.
    beside: bool,
}

pub(super) struct Item {
    path: String,
    whose: &'static str,
    name: String,
    kind: &'static str,
    models: String,
    key: String,
    status: &'static str,
    icon: &'static str,
    state: &'static str,
    current: bool,
}

#[derive(Template)]
#[template(path = "providers/own.html")]
pub(super) struct OwnIndex {
    pub frame: Frame,
    pub list: ListPanel,
    pub form: Option<FormPanel>,
    pub models: Option<ModelsPanel>,
    /// Whether the operator lets people have them.
    pub permitted: bool,
}

/// Where the lists of providers are.
pub(super) const SHARED: &str = "/providers";
pub(super) const OWN: &str = "/account/providers";

/// The list that a provider is in.
fn list_of(provider: &Provider) -> &'static str {
    if provider.owner_id.is_some() { OWN } else { SHARED }
}

/// Where the page of a provider is.
pub(super) fn path_of(provider: &Provider) -> String {
    format!("{}/{}", list_of(provider), provider.id)
}

/// The form after a change, with the list that names it.
#[derive(Template)]
#[template(source = "{{ form|safe }}{{ list|safe }}", ext = "html")]
pub(super) struct Updated {
    pub form: FormPanel,
    pub list: ListPanel,
}

#[derive(Template)]
#[template(path = "providers/form.html")]
pub(super) struct FormPanel {
    frame: Frame,
    /// Whether it is stored already.
    existing: bool,
    /// The list that it is or will be in.
    list: &'static str,
    path: String,
    title: String,
    name: String,
    /// The word for the kind that is chosen.
    kind: String,
    kinds: [Kind; 5],
    url: String,
    has_key: bool,
    /// Stands where the key would.
    key_shown: String,
    disabled: bool,
    /// The model to try.
    model: String,
    /// Those that can be tried.
    models: Vec<String>,
    errors: Fields,
    pub tested: TestPanel,
}

#[derive(Template)]
#[template(path = "providers/test.html")]
pub(super) struct TestPanel {
    frame: Frame,
    tested: Option<Told>,
    works: bool,
}

/// What a test or a reading came to, in words.
pub(super) struct Told {
    title: String,
    detail: String,
    said: Option<String>,
}

#[derive(Template)]
#[template(path = "providers/models.html")]
pub(super) struct ModelsPanel {
    frame: Frame,
    path: String,
    query: String,
    rows: Vec<Row>,
    /// How many match the filter, and how many there are.
    matching: usize,
    total: usize,
    in_use: usize,
    pub failed: Option<Told>,
    pub wrong: Option<String>,
    /// The name that was entered for another model.
    pub more: String,
}

struct Row {
    id: String,
    chosen: bool,
    /// Context, output, and the prices of input, output and cache reads.
    numbers: [Option<String>; 5],
    /// `None` where nothing is known.
    can: Option<Vec<&'static str>>,
}

impl ListPanel {
    pub fn of(frame: Frame, providers: &[Provider], current: Option<ProviderId>) -> Self {
        let items = providers.iter().map(|it| Item::of(it, current)).collect();
        Self { frame, items, beside: false }
    }

    /// The list as it goes along with another fragment.
    pub fn beside(frame: Frame, providers: &[Provider], current: Option<ProviderId>) -> Self {
        Self { beside: true, ..Self::of(frame, providers, current) }
    }
}

impl Item {
    fn of(provider: &Provider, current: Option<ProviderId>) -> Self {
        let count = chosen(provider).len();
        let (status, icon, state) = match (provider.disabled_at, count) {
            (Some(_), _) => ("aborted", "aborted", "Disabled"),
            (None, 0) => ("idle", "circle", "No models chosen"),
            (None, _) => ("done", "check-circle", "In use"),
        };
        Self {
            path: path_of(provider),
            whose: if provider.owner_id.is_some() { "your own" } else { "shared" },
            name: provider.name.clone(),
            kind: provider.kind.name(),
            models: match count {
                1 => "1 model in use".to_owned(),
                count => format!("{count} models in use"),
            },
            key: match (&provider.key, &provider.key_hint) {
                (None, _) => "no key".to_owned(),
                (Some(_), Some(hint)) => format!("key ends in {hint}"),
                (Some(_), None) => "with a key".to_owned(),
            },
            status,
            icon,
            state,
            current: current == Some(provider.id),
        }
    }
}

impl FormPanel {
    /// The form for a provider that is not there yet.
    pub fn new(frame: Frame, list: &'static str) -> Self {
        Self {
            tested: TestPanel { frame: frame.clone(), tested: None, works: false },
            frame,
            existing: false,
            list,
            path: list.into(),
            title: "New provider".into(),
            name: String::new(),
            kind: Kind::ALL[0].to_string(),
            kinds: Kind::ALL,
            url: String::new(),
            has_key: false,
            key_shown: String::new(),
            disabled: false,
            model: String::new(),
            models: Vec::new(),
            errors: Fields::new(),
        }
    }

    pub fn of(frame: Frame, provider: &Provider) -> Self {
        Self {
            existing: true,
            path: path_of(provider),
            title: provider.name.clone(),
            name: provider.name.clone(),
            kind: provider.kind.to_string(),
            url: provider.url.clone(),
            has_key: provider.key.is_some(),
            key_shown: match (&provider.key, &provider.key_hint) {
                (Some(_), hint) => format!("••••••••{}", hint.as_deref().unwrap_or_default()),
                (None, _) => String::new(),
            },
            disabled: provider.disabled_at.is_some(),
            models: chosen(provider).into_iter().take(ROWS).collect(),
            ..Self::new(frame, list_of(provider))
        }
    }

    /// The same with what somebody has entered, but for the key.
    pub fn entered(mut self, entered: &Entered, errors: Fields) -> Self {
        let shorten = |text: &str| text.chars().take(1_000).collect::<String>();
        self.name = shorten(&entered.name);
        self.kind = shorten(&entered.kind);
        self.url = shorten(&entered.url);
        self.model = shorten(&entered.model);
        self.errors = errors;
        self
    }
}

impl TestPanel {
    pub fn of(frame: Frame, tested: Tested) -> Self {
        let works = tested.outcome == Outcome::Works;
        Self { frame, tested: Some(tested.into()), works }
    }
}

impl From<Tested> for Told {
    fn from(tested: Tested) -> Self {
        Self { title: tested.title, detail: tested.detail, said: tested.said }
    }
}

impl ModelsPanel {
    /// The models whose id contains the query, chosen ones first.
    pub fn of(frame: Frame, provider: &Provider, query: &str) -> Self {
        let query: String = query.trim().chars().take(200).collect();
        let in_use: BTreeSet<String> = chosen(provider).into_iter().collect();
        let mut models: BTreeMap<String, ModelMeta> = known(provider).models;
        for id in &in_use {
            models.entry(id.clone()).or_default();
        }
        let total = models.len();
        let wanted = query.to_lowercase();
        let mut rows: Vec<Row> = models
            .into_iter()
            .filter(|(id, _)| id.to_lowercase().contains(&wanted))
            .map(|(id, meta)| Row { chosen: in_use.contains(&id), ..Row::of(id, &meta) })
            .collect();
        let matching = rows.len();
        rows.sort_by_key(|row| !row.chosen);
        rows.truncate(ROWS);
        Self {
            frame,
            path: path_of(provider),
            query,
            rows,
            matching,
            total,
            in_use: in_use.len(),
            failed: None,
            wrong: None,
            more: String::new(),
        }
    }
}

impl Row {
    fn of(id: String, meta: &ModelMeta) -> Self {
        let numbers = [
            meta.context.map(tokens),
            meta.output_limit.map(tokens),
            meta.price_input.map(dollars),
            meta.price_output.map(dollars),
            meta.price_cache_read.map(dollars),
        ];
        let abilities =
            [("tools", meta.tools), ("images", meta.images), ("reasoning", meta.reasoning)];
        let can = abilities.iter().any(|(_, known)| known.is_some()).then(|| {
            let can = abilities.iter().filter(|(_, known)| *known == Some(true));
            can.map(|(name, _)| *name).collect()
        });
        Self { id, chosen: false, numbers, can }
    }
}

/// A number of tokens as people say it: `200k`, `1.05M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => {
            let hundredths = (count + 5_000) / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Micro-dollars as dollars, with at least two digits behind the point.
fn dollars(micros: i64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let short = text.trim_end_matches('0');
    let behind = short.len() - short.find('.').map_or(0, |at| at + 1);
    format!("{short}{}", "0".repeat(2_usize.saturating_sub(behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short_and_prices_exact() {
        let said: Vec<_> = [512, 8_192, 200_000, 1_000_000, 1_048_576].map(tokens).to_vec();
        assert_eq!(said, ["512", "8k", "200k", "1M", "1.05M"]);
        let said: Vec<_> = [0, 3_000_000, 125_000, 75_000, 10_500_000, 1].map(dollars).to_vec();
        assert_eq!(said, ["0.00", "3.00", "0.125", "0.075", "10.50", "0.000001"]);
    }
}
