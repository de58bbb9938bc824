//! What was used, by whom and for what, and the budgets.

pub(super) mod asked;
mod chart;
mod sheet;
mod view;

use actix_web::{HttpResponse, http::header, web::Data};
use askama::Template;
use chrono::{Days, NaiveDate};
use serde::Deserialize;

use self::{
    asked::{Asked, AskedQuery},
    chart::Chart,
    view::{BudgetView, Choice, Line, Total},
};
use super::{
    error::Error,
    extract::{Ceiling, CurrentUser, Form, Owned, Query},
    page::{Frame, html, see_other},
};
use crate::{
    app::App,
    domain::{
        budget::{Period, Scope as BudgetScope, parse_dollars},
        ids::SessionId,
        token::Scope,
    },
    engine::{
        budgets::{self, Wish},
        refused::Actor,
    },
    store::{
        OwnedRow as _,
        entity::{budget::Model as Budget, session::Model as Session},
        usage::{By, Sum, sums},
    },
};

/// The most sums that one answer is made of.
pub const MOST_SUMS: u64 = 20_000;

#[derive(Template)]
#[template(path = "usage/show.html")]
struct Usage {
    frame: Frame,
    from: String,
    to: String,
    zone: String,
    sees_all: bool,
    everyone: bool,
    total: Total,
    chart: Chart,
    projects: Vec<Line>,
    models: Vec<Line>,
    people: Vec<Line>,
    budgets: Vec<BudgetView>,
    /// The last of them, where more come after it.
    more: Option<String>,
    choices: Vec<(&'static str, Vec<Choice>)>,
}

/// The day with a number, counted from 1970.
pub(super) fn day_of(number: i64) -> NaiveDate {
    let days = Days::new(number.max(0).unsigned_abs());
    NaiveDate::default().checked_add_days(days).unwrap_or_default()
}

/// Adds up what is asked for; an error where that would be too many sums.
pub(super) async fn add_up(app: &App, asked: &Asked, by: &[By]) -> Result<Vec<Sum>, Error> {
    let found = sums(&app.db, asked.of, &asked.span, by, MOST_SUMS + 1).await?;
    if found.len() as u64 > MOST_SUMS {
        let why = "That is too much for one answer. Ask for fewer days.";
        return Err(Error::field("from", why));
    }
    Ok(found)
}

/// What is to be done with budgets.
#[derive(Deserialize)]
pub struct Wished {
    /// The session that one is to be set for.
    budget: Option<String>,
    /// The budget that the shown ones come after.
    after: Option<String>,
}

/// `GET /usage`
pub async fn show(
    app: Data<App>,
    frame: Frame,
    ceiling: Ceiling,
    CurrentUser(user): CurrentUser,
    Query(query): Query<AskedQuery>,
    Query(Wished { budget, after }): Query<Wished>,
) -> Result<HttpResponse, Error> {
    let asked = Asked::of(&app, &user, ceiling, &query)?;
    let wished = match budget {
        Some(id) => {
            let id: SessionId = id.parse().map_err(|_| Error::NotFound)?;
            Some(Session::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?)
        }
        None => None,
    };
    let after = after.and_then(|id| id.parse().ok());
    let everyone = asked.of.is_none();
    let models = add_up(&app, &asked, &[By::Provider, By::Model]).await?;
    let people = match everyone {
        true => add_up(&app, &asked, &[By::User]).await?,
        false => Vec::new(),
    };
    let projects = add_up(&app, &asked, &[By::Project]).await?;
    let (standing, more) = budgets::of_person(&app.engine, &user, asked.sees_all, after).await?;
    let last = standing.last().map(|it| it.budget.id.to_string());
    html(Usage {
        frame,
        from: asked.span.first.to_string(),
        to: asked.span.last.to_string(),
        zone: asked.span.zone.to_string(),
        sees_all: asked.sees_all,
        everyone,
        total: Total::of(&models, &asked.span),
        chart: Chart::of(&asked.span, &add_up(&app, &asked, &[By::Day, By::Model]).await?),
        models: view::lines(models),
        people: view::lines(people),
        projects: view::lines(projects),
        budgets: view::budgets(&app, &user, asked.sees_all, standing).await?,
        more: last.filter(|_| more),
        choices: view::choices(&app, &user, asked.sees_all, wished).await?,
    })
}

/// `GET /usage.csv`
pub async fn csv(
    app: Data<App>,
    ceiling: Ceiling,
    CurrentUser(user): CurrentUser,
    Query(query): Query<AskedQuery>,
) -> Result<HttpResponse, Error> {
    let asked = Asked::of(&app, &user, ceiling, &query)?;
    let sums = add_up(&app, &asked, &By::ALL).await?;
    let name = format!("forge-usage-{}-{}.csv", asked.span.first, asked.span.last);
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        .body(sheet::write(&sums)?))
}

#[derive(Deserialize)]
pub struct Typed {
    /// `everyone`, or `user:`, `project:` or `session:` and an id.
    target: String,
    period: String,
    limit: String,
    #[serde(default)]
    allow_unknown: bool,
}

/// `POST /budgets`
pub async fn add_budget(
    app: Data<App>,
    by: Actor,
    Ceiling(ceiling): Ceiling,
    CurrentUser(user): CurrentUser,
    Form(typed): Form<Typed>,
) -> Result<HttpResponse, Error> {
    let (scope, subject) = typed.target.split_once(':').unwrap_or((&typed.target, ""));
    let scope = scope.parse::<BudgetScope>();
    let period = typed.period.parse::<Period>();
    let wish = Wish {
        scope: scope.map_err(|_| Error::field("target", "Choose whom it is for."))?,
        subject: subject.to_owned(),
        period: period.map_err(|_| Error::field("period", "Choose a period."))?,
        limit_micros: parse_dollars(&typed.limit).map_err(|err| Error::field("limit", err))?,
        allow_unknown: typed.allow_unknown,
    };
    let admin = user.admin && ceiling >= Scope::Admin;
    budgets::add(&app.engine, &user, admin, wish, &by).await?;
    Ok(see_other(&app, "/usage"))
}

#[derive(Deserialize)]
pub struct NewLimit {
    limit: String,
    #[serde(default)]
    allow_unknown: bool,
}

/// `POST /budgets/{id}`
pub async fn change_budget(
    app: Data<App>,
    by: Actor,
    Owned(budget): Owned<Budget>,
    Form(NewLimit { limit, allow_unknown }): Form<NewLimit>,
) -> Result<HttpResponse, Error> {
    let limit = parse_dollars(&limit).map_err(|err| Error::field("limit", err))?;
    budgets::change(&app.engine, budget, Some(limit), Some(allow_unknown), &by).await?;
    Ok(see_other(&app, "/usage"))
}

/// `POST /budgets/{id}/remove`
pub async fn remove_budget(
    app: Data<App>,
    by: Actor,
    Owned(budget): Owned<Budget>,
) -> Result<HttpResponse, Error> {
    budgets::remove(&app.engine, budget, &by).await?;
    Ok(see_other(&app, "/usage"))
}
