//! Permission rules: a project's list, the one for everybody, and trying a command on them.

mod view;

use std::collections::HashMap;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::Deserialize;

use self::view::{GlobalPage, ListPanel, ProjectPage, VerdictPanel};
use super::{
    error::Error,
    extract::{Form, Owned, Query, Wants},
    page::{Frame, html, see_other},
};
use crate::{
    app::App,
    domain::ids::RuleId,
    engine::{
        refused::{Actor, Refused},
        rules::{self, Entered, MAX_TRIED, Way, try_out},
    },
    store::entity::{permission_rule::Model as Rule, project::Model as Project},
};

#[derive(Deserialize)]
pub struct NewRule {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    pattern: String,
    #[serde(default)]
    action: String,
}

#[derive(Deserialize)]
pub struct Change {
    #[serde(default)]
    rule: String,
    #[serde(rename = "do", default)]
    what: String,
}

#[derive(Default, Deserialize)]
pub struct Tried {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    input: String,
}

/// Whose list it is.
enum Whose {
    Everybody,
    Project(Box<Project>),
}

impl Whose {
    fn project(&self) -> Option<&Project> {
        match self {
            Self::Everybody => None,
            Self::Project(project) => Some(project),
        }
    }

    fn path(&self) -> String {
        match self {
            Self::Everybody => "/rules".into(),
            Self::Project(project) => format!("/projects/{}/rules", project.id),
        }
    }
}

/// `GET /projects/{id}/rules`
pub async fn of_project(
    app: Data<App>,
    frame: Frame,
    Owned(project): Owned<Project>,
) -> Result<HttpResponse, Error> {
    page(&app, frame, &Whose::Project(project.into()), Shown::default()).await
}

/// `GET /rules`
pub async fn of_everybody(app: Data<App>, frame: Frame) -> Result<HttpResponse, Error> {
    page(&app, frame, &Whose::Everybody, Shown::default()).await
}

/// `POST /projects/{id}/rules`
pub async fn add_to_project(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Owned(project): Owned<Project>,
    Form(entered): Form<NewRule>,
) -> Result<HttpResponse, Error> {
    add(&app, &by, (frame, wants), &Whose::Project(project.into()), entered).await
}

/// `POST /rules`
pub async fn add_for_everybody(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Form(entered): Form<NewRule>,
) -> Result<HttpResponse, Error> {
    add(&app, &by, (frame, wants), &Whose::Everybody, entered).await
}

/// `POST /projects/{id}/rules/change`: moves a rule or takes it out.
pub async fn change_in_project(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Owned(project): Owned<Project>,
    Form(change): Form<Change>,
) -> Result<HttpResponse, Error> {
    change_list(&app, &by, (frame, wants), &Whose::Project(project.into()), change).await
}

/// `POST /rules/change`
pub async fn change_for_everybody(
    app: Data<App>,
    by: Actor,
    (frame, wants): (Frame, Wants),
    Form(change): Form<Change>,
) -> Result<HttpResponse, Error> {
    change_list(&app, &by, (frame, wants), &Whose::Everybody, change).await
}

/// `GET /projects/{id}/rules/try`
pub async fn try_in_project(
    app: Data<App>,
    (frame, wants): (Frame, Wants),
    Owned(project): Owned<Project>,
    Query(tried): Query<Tried>,
) -> Result<HttpResponse, Error> {
    try_on(&app, (frame, wants), &Whose::Project(project.into()), tried).await
}

/// `GET /rules/try`
pub async fn try_for_everybody(
    app: Data<App>,
    (frame, wants): (Frame, Wants),
    Query(tried): Query<Tried>,
) -> Result<HttpResponse, Error> {
    try_on(&app, (frame, wants), &Whose::Everybody, tried).await
}

async fn add(
    app: &App,
    by: &Actor,
    (frame, wants): (Frame, Wants),
    whose: &Whose,
    entered: NewRule,
) -> Result<HttpResponse, Error> {
    let NewRule { tool, pattern, action } = entered;
    let entered = Entered { tool, pattern, action };
    let id = whose.project().map(|it| it.id);
    match rules::add(&app.engine, id, &entered, by).await {
        Ok(rules) => changed(app, (frame, wants), whose, &rules).await,
        Err(Refused::Fields(errors)) => {
            let rules = app.rules().list(id).await?;
            let mut list = list(app, &frame, whose, &rules).await?;
            list.entered = entered;
            list.errors = errors;
            let mut answer = match wants {
                Wants::Fragment => html(list)?,
                Wants::Page => {
                    page(app, frame, whose, Shown { list: Some(list), ..Shown::default() }).await?
                }
            };
            *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(answer)
        }
        Err(refused) => Err(refused.into()),
    }
}

async fn change_list(
    app: &App,
    by: &Actor,
    (frame, wants): (Frame, Wants),
    whose: &Whose,
    Change { rule, what }: Change,
) -> Result<HttpResponse, Error> {
    let project = whose.project().map(|it| it.id);
    // A rule of another list is not found in this one.
    let rule: RuleId = rule.parse().map_err(|_| Error::field("rule", "Choose a rule."))?;
    let rules = match what.as_str() {
        "up" => app.rules().shift(project, (rule, Way::Up), by).await?,
        "down" => app.rules().shift(project, (rule, Way::Down), by).await?,
        "remove" => app.rules().remove(project, rule, by).await?,
        _ => return Err(Error::field("do", "Choose up, down or remove.")),
    };
    changed(app, (frame, wants), whose, &rules).await
}

async fn try_on(
    app: &App,
    (frame, wants): (Frame, Wants),
    whose: &Whose,
    tried: Tried,
) -> Result<HttpResponse, Error> {
    let tool = if tried.tool.is_empty() { "bash" } else { tried.tool.as_str() };
    let mut verdict = VerdictPanel::new(frame.clone());
    if !view::TRIED.contains(&tool) {
        verdict.wrong = Some("There is no such tool. Choose one from the list.".into());
    } else if tried.input.chars().count() > MAX_TRIED {
        verdict.wrong = Some(format!("Keep it under {} characters.", MAX_TRIED + 1));
    } else if !tried.input.trim().is_empty() {
        let rules = match whose.project() {
            Some(project) => app.rules().set(project).await?,
            None => app.rules().global_set().await?,
        };
        let root = whose.project().map_or("/project", |it| it.path.as_str());
        let judgement = try_out(&rules, tool, &tried.input, (root, &app.config.data.dir));
        verdict = verdict.judged(judgement);
    }
    if wants == Wants::Fragment {
        return html(verdict);
    }
    let shown = Shown { verdict: Some(verdict), tried, ..Shown::default() };
    page(app, frame, whose, shown).await
}

async fn changed(
    app: &App,
    (frame, wants): (Frame, Wants),
    whose: &Whose,
    rules: &[Rule],
) -> Result<HttpResponse, Error> {
    match wants {
        Wants::Page => Ok(see_other(app, &whose.path())),
        Wants::Fragment => html(list(app, &frame, whose, rules).await?),
    }
}

/// What is on the page besides the lists as they are.
#[derive(Default)]
struct Shown {
    list: Option<ListPanel>,
    verdict: Option<VerdictPanel>,
    tried: Tried,
}

async fn page(app: &App, frame: Frame, whose: &Whose, shown: Shown) -> Result<HttpResponse, Error> {
    let list = match shown.list {
        Some(list) => list,
        None => {
            let rules = app.rules().list(whose.project().map(|it| it.id)).await?;
            list(app, &frame, whose, &rules).await?
        }
    };
    let verdict = shown.verdict.unwrap_or_else(|| VerdictPanel::new(frame.clone()));
    let Tried { tool, input } = shown.tried;
    let input = input.chars().take(MAX_TRIED).collect();
    let (path, tools) = (whose.path(), view::TRIED);
    match whose {
        Whose::Everybody => {
            html(GlobalPage { frame, path, list, global: None, verdict, tools, tool, input })
        }
        Whose::Project(project) => {
            let everybodys = app.rules().list(None).await?;
            let names = HashMap::new();
            let global = ListPanel::of(frame.clone(), String::new(), &everybodys, &names);
            let global = Some(global.read_only());
            let project = view::ProjectName { id: project.id, name: project.name.clone() };
            html(ProjectPage {
                frame,
                tab: "rules",
                project,
                path,
                list,
                global,
                verdict,
                tools,
                tool,
                input,
            })
        }
    }
}

async fn list(app: &App, frame: &Frame, whose: &Whose, rules: &[Rule]) -> Result<ListPanel, Error> {
    let names = app.rules().authors(rules).await?;
    let list = ListPanel::of(frame.clone(), whose.path(), rules, &names);
    Ok(match whose {
        Whose::Everybody => list.for_everybody(),
        Whose::Project(_) => list,
    })
}
