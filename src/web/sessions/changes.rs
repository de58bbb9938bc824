//! What a session has changed, and undoing it.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    file_view::{FileView, Layout},
    timeline::text_of,
    words::{Moment, count},
};
use crate::{
    app::App,
    domain::{
        ids::MessageId,
        message::Role,
        undo::{Conflict, Force, Reason},
    },
    engine::undo,
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session},
        messages::{self, Whole},
    },
    web::{
        error::Error,
        extract::{Form, Owned, Query},
        page::{Frame, html, see_other},
    },
};

/// Prompts that the page lists.
const PROMPTS: usize = 50;

#[derive(Template)]
#[template(path = "sessions/diff.html")]
struct Changes {
    frame: Frame,
    session_id: String,
    project_id: String,
    project: String,
    name: String,
    active: bool,
    split: bool,
    /// The prompt whose changes are shown, instead of all.
    message: Option<PromptRow>,
    files: Vec<FileView>,
    additions: u32,
    deletions: u32,
    prompts: Vec<PromptRow>,
    undone: bool,
    refused: Option<RefusedUndo>,
}

#[derive(Clone)]
struct PromptRow {
    id: String,
    text: String,
    at: Moment,
    undone: bool,
}

/// Why files were not put back without a word.
struct RefusedUndo {
    conflicts: Vec<Conflict>,
    /// The prompt to undo from; nothing where it is a redo.
    message: Option<String>,
    /// Whether it can be done in spite of it.
    forceable: bool,
}

#[derive(Default, Deserialize)]
pub struct Shown {
    message: Option<String>,
    view: Option<String>,
}

/// `GET /sessions/{id}/diff`
pub async fn show(
    app: Data<App>,
    frame: Frame,
    Owned(session): Owned<Session>,
    Query(shown): Query<Shown>,
) -> Result<HttpResponse, Error> {
    html(page(&app, frame, session, shown, None).await?)
}

#[derive(Deserialize)]
pub struct Undo {
    message_id: String,
    #[serde(default)]
    force: bool,
}

/// `POST /sessions/{id}/undo`
pub async fn undo(
    app: Data<App>,
    frame: Frame,
    Owned(session): Owned<Session>,
    Form(Undo { message_id, force }): Form<Undo>,
) -> Result<HttpResponse, Error> {
    let message = message_of(&app, &session, &message_id).await?;
    let undone = undo::undo(&app.engine, &session, &message, forced(force)).await?;
    if undone.reverted.is_empty() && !undone.conflicts.is_empty() {
        return asked(&app, frame, session, Some(message_id), undone.conflicts).await;
    }
    Ok(see_other(&app, &format!("/sessions/{}", session.id)))
}

#[derive(Deserialize)]
pub struct Redo {
    #[serde(default)]
    force: bool,
}

/// `POST /sessions/{id}/redo`
pub async fn redo(
    app: Data<App>,
    frame: Frame,
    Owned(session): Owned<Session>,
    Form(Redo { force }): Form<Redo>,
) -> Result<HttpResponse, Error> {
    let undone = undo::redo(&app.engine, &session, forced(force)).await?;
    if undone.reverted.is_empty() && !undone.conflicts.is_empty() {
        return asked(&app, frame, session, None, undone.conflicts).await;
    }
    Ok(see_other(&app, &format!("/sessions/{}", session.id)))
}

fn forced(wished: bool) -> Force {
    if wished { Force::Overwrite } else { Force::Ask }
}

/// Names the files that somebody changed since, before any of them is touched.
async fn asked(
    app: &App,
    frame: Frame,
    session: Session,
    message: Option<String>,
    conflicts: Vec<Conflict>,
) -> Result<HttpResponse, Error> {
    let forceable =
        conflicts.iter().any(|it| matches!(it.reason, Reason::Changed | Reason::Shared));
    let shown = Shown { message: message.clone(), view: None };
    let refused = Some(RefusedUndo { conflicts, message, forceable });
    let mut answer = html(page(app, frame, session, shown, refused).await?)?;
    *answer.status_mut() = StatusCode::CONFLICT;
    Ok(answer)
}

async fn page(
    app: &App,
    frame: Frame,
    session: Session,
    shown: Shown,
    refused: Option<RefusedUndo>,
) -> Result<Changes, Error> {
    let found = store::sessions::with_project(&app.db, session.id).await?;
    let (session, project) = found.ok_or(Error::NotFound)?;
    let message = match &shown.message {
        Some(id) => Some(message_of(app, &session, id).await?),
        None => None,
    };
    let only = match &message {
        Some(message) => Some(answer_to(app, message).await?),
        None => None,
    };
    let layout = match shown.view.as_deref() {
        Some("split") => Layout::Split,
        _ => Layout::Unified,
    };
    let files: Vec<FileView> = match only {
        // Nothing answered it, so nothing was changed.
        Some(None) => Vec::new(),
        Some(Some(answer)) => undo::diff(&app.engine, &session, Some(answer)).await?,
        None => undo::diff(&app.engine, &session, None).await?,
    }
    .into_iter()
    .map(|file| FileView::of(file, layout))
    .collect();
    let message = match message {
        Some(message) => Some(prompt_row(messages::whole(&app.db, message).await?)),
        None => None,
    };
    let prompts = prompts(app, &session).await?;
    Ok(Changes {
        frame,
        session_id: session.id.to_string(),
        project_id: project.id.to_string(),
        project: project.name,
        name: session.name,
        active: session.status.is_active(),
        split: layout == Layout::Split,
        additions: files.iter().map(|file| file.additions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        files,
        undone: prompts.iter().any(|prompt| prompt.undone),
        prompts,
        message,
        refused,
    })
}

/// The newest prompts of a session, newest first.
async fn prompts(app: &App, session: &Session) -> Result<Vec<PromptRow>, Error> {
    let all = messages::from_position(&app.db, session.id, i64::MIN).await?;
    let mut rows = Vec::new();
    for message in all.into_iter().rev().filter(|it| it.role == Role::User).take(PROMPTS) {
        rows.push(prompt_row(messages::whole(&app.db, message).await?));
    }
    Ok(rows)
}

fn prompt_row(whole: Whole) -> PromptRow {
    let Whole { message, parts } = whole;
    PromptRow {
        id: message.id.to_string(),
        text: crate::engine::sessions::title(&text_of(parts)),
        at: Moment::of(message.created_at),
        undone: message.reverted_at.is_some(),
    }
}

/// The answer to a prompt: what was changed is recorded with it.
async fn answer_to(app: &App, message: &Message) -> Result<Option<MessageId>, Error> {
    if message.role == Role::Assistant {
        return Ok(Some(message.id));
    }
    let later = messages::from_position(&app.db, message.session_id, message.position + 1).await?;
    let next = later.into_iter().next();
    Ok(next.filter(|it| it.role == Role::Assistant).map(|it| it.id))
}

/// A message that is named from outside, where it is one of the session's.
async fn message_of(app: &App, session: &Session, id: &str) -> Result<Message, Error> {
    let id: MessageId = id.parse().map_err(|_| Error::NotFound)?;
    messages::in_session(&app.db, session.id, id).await?.ok_or(Error::NotFound)
}

impl Changes {
    fn files_counted(&self) -> String {
        count(self.files.len() as u64, "file", "files")
    }
}
