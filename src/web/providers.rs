//! Providers as admins set up the shared ones and members their own: the list, one provider with
//! its test, and its models.

pub mod model;
pub mod own;
mod view;

use std::collections::HashSet;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::Data,
};
use serde::Deserialize;

use self::view::{
    FormPanel, Index, ListPanel, ModelsPanel, OWN, OwnIndex, SHARED, TestPanel, Told, list_of,
    path_of,
};
use super::{
    error::Error,
    extract::{Form, Owned, Query, Wants},
    page::{Frame, html, see_other},
};
use crate::{
    app::App,
    domain::{
        ids::{ProviderId, UserId},
        secret::Secret,
    },
    engine::{
        providers::{Draft, MAX_MODEL, RefreshError, chosen},
        refused::{Actor, Fields, Refused},
    },
    store::{entity::provider::Model as Provider, providers},
};

/// The form of a provider.
#[derive(Deserialize)]
pub struct Entered {
    #[serde(default)]
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    key: String,
    /// Ticked to remove the key; an empty field keeps it.
    remove_key: Option<String>,
    /// For the test only.
    #[serde(default)]
    model: String,
}

impl Entered {
    /// The change that the form of a stored provider stands for.
    fn draft(&self) -> Draft {
        let key = match (self.key.trim(), &self.remove_key) {
            ("", Some(_)) => Some(Secret::new("")),
            ("", None) => None,
            (key, _) => Some(Secret::new(key)),
        };
        Draft {
            name: Some(self.name.clone()),
            kind: Some(self.kind.clone()),
            url: Some(self.url.clone()),
            key,
            ..Draft::default()
        }
    }

    fn model(&self) -> Option<&str> {
        Some(self.model.trim()).filter(|it| !it.is_empty())
    }
}

#[derive(Deserialize)]
pub struct Filter {
    #[serde(default)]
    q: String,
}

/// `GET /providers`
pub async fn index(app: Data<App>, frame: Frame) -> Result<HttpResponse, Error> {
    page(&app, frame, Shown::default()).await
}

/// `GET /providers/new`
pub async fn new(app: Data<App>, frame: Frame) -> Result<HttpResponse, Error> {
    page(&app, frame.clone(), Shown::blank(frame, Whose::Everybodys)).await
}

/// `POST /providers`
pub async fn create(
    app: Data<App>,
    by: Actor,
    frame: Frame,
    Form(entered): Form<Entered>,
) -> Result<HttpResponse, Error> {
    add(&app, &by, frame, entered, Whose::Everybodys).await
}

async fn add(
    app: &App,
    by: &Actor,
    frame: Frame,
    entered: Entered,
    whose: Whose,
) -> Result<HttpResponse, Error> {
    let created = match whose {
        Whose::Everybodys => app.providers().create(entered.draft(), by).await,
        Whose::Of(user) => app.providers().create_personal(user, entered.draft(), by).await,
    };
    match created {
        Ok(provider) => Ok(see_other(app, &path_of(&provider))),
        Err(Refused::Fields(errors)) => {
            let mut shown = Shown::blank(frame.clone(), whose);
            shown.form = shown.form.map(|form| form.entered(&entered, errors));
            Ok(unprocessable(page(app, frame, shown).await?))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// `GET /providers/{id}`
pub async fn show(
    app: Data<App>,
    frame: Frame,
    Owned(provider): Owned<Provider>,
) -> Result<HttpResponse, Error> {
    let shown = Shown::of(&frame, &provider);
    page(&app, frame, shown).await
}

/// `POST /providers/{id}`
pub async fn update(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Owned(provider): Owned<Provider>,
    Form(entered): Form<Entered>,
) -> Result<HttpResponse, Error> {
    let updated = app.providers().update(provider.clone(), entered.draft(), &by).await;
    match (updated, wants) {
        (Ok(provider), Wants::Page) => Ok(see_other(&app, &path_of(&provider))),
        (Ok(provider), Wants::Fragment) => {
            let all = Whose::of(&provider).all(&app).await?;
            let form = FormPanel::of(frame.clone(), &provider);
            let list = ListPanel::beside(frame, &all, Some(provider.id));
            Ok(saved(html(view::Updated { form, list })?, "Provider saved."))
        }
        (Err(Refused::Fields(errors)), wants) => {
            let form = FormPanel::of(frame.clone(), &provider).entered(&entered, errors);
            refused_form(&app, (frame, wants), &provider, form).await
        }
        (Err(refused), _) => Err(refused.into()),
    }
}

/// `POST /providers/{id}/test`: tries what is entered, saved or not.
pub async fn test(
    app: Data<App>,
    (frame, wants): (Frame, Wants),
    Owned(provider): Owned<Provider>,
    Form(entered): Form<Entered>,
) -> Result<HttpResponse, Error> {
    let form = FormPanel::of(frame.clone(), &provider);
    let model = entered.model();
    if model.is_some_and(|it| it.len() > MAX_MODEL) {
        return Err(Error::field("model", "Keep the name of a model under 201 characters."));
    }
    let tested = match app.providers().test_draft(&provider, entered.draft(), model).await {
        Ok(tested) => tested,
        Err(Refused::Fields(errors)) if wants == Wants::Page => {
            let form = form.entered(&entered, errors);
            return refused_form(&app, (frame, wants), &provider, form).await;
        }
        Err(refused) => return Err(refused.into()),
    };
    let panel = TestPanel::of(frame.clone(), tested);
    if wants == Wants::Fragment {
        return html(panel);
    }
    let mut form = form.entered(&entered, Fields::new());
    form.tested = panel;
    let shown = Shown { form: Some(form), ..Shown::of(&frame, &provider) };
    page(&app, frame, shown).await
}

/// `POST /providers/{id}/refresh`
pub async fn refresh(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Owned(provider): Owned<Provider>,
) -> Result<HttpResponse, Error> {
    let refreshed = app.providers().refresh(&provider, &by).await;
    match refreshed {
        Ok(provider) => models_changed(&app, (frame, wants), &provider, "Models read.").await,
        Err(RefreshError::Refused(refused)) => Err(refused.into()),
        Err(RefreshError::Failed(tested)) => {
            let mut models = ModelsPanel::of(frame.clone(), &provider, "");
            models.failed = Some(Told::from(tested));
            match wants {
                Wants::Fragment => html(models),
                Wants::Page => {
                    let shown = Shown { models: Some(models), ..Shown::of(&frame, &provider) };
                    page(&app, frame, shown).await
                }
            }
        }
    }
}

/// `GET /providers/{id}/models`: the same page with a filter.
pub async fn models(
    app: Data<App>,
    (frame, wants): (Frame, Wants),
    Owned(provider): Owned<Provider>,
    Query(Filter { q }): Query<Filter>,
) -> Result<HttpResponse, Error> {
    let models = ModelsPanel::of(frame.clone(), &provider, &q);
    if wants == Wants::Fragment {
        return html(models);
    }
    let shown = Shown { models: Some(models), ..Shown::of(&frame, &provider) };
    page(&app, frame, shown).await
}

/// `POST /providers/{id}/models`: of the models that were shown, those that are ticked are in use;
/// the others stay as they are.
pub async fn choose(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Owned(provider): Owned<Provider>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<HttpResponse, Error> {
    let all = |name: &'static str| {
        let pairs = pairs.iter().filter(move |(it, _)| it == name);
        pairs.map(|(_, value)| value.trim().to_owned())
    };
    let (shown, used) = (all("shown").collect::<HashSet<_>>(), all("use").collect::<HashSet<_>>());
    let more = all("more").next_back().unwrap_or_default();
    let mut models = chosen(&provider);
    models.retain(|id| !shown.contains(id) || used.contains(id));
    // In the order of the page; what is there twice counts once.
    models.extend(all("use"));
    if !more.is_empty() {
        models.push(more.clone());
    }
    let draft = Draft { models: Some(models), ..Draft::default() };
    let updated = app.providers().update(provider.clone(), draft, &by).await;
    match updated {
        Ok(provider) => models_changed(&app, (frame, wants), &provider, "Models saved.").await,
        Err(Refused::Fields(errors)) => {
            let mut models = ModelsPanel::of(frame.clone(), &provider, "");
            models.wrong = errors.into_values().next();
            models.more = more;
            let answer = match wants {
                Wants::Fragment => html(models)?,
                Wants::Page => {
                    let shown = Shown { models: Some(models), ..Shown::of(&frame, &provider) };
                    page(&app, frame, shown).await?
                }
            };
            Ok(unprocessable(answer))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// `POST /providers/{id}/disable`
pub async fn disable(
    app: Data<App>,
    by: Actor,
    Owned(provider): Owned<Provider>,
) -> Result<HttpResponse, Error> {
    switch(&app, &by, provider, Some(true)).await
}

/// `POST /providers/{id}/enable`
pub async fn enable(
    app: Data<App>,
    by: Actor,
    Owned(provider): Owned<Provider>,
) -> Result<HttpResponse, Error> {
    switch(&app, &by, provider, Some(false)).await
}

/// `POST /providers/{id}/delete`
pub async fn delete(
    app: Data<App>,
    by: Actor,
    Owned(provider): Owned<Provider>,
) -> Result<HttpResponse, Error> {
    let list = list_of(&provider);
    app.providers().delete(provider, &by).await?;
    Ok(see_other(&app, list))
}

/// Whose providers a page is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Whose {
    #[default]
    Everybodys,
    /// One person's own.
    Of(UserId),
}

impl Whose {
    fn of(provider: &Provider) -> Self {
        provider.owner_id.map_or(Self::Everybodys, Self::Of)
    }

    /// The list that they stand in.
    async fn all(self, app: &App) -> Result<Vec<Provider>, Error> {
        Ok(match self {
            Self::Everybodys => providers::shared(&app.db).await?,
            Self::Of(user) => providers::personal(&app.db, user).await?,
        })
    }
}

/// What stands below the list.
#[derive(Default)]
struct Shown {
    id: Option<ProviderId>,
    whose: Whose,
    form: Option<FormPanel>,
    models: Option<ModelsPanel>,
}

impl Shown {
    fn of(frame: &Frame, provider: &Provider) -> Self {
        Self {
            id: Some(provider.id),
            whose: Whose::of(provider),
            form: Some(FormPanel::of(frame.clone(), provider)),
            models: Some(ModelsPanel::of(frame.clone(), provider, "")),
        }
    }

    /// The form of one that is new.
    fn blank(frame: Frame, whose: Whose) -> Self {
        let list = if whose == Whose::Everybodys { SHARED } else { OWN };
        Self { whose, form: Some(FormPanel::new(frame, list)), ..Self::default() }
    }
}

async fn page(app: &App, frame: Frame, shown: Shown) -> Result<HttpResponse, Error> {
    let Shown { id, whose, form, models } = shown;
    let list = ListPanel::of(frame.clone(), &whose.all(app).await?, id);
    let personal = app.providers().personal;
    match whose {
        Whose::Everybodys => html(Index { frame, list, form, models, personal }),
        Whose::Of(_) => html(OwnIndex { frame, list, form, models, permitted: personal }),
    }
}

async fn refused_form(
    app: &App,
    (frame, wants): (Frame, Wants),
    provider: &Provider,
    form: FormPanel,
) -> Result<HttpResponse, Error> {
    let answer = match wants {
        Wants::Fragment => html(form)?,
        Wants::Page => {
            let shown = Shown { form: Some(form), ..Shown::of(&frame, provider) };
            page(app, frame, shown).await?
        }
    };
    Ok(unprocessable(answer))
}

async fn models_changed(
    app: &App,
    (frame, wants): (Frame, Wants),
    provider: &Provider,
    said: &str,
) -> Result<HttpResponse, Error> {
    if wants == Wants::Page {
        return Ok(see_other(app, &path_of(provider)));
    }
    let all = Whose::of(provider).all(app).await?;
    let models = ModelsPanel::of(frame.clone(), provider, "");
    let list = ListPanel::beside(frame, &all, Some(provider.id));
    Ok(saved(html(view::ModelsChanged { models, list })?, said))
}

async fn switch(
    app: &App,
    by: &Actor,
    provider: Provider,
    disabled: Option<bool>,
) -> Result<HttpResponse, Error> {
    let draft = Draft { disabled, ..Draft::default() };
    let provider = app.providers().update(provider, draft, by).await?;
    Ok(see_other(app, &path_of(&provider)))
}

fn unprocessable(mut answer: HttpResponse) -> HttpResponse {
    *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    answer
}

/// The same answer, with a few words that the page shows for a while.
fn saved(mut answer: HttpResponse, words: &str) -> HttpResponse {
    let toast = serde_json::json!({ "toast": { "text": words, "tone": "good" } }).to_string();
    if let Ok(toast) = header::HeaderValue::try_from(toast) {
        answer.headers_mut().insert(header::HeaderName::from_static("hx-trigger"), toast);
    }
    answer
}
