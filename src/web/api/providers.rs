//! Providers, as scripts set them up and as members see them.

use std::collections::{BTreeMap, HashSet};

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    super::{
        error::Error,
        extract::{CurrentUser, Json, Owned, Query},
    },
    done, json,
    maybe::Maybe,
    page::{Page, PageQuery},
    present,
    schema::words,
};
use crate::{
    app::App,
    domain::{
        ids::ProviderId,
        provider::{Kind, ModelMeta},
        secret::Secret,
    },
    engine::{
        providers::{Draft, MAX_MODEL, Outcome, RefreshError, Tested, chosen, known},
        refused::Actor,
    },
    store::{
        entity::{provider::Model as Row, user::Model as User},
        providers,
    },
};

#[derive(OpenApi)]
#[openapi(paths(index, create, show, change, delete, test, refresh))]
pub struct Doc;

/// Where models are asked
#[derive(Serialize, ToSchema)]
pub struct Provider {
    id: ProviderId,
    name: String,
    kind: Kind,
    /// Null for members, but for their own
    #[schema(required)]
    url: Option<String>,
    has_key: bool,
    /// The last four characters of the key; null for members but for their own, and where
    /// the key is short
    #[schema(required)]
    key_hint: Option<String>,
    /// The ids that sessions can use
    models: Vec<String>,
    /// What is known of models by their id: of those in use, and to administrators who ask for one
    /// provider of all that it lists
    meta: BTreeMap<String, Model>,
    disabled: bool,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

/// What is known of a model; null stands for unknown
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Tokens that one request and its answer may have together
    #[schema(required, minimum = 1)]
    context: Option<u64>,
    /// Tokens that an answer may have
    #[schema(required, minimum = 1)]
    output_limit: Option<u64>,
    #[schema(required)]
    tools: Option<bool>,
    #[schema(required)]
    reasoning: Option<bool>,
    #[schema(required)]
    images: Option<bool>,
    /// Dollars per million tokens, here and below
    #[schema(required, minimum = 0)]
    price_input: Option<f64>,
    #[schema(required, minimum = 0)]
    price_output: Option<f64>,
    #[schema(required, minimum = 0)]
    price_cache_read: Option<f64>,
    #[schema(required, minimum = 0)]
    price_cache_write: Option<f64>,
}

/// A provider to be added
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderToCreate {
    #[schema(min_length = 1, max_length = 80)]
    name: String,
    /// Which format it speaks: `openai` Chat Completions, as many servers do, `openrouter` the same
    /// with its additions, `anthropic` Messages, `gemini` generateContent, `ollama` its own
    #[schema(value_type = Kind)]
    kind: String,
    /// With or without `/v1` at the end; empty stands for the kind's usual address
    #[schema(max_length = 500)]
    url: String,
    /// Kept sealed; no answer has it
    #[schema(max_length = 4096, write_only)]
    key: Option<String>,
    /// The ids that sessions can use
    #[schema(max_items = 5000)]
    models: Option<Vec<String>>,
    meta: Option<BTreeMap<String, Model>>,
    #[serde(default)]
    disabled: bool,
}

/// What is to be changed of a provider; what is left out stays
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(min_length = 1, max_length = 80, value_type = String, required = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Kind, required = false)]
    kind: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(max_length = 500, value_type = String, required = false)]
    url: Option<String>,
    /// Empty removes the key; a masked one changes nothing
    #[serde(default, deserialize_with = "present")]
    #[schema(max_length = 4096, value_type = String, required = false, write_only)]
    key: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(max_items = 5000, value_type = Vec<String>, required = false)]
    models: Option<Vec<String>>,
    /// Of these models; what is known of the others stays
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = BTreeMap<String, Model>, required = false)]
    meta: Option<BTreeMap<String, Model>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    disabled: Option<bool>,
}

/// What is to be tried
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TestToRun {
    /// Asks this model for a word; without it only the address and the key are tried
    #[schema(max_length = 200)]
    model: Option<String>,
}

/// What came of a test
#[derive(Serialize, ToSchema)]
pub struct TestResult {
    ok: bool,
    latency_ms: u64,
    /// What happened, and what to do
    detail: String,
    /// What the provider itself said
    #[schema(required)]
    provider_message: Option<String>,
}

/// What a provider lists
#[derive(Serialize, ToSchema)]
pub struct Listing {
    /// The ids of all models, whether sessions can use them or not
    models: Vec<String>,
    meta: BTreeMap<String, Model>,
}

impl PartialSchema for Kind {
    fn schema() -> RefOr<Schema> {
        words(["openai", "openrouter", "ollama", "anthropic", "gemini"])
    }
}

impl ToSchema for Kind {}

/// How much of a provider somebody sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// What it takes to choose a model.
    Member,
    /// All but what is known of models that are not in use.
    List,
    Whole,
}

impl Provider {
    /// How much is shown of a provider to somebody who got at it.
    fn seen(app: &App, row: Row, user: &User, whole: View) -> Self {
        let all = user.admin || row.owner_id == Some(user.id);
        Self::of(app, row, if all { whole } else { View::Member })
    }

    fn of(app: &App, row: Row, view: View) -> Self {
        let disabled = row.disabled_at.is_some() || !app.providers().permits(&row);
        let hidden = view == View::Member && disabled;
        let models = if hidden { Vec::new() } else { chosen(&row) };
        let mut meta = if hidden { BTreeMap::new() } else { known(&row).models };
        if view != View::Whole {
            let in_use: HashSet<&String> = models.iter().collect();
            meta.retain(|id, _| in_use.contains(id));
        }
        let shown = view != View::Member;
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            url: shown.then_some(row.url),
            has_key: row.key.is_some(),
            key_hint: row.key_hint.filter(|_| shown),
            models,
            meta: meta.into_iter().map(|(id, meta)| (id, Model::from(meta))).collect(),
            disabled,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl From<ModelMeta> for Model {
    #[expect(clippy::cast_precision_loss, reason = "micro-dollars of prices are far below 2^53")]
    fn from(meta: ModelMeta) -> Self {
        let dollars = |micros: i64| micros as f64 / 1e6;
        Self {
            context: meta.context,
            output_limit: meta.output_limit,
            tools: meta.tools,
            reasoning: meta.reasoning,
            images: meta.images,
            price_input: meta.price_input.map(dollars),
            price_output: meta.price_output.map(dollars),
            price_cache_read: meta.price_cache_read.map(dollars),
            price_cache_write: meta.price_cache_write.map(dollars),
        }
    }
}

impl From<Model> for ModelMeta {
    #[expect(clippy::cast_possible_truncation, reason = "what is out of range is refused later")]
    fn from(model: Model) -> Self {
        // A cast saturates, so that too large a price stays too large.
        let micros = |dollars: f64| (dollars * 1e6).round() as i64;
        Self {
            context: model.context,
            output_limit: model.output_limit,
            tools: model.tools,
            reasoning: model.reasoning,
            images: model.images,
            price_input: model.price_input.map(micros),
            price_output: model.price_output.map(micros),
            price_cache_read: model.price_cache_read.map(micros),
            price_cache_write: model.price_cache_write.map(micros),
        }
    }
}

impl From<ProviderToCreate> for Draft {
    fn from(wish: ProviderToCreate) -> Self {
        Self {
            name: Some(wish.name),
            kind: Some(wish.kind),
            url: Some(wish.url),
            key: wish.key.map(Secret::new),
            models: wish.models,
            meta: wish.meta.map(metas),
            disabled: Some(wish.disabled),
        }
    }
}

fn metas(entered: BTreeMap<String, Model>) -> BTreeMap<String, ModelMeta> {
    entered.into_iter().map(|(id, model)| (id, model.into())).collect()
}

impl From<Tested> for TestResult {
    fn from(tested: Tested) -> Self {
        Self {
            ok: tested.outcome == Outcome::Works,
            latency_ms: u64::try_from(tested.latency.as_millis()).unwrap_or(u64::MAX),
            detail: format!("{}. {}", tested.title, tested.detail),
            provider_message: tested.said,
        }
    }
}

/// Lists the providers
///
/// Members see what it takes to choose a model, and of a disabled provider only that it is there.
#[utoipa::path(
    get, path = "/api/v1/providers", tag = "providers", params(PageQuery), operation_id = "list_providers",
    responses((status = 200, description = "Providers, in the order they were added", body = Page<Provider>)),
)]
pub async fn index(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    listed(&app, &user, &query, providers::of(&app.db, user.id).await?)
}

/// A page of them. A team has a handful of shared ones, and each person may have some more.
pub(super) fn listed(
    app: &App,
    user: &User,
    query: &PageQuery,
    mut rows: Vec<Row>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<ProviderId>()?;
    rows.sort_by_key(|row| row.id);
    rows.retain(|row| bounds.after.is_none_or(|after| row.id > after));
    let seen = |row| Provider::seen(app, row, user, View::List);
    json(StatusCode::OK, &bounds.page(rows, |row: &Row| row.id, seen))
}

/// Adds a provider that everybody shares
#[utoipa::path(
    post, path = "/api/v1/providers", tag = "providers", request_body = ProviderToCreate, operation_id = "create_provider",
    responses((status = 201, description = "The provider", body = Provider)),
)]
pub async fn create(
    app: Data<App>,
    by: Actor,
    Json(wish): Json<ProviderToCreate>,
) -> Result<HttpResponse, Error> {
    let row = app.providers().create(wish.into(), &by).await?;
    whole(&app, StatusCode::CREATED, row)
}

/// All of one, for whoever manages it.
pub(super) fn whole(app: &App, status: StatusCode, row: Row) -> Result<HttpResponse, Error> {
    json(status, &Provider::of(app, row, View::Whole))
}

/// Shows a provider
#[utoipa::path(
    get, path = "/api/v1/providers/{id}", tag = "providers", operation_id = "show_provider",
    responses((status = 200, description = "The provider", body = Provider)),
)]
pub async fn show(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(row): Owned<Row>,
) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Provider::seen(&app, row, &user, View::Whole))
}

/// Changes a provider
#[utoipa::path(
    patch, path = "/api/v1/providers/{id}", tag = "providers", request_body = ProviderChange, operation_id = "change_provider",
    responses((status = 200, description = "The provider as it is now", body = Provider)),
)]
pub async fn change(
    app: Data<App>,
    by: Actor,
    Owned(row): Owned<Row>,
    Json(wish): Json<ProviderChange>,
) -> Result<HttpResponse, Error> {
    let draft = Draft {
        name: wish.name,
        kind: wish.kind,
        url: wish.url,
        key: wish.key.map(Secret::new),
        models: wish.models,
        meta: wish.meta.map(metas),
        disabled: wish.disabled,
    };
    let row = app.providers().update(row, draft, &by).await?;
    whole(&app, StatusCode::OK, row)
}

/// Removes a provider
///
/// Sessions that used it keep their history and need another.
#[utoipa::path(
    delete, path = "/api/v1/providers/{id}", tag = "providers", operation_id = "delete_provider",
    responses((status = 204, description = "It is gone")),
)]
pub async fn delete(
    app: Data<App>,
    by: Actor,
    Owned(row): Owned<Row>,
) -> Result<HttpResponse, Error> {
    app.providers().delete(row, &by).await?;
    Ok(done())
}

/// Tries a provider
///
/// Answers with 200 also where it does not work: `ok` says so.
#[utoipa::path(
    post, path = "/api/v1/providers/{id}/test", tag = "providers", operation_id = "test_provider",
    request_body = Option<TestToRun>,
    responses((status = 200, description = "What came of it", body = TestResult)),
)]
pub async fn test(
    app: Data<App>,
    Owned(row): Owned<Row>,
    Maybe(wish): Maybe<TestToRun>,
) -> Result<HttpResponse, Error> {
    let model = wish.model.as_deref().map(str::trim).filter(|it| !it.is_empty());
    if model.is_some_and(|it| it.len() > MAX_MODEL) {
        let message = format!("Keep the name of a model under {} characters.", MAX_MODEL + 1);
        return Err(Error::field("model", message));
    }
    let tested = app.providers().test(&row, model).await;
    json(StatusCode::OK, &TestResult::from(tested))
}

/// Reads the provider's list of models
///
/// Which of them sessions can use stays as it is. Where the list cannot be read the answer is 409,
/// and what is known stays.
#[utoipa::path(
    post, path = "/api/v1/providers/{id}/refresh", tag = "providers", operation_id = "refresh_provider",
    responses((status = 200, description = "The models", body = Listing)),
)]
pub async fn refresh(
    app: Data<App>,
    by: Actor,
    Owned(row): Owned<Row>,
) -> Result<HttpResponse, Error> {
    let row = app.providers().refresh(&row, &by).await.map_err(|err| match err {
        RefreshError::Refused(refused) => refused.into(),
        RefreshError::Failed(tested) => {
            let said = tested.said.map(|it| format!(" The provider said: {it}"));
            let said = said.unwrap_or_default();
            Error::Conflict(format!("{}. {}{said}", tested.title, tested.detail))
        }
    })?;
    let meta: BTreeMap<_, _> =
        known(&row).models.into_iter().map(|(id, meta)| (id, meta.into())).collect();
    json(StatusCode::OK, &Listing { models: meta.keys().cloned().collect(), meta })
}
