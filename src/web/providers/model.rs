//! What an admin knows better of a model than its provider's list and the catalogue.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::view::{from, list_of, path_of};
use crate::{
    app::App,
    domain::provider::{Meta, ModelMeta, Source},
    engine::{
        providers::{Draft, MAX_MODEL, chosen, known, unentered},
        refused::{Actor, Refused},
    },
    store::entity::provider::Model as Provider,
    web::{
        error::Error,
        extract::{Form, Owned, Query},
        page::{Frame, html, see_other},
        words::dollars,
    },
};

#[derive(Template)]
#[template(path = "providers/model.html")]
struct Page {
    frame: Frame,
    /// Where the list of providers is, and whether they are the person's own.
    list: &'static str,
    own: bool,
    path: String,
    provider: String,
    id: String,
    numbers: Vec<Number>,
    abilities: Vec<Ability>,
    wrong: Option<String>,
}

/// A number that can be entered.
struct Number {
    name: &'static str,
    label: &'static str,
    /// As it was entered.
    value: String,
    /// What holds where nothing is entered.
    otherwise: String,
}

/// Something that a model can or cannot.
struct Ability {
    name: &'static str,
    label: &'static str,
    entered: Option<bool>,
    otherwise: String,
}

type Count = fn(&mut ModelMeta) -> &mut Option<u64>;
type Price = fn(&mut ModelMeta) -> &mut Option<i64>;
type Flag = fn(&mut ModelMeta) -> &mut Option<bool>;

const COUNTS: [(&str, &str, Count); 2] = [
    ("context", "Context, in tokens", |it| &mut it.context),
    ("output_limit", "Output limit, in tokens", |it| &mut it.output_limit),
];

const PRICES: [(&str, &str, Price); 4] = [
    ("price_input", "Input, $ per million tokens", |it| &mut it.price_input),
    ("price_output", "Output, $ per million tokens", |it| &mut it.price_output),
    ("price_cache_read", "Cache read, $ per million tokens", |it| &mut it.price_cache_read),
    ("price_cache_write", "Cache write, $ per million tokens", |it| &mut it.price_cache_write),
];

const FLAGS: [(&str, &str, Flag); 3] = [
    ("tools", "Calls tools", |it| &mut it.tools),
    ("images", "Reads images", |it| &mut it.images),
    ("reasoning", "Reasons", |it| &mut it.reasoning),
];

#[derive(Deserialize)]
pub struct Which {
    #[serde(default)]
    model: String,
}

/// `GET /providers/{id}/model`
pub async fn form(
    frame: Frame,
    Owned(provider): Owned<Provider>,
    Query(Which { model }): Query<Which>,
) -> Result<HttpResponse, Error> {
    let meta = known(&provider);
    let id = named(&provider, &meta, &model)?;
    let entered = meta.entered.get(&id).cloned().unwrap_or_default();
    html(Page::of(frame, &provider, &meta, id, entered))
}

/// `POST /providers/{id}/model`: all that was entered of one model, in place of what was before.
/// An empty field takes what the list or the catalogue says.
pub async fn save(
    app: Data<App>,
    by: Actor,
    frame: Frame,
    Owned(provider): Owned<Provider>,
    Form(fields): Form<BTreeMap<String, String>>,
) -> Result<HttpResponse, Error> {
    let text = |name: &str| fields.get(name).map_or("", |it| it.trim());
    let meta = known(&provider);
    let id = named(&provider, &meta, text("model"))?;
    let mut entered = ModelMeta::default();
    let mut wrong = None;
    for (name, label, field) in COUNTS {
        let digits: String = text(name).chars().filter(|it| !it.is_whitespace()).collect();
        match (digits.is_empty(), digits.parse()) {
            (true, _) => {}
            (false, Ok(count)) => *field(&mut entered) = Some(count),
            (false, Err(_)) => wrong = Some(format!("{label}: give a whole number.")),
        }
    }
    for (name, label, field) in PRICES {
        match (text(name).is_empty(), micros(text(name))) {
            (true, _) => {}
            (false, Some(price)) => *field(&mut entered) = Some(price),
            (false, None) => wrong = Some(format!("{label}: give a number, such as 2.50.")),
        }
    }
    for (name, _, field) in FLAGS {
        *field(&mut entered) = match text(name) {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
    }
    let refused = match wrong {
        Some(wrong) => wrong,
        None => {
            let meta = Some(BTreeMap::from([(id.clone(), entered.clone())]));
            let draft = Draft { meta, ..Draft::default() };
            match app.providers().update(provider.clone(), draft, &by).await {
                Ok(provider) => {
                    return Ok(see_other(&app, &format!("{}#models", path_of(&provider))));
                }
                Err(Refused::Fields(fields)) => fields.into_values().next().unwrap_or_default(),
                Err(refused) => return Err(refused.into()),
            }
        }
    };
    let mut page = Page::of(frame, &provider, &meta, id, entered);
    for number in &mut page.numbers {
        number.value = text(number.name).chars().take(40).collect();
    }
    page.wrong = Some(refused);
    let mut answer = html(page)?;
    *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(answer)
}

/// The id of a model that the provider lists, or that sessions use.
fn named(provider: &Provider, meta: &Meta, id: &str) -> Result<String, Error> {
    let is_known = || meta.models.contains_key(id) || chosen(provider).iter().any(|it| it == id);
    if id.is_empty() || id.len() > MAX_MODEL || !is_known() {
        return Err(Error::field("model", "The provider has no such model."));
    }
    Ok(id.to_owned())
}

/// Dollars as micro-dollars.
fn micros(text: &str) -> Option<i64> {
    let dollars: f64 = text.trim_start_matches('$').replace(',', ".").parse().ok()?;
    let micros = (dollars * 1e6).round();
    #[expect(clippy::cast_possible_truncation, reason = "within the range just checked")]
    (0.0..=1e15).contains(&micros).then_some(micros as i64)
}

impl Page {
    fn of(
        frame: Frame,
        provider: &Provider,
        meta: &Meta,
        id: String,
        mut entered: ModelMeta,
    ) -> Self {
        let mut otherwise = unentered(provider, meta, &id);
        let said = |value: Option<String>, source: Option<Source>| match (value, from(source)) {
            (None, _) => "Otherwise unknown.".to_owned(),
            (Some(value), "") => format!("Otherwise {value}, from the provider's list."),
            (Some(value), _) => format!("Otherwise {value}, from the catalogue."),
        };
        let listed = meta.listed.get(&id).cloned().unwrap_or_default();
        let source = |in_list: bool| Some(if in_list { Source::Listed } else { Source::Catalogue });
        let mut numbers = Vec::new();
        for (name, label, field) in COUNTS {
            let value = field(&mut entered).map(|it| it.to_string()).unwrap_or_default();
            let in_list = field(&mut listed.clone()).is_some();
            let held = field(&mut otherwise).map(|it| it.to_string());
            numbers.push(Number { name, label, value, otherwise: said(held, source(in_list)) });
        }
        for (name, label, field) in PRICES {
            let value = field(&mut entered).map(dollars).unwrap_or_default();
            let in_list = field(&mut listed.clone()).is_some();
            let held = field(&mut otherwise).map(|it| format!("${}", dollars(it)));
            numbers.push(Number { name, label, value, otherwise: said(held, source(in_list)) });
        }
        let mut abilities = Vec::new();
        for (name, label, field) in FLAGS {
            let in_list = field(&mut listed.clone()).is_some();
            let held = field(&mut otherwise).map(|it| if it { "yes" } else { "no" }.to_owned());
            let entered = *field(&mut entered);
            abilities.push(Ability {
                name,
                label,
                entered,
                otherwise: said(held, source(in_list)),
            });
        }
        Self {
            frame,
            list: list_of(provider),
            own: provider.owner_id.is_some(),
            path: path_of(provider),
            provider: provider.name.clone(),
            id,
            numbers,
            abilities,
            wrong: None,
        }
    }
}
