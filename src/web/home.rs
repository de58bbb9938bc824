//! The page on which a person begins.

use std::collections::HashMap;

use actix_web::{HttpResponse, web::Data};
use askama::Template;

use super::{
    error::Error,
    extract::{CurrentUser, Wants},
    page::{Frame, html},
    words::{SessionRow, day, moment},
};
use crate::{
    app::App,
    domain::{ask::Question, ids::ProjectId, trust::Trust},
    engine::{
        models::{self, Offer},
        sessions::AGENTS,
    },
    store::{
        asks,
        entity::{ask::Model as Ask, session::Model as Session},
        projects, sessions,
    },
};

/// Asks that are shown at once.
const ASKS: u64 = 50;
/// Sessions that are shown as recent.
const RECENT: usize = 6;
/// Models that are offered; the others are searched for where the session begins.
const MODELS: usize = 60;

#[derive(Template)]
#[template(path = "home/index.html")]
struct Home {
    frame: Frame,
    first_name: String,
    is_admin: bool,
    agents: &'static [&'static str],
    models: Vec<Choice>,
    live: Live,
}

/// What changes while somebody looks at it.
#[derive(Template)]
#[template(path = "home/live.html")]
struct Live {
    frame: Frame,
    waiting: Vec<Waiting>,
    projects: Vec<ProjectCard>,
    recent: Vec<Recent>,
}

impl Home {
    /// Whether something is still missing that every session needs.
    fn is_new(&self) -> bool {
        self.live.projects.is_empty() || self.models.is_empty()
    }
}

/// A model to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `<provider id>/<model id>`
    pub value: String,
    pub label: String,
}

struct Waiting {
    id: String,
    session: String,
    title: String,
    subject: Option<String>,
    place: Option<String>,
    moment: String,
    day: String,
}

struct ProjectCard {
    id: ProjectId,
    name: String,
    branch: Option<String>,
    moment: String,
    day: String,
    trusted: bool,
    active: Vec<SessionRow>,
}

struct Recent {
    session: SessionRow,
    project: String,
}

/// `GET /`
pub async fn index(
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    wants: Wants,
) -> Result<HttpResponse, Error> {
    let own = projects::of(&app.db, user.id).await?;
    let names: HashMap<_, _> = own.iter().map(|it| (it.id, it.name.clone())).collect();
    let active = sessions::active(&app.db, user.id).await?;
    let asks = asks::open(&app.db, user.id, ASKS).await?;
    let recent = sessions::recent(&app.db, user.id, (RECENT + active.len()) as u64).await?;
    let models = choices(&models::offers(&app.engine, user.id).await?);

    let projects = own.into_iter().map(|project| {
        let at = project.opened_at.unwrap_or(project.created_at);
        let mine = active.iter().filter(|session| session.project_id == project.id);
        ProjectCard {
            id: project.id,
            name: project.name,
            branch: project.default_branch,
            moment: moment(at),
            day: day(at),
            trusted: project.trust_status == Trust::Trusted,
            active: mine.map(SessionRow::of).collect(),
        }
    });
    let ended = recent.iter().filter(|session| !session.status.is_active()).take(RECENT);
    let project_of = |session: &Session| names.get(&session.project_id).cloned();
    let frame = frame.waiting(asks.len());
    let live = Live {
        frame: frame.clone(),
        waiting: asks.iter().map(|ask| waiting(ask, &active, &names)).collect(),
        projects: projects.collect(),
        recent: ended
            .map(|session| Recent {
                session: SessionRow::of(session),
                project: project_of(session).unwrap_or_default(),
            })
            .collect(),
    };
    if wants == Wants::Fragment {
        return html(live);
    }
    html(Home {
        frame,
        first_name: user.name.split_whitespace().next().unwrap_or(&user.login).to_owned(),
        is_admin: user.admin,
        agents: AGENTS,
        models,
        live,
    })
}

/// The first of the models that the person can use: favourites and those used last come first.
fn choices(offers: &[Offer]) -> Vec<Choice> {
    let choice = |offer: &Offer| Choice {
        value: offer.name(),
        label: format!("{} ({})", offer.id, offer.provider_name),
    };
    offers.iter().take(MODELS).map(choice).collect()
}

fn waiting(ask: &Ask, sessions: &[Session], projects: &HashMap<ProjectId, String>) -> Waiting {
    let question = serde_json::from_value::<Question>(ask.data.clone()).ok();
    let session = sessions.iter().find(|session| session.id == ask.session_id);
    let place = session.map(|session| match projects.get(&session.project_id) {
        Some(project) => format!("{project} · {}", session.name),
        None => session.name.clone(),
    });
    let title = match question.as_ref().map(|question| question.tool.as_str()) {
        Some("bash") => "Run".to_owned(),
        Some("read") => "Read".to_owned(),
        Some("edit" | "multi_edit") => "Edit".to_owned(),
        Some("apply_patch") => "Patch".to_owned(),
        Some("write") => "Write".to_owned(),
        Some(tool) => format!("Use {tool} on"),
        None => "Asks for your permission".to_owned(),
    };
    Waiting {
        id: ask.id.to_string(),
        session: ask.session_id.to_string(),
        title,
        subject: question.map(|question| cut(&question.subject)),
        place,
        moment: moment(ask.created_at),
        day: day(ask.created_at),
    }
}

/// The beginning of what an ask is about: a command can be a whole script.
fn cut(subject: &str) -> String {
    const MOST: usize = 120;
    let line = subject.lines().next().unwrap_or_default();
    let mut text: String = line.chars().take(MOST).collect();
    if text.len() < subject.trim_end().len() {
        text.push('…');
    }
    text
}
