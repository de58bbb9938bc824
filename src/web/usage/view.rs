//! Numbers of the ledger and of budgets, as the page says them.

use crate::{
    app::App,
    domain::{
        budget::{Period, Scope, dollars},
        zone::Span,
    },
    engine::budgets::Standing,
    store::{
        DbErr, budgets,
        entity::{session::Model as Session, user::Model as User},
        projects, sessions,
        usage::{Sum, named},
        users,
    },
    web::{
        sessions::words::short,
        words::{count, money},
    },
};

/// Lines that a table shows.
const SHOWN: usize = 100;
/// People, projects or sessions that are offered for a budget.
const OFFERED: u64 = 200;

/// All of what is shown, added up.
pub struct Total {
    pub calls: i64,
    pub cost: String,
    pub days: String,
    pub input: String,
    pub output: String,
    pub cached: Option<i64>,
    pub unknown: i64,
    pub estimated: i64,
}

/// A line of a table.
pub struct Line {
    pub name: String,
    /// The provider of a model.
    pub beside: String,
    pub sessions: i64,
    pub input: String,
    pub output: String,
    /// Nothing where no price is known.
    pub cost: Option<String>,
    pub unknown: i64,
    pub estimated: i64,
    /// Of the cost of all, in percent.
    pub share: i64,
}

impl Total {
    pub fn of(sums: &[Sum], span: &Span) -> Self {
        let all = |number: fn(&Sum) -> i64| sums.iter().map(number).sum::<i64>();
        let (calls, unknown) = (all(|sum| sum.calls), all(|sum| sum.unknown));
        let input = all(read);
        Self {
            calls,
            cost: cost(all(|sum| sum.cost), calls, unknown).unwrap_or_else(|| "not known".into()),
            days: count(span.days().unsigned_abs(), "day"),
            input: tokens(input),
            output: tokens(all(|sum| sum.output)),
            cached: (all(|sum| sum.cache_read) * 100).checked_div(input),
            unknown,
            estimated: all(|sum| sum.estimated),
        }
    }
}

/// The lines of a table, dearest first.
pub fn lines(mut sums: Vec<Sum>) -> Vec<Line> {
    let all: i64 = sums.iter().map(|sum| sum.cost).sum();
    sums.sort_by_key(|sum| std::cmp::Reverse((sum.cost, read(sum))));
    let line = |sum: Sum| {
        let name = |text: Option<String>| text.map(|text| named(&text).1.to_owned());
        let provider = name(sum.provider.clone()).unwrap_or_default();
        let (name, beside) = match &sum.model {
            Some(model) => (model.clone(), provider),
            None => (
                name(sum.person.clone().or(sum.project.clone())).unwrap_or(provider),
                String::new(),
            ),
        };
        Line {
            name,
            beside,
            sessions: sum.sessions,
            input: tokens(read(&sum)),
            output: tokens(sum.output),
            cost: cost(sum.cost, sum.calls, sum.unknown),
            unknown: sum.unknown,
            estimated: sum.estimated,
            share: (sum.cost * 100).checked_div(all).unwrap_or(0),
        }
    };
    sums.into_iter().take(SHOWN).map(line).collect()
}

fn read(sum: &Sum) -> i64 {
    sum.input + sum.cache_read + sum.cache_write
}

fn tokens(number: i64) -> String {
    short(number.max(0).unsigned_abs())
}

fn cost(micros: i64, calls: i64, unknown: i64) -> Option<String> {
    match (calls, unknown) {
        (calls, unknown) if calls > 0 && unknown == calls => None,
        (_, 0) => Some(money(micros)),
        _ => Some(format!("at least {}", money(micros))),
    }
}

/// A budget with how it stands.
pub struct BudgetView {
    pub id: String,
    pub name: String,
    pub spent: String,
    pub left: String,
    /// What a field shows.
    pub typed: String,
    pub anew: String,
    pub percent: i64,
    pub held: Option<String>,
    pub allow_unknown: bool,
    /// Whether the visitor may change it.
    pub theirs: bool,
}

/// Budgets, and whether they are the visitor's to change.
pub async fn budgets(
    app: &App,
    user: &User,
    admin: bool,
    standing: Vec<Standing>,
) -> Result<Vec<BudgetView>, DbErr> {
    let mut views = Vec::with_capacity(standing.len());
    let people = match admin {
        true => users::all(&app.db).await?,
        false => Vec::new(),
    };
    for it in standing {
        let budget = &it.budget;
        let of = match budget.user_id {
            Some(id) if id != user.id => {
                let person = people.iter().find(|person| person.id == id);
                person.map_or_else(|| "somebody".to_owned(), |person| person.name.clone())
            }
            _ => "You".to_owned(),
        };
        let whose = match budget.scope {
            Scope::Everyone => "Everyone, each by themselves".to_owned(),
            Scope::User => of,
            Scope::Project => format!("Project {}", it.told.project),
            Scope::Session => "One session".to_owned(),
        };
        let period = match budget.period {
            Period::Day => "a day",
            Period::Week => "a week",
            Period::Month => "a month",
            Period::Total => "in all",
        };
        let limit = dollars(budget.limit_micros);
        views.push(BudgetView {
            id: budget.id.to_string(),
            name: format!("{whose}: {limit} {period}"),
            spent: dollars(it.spent),
            left: dollars(it.left()),
            typed: limit.trim_start_matches('$').to_owned(),
            anew: it.told.anew(),
            percent: (i128::from(it.spent) * 100 / i128::from(budget.limit_micros.max(1)))
                .try_into()
                .unwrap_or(i64::MAX),
            held: (it.held > 0).then(|| dollars(it.held)),
            allow_unknown: budget.allow_unknown,
            theirs: budget.owner_id.map_or(admin, |owner| owner == user.id),
        });
    }
    Ok(views)
}

/// Whom a budget can be for.
pub struct Choice {
    pub value: String,
    pub label: String,
    pub chosen: bool,
}

impl Choice {
    fn new(value: String, label: String) -> Self {
        Self { value, label, chosen: false }
    }
}

/// Whom the visitor can set budgets for. Of their sessions these are the newest, and one that they
/// come from.
pub async fn choices(
    app: &App,
    user: &User,
    admin: bool,
    from: Option<Session>,
) -> Result<Vec<(&'static str, Vec<Choice>)>, DbErr> {
    let mut groups = Vec::new();
    if admin {
        let everyone = Choice::new("everyone".into(), "Everyone, each by themselves".into());
        let people = users::page(&app.db, None, OFFERED).await?.into_iter();
        let person = |it: User| Choice::new(format!("user:{}", it.id), it.name);
        groups.push(("People", std::iter::once(everyone).chain(people.map(person)).collect()));
    }
    let found = match admin {
        true => budgets::projects(&app.db, OFFERED).await?,
        false => {
            projects::of(&app.db, user.id).await?.into_iter().map(|it| (it.id, it.name)).collect()
        }
    };
    let project = |(id, name)| Choice::new(format!("project:{id}"), name);
    groups.push(("Projects", found.into_iter().map(project).collect()));
    let mut found = sessions::recent(&app.db, user.id, 20).await?;
    let wanted = from.as_ref().map(|it| it.id);
    found.retain(|it| Some(it.id) != wanted);
    let session = |it: Session| Choice {
        chosen: Some(it.id) == wanted,
        ..Choice::new(format!("session:{}", it.id), it.name)
    };
    groups.push(("Your sessions", from.into_iter().chain(found).map(session).collect()));
    groups.retain(|(_, choices): &(_, Vec<Choice>)| !choices.is_empty());
    Ok(groups)
}
