//! The ledger, added up.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{
    super::{
        error::Error,
        extract::{Ceiling, CurrentUser, Query},
        usage::{
            add_up,
            asked::{Asked, AskedQuery},
            day_of,
        },
    },
    json,
    page::Page,
    sessions::dollars,
};
use crate::{
    app::App,
    domain::ids::{ProjectId, UserId},
    store::usage::{By, Sum, named},
};

#[derive(OpenApi)]
#[openapi(paths(index))]
pub struct Doc;

/// What is added up.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ByQuery {
    /// By what: some of `day`, `user`, `project`, `provider` and `model`, with commas between
    #[param(value_type = Option<String>, example = "day,model")]
    by: Option<String>,
}

/// Calls of models, added up; what they were not added up by is null
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageRow {
    /// A day in your time zone
    #[schema(required, format = Date)]
    day: Option<String>,
    #[schema(required)]
    user_id: Option<UserId>,
    /// The login at the newest call
    #[schema(required)]
    user: Option<String>,
    #[schema(required)]
    project_id: Option<ProjectId>,
    #[schema(required)]
    project: Option<String>,
    /// As it was called at the newest call; it may be gone
    #[schema(required)]
    provider: Option<String>,
    #[schema(required)]
    model: Option<String>,
    calls: i64,
    sessions: i64,
    /// Tokens that were neither read from nor written to a cache
    input: i64,
    cache_read: i64,
    cache_write: i64,
    output: i64,
    /// The share of `output` that was reasoning, where that is known
    reasoning: i64,
    /// Dollars, of the calls whose price is known; null where no price is
    #[schema(required)]
    cost: Option<f64>,
    /// Calls whose price is not known
    unknown_price_calls: i64,
    /// Calls whose tokens Forge counted, because the provider did not say
    estimated_calls: i64,
}

impl From<Sum> for UsageRow {
    fn from(sum: Sum) -> Self {
        let id = |text: &Option<String>| text.as_deref().map(|text| named(text).0.to_owned());
        let name = |text: &Option<String>| text.as_deref().map(|text| named(text).1.to_owned());
        Self {
            day: sum.day.map(|day| day_of(day).to_string()),
            user_id: id(&sum.person).and_then(|id| id.parse().ok()),
            user: name(&sum.person),
            project_id: id(&sum.project).and_then(|id| id.parse().ok()),
            project: name(&sum.project),
            provider: name(&sum.provider),
            cost: (sum.unknown < sum.calls).then(|| dollars(sum.cost)),
            model: sum.model,
            calls: sum.calls,
            sessions: sum.sessions,
            input: sum.input,
            cache_read: sum.cache_read,
            cache_write: sum.cache_write,
            output: sum.output,
            reasoning: sum.reasoning,
            unknown_price_calls: sum.unknown,
            estimated_calls: sum.estimated,
        }
    }
}

/// Adds up what was used
///
/// Your own; administrators see everyone's. Rows are kept when their project or session is removed.
#[utoipa::path(
    get, path = "/api/v1/usage", tag = "usage", params(AskedQuery, ByQuery),
    responses((status = 200, description = "All rows, in the order of what they are added up by", body = Page<UsageRow>)),
)]
pub async fn index(
    app: Data<App>,
    ceiling: Ceiling,
    CurrentUser(user): CurrentUser,
    Query(query): Query<AskedQuery>,
    Query(ByQuery { by }): Query<ByQuery>,
) -> Result<HttpResponse, Error> {
    let asked = Asked::of(&app, &user, ceiling, &query)?;
    let by = parse(by.as_deref().unwrap_or("day"))?;
    let items = add_up(&app, &asked, &by).await?.into_iter().map(UsageRow::from).collect();
    json(StatusCode::OK, &Page { items, next: None })
}

fn parse(text: &str) -> Result<Vec<By>, Error> {
    let mut all = Vec::new();
    for word in text.split(',').map(str::trim) {
        let by = match word {
            "day" => By::Day,
            "user" => By::User,
            "project" => By::Project,
            "provider" => By::Provider,
            "model" => By::Model,
            _ => {
                let why =
                    "Name some of day, user, project, provider and model, with commas between.";
                return Err(Error::field("by", why));
            }
        };
        if !all.contains(&by) {
            all.push(by);
        }
    }
    Ok(all)
}
