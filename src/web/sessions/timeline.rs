//! Stored messages, as the articles of a timeline.

use std::collections::HashMap;

use super::{
    question, tool,
    view::{
        AnswerView, Article, Body, Ending, FailureView, FileView, PartView, PatchLine, PromptView,
    },
    words::{Moment, money, number, short, took},
};
use crate::{
    domain::{
        ids::UserId,
        message::{FileKind, Part, Role, Step, ToolStatus},
        session::{Failure, SessionStatus},
        text::cut,
    },
    store::{
        self, Db, DbErr, asks,
        entity::{
            ask::Model as Ask, message::Model as Message, part::Model as PartRow,
            session::Model as Session,
        },
        messages::{self, Whole},
    },
    web::{markdown, page::initials, words::size},
};

/// Messages that a page shows at once.
pub const MESSAGES: u64 = 60;
/// Parts that a page shows at once, as long as that leaves it a message.
const PARTS: usize = 300;
/// Bytes of a provider's own words that are shown.
const SAID: usize = 8 << 10;

/// What is known besides the messages themselves.
pub struct Scene {
    pub session: Session,
    /// The name of the project, for rules that are saved with it.
    pub project: String,
    pub asks: Vec<Ask>,
    people: HashMap<UserId, String>,
}

impl Scene {
    pub async fn of(db: &Db, session: Session, project: String) -> Result<Self, DbErr> {
        let asks = asks::open_in(db, session.id).await?;
        Ok(Self { session, project, asks, people: HashMap::new() })
    }

    /// Draws a message. `open` are the parts of it that still grow.
    pub async fn article(
        &mut self,
        db: &Db,
        whole: Whole,
        mut open: Vec<PartView>,
    ) -> Result<Article, DbErr> {
        let Whole { message, parts } = whole;
        if message.role == Role::User {
            let name = self.name(db, message.user_id).await?;
            return Ok(Article::Prompt(self.prompt(message, parts, name)));
        }
        let mut views: Vec<PartView> = Vec::with_capacity(parts.len());
        for row in parts {
            let grows = open.iter().position(|view| view.id == row.id.to_string());
            match grows {
                Some(at) => views.push(open.remove(at)),
                None => views.extend(self.part(row).await),
            }
        }
        views.append(&mut open);
        let failure: Option<Failure> =
            message.error.clone().and_then(|error| serde_json::from_value(error).ok());
        let status = answer_status(&message, self.session.status, failure.as_ref());
        Ok(Article::Answer(AnswerView {
            ending: failure.map(|failure| ending(&message, failure)),
            id: message.id.to_string(),
            status,
            agent: message.agent,
            model: message.model,
            parts: views,
            undone: message.reverted_at.is_some(),
        }))
    }

    fn prompt(&self, message: Message, parts: Vec<PartRow>, name: String) -> PromptView {
        PromptView {
            id: message.id.to_string(),
            session: message.session_id.to_string(),
            initials: initials(&name),
            name,
            at: Moment::of(message.created_at),
            files: files_of(&parts),
            html: markdown::typed(&text_of(parts)),
            undone: message.reverted_at.is_some(),
        }
    }

    /// Draws a part of an answer. Nothing where there is nothing to see.
    pub async fn part(&self, row: PartRow) -> Option<PartView> {
        let id = row.id.to_string();
        let mut status = "done";
        let body = match Part::read(&row.kind, row.data) {
            Ok(Part::Text(text)) if text.text.trim().is_empty() => return None,
            Ok(Part::Text(text)) => Body::Prose(markdown::coloured(&text.text).await),
            Ok(Part::Reasoning(thought)) if thought.text.trim().is_empty() => return None,
            Ok(Part::Reasoning(thought)) => Body::Reason(markdown::html(&thought.text)),
            Ok(Part::Tool(call)) => {
                let asked = self.asks.iter().find(|ask| ask.part_id == row.id);
                match asked.filter(|_| call.status == ToolStatus::Pending) {
                    Some(ask) => Body::Ask(Box::new(question::view(ask, &self.project))),
                    None => {
                        let (state, view) = tool::view(&id, *call);
                        status = state;
                        Body::Tool(Box::new(view))
                    }
                }
            }
            // Files are drawn with the prompt that they came with.
            Ok(Part::File(_)) => return None,
            Ok(Part::Patch(patch)) => {
                let line = |file: crate::domain::message::PatchedFile| PatchLine {
                    path: file.path,
                    additions: file.additions,
                    deletions: file.deletions,
                };
                Body::Patch(patch.files.into_iter().map(line).collect())
            }
            Ok(Part::Step(step)) => Body::Step(facts(&step)),
            Err(err) => Body::Unreadable(format!("This cannot be shown: {err}.")),
        };
        Some(PartView { id, status, live: false, body })
    }

    async fn name(&mut self, db: &Db, user: Option<UserId>) -> Result<String, DbErr> {
        let Some(id) = user else { return Ok("Somebody".to_owned()) };
        if let Some(name) = self.people.get(&id) {
            return Ok(name.clone());
        }
        let user = store::users::find(db, id).await?;
        let name = user.map_or_else(|| "Somebody".to_owned(), |user| user.name);
        self.people.insert(id, name.clone());
        Ok(name)
    }
}

/// The messages that a page shows, and before which one there are more.
pub async fn window(
    db: &Db,
    session: &Session,
    before: Option<i64>,
) -> Result<(Vec<Whole>, Option<i64>), DbErr> {
    let mut page = messages::page(db, session.id, before, MESSAGES + 1).await?;
    let mut parts = 0;
    let fits = |whole: &Whole| {
        parts += whole.parts.len();
        parts <= PARTS
    };
    let shown = page.iter().rev().take(MESSAGES as usize).map(fits).take_while(|fits| *fits);
    let shown = shown.count().max(1).min(page.len());
    let hidden = page.len() - shown;
    page.drain(..hidden);
    let earlier = page.first().filter(|_| hidden > 0).map(|whole| whole.message.position);
    Ok((page, earlier))
}

/// The text of a prompt.
pub fn text_of(parts: Vec<PartRow>) -> String {
    let texts = parts.into_iter().filter_map(|row| match Part::read(&row.kind, row.data) {
        Ok(Part::Text(text)) => Some(text.text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The files of a prompt.
pub fn files_of(parts: &[PartRow]) -> Vec<FileView> {
    let files = parts.iter().filter(|row| row.kind == "file");
    let files = files.filter_map(|row| match Part::read(&row.kind, row.data.clone()) {
        Ok(Part::File(file)) => Some(FileView {
            id: file.attachment_id.to_string(),
            name: file.name,
            size: size(file.size),
            image: file.kind == FileKind::Image,
        }),
        _ => None,
    });
    files.collect()
}

fn answer_status(
    message: &Message,
    session: SessionStatus,
    failure: Option<&Failure>,
) -> &'static str {
    match (message.completed_at, failure) {
        (None, _) => match session {
            SessionStatus::Running => "running",
            SessionStatus::Waiting => "waiting",
            SessionStatus::Idle | SessionStatus::Aborted | SessionStatus::Error => "aborted",
        },
        (Some(_), Some(failure)) if is_stop(failure) => "aborted",
        (Some(_), Some(_)) => "error",
        (Some(_), None) => "done",
    }
}

fn is_stop(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "aborted" | "interrupted")
}

fn ending(message: &Message, failure: Failure) -> Ending {
    if is_stop(&failure) {
        // The line says already that it was stopped.
        let message = failure.message.strip_prefix("Stopped. ").unwrap_or(&failure.message);
        return Ending::Stopped(message.to_owned());
    }
    // The first sentence says what happened, the others what to do.
    let (title, advice) = match failure.message.split_once(". ") {
        Some((title, advice)) => (title.to_owned(), advice.to_owned()),
        None => (failure.message.trim_end_matches('.').to_owned(), String::new()),
    };
    let provider = matches!(failure.code.as_str(), "auth" | "provider");
    let said = failure.provider_message.map(|text| cut(&text, SAID).to_owned());
    Ending::Failed(FailureView { id: message.id.to_string(), title, advice, said, provider })
}

/// What a step took and cost.
fn facts(step: &Step) -> Vec<String> {
    let tokens = step.tokens;
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    let about = if tokens.estimated { "about " } else { "" };
    let mut facts = vec![match tokens.cache_read {
        0 => format!("{about}{} in", short(input)),
        cached => format!("{about}{} in, {} of it cached", short(input), short(cached)),
    }];
    facts.push(format!("{} out", number(tokens.output)));
    facts.extend(step.cost_micros.map(money));
    facts.push(took(step.duration_ms));
    if step.finish_reason == "length" {
        facts.push("cut off at the length limit".to_owned());
    }
    facts
}
