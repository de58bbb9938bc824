//! What the pages of providers show.

use std::collections::BTreeSet;

use askama::Template;

use super::Entered;
use crate::{
    domain::{
        ids::ProviderId,
        provider::{Kind, Meta, ModelMeta, Source},
    },
    engine::{
        providers::{Outcome, Tested, chosen, known},
        refused::Fields,
    },
    store::entity::provider::Model as Provider,
    web::{
        files::encoded,
        page::Frame,
        words::{dollars, tokens},
    },
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
    /// Whether administrators let people have them.
    pub permitted: bool,
}

/// Where the lists of providers are.
pub(super) const SHARED: &str = "/providers";
pub(super) const OWN: &str = "/account/providers";

/// The list that a provider is in.
pub(super) fn list_of(provider: &Provider) -> &'static str {
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

/// The models after a change, with the list that counts them.
#[derive(Template)]
#[template(source = "{{ models|safe }}{{ list|safe }}", ext = "html")]
pub(super) struct ModelsChanged {
    pub models: ModelsPanel,
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
    /// The id as a part of an address.
    encoded: String,
    /// Context, output, and the prices of input, output and cache reads, each with where it comes
    /// from where that is not the provider's list.
    numbers: [Option<(String, &'static str)>; 5],
    /// `None` where nothing is known.
    can: Option<Vec<&'static str>>,
    can_from: &'static str,
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
        let meta = known(provider);
        let mut models = meta.models.clone();
        for id in &in_use {
            models.entry(id.clone()).or_default();
        }
        let total = models.len();
        let wanted = query.to_lowercase();
        let mut found: Vec<(bool, String, ModelMeta)> = models
            .into_iter()
            .filter(|(id, _)| id.to_lowercase().contains(&wanted))
            .map(|(id, it)| (!in_use.contains(&id), id, it))
            .collect();
        let matching = found.len();
        // Stable: both halves stay in the order of their ids.
        found.sort_by_key(|it| it.0);
        found.truncate(ROWS);
        let row = |(unused, id, it): (bool, String, ModelMeta)| Row {
            chosen: !unused,
            ..Row::of(id, &it, &meta)
        };
        let rows = found.into_iter().map(row).collect();
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
    fn of(id: String, it: &ModelMeta, meta: &Meta) -> Self {
        let from = |value: fn(&ModelMeta) -> Option<u64>| from(meta.source(&id, value));
        let price = |value: fn(&ModelMeta) -> Option<i64>| {
            let said = value(it).map(dollars);
            said.map(|said| (said, self::from(meta.source(&id, value))))
        };
        let numbers = [
            it.context.map(|said| (tokens(said), from(|it| it.context))),
            it.output_limit.map(|said| (tokens(said), from(|it| it.output_limit))),
            price(|it| it.price_input),
            price(|it| it.price_output),
            price(|it| it.price_cache_read),
        ];
        let abilities = [
            ("tools", it.tools, meta.source(&id, |it| it.tools)),
            ("images", it.images, meta.source(&id, |it| it.images)),
            ("reasoning", it.reasoning, meta.source(&id, |it| it.reasoning)),
        ];
        let can = abilities.iter().any(|it| it.1.is_some()).then(|| {
            let can = abilities.iter().filter(|it| it.1 == Some(true));
            can.map(|it| it.0).collect()
        });
        let sources = [Source::Entered, Source::Catalogue];
        let can_from = sources.into_iter().find(|it| abilities.iter().any(|by| by.2 == Some(*it)));
        Self {
            encoded: encoded(&id),
            chosen: false,
            numbers,
            can,
            can_from: self::from(can_from),
            id,
        }
    }
}

/// Where a value comes from, where that needs saying.
pub(super) fn from(source: Option<Source>) -> &'static str {
    match source {
        Some(Source::Entered) => "entered",
        Some(Source::Catalogue) => "catalogue",
        Some(Source::Listed) | None => "",
    }
}
