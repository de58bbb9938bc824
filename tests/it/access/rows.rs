//! A row of each kind that a route can be about.

use forge::{domain::token::Scope, store, web::routes::Entry};

use crate::support::{Person, TestApp, session::waiting};

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
        "/budgets" => {
            let project = app.project(owner, &unused(app).await).await;
            app.budget_row(owner, project.id).await.id.to_string()
        }
        "/account/providers" | "/me/providers" => {
            app.provider_row_of(Some(owner)).await.id.to_string()
        }
        "/providers" => app.provider_row().await.id.to_string(),
        "/projects" => app.project(owner, &unused(app).await).await.id.to_string(),
        "/sessions" => waiting(app, owner).await.session.id.to_string(),
        "/attachments" => app.attachment(owner).await.to_string(),
        "/queue" => waiting(app, owner).await.queued.to_string(),
        "/parts" => waiting(app, owner).await.part.to_string(),
        "/asks" => waiting(app, owner).await.ask.to_string(),
        _ => panic!("teach this test to make a row for {} {}", entry.method, entry.path),
    }
}

/// The name of a project that does not exist yet.
async fn unused(app: &TestApp) -> String {
    format!("project{}", store::projects::paths(&app.app.db).await.unwrap().len())
}
