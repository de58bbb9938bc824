//! A project in a folder, a scripted model, and a session on them.

use std::{path::PathBuf, time::Duration};

use forge::{
    domain::{
        ids::{ProjectId, ProviderId},
        provider::{Kind, Meta, ModelMeta},
        session::{Queued, SessionStatus},
        trust::Trust,
    },
    engine::sessions::{self, New, Sent},
    store::{
        self,
        entity::{
            project::Model as Project, provider::Model as Provider, session::Model as Session,
        },
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
            url: model.url(),
            kind: Kind::Openai,
            key: Some(
                self.app.engine.vault.seal(&format!("provider:{id}"), ScriptedModel::KEY).unwrap(),
            ),
            key_hint: None,
            models: serde_json::json!([MODEL]),
            meta: serde_json::to_value(Meta { version: 1, models }).unwrap(),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        store::providers::create(&self.app.db, provider).await.unwrap()
    }

    /// A session of somebody's on a project.
    pub async fn session(&self, owner: &Person, project: &Project) -> Session {
        sessions::create(&self.app.engine, &owner.user, project, New::default()).await.unwrap()
    }

    /// Sends a prompt to a session.
    pub async fn prompt(&self, by: &Person, session: &Session, text: &str) -> Sent {
        sessions::prompt(&self.app.engine, &by.user, session, text, Queued::Queue).await.unwrap()
    }

    /// Waits until a session stands as wanted, and returns it.
    #[track_caller]
    pub fn until(&self, session: &Session, status: SessionStatus) -> impl Future<Output = Session> {
        let (db, id) = (self.app.db.clone(), session.id);
        async move {
            let mut last = None;
            for _ in 0..1_000 {
                let now = store::sessions::with_project(&db, id).await.unwrap().unwrap().0;
                if now.status == status {
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

/// The model of [`TestApp::provider`].
pub const MODEL: &str = "scripted-large";

/// The folder of a project.
pub fn folder(project: &Project) -> PathBuf {
    PathBuf::from(&project.path)
}
