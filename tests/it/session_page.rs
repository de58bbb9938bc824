//! The page of a session: what it draws, what its forms do, and what its stream brings.

mod acts;
mod drawn;
mod stream;

use forge::store::entity::{project::Model as Project, session::Model as Session};

use crate::support::{Person, TestApp, model::ScriptedModel};

/// Alice, a project of hers with a session on a scripted model.
struct Stage {
    app: TestApp,
    model: ScriptedModel,
    alice: Person,
    project: Project,
    session: Session,
}

impl Stage {
    async fn set() -> Self {
        let app = TestApp::start().await;
        let model = ScriptedModel::start().await;
        let alice = app.person("alice").await;
        let project = app.project(&alice, "atlas").await;
        app.provider(&model).await;
        let session = app.session(&alice, &project).await;
        Self { app, model, alice, project, session }
    }

    fn path(&self, rest: &str) -> String {
        format!("/sessions/{}{rest}", self.session.id)
    }

    /// The whole page, as it is now.
    async fn page(&self) -> String {
        self.alice.get(&self.path("")).await.assert_ok().body
    }
}

/// What stands between two texts.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from:?} in {text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to:?} after {from:?}")).0
}
