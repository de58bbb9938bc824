//! A row of each kind that a route can be about.

use forge::{
    domain::{
        ids::{AskId, MessageId, PartId},
        message::{Part, Role, Text, Tokens},
        session::{AskKind, AskStatus, Queued},
        token::Scope,
    },
    store::{
        self,
        entity::{
            ask::Model as AskRow, message::Model as MessageRow, part::Model as PartRow,
            session::Model as Session,
        },
        journal::{self, Write},
    },
    web::routes::Entry,
};
use serde_json::json;

use crate::support::{Person, TestApp};

/// Makes a row of the kind that a route is about, which belongs to `owner`, and returns its id.
pub async fn row_behind(app: &TestApp, owner: &Person, entry: &Entry) -> String {
    let path = entry.path.trim_start_matches("/api/v1");
    let kind = path.split("/{id}").next().unwrap_or_default();
    let db = &app.app.db;
    match kind {
        "/account/sign-ins" => {
            let now = app.app.clock.now();
            let found = store::sign_ins::of(db, owner.user.id, now).await.unwrap();
            found[0].id.clone()
        }
        "/account/tokens" | "/tokens" => {
            app.token(&owner.user, Scope::Read).await;
            store::api_tokens::of(db, owner.user.id).await.unwrap()[0].id.to_string()
        }
        "/admin/users" | "/users" => {
            let name = format!("guest{}", store::users::all(db).await.unwrap().len());
            app.person(&name).await.user.id.to_string()
        }
        "/providers" => app.provider_row().await.id.to_string(),
        "/projects" => app.project(owner, &unused(app).await).await.id.to_string(),
        "/sessions" => session(app, owner).await.id.to_string(),
        "/queue" => message(app, owner, Some(Queued::Queue)).await.id.to_string(),
        "/parts" => part(app, owner).await.id.to_string(),
        "/asks" => ask(app, owner).await.id.to_string(),
        _ => panic!("teach this test to make a row for {} {}", entry.method, entry.path),
    }
}

/// The name of a project that does not exist yet.
async fn unused(app: &TestApp) -> String {
    format!("project{}", store::projects::paths(&app.app.db).await.unwrap().len())
}

async fn session(app: &TestApp, owner: &Person) -> Session {
    app.provider_row().await;
    let project = app.project(owner, &unused(app).await).await;
    app.session(owner, &project).await
}

async fn message(app: &TestApp, owner: &Person, queued: Option<Queued>) -> MessageRow {
    let session = session(app, owner).await;
    let now = app.app.clock.now();
    let row = MessageRow {
        id: MessageId::mint(now, app.app.entropy.as_ref()),
        session_id: session.id,
        position: 1,
        role: Role::User,
        queued,
        user_id: Some(owner.user.id),
        agent: session.agent,
        model: session.model,
        cost_micros: None,
        tokens: serde_json::to_value(Tokens::default()).unwrap(),
        error: None,
        seq: 0,
        reverted_at: None,
        created_at: now,
        completed_at: None,
    };
    record(app, &session.id, Write::Message(Box::new(row.clone()))).await;
    row
}

async fn part(app: &TestApp, owner: &Person) -> PartRow {
    let message = message(app, owner, None).await;
    let now = app.app.clock.now();
    let row = PartRow {
        id: PartId::mint(now, app.app.entropy.as_ref()),
        message_id: message.id,
        session_id: message.session_id,
        position: 0,
        kind: "text".into(),
        data: serde_json::to_value(Part::Text(Text { text: "Hello".into() })).unwrap(),
        seq: 0,
        created_at: now,
    };
    record(app, &message.session_id, Write::Part(Box::new(row.clone()))).await;
    row
}

async fn ask(app: &TestApp, owner: &Person) -> AskRow {
    let part = part(app, owner).await;
    let now = app.app.clock.now();
    let row = AskRow {
        id: AskId::mint(now, app.app.entropy.as_ref()),
        session_id: part.session_id,
        part_id: part.id,
        kind: AskKind::Permission,
        data: json!({}),
        status: AskStatus::Withdrawn,
        reply: None,
        decided_by: None,
        decided_at: None,
        seq: 0,
        created_at: now,
    };
    record(app, &part.session_id, Write::Ask(Box::new(row.clone()))).await;
    row
}

async fn record(app: &TestApp, session: &forge::domain::ids::SessionId, write: Write) {
    journal::record(&app.app.db, *session, app.app.clock.now(), vec![write]).await.unwrap();
}
