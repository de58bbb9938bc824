//! Budgets.

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
        extract::{Ceiling, CurrentUser, Json, Owned, Query},
    },
    done, json,
    page::{Page, PageQuery},
    present,
    schema::words,
    sessions::dollars,
};
use crate::{
    app::App,
    domain::{
        budget::{Period, Scope, from_dollars},
        ids::{BudgetId, ProjectId, SessionId, UserId},
        token,
    },
    engine::{
        budgets::{self, Standing, Wish},
        refused::Actor,
    },
    store::{self, entity::budget::Model as Row, entity::user::Model as User},
};

#[derive(OpenApi)]
#[openapi(paths(index, create, show, change, delete))]
pub struct Doc;

/// How much may be spent by whom, in which time
#[derive(Serialize, ToSchema)]
pub struct Budget {
    id: BudgetId,
    scope: Scope,
    #[schema(required)]
    user_id: Option<UserId>,
    #[schema(required)]
    project_id: Option<ProjectId>,
    #[schema(required)]
    session_id: Option<SessionId>,
    period: Period,
    /// Dollars
    limit: f64,
    /// Whether models may be called whose price is not known; what they cost is not counted
    allow_unknown_prices: bool,
    /// Whose it is to change; null: all administrators'
    #[schema(required)]
    owner_id: Option<UserId>,
    /// Dollars that were spent in the period that goes on; of a budget for everyone, by you
    spent: f64,
    /// Dollars that are set aside for calls that go on
    held: f64,
    /// Dollars that may still be spent
    left: f64,
    /// When it starts anew, by your time zone; null: never. A change of the time zone does not make
    /// it earlier
    #[schema(required)]
    resets_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl PartialSchema for Scope {
    fn schema() -> RefOr<Schema> {
        words(["everyone", "user", "project", "session"])
    }
}

impl ToSchema for Scope {
    fn name() -> std::borrow::Cow<'static, str> {
        "BudgetScope".into()
    }
}

impl PartialSchema for Period {
    fn schema() -> RefOr<Schema> {
        words(["day", "week", "month", "total"])
    }
}

impl ToSchema for Period {
    fn name() -> std::borrow::Cow<'static, str> {
        "BudgetPeriod".into()
    }
}

/// A budget to be set
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetToCreate {
    /// Administrators set those of people and of any project, others those of their own projects
    /// and sessions
    scope: Scope,
    /// The person, the project or the session that the scope names; left out for everyone
    #[schema(max_length = 100)]
    subject: Option<String>,
    period: Period,
    /// Dollars
    #[schema(minimum = 0.000001, maximum = 1000000)]
    limit: f64,
    #[serde(default)]
    allow_unknown_prices: bool,
}

/// What is to be changed of a budget; what is left out stays
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 0.000001, maximum = 1000000, value_type = f64, required = false)]
    limit: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    allow_unknown_prices: Option<bool>,
}

impl From<Standing> for Budget {
    fn from(it: Standing) -> Self {
        let left = dollars(it.left());
        let row = it.budget;
        Self {
            id: row.id,
            scope: row.scope,
            user_id: row.user_id,
            project_id: row.project_id,
            session_id: row.session_id,
            period: row.period,
            limit: dollars(row.limit_micros),
            allow_unknown_prices: row.allow_unknown,
            owner_id: row.owner_id,
            spent: dollars(it.spent),
            held: dollars(it.held),
            left,
            resets_at: it.told.window.until,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Lists budgets
///
/// What holds for you, your projects and your sessions; for administrators also all that
/// administrators have set.
#[utoipa::path(
    get, path = "/api/v1/budgets", tag = "budgets", params(PageQuery),
    responses((status = 200, description = "In the order in which they were set", body = Page<Budget>)),
)]
pub async fn index(
    app: Data<App>,
    Ceiling(ceiling): Ceiling,
    CurrentUser(user): CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<HttpResponse, Error> {
    let bounds = query.bounds::<BudgetId>()?;
    let admin = user.admin && ceiling >= token::Scope::Admin;
    let rows = store::budgets::page(&app.db, user.id, admin, bounds.after, bounds.rows()).await?;
    let standing = stand(&app, &user, rows).await?;
    json(StatusCode::OK, &bounds.page(standing, |it| it.budget.id, Budget::from))
}

/// Sets a budget
#[utoipa::path(
    post, path = "/api/v1/budgets", tag = "budgets", request_body = BudgetToCreate,
    responses((status = 201, description = "The budget", body = Budget)),
)]
pub async fn create(
    app: Data<App>,
    by: Actor,
    Ceiling(ceiling): Ceiling,
    CurrentUser(user): CurrentUser,
    Json(wish): Json<BudgetToCreate>,
) -> Result<HttpResponse, Error> {
    let wish = Wish {
        scope: wish.scope,
        subject: wish.subject.unwrap_or_default(),
        period: wish.period,
        limit_micros: from_dollars(wish.limit).map_err(|err| Error::field("limit", err))?,
        allow_unknown: wish.allow_unknown_prices,
    };
    let admin = user.admin && ceiling >= token::Scope::Admin;
    let row = budgets::add(&app.engine, &user, admin, wish, &by).await?;
    json(StatusCode::CREATED, &one(&app, &user, row).await?)
}

/// Shows a budget
#[utoipa::path(
    get, path = "/api/v1/budgets/{id}", tag = "budgets",
    responses((status = 200, description = "The budget", body = Budget)),
)]
pub async fn show(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Owned(row): Owned<Row>,
) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &one(&app, &user, row).await?)
}

/// Changes a budget
///
/// Those that administrators have set are changed with the scope admin.
#[utoipa::path(
    patch, path = "/api/v1/budgets/{id}", tag = "budgets", request_body = BudgetChange,
    responses((status = 200, description = "The budget as it is now", body = Budget)),
)]
pub async fn change(
    app: Data<App>,
    by: Actor,
    ceiling: Ceiling,
    CurrentUser(user): CurrentUser,
    Owned(row): Owned<Row>,
    Json(change): Json<BudgetChange>,
) -> Result<HttpResponse, Error> {
    check(&row, ceiling)?;
    let limit = change.limit.map(from_dollars).transpose();
    let limit = limit.map_err(|err| Error::field("limit", err))?;
    let unknown = change.allow_unknown_prices;
    let row = budgets::change(&app.engine, row, limit, unknown, &by).await?;
    json(StatusCode::OK, &one(&app, &user, row).await?)
}

/// Removes a budget
#[utoipa::path(
    delete, path = "/api/v1/budgets/{id}", tag = "budgets",
    responses((status = 204, description = "It is gone")),
)]
pub async fn delete(
    app: Data<App>,
    by: Actor,
    ceiling: Ceiling,
    Owned(row): Owned<Row>,
) -> Result<HttpResponse, Error> {
    check(&row, ceiling)?;
    budgets::remove(&app.engine, row, &by).await?;
    Ok(done())
}

/// What administrators have set needs their scope.
fn check(row: &Row, Ceiling(ceiling): Ceiling) -> Result<(), Error> {
    if row.owner_id.is_none() && ceiling < token::Scope::Admin {
        return Err(Error::Scope(token::Scope::Admin));
    }
    Ok(())
}

async fn one(app: &App, user: &User, row: Row) -> Result<Budget, Error> {
    let standing = stand(app, user, vec![row]).await?.pop();
    standing.map(Budget::from).ok_or(Error::NotFound)
}

async fn stand(app: &App, user: &User, rows: Vec<Row>) -> Result<Vec<Standing>, Error> {
    let calendar = budgets::calendar(&app.engine, Some(user));
    Ok(budgets::standing(&app.engine, rows, user.id, calendar).await?)
}

/// The budgets that hold for a session, as they stand.
pub async fn of_session(
    app: &App,
    session: &store::entity::session::Model,
) -> Result<Vec<Budget>, Error> {
    let standing = budgets::of_session(&app.engine, session).await?;
    Ok(standing.into_iter().map(Budget::from).collect())
}
