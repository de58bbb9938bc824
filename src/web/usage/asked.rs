//! Whose usage is asked for, and of which days.

use chrono::{Days, NaiveDate};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::{error::Error, extract::Ceiling};
use crate::{
    app::App,
    domain::{budget::Subject, token::Scope, zone::Span},
    engine::budgets,
    store::entity::user::Model as User,
};

/// The most days that are added up at once.
pub const MOST_DAYS: i64 = 400;
/// Days that are shown where nothing else is asked for.
const USUAL_DAYS: u64 = 30;

/// Which usage is asked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AskedQuery {
    /// The first day, in your time zone; 30 days up to the last where it is left out
    #[param(value_type = Option<String>, example = "2026-03-01")]
    pub from: Option<String>,
    /// The last day, in your time zone; today where it is left out
    #[param(value_type = Option<String>, example = "2026-03-31")]
    pub to: Option<String>,
    /// `you` or `everyone`; administrators are shown everyone where it is left out, others
    /// themselves in any case
    #[param(value_type = Option<String>, example = "you")]
    pub who: Option<String>,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub span: Span,
    /// Nobody: everyone.
    pub of: Option<Subject>,
    /// Whether they may see everyone's.
    pub sees_all: bool,
}

impl Asked {
    pub fn of(
        app: &App,
        user: &User,
        Ceiling(ceiling): Ceiling,
        query: &AskedQuery,
    ) -> Result<Self, Error> {
        let zone = budgets::zone(&app.engine, Some(user));
        let day = |name, text: &Option<String>, default| match text.as_deref().map(str::trim) {
            None | Some("") => Ok(default),
            Some(text) => {
                parse(text).ok_or_else(|| Error::field(name, "Write a day like 2026-03-12."))
            }
        };
        let last = day("to", &query.to, zone.day(app.clock.now()))?;
        let usual = last.checked_sub_days(Days::new(USUAL_DAYS - 1)).unwrap_or(last);
        let first = day("from", &query.from, usual)?;
        let span = Span { zone, first, last };
        if first > last {
            return Err(Error::field("from", "The first day comes after the last."));
        }
        if span.days() > MOST_DAYS {
            return Err(Error::field("from", format!("Ask for at most {MOST_DAYS} days at once.")));
        }
        let sees_all = user.admin && ceiling >= Scope::Admin;
        let own = match query.who.as_deref() {
            None | Some("" | "everyone") => !sees_all,
            Some("you") => true,
            Some(_) => return Err(Error::field("who", "Say you or everyone.")),
        };
        Ok(Self { span, of: own.then_some(Subject::User(user.id)), sees_all })
    }
}

fn parse(text: &str) -> Option<NaiveDate> {
    let years = NaiveDate::from_ymd_opt(2000, 1, 1)?..NaiveDate::from_ymd_opt(3000, 1, 1)?;
    text.parse().ok().filter(|day| years.contains(day))
}
