//! Budgets: set by administrators for people and projects, and by people for what is their own;
//! held to before each call of a model.

mod holds;

use std::collections::HashMap;

use serde_json::json;

use self::holds::Tried;
pub use self::holds::{Hold, Holds};
use super::{
    Engine,
    refused::{Actor, Refused},
};
use crate::{
    domain::{
        budget::{Calendar, Kept, Period, Scope, Subject, Told, Window, Worst, dollars},
        ids::{BudgetId, ProjectId, SessionId, UserId},
        zone::Zone,
    },
    store::{
        self, Db, DbErr, OwnedRow as _, audit, budgets,
        entity::{
            budget::Model as Budget, project::Model as Project, session::Model as Session,
            user::Model as User,
        },
        usage,
    },
};

/// The most budgets of one hand: of one person, or of all administrators together.
const MOST: u64 = 1_000;

/// Budgets that a page shows at once.
const SHOWN: usize = 100;

/// A budget as it holds for one call.
pub(super) struct Limit {
    pub subject: Subject,
    pub window: Window,
    pub micros: i64,
    pub allow_unknown: bool,
    scope: Scope,
    imposed: bool,
    period: Period,
    zone: Zone,
}

impl Limit {
    fn key(&self) -> (Subject, i64) {
        (self.subject, self.window.buckets().start)
    }

    fn told(&self, left: i64, project: &str) -> Told {
        Told {
            scope: self.scope,
            imposed: self.imposed,
            project: project.to_owned(),
            period: self.period,
            limit: self.micros,
            left,
            window: self.window,
            zone: self.zone,
        }
    }
}

/// Whose call it is.
#[derive(Clone, Debug)]
pub struct Payer {
    pub user: UserId,
    pub login: String,
    pub calendar: Calendar,
    pub project: ProjectId,
    pub project_name: String,
    pub session: SessionId,
}

impl Payer {
    pub(super) fn subjects(&self) -> [Subject; 3] {
        [Subject::User(self.user), Subject::Project(self.project), Subject::Session(self.session)]
    }
}

/// A budget with what is spent of it.
#[derive(Clone, Debug)]
pub struct Standing {
    pub budget: Budget,
    pub told: Told,
    pub spent: i64,
    /// Set aside for calls that go on.
    pub held: i64,
}

impl Standing {
    /// What may still be spent.
    pub fn left(&self) -> i64 {
        self.told.left.saturating_sub(self.held).max(0)
    }
}

/// A budget as it is asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    pub scope: Scope,
    /// The login or the id of the person, the id of the project or the session.
    pub subject: String,
    pub period: Period,
    pub limit_micros: i64,
    pub allow_unknown: bool,
}

/// Sets aside what a call may cost. Waits where that is set aside for other calls which may cost
/// less; the error says why there is nothing to wait for. With how long the answer may be at most,
/// where that is less than the model's own limit.
pub async fn reserve(
    engine: &Engine,
    payer: &Payer,
    worst: Option<Worst>,
    model: &str,
) -> Result<Result<(Hold, Option<u32>), String>, DbErr> {
    loop {
        let freed = engine.holds.freed();
        let now = engine.clock.now();
        let rows =
            budgets::holding(&engine.db, payer.user, Some(payer.project), Some(payer.session));
        let limits: Vec<Limit> = overruled(rows.await?)
            .iter()
            .map(|it| limit(it, payer.user, payer.calendar, now))
            .collect();
        let subjects = payer.subjects();
        let tried = engine.holds.try_hold(&engine.db, subjects, &limits, worst, now).await?;
        let told = |limit: usize, left| limits[limit].told(left, &payer.project_name);
        return Ok(match tried {
            Tried::Held(hold, output) => Ok((hold, output)),
            Tried::Spent { limit, left } => {
                Err(told(limit, left).spent(worst.map_or(0, |it| it.least())))
            }
            Tried::Unknown { limit, left } => Err(told(limit, left).unknown(model)),
            Tried::Busy => {
                freed.await;
                continue;
            }
        });
    }
}

/// How the budgets stand that hold for a session.
pub async fn of_session(engine: &Engine, session: &Session) -> Result<Vec<Standing>, DbErr> {
    let (user, project) = (session.user_id, session.project_id);
    let rows = budgets::holding(&engine.db, user, Some(project), Some(session.id)).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let person = store::users::find(&engine.db, user).await?;
    let calendar = calendar(engine, person.as_ref());
    standing(engine, overruled(rows), user, calendar).await
}

/// How the budgets stand that a person may see, after one of them, and whether there are more.
pub async fn of_person(
    engine: &Engine,
    user: &User,
    admin: bool,
    after: Option<BudgetId>,
) -> Result<(Vec<Standing>, bool), DbErr> {
    let mut rows = budgets::page(&engine.db, user.id, admin, after, SHOWN as u64 + 1).await?;
    let more = rows.len() > SHOWN;
    rows.truncate(SHOWN);
    Ok((standing(engine, rows, user.id, calendar(engine, Some(user))).await?, more))
}

/// How some budgets stand, of which everyone's are a person's own.
pub async fn standing(
    engine: &Engine,
    rows: Vec<Budget>,
    user: UserId,
    calendar: Calendar,
) -> Result<Vec<Standing>, DbErr> {
    let now = engine.clock.now();
    let ids: Vec<ProjectId> = rows.iter().filter_map(|row| row.project_id).collect();
    let names: HashMap<ProjectId, String> = match ids.is_empty() {
        true => HashMap::new(),
        false => budgets::project_names(&engine.db, ids).await?.into_iter().collect(),
    };
    // The day of another person's budget is that person's.
    let others: Vec<UserId> = rows.iter().filter_map(|row| row.user_id).collect();
    let others = match others.iter().all(|other| *other == user) {
        true => Vec::new(),
        false => store::users::by_ids(&engine.db, others).await?,
    };
    let of = |row: &Budget| {
        let other = others.iter().find(|other| Some(other.id) == row.user_id);
        other.map_or(calendar, |other| self::calendar(engine, Some(other)))
    };
    let limits: Vec<Limit> = rows.iter().map(|row| limit(row, user, of(row), now)).collect();
    let spent = spent(&engine.db, &limits).await?;
    let each = rows.into_iter().zip(limits).zip(spent).map(|((budget, limit), spent)| {
        let project = budget.project_id.and_then(|id| names.get(&id)).cloned();
        Standing {
            held: engine.holds.held(limit.subject),
            told: limit.told(limit.micros.saturating_sub(spent), &project.unwrap_or_default()),
            spent,
            budget,
        }
    });
    Ok(each.collect())
}

/// What was spent of some limits, each asked for once.
async fn spent(db: &Db, limits: &[Limit]) -> Result<Vec<i64>, DbErr> {
    let mut known = HashMap::new();
    let mut all = Vec::with_capacity(limits.len());
    for limit in limits {
        let key = limit.key();
        if let std::collections::hash_map::Entry::Vacant(unknown) = known.entry(key) {
            unknown.insert(usage::spent(db, limit.subject, limit.window.buckets()).await?);
        }
        all.extend(known.get(&key));
    }
    Ok(all)
}

/// Where a person's days begin.
pub fn zone(engine: &Engine, user: Option<&User>) -> Zone {
    let chosen = user.and_then(|user| user.time_zone.as_deref());
    Zone::of(chosen, engine.config.accounts.time_zone)
}

/// Where a person's days begin, as budgets count them.
pub fn calendar(engine: &Engine, user: Option<&User>) -> Calendar {
    let kept = user.and_then(|user| user.kept_windows.clone());
    let kept = kept.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
    Calendar { zone: zone(engine, user), kept }
}

/// What of a person's budgets goes on where they go over to another time zone now.
pub async fn kept_over(engine: &Engine, user: &User, to: Zone) -> Result<Kept, DbErr> {
    let (calendar, now) = (calendar(engine, Some(user)), engine.clock.now());
    let mut spent = Vec::new();
    for period in [Period::Day, Period::Week, Period::Month] {
        let window = calendar.window(period, now).buckets();
        if usage::spent(&engine.db, Subject::User(user.id), window).await? > 0 {
            spent.push(period);
        }
    }
    Ok(calendar.kept_over(to, now, &spent))
}

/// Adds a budget. Administrators set those of people and of any project, which then are theirs to
/// change; others those of their own projects and sessions.
pub async fn add(
    engine: &Engine,
    by: &User,
    admin: bool,
    wish: Wish,
    actor: &Actor,
) -> Result<Budget, Refused> {
    let now = engine.clock.now();
    let mut budget = Budget {
        id: BudgetId::mint(now, engine.entropy.as_ref()),
        scope: wish.scope,
        user_id: None,
        project_id: None,
        session_id: None,
        period: wish.period,
        limit_micros: wish.limit_micros,
        allow_unknown: wish.allow_unknown,
        owner_id: (!admin).then_some(by.id),
        created_at: now,
        updated_at: now,
    };
    let (db, subject) = (&engine.db, wish.subject.trim());
    let nobody = |what: &str| Refused::field("subject", format!("There is no such {what}."));
    match wish.scope {
        Scope::Everyone | Scope::User if !admin => {
            return Err(Refused::field("scope", "Only administrators set budgets for people."));
        }
        Scope::Everyone => {}
        Scope::User => {
            let found = match subject.parse::<UserId>() {
                Ok(id) => store::users::find(db, id).await?,
                Err(_) => store::users::by_login(db, subject).await?,
            };
            budget.user_id = Some(found.ok_or_else(|| nobody("person"))?.id);
        }
        Scope::Project => {
            let id: ProjectId = subject.parse().map_err(|_| nobody("project"))?;
            // Whether it is there at all is looked at when the budget is stored.
            if !admin && Project::find_owned(db, by.id, id).await?.is_none() {
                return Err(nobody("project"));
            }
            budget.project_id = Some(id);
        }
        Scope::Session => {
            let id: SessionId = subject.parse().map_err(|_| nobody("session"))?;
            let found = Session::find_owned(db, by.id, id).await?;
            budget.session_id = Some(found.ok_or_else(|| nobody("session"))?.id);
            budget.owner_id = Some(by.id);
        }
    }
    let budget = match budgets::create(db, budget, MOST).await? {
        Ok(budget) => budget,
        Err(budgets::Refused::Gone) => return Err(nobody(&wish.scope.to_string())),
        Err(budgets::Refused::TooMany) => {
            return Err(Refused::Conflict(format!("There are {MOST} budgets. Remove one first.")));
        }
        Err(budgets::Refused::Twice) => {
            let why = "There is a budget for that and for the same period. Change that one.";
            return Err(Refused::Conflict(why.into()));
        }
    };
    note(engine, "budget.created", &budget, actor).await?;
    Ok(budget)
}

/// Changes how much a budget is, and whether it allows unknown prices; what is absent stays.
pub async fn change(
    engine: &Engine,
    mut budget: Budget,
    limit_micros: Option<i64>,
    allow_unknown: Option<bool>,
    actor: &Actor,
) -> Result<Budget, Refused> {
    budget.limit_micros = limit_micros.unwrap_or(budget.limit_micros);
    budget.allow_unknown = allow_unknown.unwrap_or(budget.allow_unknown);
    budget.updated_at = engine.clock.now();
    let budget = budgets::update(&engine.db, budget).await?;
    engine.holds.ring();
    note(engine, "budget.changed", &budget, actor).await?;
    Ok(budget)
}

/// Removes a budget.
pub async fn remove(engine: &Engine, budget: Budget, actor: &Actor) -> Result<(), Refused> {
    budgets::delete(&engine.db, budget.id).await?;
    engine.holds.ring();
    note(engine, "budget.removed", &budget, actor).await
}

async fn note(
    engine: &Engine,
    action: &'static str,
    budget: &Budget,
    actor: &Actor,
) -> Result<(), Refused> {
    let deed = audit::Deed {
        actor: Some(actor.user),
        action,
        subject: ("budget", Some(budget.id.to_string())),
        detail: json!({
            "scope": budget.scope, "user": budget.user_id, "project": budget.project_id,
            "session": budget.session_id, "period": budget.period,
            "limit": dollars(budget.limit_micros), "allow_unknown": budget.allow_unknown,
        }),
        ip: actor.ip.clone(),
    };
    Ok(audit::record(&engine.db, engine.clock.as_ref(), engine.entropy.as_ref(), deed).await?)
}

/// Without what is set for everyone where the person has a budget for the same period.
fn overruled(mut rows: Vec<Budget>) -> Vec<Budget> {
    let own: Vec<Period> =
        rows.iter().filter(|it| it.scope == Scope::User).map(|it| it.period).collect();
    rows.retain(|it| it.scope != Scope::Everyone || !own.contains(&it.period));
    rows
}

/// A budget as it holds for a person now.
fn limit(
    budget: &Budget,
    user: UserId,
    calendar: Calendar,
    now: chrono::DateTime<chrono::Utc>,
) -> Limit {
    let subject = match (budget.project_id, budget.session_id) {
        (Some(project), _) => Subject::Project(project),
        (None, Some(session)) => Subject::Session(session),
        (None, None) => Subject::User(budget.user_id.unwrap_or(user)),
    };
    Limit {
        subject,
        window: calendar.window(budget.period, now),
        micros: budget.limit_micros,
        allow_unknown: budget.allow_unknown,
        scope: budget.scope,
        imposed: budget.owner_id.is_none(),
        period: budget.period,
        zone: calendar.zone,
    }
}
