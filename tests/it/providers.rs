//! Setting up providers, against servers that answer as they do in the field.

mod api;
mod entered;
pub mod fake;
mod keys;
mod own_network;
mod pages;
mod personal;
mod trouble;

use forge::store::{self, entity::provider::Model as Provider};

use crate::support::{Answer, Person, TestApp, model::ScriptedModel};

/// Adds a provider through its page and answers with its path.
async fn add(admin: &Person, url: &str, key: &str) -> String {
    let form = [("name", "Scripted"), ("kind", "openai"), ("url", url), ("key", key)];
    let answer = admin.post("/providers", &form).await.assert_status(303);
    answer.headers["location"].to_str().unwrap().to_owned()
}

/// Adds the scripted model, with its key.
async fn add_scripted(admin: &Person, model: &ScriptedModel) -> String {
    add(admin, &model.url(), ScriptedModel::KEY).await
}

/// Changes a provider through its page as a browser without scripts does.
async fn save(admin: &Person, path: &str, changed: &[(&str, &str)]) -> Answer {
    let stored = admin.get(path).await.assert_ok();
    let mut form = vec![("name", "Scripted".to_owned()), ("kind", "openai".to_owned())];
    form.push(("url", value(&stored.body, "p-url")));
    let mut form: Vec<(&str, &str)> = form.iter().map(|(k, v)| (*k, v.as_str())).collect();
    form.retain(|(name, _)| changed.iter().all(|(it, _)| it != name));
    form.extend(changed);
    admin.post(path, &form).await
}

/// The value of an input of a page.
fn value(page: &str, id: &str) -> String {
    let at = page.find(&format!("id=\"{id}\"")).unwrap();
    let rest = &page[at..];
    let from = rest.find("value=\"").unwrap() + 7;
    rest[from..].split('"').next().unwrap().to_owned()
}

async fn stored(app: &TestApp, admin: &Person) -> Vec<Provider> {
    store::providers::of(&app.app.db, admin.user.id).await.unwrap()
}
