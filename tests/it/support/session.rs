//! A project in a folder, a scripted model, and a session on them.

use std::{path::PathBuf, time::Duration};

use forge::{
    domain::{
        ask::{ProposedRule, Question},
        budget::{Period, Scope},
        ids::{AskId, AttachmentId, BudgetId, MessageId, PartId, ProjectId, ProviderId},
        message::{Part, Role, Step, Text, ToolCall},
        provider::{Kind, Meta, ModelMeta},
        session::{AskKind, AskStatus, Queued, SessionStatus},
        trust::Trust,
    },
    engine::{
        attachments::{self, Incoming},
        sessions::{self, New, Sent},
    },
    store::{
        self,
        entity::{
            ask::Model as Ask, budget::Model as Budget, message::Model as Message,
            part::Model as PartRow, project::Model as Project, provider::Model as Provider,
            session::Model as Session,
        },
        journal::{self, Write},
        messages::Whole,
    },
};

use super::{Person, TestApp, model::ScriptedModel};

impl TestApp {
    /// A trusted project of somebody's, in a new folder below the roots.
    pub async fn project(&self, owner: &Person, name: &str) -> Project {
        let path = self.folder.path().join("roots").join(name);
        std::fs::create_dir_all(&path).unwrap();
        let now = self.app.clock.now();
        let project = Project {
            id: ProjectId::mint(now, self.app.entropy.as_ref()),
            owner_id: owner.user.id,
            name: name.to_owned(),
            path: path.canonicalize().unwrap().to_str().unwrap().to_owned(),
            default_branch: None,
            instructions: serde_json::json!([]),
            trust_status: Trust::Trusted,
            created_at: now,
            updated_at: now,
            opened_at: None,
        };
        store::projects::create(&self.app.db, project).await.unwrap()
    }

    /// A provider for everybody, with one model whose price is known.
    pub async fn provider(&self, model: &ScriptedModel) -> Provider {
        self.provider_of(Kind::Openai, model).await
    }

    /// The same, of any kind.
    pub async fn provider_of(&self, kind: Kind, model: &ScriptedModel) -> Provider {
        let now = self.app.clock.now();
        let id = ProviderId::mint(now, self.app.entropy.as_ref());
        let meta = ModelMeta {
            context: Some(128_000),
            price_input: Some(2_000_000),
            price_output: Some(8_000_000),
            ..ModelMeta::default()
        };
        let models = [(MODEL.to_owned(), meta)].into();
        let provider = Provider {
            id,
            owner_id: None,
            name: "Scripted".into(),
            url: model.origin(),
            kind,
            key: Some(
                self.app.engine.vault.seal(&format!("provider:{id}"), ScriptedModel::KEY).unwrap(),
            ),
            key_hint: None,
            models: serde_json::json!([MODEL]),
            meta: serde_json::to_value(Meta { version: 1, models, ..Meta::default() }).unwrap(),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        store::providers::create(&self.app.db, provider).await.unwrap()
    }

    /// A budget that somebody has set for a project of theirs.
    pub async fn budget_row(&self, owner: &Person, project: ProjectId) -> Budget {
        let now = self.app.clock.now();
        let row = Budget {
            id: BudgetId::mint(now, self.app.entropy.as_ref()),
            scope: Scope::Project,
            user_id: None,
            project_id: Some(project),
            session_id: None,
            period: Period::Day,
            limit_micros: 5_000_000,
            allow_unknown: false,
            owner_id: Some(owner.user.id),
            created_at: now,
            updated_at: now,
        };
        store::budgets::create(&self.app.db, row, 1_000).await.unwrap().unwrap()
    }

    /// A session of somebody's on a project.
    pub async fn session(&self, owner: &Person, project: &Project) -> Session {
        sessions::create(&self.app.engine, &owner.user, project, New::default()).await.unwrap()
    }

    /// Sends a prompt to a session.
    pub async fn prompt(&self, by: &Person, session: &Session, text: &str) -> Sent {
        sessions::prompt(&self.app.engine, &by.user, session, text, Queued::Queue).await.unwrap()
    }

    /// An attachment of somebody's, in a new session.
    pub async fn attachment(&self, owner: &Person) -> AttachmentId {
        self.provider_row().await;
        let project = self.project(owner, &format!("a{}", self.app.entropy.bits())).await;
        let session = self.session(owner, &project).await;
        let file = Incoming { name: "a.png".into(), content: png(2, 2) };
        let engine = &self.app.engine;
        attachments::add(engine, &owner.user, &session, vec![file]).await.unwrap()[0].id
    }

    /// Waits until a session stands as wanted, and returns it. Where that is at rest, the run has
    /// ended too, so that the next prompt is not queued behind it.
    #[track_caller]
    pub fn until(&self, session: &Session, status: SessionStatus) -> impl Future<Output = Session> {
        let (db, engine, id) = (self.app.db.clone(), self.app.engine.clone(), session.id);
        async move {
            let mut last = None;
            for _ in 0..1_000 {
                let now = store::sessions::with_project(&db, id).await.unwrap().unwrap().0;
                let over = status.is_active() || !engine.runs.is_running(id);
                if now.status == status && over {
                    return now;
                }
                last = Some(now.status);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("the session is {last:?} and not {status:?}");
        }
    }

    /// All messages of a session that were sent.
    pub async fn messages(&self, session: &Session) -> Vec<Whole> {
        store::messages::page(&self.app.db, session.id, None, 1_000).await.unwrap()
    }
}

/// A session in which an agent waits for a person, with a prompt that waits for the agent.
pub struct Waiting {
    pub session: Session,
    pub queued: MessageId,
    pub ask: AskId,
    pub part: PartId,
}

/// Puts such a session into the database, as a run would have left it.
pub async fn waiting(app: &TestApp, owner: &Person) -> Waiting {
    app.provider_row().await;
    let project = app.project(owner, &format!("w{}", app.app.entropy.bits())).await;
    let session = app.session(owner, &project).await;
    let (now, entropy) = (app.app.clock.now(), app.app.entropy.as_ref());
    let message = |position, role, queued| Message {
        id: MessageId::mint(now, entropy),
        session_id: session.id,
        position,
        role,
        queued,
        user_id: Some(owner.user.id),
        agent: "build".into(),
        model: MODEL.into(),
        cost_micros: None,
        tokens: serde_json::json!({"input": 0, "output": 0}),
        error: None,
        seq: 0,
        reverted_at: None,
        created_at: now,
        completed_at: None,
    };
    let part = |message: &Message, position, part: Part| PartRow {
        id: PartId::mint(now, entropy),
        message_id: message.id,
        session_id: session.id,
        position,
        kind: part.kind().into(),
        data: part.data(),
        seq: 0,
        created_at: now,
    };
    let text = |text: &str| Part::Text(Text { text: text.into() });
    let prompt = message(1, Role::User, None);
    let answer = message(2, Role::Assistant, None);
    let queued = message(3, Role::User, Some(Queued::Queue));
    let call = ToolCall {
        call_id: "call_1".into(),
        tool: "bash".into(),
        input: serde_json::json!({"command": "make"}),
        title: "make".into(),
        ..ToolCall::default()
    };
    let tool = part(&answer, 0, Part::Tool(Box::new(call)));
    let question = Question {
        version: 1,
        tool: "bash".into(),
        subject: "make".into(),
        folder: None,
        input: serde_json::json!({"command": "make"}),
        reasons: Vec::new(),
        always: vec![ProposedRule { tool: "bash".into(), pattern: "make *".into() }],
        because: "built-in".into(),
        repeated: false,
    };
    let ask = Ask {
        id: AskId::mint(now, entropy),
        session_id: session.id,
        part_id: tool.id,
        kind: AskKind::Permission,
        data: serde_json::to_value(question).unwrap(),
        status: AskStatus::Open,
        reply: None,
        decided_by: None,
        decided_at: None,
        seq: 0,
        created_at: now,
    };
    let ids = (queued.id, ask.id, tool.id);
    let step = part(&answer, 1, Part::Step(Step::default()));
    let parts =
        [part(&prompt, 0, text("Make it")), part(&queued, 0, text("Then this")), tool, step];
    let messages = [prompt, answer, queued].map(|it| Write::Message(Box::new(it)));
    let parts = parts.map(|it| Write::Part(Box::new(it)));
    let rest = [Write::Ask(Box::new(ask)), Write::status(SessionStatus::Waiting)];
    let writes = messages.into_iter().chain(parts).chain(rest).collect();
    journal::record(&app.app.db, session.id, now, writes).await.unwrap();
    Waiting { session, queued: ids.0, ask: ids.1, part: ids.2 }
}

/// An image of this size, as far as anybody looks at it here.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend(b"\x08\x06\0\0\0\0\0\0\0\0\0\0\0IEND\xaeB`\x82");
    bytes
}

/// The model of [`TestApp::provider`].
pub const MODEL: &str = "scripted-large";

/// The folder of a project.
pub fn folder(project: &Project) -> PathBuf {
    PathBuf::from(&project.path)
}
