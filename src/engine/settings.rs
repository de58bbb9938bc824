//! What administrators set while Forge runs, as it holds at this moment.

use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    Engine,
    refused::{Actor, Refused},
};
use crate::{
    domain::settings::{Change, Given, Values},
    store::{audit, settings},
};

/// What is set, kept in memory: each call of a model asks.
#[derive(Default)]
pub struct Settings {
    values: RwLock<Arc<Values>>,
    /// Held while what is stored takes effect, so that the newest stays.
    loading: tokio::sync::Mutex<()>,
}

impl Settings {
    /// What is set now.
    pub fn values(&self) -> Arc<Values> {
        self.values.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Engine {
    /// Whether members may have providers of their own.
    pub fn personal_providers(&self) -> Given<bool> {
        let set = self.settings.values().personal_providers;
        Given::of(set.as_ref(), &self.config.providers.personal)
    }

    /// Hosts in the server's own network that these may lie at all the same.
    pub fn allowed_hosts(&self) -> Given<Vec<String>> {
        let values = self.settings.values();
        Given::of(values.allowed_hosts.as_ref(), &self.config.providers.allowed_hosts)
    }
}

/// Reads what is set and has it take effect, where it is not what was set before.
pub async fn load(engine: &Engine) -> anyhow::Result<()> {
    let _loading = engine.settings.loading.lock().await;
    let stored = settings::of(&engine.db, settings::GLOBAL).await?;
    let values = read(stored).context("reading the settings of the whole server")?;
    if *engine.settings.values() == values {
        return Ok(());
    }
    let hosts = values.allowed_hosts.as_ref().unwrap_or(&engine.config.providers.allowed_hosts);
    engine.models.allow(hosts.iter().map(String::as_str))?;
    *engine.settings.values.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(values);
    Ok(())
}

/// Changes settings of the whole server. They hold from the next call of a model on.
pub async fn change(engine: &Engine, change: Change, by: &Actor) -> Result<(), Refused> {
    let change = change.checked().map_err(|err| Refused::field("allowed_hosts", err))?;
    let keys = change.keys();
    if keys.is_empty() {
        return Ok(());
    }
    let now = engine.clock.now();
    let changed = settings::change(&engine.db, settings::GLOBAL, now, |stored| {
        let values = read(stored)?.changed(change);
        Ok::<_, serde_json::Error>(json!(values))
    });
    let values = changed.await?.context("reading the settings of the whole server")?;
    load(engine).await?;
    let values: serde_json::Map<String, Value> =
        keys.into_iter().map(|key| (key.to_owned(), values[key].clone())).collect();
    let deed = audit::Deed {
        actor: Some(by.user),
        action: "settings.changed",
        subject: ("settings", Some(settings::GLOBAL.to_owned())),
        detail: Value::Object(values),
        ip: by.ip.clone(),
    };
    Ok(audit::record(&engine.db, engine.clock.as_ref(), engine.entropy.as_ref(), deed).await?)
}

fn read(stored: Option<Value>) -> Result<Values, serde_json::Error> {
    stored.map_or_else(|| Ok(Values::default()), serde_json::from_value)
}
