//! The ledger, added up: by day, person, project, provider and model.
//!
//! Every question is about a range of buckets and goes over an index. Lines are added by the
//! journal, together with the totals of their session.

use std::{fmt::Write as _, ops::Range};

use sea_orm::{
    ColumnTrait as _, DbErr, EntityTrait as _, FromQueryResult, QueryFilter as _, QueryOrder as _,
    QuerySelect as _, Select, sea_query::Expr,
};

use super::{
    Db,
    entity::usage::{self, Model as Line},
};
use crate::domain::{
    budget::Subject,
    zone::{Ahead, BUCKETS_A_DAY, Span},
};

/// What lines are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Day,
    User,
    Project,
    Provider,
    Model,
}

impl By {
    pub const ALL: [Self; 5] = [Self::Day, Self::User, Self::Project, Self::Provider, Self::Model];
}

/// Lines added up. What they were not added up by is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Sum {
    /// Days since 1970.
    pub day: Option<i64>,
    /// The id of the newest line, that of whom it is about, and the name there: see [`named`].
    pub person: Option<String>,
    pub project: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub calls: i64,
    pub sessions: i64,
    pub input: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    pub output: i64,
    pub reasoning: i64,
    /// Micro-dollars of the calls whose price is known.
    pub cost: i64,
    /// Calls whose price is not known.
    pub unknown: i64,
    /// Calls whose tokens Forge has counted.
    pub estimated: i64,
}

/// Adds up the calls of somebody, or of all where nobody is named; at most so many sums.
pub async fn sums(
    db: &Db,
    of: Option<Subject>,
    span: &Span,
    by: &[By],
    limit: u64,
) -> Result<Vec<Sum>, DbErr> {
    let query = adding(of, span, by).limit(limit);
    query.into_model::<Sum>().all(db.read()).await
}

fn adding(of: Option<Subject>, span: &Span, by: &[By]) -> Select<usage::Entity> {
    let mut query = within(of, span.buckets()).select_only();
    for one in By::ALL {
        let (name, key, shown) = match one {
            By::Day => ("day", day(&span.ahead()), String::new()),
            By::User => ("person", "user_id".to_owned(), newest("user_id", "user_login")),
            By::Project => {
                ("project", "project_id".to_owned(), newest("project_id", "project_name"))
            }
            By::Provider => {
                ("provider", "provider_id".to_owned(), newest("provider_id", "provider_name"))
            }
            By::Model => ("model", "model".to_owned(), String::new()),
        };
        if !by.contains(&one) {
            let kind = if one == By::Day { "BIGINT" } else { "TEXT" };
            query = query.column_as(Expr::cust(format!("CAST(NULL AS {kind})")), name);
            continue;
        }
        let shown = if shown.is_empty() { key.clone() } else { shown };
        query = query.column_as(Expr::cust(shown), name).group_by(Expr::cust(key.clone()));
        query = query.order_by_asc(Expr::cust(key));
    }
    for (name, sum) in [
        ("calls", "COUNT(*)"),
        ("sessions", "COUNT(DISTINCT session_id)"),
        ("input", "SUM(input)"),
        ("cache_read", "SUM(cache_read)"),
        ("cache_write", "SUM(cache_write)"),
        ("output", "SUM(output)"),
        ("reasoning", "SUM(reasoning)"),
        ("cost", "SUM(cost_micros)"),
        ("unknown", "SUM(CASE WHEN cost_micros IS NULL THEN 1 ELSE 0 END)"),
        ("estimated", "SUM(CASE WHEN estimated THEN 1 ELSE 0 END)"),
    ] {
        // PostgreSQL adds up to decimals.
        let sum = format!("CAST(COALESCE({sum}, 0) AS BIGINT)");
        query = query.column_as(Expr::cust(sum), name);
    }
    query
}

/// What somebody's calls in a range of buckets have cost, as far as their prices are known.
pub async fn spent(db: &Db, of: Subject, buckets: Range<i64>) -> Result<i64, DbErr> {
    Ok(spending(of, buckets).into_tuple::<i64>().one(db.read()).await?.unwrap_or(0))
}

fn spending(of: Subject, buckets: Range<i64>) -> Select<usage::Entity> {
    let sum = Expr::cust("CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT)");
    within(Some(of), buckets).select_only().column_as(sum, "cost")
}

/// The lines of somebody, oldest first; at most so many.
pub async fn lines(
    db: &Db,
    of: Subject,
    buckets: Range<i64>,
    limit: u64,
) -> Result<Vec<Line>, DbErr> {
    let query = within(Some(of), buckets).order_by_asc(usage::COLUMN.id).limit(limit);
    query.all(db.read()).await
}

fn within(of: Option<Subject>, buckets: Range<i64>) -> Select<usage::Entity> {
    let query = usage::Entity::find()
        .filter(usage::COLUMN.bucket.gte(buckets.start))
        .filter(usage::COLUMN.bucket.lt(buckets.end));
    match of {
        None => query,
        Some(Subject::User(id)) => query.filter(usage::COLUMN.user_id.eq(id)),
        Some(Subject::Project(id)) => query.filter(usage::COLUMN.project_id.eq(id)),
        Some(Subject::Session(id)) => query.filter(usage::COLUMN.session_id.eq(id)),
    }
}

/// The name in the newest line of a group, after an id of 26 characters: ids grow with time.
fn newest(id: &str, name: &str) -> String {
    // The id of the line goes first, so that it decides; then what it is about.
    format!("MAX(id || {id} || {name})")
}

/// The day that a bucket falls on in a time zone. Only numbers of our own stand in it.
fn day(ahead: &[Ahead]) -> String {
    let mut cases = String::new();
    for part in ahead {
        let _ = write!(cases, " WHEN bucket < {} THEN {}", part.until, part.buckets);
    }
    match ahead {
        [] => format!("bucket / {BUCKETS_A_DAY}"),
        _ => format!("(bucket + CASE{cases} ELSE 0 END) / {BUCKETS_A_DAY}"),
    }
}

/// The id and the name in a sum's `person`, `project` or `provider`.
pub fn named(text: &str) -> (&str, &str) {
    const ID: usize = 26;
    let about = text.get(ID..).unwrap_or_default();
    about.split_at_checked(ID).unwrap_or((about, ""))
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::{super::db::plan, *};
    use crate::domain::ids::{ProjectId, SessionId, UserId};

    #[tokio::test]
    async fn no_question_of_the_ledger_looks_at_every_line() {
        const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let subjects = [
            Subject::User(ID.parse::<UserId>().unwrap()),
            Subject::Project(ID.parse::<ProjectId>().unwrap()),
            Subject::Session(ID.parse::<SessionId>().unwrap()),
        ];
        let day = NaiveDate::from_ymd_opt(2026, 3, 29).unwrap();
        let zone = "Europe/Berlin".parse().unwrap();
        let span = Span { zone, first: day, last: day };
        let mut asked = vec![adding(None, &span, &By::ALL)];
        for of in subjects {
            asked.push(adding(Some(of), &span, &By::ALL));
            asked.push(spending(of, span.buckets()));
            asked.push(spending(of, 0..i64::MAX));
            asked.push(within(Some(of), 0..i64::MAX).order_by_asc(usage::COLUMN.id).limit(10));
        }
        for query in asked {
            let plan = plan(query).await;
            assert!(plan.contains("SEARCH usage USING INDEX"), "{plan}");
            assert!(!plan.contains("SCAN usage"), "{plan}");
        }
        // A question that does look at every line is told from these.
        assert!(plan(usage::Entity::find()).await.contains("SCAN usage"));
    }
}
