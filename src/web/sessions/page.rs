//! The page of a session, and of one that is yet to begin.

use actix_web::{HttpResponse, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    fragments::{MessagesFragment, done, totals},
    open::Growth,
    side::{self, ChangedView, Context, Group, Offer, Waiting},
    timeline::{self, Scene},
    view::{Article, Body, Content, Ending, TodoView},
    words::Moment,
};
use crate::{
    app::App,
    engine::sessions::AGENTS,
    store::{self, entity::session::Model as Session, messages::Whole, todos},
    web::{
        error::Error,
        extract::{CurrentUser, Owned, Query, Wants},
        page::{Frame, html},
        words::{Sign, sign},
    },
};

#[derive(Template)]
#[template(path = "sessions/show.html")]
struct Show {
    frame: Frame,
    session_id: String,
    project_id: String,
    project: String,
    branch: Option<String>,
    name: String,
    sign: Sign,
    active: bool,
    archived: bool,
    /// Up to which change the page shows the session; what comes later is streamed.
    seq: i64,
    /// The place of the first message that it shows.
    from: i64,
    /// Whether it goes on by itself: not where it shows what was said long ago.
    live: bool,
    earlier: Option<i64>,
    articles: Vec<Article>,
    queue: Vec<Waiting>,
    groups: Vec<Group>,
    context: Context,
    todos: Vec<TodoView>,
    done: usize,
    changed: Vec<ChangedView>,
    additions: u32,
    deletions: u32,
    agents: &'static [&'static str],
    agent: String,
    providers: Vec<Offer>,
    chosen: bool,
    model: String,
    max_steps: i32,
    started: Moment,
    starter: String,
}

#[derive(Deserialize)]
pub struct Place {
    /// Show what was said before this place.
    before: Option<i64>,
}

/// `GET /sessions/{id}`
pub async fn show(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Owned(session): Owned<Session>,
    CurrentUser(user): CurrentUser,
    Query(Place { before }): Query<Place>,
) -> Result<HttpResponse, Error> {
    let found = store::sessions::with_project(&app.db, session.id).await?;
    let (session, project) = found.ok_or(Error::NotFound)?;
    let seq = session.seq;
    let session_id = session.id.to_string();
    let mut scene = Scene::of(&app.db, session.clone(), project.name.clone()).await?;
    let (wholes, earlier) = timeline::window(&app.db, &session, before).await?;
    let from = wholes.first().map_or(0, |whole| whole.message.position);
    let articles = articles(&app, &mut scene, wholes).await?;
    if before.is_some() && wants == Wants::Fragment {
        let (frame, session_id, articles) = (&frame, session_id.as_str(), articles.as_slice());
        return html(MessagesFragment { frame, session_id, earlier, articles });
    }
    let summary = side::summary(&session);
    let context = Context::of(&app.db, &session, &summary).await?;
    let todos = side::todos(todos::of(&app.db, session.id).await?);
    let changed = side::changed(&summary);
    let (additions, deletions) = totals(&changed);
    let providers = side::offers(&app, user.id, &side::model_name(&session)).await?;
    let chosen = providers.iter().any(|it| it.models.iter().any(|model| model.chosen));
    let starter = store::users::find(&app.db, session.user_id).await?;
    let waiting = store::asks::open(&app.db, user.id, 50).await?.len();
    html(Show {
        frame: frame.waiting(waiting),
        project_id: project.id.to_string(),
        project: project.name,
        branch: project.default_branch,
        sign: sign(session.status),
        active: session.status.is_active(),
        archived: session.archived_at.is_some(),
        seq,
        from,
        live: before.is_none(),
        earlier,
        articles,
        queue: side::queue(&app.db, &session).await?,
        groups: side::list(&app.db, session.project_id, app.clock.now()).await?,
        context,
        done: done(&todos),
        todos,
        changed,
        additions,
        deletions,
        agents: AGENTS,
        providers,
        chosen,
        max_steps: session.max_steps,
        started: Moment::of(session.created_at),
        starter: starter.map_or_else(|| "somebody".to_owned(), |user| user.name),
        session_id,
        name: session.name,
        agent: session.agent,
        model: session.model,
    })
}

/// Draws messages, with the parts of theirs that still grow.
async fn articles(app: &App, scene: &mut Scene, wholes: Vec<Whole>) -> Result<Vec<Article>, Error> {
    let open = app.engine.hub.watch(scene.session.id).open;
    let mut open: Vec<Growth> = open.into_iter().map(Growth::of).collect();
    let mut articles = Vec::with_capacity(wholes.len());
    for whole in wholes {
        let own = open.iter_mut().filter(|part| part.message == whole.message.id);
        let own = own.map(Growth::view).collect();
        articles.push(scene.article(&app.db, whole, own).await?);
    }
    Ok(articles)
}
