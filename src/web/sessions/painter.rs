//! Draws what happens in a session as pieces of its page, for one who watches.

use std::sync::Arc;

use anyhow::Context as _;
use askama::Template as _;
use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::{
    fragments::{
        ActsFragment, ArticleFragment, ChangedFragment, ContextFragment, DeltaFragment,
        ListFragment, PartFragment, QueueFragment, RetryFragment, StatusFragment, TimelineFragment,
        TodosFragment, TrayFragment, done, totals,
    },
    oob::{self, Message},
    open::Growth,
    side::{self, Context},
    timeline::{self, Scene},
    view::PartView,
    words::Moment,
};
use crate::{
    app::App,
    domain::{
        ids::{MessageId, PartId, SessionId, UserId},
        message::Role,
    },
    engine::hub::{OpenPart, Retry},
    store::{
        self, asks,
        entity::{message::Model as Row, session::Model as Session},
        messages::{self, Whole},
        todos,
    },
    web::{
        page::Frame,
        words::{Sign, sign},
    },
};

/// One watcher, and what is open on their page.
pub struct Painter {
    pub app: App,
    pub frame: Frame,
    pub user: UserId,
    pub session: SessionId,
    /// The place of the first message on the page; what is older is not added to it.
    pub from: i64,
    pub open: Vec<Growth>,
}

/// What is sent in order.
pub type Messages = anyhow::Result<Vec<Message>>;

impl Painter {
    /// The session as it stands, with what its messages are drawn with.
    pub async fn scene(&self) -> anyhow::Result<Scene> {
        let found = store::sessions::with_project(&self.app.db, self.session).await?;
        let (session, project) = found.context("the session is gone")?;
        Ok(Scene::of(&self.app.db, session, project.name).await?)
    }

    /// The whole timeline, in place of what the page shows.
    pub async fn timeline(&mut self, scene: &mut Scene) -> anyhow::Result<String> {
        let (wholes, earlier) = timeline::window(&self.app.db, &scene.session, None).await?;
        self.from = wholes.first().map_or(0, |whole| whole.message.position);
        let mut articles = Vec::with_capacity(wholes.len());
        for whole in wholes {
            let open = self.growing(whole.message.id);
            articles.push(scene.article(&self.app.db, whole, open).await?);
        }
        let session_id = &self.session.to_string();
        let fragment =
            TimelineFragment { frame: &self.frame, session_id, earlier, articles: &articles };
        Ok(oob::morph(&fragment.render()?))
    }

    /// A message with all its parts: first its place, then the message.
    pub async fn article(&mut self, scene: &mut Scene, whole: Whole) -> Messages {
        let known = whole.message.position >= self.from;
        let open = self.growing(whole.message.id);
        let article = scene.article(&self.app.db, whole, open).await?;
        let session_id = &self.session.to_string();
        let fragment = ArticleFragment { frame: &self.frame, session_id, article: &article };
        let mut messages = Vec::new();
        if known {
            messages.push(Message::html(oob::place_article(&article)));
        }
        messages.push(Message::html(oob::morph(&fragment.render()?)));
        messages.extend(self.said());
        Ok(messages)
    }

    /// What running commands have said so far, which is not stored and so not drawn with them.
    pub fn said(&self) -> Option<Message> {
        let outputs = self.app.engine.hub.outputs(self.session);
        let said = |(part, text): (PartId, Arc<str>)| oob::text(&format!("said-{part}"), &text);
        let html: String = outputs.into_iter().map(said).collect();
        (!html.is_empty()).then(|| Message::html(html))
    }

    /// A part: first its place, then the part.
    pub fn part(&self, message: MessageId, part: &PartView) -> Messages {
        let session_id = &self.session.to_string();
        let html = PartFragment { frame: &self.frame, session_id, part }.render()?;
        let (parent, id) = (format!("parts-{message}"), format!("part-{}", part.id));
        let place = oob::place(&parent, "li", &id);
        let drawn = [Message::html(place), Message::html(oob::morph(&html))];
        Ok(drawn.into_iter().chain(self.said()).collect())
    }

    /// A part of an answer as it is stored; of a prompt, the prompt.
    pub async fn stored_part(&mut self, id: PartId) -> Messages {
        let Some(row) = messages::part(&self.app.db, id).await? else { return Ok(Vec::new()) };
        let message = messages::in_session(&self.app.db, self.session, row.message_id).await?;
        let Some(message) = message else { return Ok(Vec::new()) };
        let mut scene = self.scene().await?;
        if message.role == Role::User {
            return self.prompt(&mut scene, message).await;
        }
        match scene.part(row).await {
            Some(view) => self.part(message.id, &view),
            None => Ok(vec![Message::html(oob::remove(&format!("part-{id}")))]),
        }
    }

    /// A prompt, where it stands now: in the queue or in the timeline.
    pub async fn prompt(&mut self, scene: &mut Scene, message: Row) -> Messages {
        let queue = Message::html(self.queue(&scene.session).await?);
        if message.queued.is_some() {
            return Ok(vec![queue]);
        }
        let whole = messages::whole(&self.app.db, message).await?;
        let mut all = self.article(scene, whole).await?;
        all.push(queue);
        Ok(all)
    }

    /// The newest message, if it is an answer that is not finished.
    pub async fn answer(&self) -> anyhow::Result<Option<Whole>> {
        let last = messages::page(&self.app.db, self.session, None, 1).await?.pop();
        let open =
            |it: &Whole| it.message.role == Role::Assistant && it.message.completed_at.is_none();
        Ok(last.filter(open))
    }

    /// The parts of a message that still grow, as they stand.
    fn growing(&mut self, message: MessageId) -> Vec<PartView> {
        let own = self.open.iter_mut().filter(|part| part.message == message);
        own.map(Growth::view).collect()
    }

    /// A part that has opened, or begins again.
    pub fn opened(&mut self, open: OpenPart) -> Messages {
        self.open.retain(|known| known.id != open.row.id);
        let mut growth = Growth::of(open);
        let messages = self.part(growth.message, &growth.view());
        self.open.push(growth);
        messages
    }

    /// When the next words are to be sent.
    pub fn due(&self) -> Option<Instant> {
        self.open.iter().filter_map(|part| part.due).min()
    }

    /// The words whose time has come.
    pub fn grown(&mut self, now: Instant) -> Vec<Message> {
        let due = self.open.iter_mut().filter(|part| part.due.is_some_and(|due| due <= now));
        let draw = |part: &mut Growth| {
            let grown = part.grown();
            let mut html =
                grown.settled.map(|html| oob::before(&part.end_id(), &html)).unwrap_or_default();
            html.push_str(&oob::morph(&part.end(&grown.open)));
            Message::html(html)
        };
        due.map(draw).collect()
    }

    pub async fn queue(&self, session: &Session) -> anyhow::Result<String> {
        let queue = side::queue(&self.app.db, session).await?;
        let html = QueueFragment { frame: &self.frame, queue: &queue }.render()?;
        Ok(oob::morph(&html))
    }

    /// What the session is doing, and what can be done with it.
    pub async fn status(&self, session: &Session) -> anyhow::Result<String> {
        let active = session.status.is_active();
        let mut html = self.sign(sign(session.status))?;
        html.push_str(&oob::morph(&ActsFragment { frame: &self.frame, active }.render()?));
        html.push_str(&self.list(session).await?);
        Ok(html)
    }

    pub fn sign(&self, sign: Sign) -> anyhow::Result<String> {
        Ok(oob::morph(&StatusFragment { frame: &self.frame, sign }.render()?))
    }

    pub async fn list(&self, session: &Session) -> anyhow::Result<String> {
        let now = self.app.clock.now();
        let groups = side::list(&self.app.db, session.project_id, now).await?;
        let session_id = &self.session.to_string();
        let list = ListFragment { frame: &self.frame, session_id, groups: &groups };
        Ok(oob::morph(&list.render()?))
    }

    /// What the session has taken and changed.
    pub async fn totals(&self, session: &Session) -> anyhow::Result<String> {
        let frame = &self.frame;
        let session_id = &self.session.to_string();
        let summary = side::summary(session);
        let context = Context::of(&self.app.engine, session, &summary).await?;
        let changed = side::changed(&summary);
        let (additions, deletions) = totals(&changed);
        let mut html = oob::morph(&ContextFragment { frame, context: &context }.render()?);
        let files = ChangedFragment { frame, session_id, changed: &changed, additions, deletions };
        html.push_str(&oob::morph(&files.render()?));
        html.push_str(&oob::morph(&DeltaFragment { additions, deletions }.render()?));
        Ok(html)
    }

    pub async fn todos(&self) -> anyhow::Result<String> {
        let todos = side::todos(todos::of(&self.app.db, self.session).await?);
        let list = TodosFragment { frame: &self.frame, done: done(&todos), todos: &todos };
        Ok(oob::morph(&list.render()?))
    }

    /// How many asks wait for the person, in all their sessions.
    pub async fn tray(&self) -> anyhow::Result<String> {
        let waiting = asks::open(&self.app.db, self.user, 50).await?.len();
        let frame = self.frame.clone().waiting(waiting);
        let Some(person) = &frame.person else { return Ok(String::new()) };
        Ok(oob::morph(&TrayFragment { frame: &frame, person }.render()?))
    }

    /// That the model is asked again later.
    pub async fn retry(&self, retry: &Retry) -> Messages {
        let Some(answer) = self.answer().await? else { return Ok(Vec::new()) };
        let session_id = &self.session.to_string();
        let left = retry.next_at.signed_duration_since(self.now()).num_seconds().max(1);
        // What happened; what to do about it is being done.
        let reason = retry.reason.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let fragment = RetryFragment {
            frame: &self.frame,
            session_id,
            reason,
            until: Moment::of(retry.next_at).exact,
            seconds: left,
            attempt: retry.attempt,
        };
        let parent = format!("parts-{}", answer.message.id);
        let waits = Sign { state: "retrying", icon: "clock", label: "Retrying" };
        let html = oob::morph(&fragment.render()?) + &self.sign(waits)?;
        Ok(vec![Message::html(oob::place(&parent, "li", "retry-part")), Message::html(html)])
    }

    fn now(&self) -> DateTime<Utc> {
        self.app.clock.now()
    }
}
