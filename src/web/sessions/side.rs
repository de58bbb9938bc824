//! What stands around a session's timeline: its totals, its lists, and the other sessions.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    timeline::text_of,
    tool,
    view::TodoView,
    words::{Moment, anchor, money, short},
};
use crate::{
    domain::{
        provider::{Meta, ModelMeta},
        session::{FileStatus, Queued, Summary, TodoItem},
        text::cut,
    },
    engine::{Engine, budgets},
    store::{
        Db, DbErr,
        entity::{session::Model as Session, todo::Model as Todo},
        messages, providers, sessions,
    },
    web::words::{self, Sign, sign},
};

/// Sessions of the project that the left column shows.
const LISTED: u64 = 60;
/// Bytes of a waiting prompt that the queue shows.
const QUEUED: usize = 400;

/// How full the model's window is, and what the session has taken.
pub struct Context {
    pub session_id: String,
    pub used: String,
    pub window: Option<String>,
    pub percent: Option<u64>,
    pub cost: String,
    pub steps: u32,
    pub tokens: String,
    pub cached: Option<String>,
    /// What is left of the budgets that hold for it, tightest first.
    pub budgets: Vec<String>,
}

/// The totals of a session as they are stored.
pub fn summary(session: &Session) -> Summary {
    serde_json::from_value(session.summary.clone()).unwrap_or_default()
}

impl Context {
    pub async fn of(engine: &Engine, session: &Session, summary: &Summary) -> Result<Self, DbErr> {
        let db = &engine.db;
        let meta = match session.provider_id {
            Some(id) => providers::usable(db, session.user_id, id).await?.map(|it| it.meta),
            None => None,
        };
        let meta: Meta = meta.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
        let meta = meta.models.get(&session.model).cloned().unwrap_or_default();
        let mut standing = budgets::of_session(engine, session).await?;
        standing.sort_by_key(|it| it.told.left);
        let left = standing.iter().map(|it| it.told.remaining());
        let session_id = session.id.to_string();
        Ok(Self { session_id, budgets: left.collect(), ..Self::new(summary, &meta) })
    }

    fn new(summary: &Summary, meta: &ModelMeta) -> Self {
        let tokens = summary.tokens;
        let input = tokens.input + tokens.cache_read + tokens.cache_write;
        let percent = |part: u64, all: u64| (part * 100).checked_div(all);
        let cost = match (summary.cost_micros, summary.cost_incomplete) {
            (0, true) => "not known".to_owned(),
            (cost, true) => format!("at least {}", money(cost)),
            (cost, false) => money(cost),
        };
        Self {
            session_id: String::new(),
            used: short(summary.context_tokens),
            window: meta.context.map(short),
            percent: meta.context.and_then(|all| percent(summary.context_tokens, all)),
            cost,
            steps: summary.steps,
            tokens: format!("{} in, {} out", short(input), short(tokens.output)),
            budgets: Vec::new(),
            cached: percent(tokens.cache_read, input).map(|share| format!("{share} %")),
        }
    }
}

/// The agent's list of what is to be done.
pub fn todos(rows: Vec<Todo>) -> Vec<TodoView> {
    let item = |row: Todo| TodoItem { text: row.text, status: row.status };
    tool::todos(rows.into_iter().map(item).collect())
}

/// A file that the session has changed.
pub struct ChangedView {
    pub path: String,
    pub anchor: String,
    pub letter: &'static str,
    pub title: &'static str,
    pub tone: &'static str,
    pub additions: u32,
    pub deletions: u32,
}

pub fn changed(summary: &Summary) -> Vec<ChangedView> {
    let view = |file: &crate::domain::session::ChangedFile| {
        let (letter, title, tone) = match file.status {
            FileStatus::Added => ("A", "Added", "good"),
            FileStatus::Modified => ("M", "Modified", "warn"),
            FileStatus::Deleted => ("D", "Deleted", "bad"),
        };
        ChangedView {
            anchor: anchor(&file.path),
            path: file.path.clone(),
            letter,
            title,
            tone,
            additions: file.additions,
            deletions: file.deletions,
        }
    };
    summary.files.iter().map(view).collect()
}

/// A prompt that waits.
pub struct Waiting {
    pub id: String,
    pub text: String,
    /// How many files come with it, in words.
    pub files: Option<String>,
    pub steers: bool,
}

pub async fn queue(db: &Db, session: &Session) -> Result<Vec<Waiting>, DbErr> {
    let waiting = messages::queued(db, session.id).await?.into_iter().map(|whole| Waiting {
        id: whole.message.id.to_string(),
        steers: whole.message.queued == Some(Queued::Steer),
        files: match whole.parts.iter().filter(|row| row.kind == "file").count() {
            0 => None,
            count => Some(words::count(count as u64, "file")),
        },
        text: cut(&text_of(whole.parts), QUEUED).to_owned(),
    });
    Ok(waiting.collect())
}

/// Sessions of the project under one heading.
pub struct Group {
    pub name: &'static str,
    pub rows: Vec<Row>,
}

pub struct Row {
    pub id: String,
    pub name: String,
    pub sign: Sign,
    pub at: Moment,
}

pub async fn list(
    db: &Db,
    project: crate::domain::ids::ProjectId,
    now: DateTime<Utc>,
) -> Result<Vec<Group>, DbErr> {
    let mut groups = ["Open", "Today", "Earlier"].map(|name| Group { name, rows: Vec::new() });
    for session in sessions::of_project(db, project, LISTED).await? {
        let group = match (session.status.is_active(), now - session.updated_at) {
            (true, _) => 0,
            (false, age) if age < TimeDelta::hours(20) => 1,
            (false, _) => 2,
        };
        groups[group].rows.push(Row {
            id: session.id.to_string(),
            name: session.name,
            sign: sign(session.status),
            at: Moment::of(session.updated_at),
        });
    }
    Ok(groups.into_iter().filter(|group| !group.rows.is_empty()).collect())
}
