//! Where models are asked: how providers are set up, tried, and opened for a run.
//!
//! A key comes in, is sealed for its row, and goes out to the provider's address alone. Nothing
//! here gives it back to anybody.

mod draft;
mod personal;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use self::draft::{Change, KeyChange};
pub use self::draft::{Draft, MAX_KEY, MAX_MODEL, MAX_MODELS, MAX_URL};
pub use self::personal::SWITCHED_OFF;
use super::{
    Engine,
    refused::{Actor, Refused},
};
use crate::{
    adapters::{
        model::{Endpoint, ModelInfo, Models},
        vault::{Vault, VaultError},
    },
    domain::{
        clock::Clock,
        ids::{Entropy, ProviderId, UserId},
        model::{Fault, FaultKind},
        provider::{Kind, META_VERSION, Meta, ModelMeta},
        secret::Secret,
    },
    store::{Db, audit, entity::provider::Model as Provider, providers},
};

/// The longest that a test of a provider, or a reading of its list, may take.
const LONGEST: Duration = Duration::from_secs(30);

/// What it takes to set up providers.
#[derive(Clone, Copy)]
pub struct Providers<'a> {
    pub db: &'a Db,
    pub clock: &'a dyn Clock,
    pub entropy: &'a dyn Entropy,
    pub vault: &'a Vault,
    pub models: &'a Models,
    /// Whether people may have providers of their own.
    pub personal: bool,
    /// How long a test or a reading of the list may take in all.
    pub wait: Duration,
}

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub outcome: Outcome,
    /// What happened, in a few words.
    pub title: String,
    /// What is known beyond that, or what to do.
    pub detail: String,
    /// What the provider itself said.
    pub said: Option<String>,
    pub latency: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Works,
    Failed,
}

/// Why the list of models was not read.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error("{}", .0.detail)]
    Failed(Tested),
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl<'a> Providers<'a> {
    /// The parts of an engine.
    pub fn of(engine: &'a Engine) -> Self {
        Self {
            db: &engine.db,
            clock: engine.clock.as_ref(),
            entropy: engine.entropy.as_ref(),
            vault: &engine.vault,
            models: &engine.models,
            personal: engine.personal_providers().value,
            wait: Duration::from_secs(engine.config.agent.idle_seconds).min(LONGEST),
        }
    }

    /// Adds a provider that everybody shares.
    pub async fn create(&self, draft: Draft, by: &Actor) -> Result<Provider, Refused> {
        self.add(None, draft, by).await
    }

    async fn add(
        &self,
        owner: Option<UserId>,
        draft: Draft,
        by: &Actor,
    ) -> Result<Provider, Refused> {
        let change = draft.complete().check(None).map_err(Refused::Fields)?;
        let now = self.clock.now();
        let id = ProviderId::mint(now, self.entropy);
        let mut provider = Provider {
            id,
            owner_id: owner,
            name: String::new(),
            url: String::new(),
            kind: Kind::Openai,
            key: None,
            key_hint: None,
            models: json!([]),
            meta: json!(Meta { version: META_VERSION, ..Meta::default() }),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        let fields = change.fields();
        self.seal(id, change)?.apply(&mut provider, self.clock);
        // Those that everybody shares are as many as administrators want.
        let most = owner.map_or(u64::MAX, |_| personal::MOST);
        let provider = providers::create_up_to(self.db, provider, most).await?;
        let provider = provider.ok_or_else(personal::too_many)?;
        self.note(by, "provider.created", &provider, json!({ "fields": fields })).await?;
        Ok(provider)
    }

    /// Changes what the draft names.
    pub async fn update(
        &self,
        provider: Provider,
        draft: Draft,
        by: &Actor,
    ) -> Result<Provider, Refused> {
        self.permit(&provider)?;
        let change = draft.check(provider.key_hint.as_deref()).map_err(Refused::Fields)?;
        if let Some(meta) = &change.meta {
            let before = known(&provider).entered;
            let new = meta.keys().filter(|id| !before.contains_key(*id)).count();
            if before.len() + new > MAX_MODELS {
                let text = format!("Describe at most {MAX_MODELS} models of one provider.");
                return Err(Refused::field("meta", text));
            }
        }
        let fields = change.fields();
        let removed = matches!(change.key, KeyChange::Remove);
        let sealed = self.seal(provider.id, change)?;
        let changed = providers::change(self.db, provider.id, |it| sealed.apply(it, self.clock));
        let changed = changed.await?.ok_or(Refused::Gone)?;
        if !fields.is_empty() {
            let key_removed = removed.then_some(true);
            let detail = json!({ "fields": fields, "key_removed": key_removed });
            self.note(by, "provider.changed", &changed, detail).await?;
        }
        Ok(changed)
    }

    /// Removes a provider. Sessions that used it keep their history and need another.
    pub async fn delete(&self, provider: Provider, by: &Actor) -> Result<(), Refused> {
        let gone = provider.clone();
        providers::delete(self.db, provider).await?;
        self.note(by, "provider.deleted", &gone, json!({})).await
    }

    /// Where and as whom a provider is asked, with its key opened.
    pub fn endpoint(&self, provider: &Provider) -> Result<Endpoint, VaultError> {
        let key = provider.key.as_deref().map(|it| self.vault.open(&sealed_for(provider.id), it));
        Ok(Endpoint {
            kind: provider.kind,
            name: provider.name.clone(),
            url: provider.url.clone(),
            key: key.transpose()?,
            reach: personal::reach(provider),
        })
    }

    /// Tries a provider as it is stored, and with a model a short reply of that.
    pub async fn test(&self, provider: &Provider, model: Option<&str>) -> Tested {
        if !self.permits(provider) {
            return personal::switched_off();
        }
        match self.endpoint(provider) {
            Ok(endpoint) => self.try_out(&endpoint, model).await,
            Err(err) => locked(&err),
        }
    }

    /// Tries a provider with what was entered and not saved yet. Nothing is stored.
    pub async fn test_draft(
        &self,
        provider: &Provider,
        draft: Draft,
        model: Option<&str>,
    ) -> Result<Tested, Refused> {
        self.permit(provider)?;
        let change = draft.check(provider.key_hint.as_deref()).map_err(Refused::Fields)?;
        let key = match change.key {
            KeyChange::Set(key) => Some(key),
            KeyChange::Remove => None,
            KeyChange::Keep => match self.endpoint(provider) {
                Ok(endpoint) => endpoint.key,
                Err(err) => return Ok(locked(&err)),
            },
        };
        let endpoint = Endpoint {
            kind: change.kind.unwrap_or(provider.kind),
            name: change.name.unwrap_or_else(|| provider.name.clone()),
            url: change.url.unwrap_or_else(|| provider.url.clone()),
            key,
            reach: personal::reach(provider),
        };
        Ok(self.try_out(&endpoint, model).await)
    }

    /// Reads the provider's list of models and keeps what it says. Which of them sessions can use
    /// stays as it is.
    pub async fn refresh(&self, provider: &Provider, by: &Actor) -> Result<Provider, RefreshError> {
        self.permit(provider)?;
        let endpoint = self.endpoint(provider).map_err(|err| RefreshError::Failed(locked(&err)))?;
        let started = Instant::now();
        let listed = timeout(self.wait, self.models.list(&endpoint)).await;
        let listed = listed.unwrap_or_else(|_| Err(self.silence(&endpoint)));
        let listed =
            listed.map_err(|fault| RefreshError::Failed(failed(fault, None, started.elapsed())))?;
        let count = listed.len();
        // The list was waited for: the row may have changed meanwhile, so only its meta is written.
        let changed = providers::change(self.db, provider.id, |it| {
            settle(it, |meta, chosen| relist(meta, listed, chosen));
            it.updated_at = self.clock.now();
        });
        let changed = changed.await.map_err(Refused::from)?.ok_or(Refused::Gone)?;
        let detail = json!({ "models": count });
        self.note(by, "provider.refreshed", &changed, detail).await?;
        Ok(changed)
    }

    async fn try_out(&self, endpoint: &Endpoint, model: Option<&str>) -> Tested {
        let started = Instant::now();
        let tried = timeout(self.wait, self.models.test(endpoint, model)).await;
        match tried.unwrap_or_else(|_| Err(self.silence(endpoint))) {
            Ok(ok) => {
                let mut detail = format!("Answered in {} ms", ok.latency.as_millis());
                match ok.models {
                    Some(1) => detail.push_str(", 1 model listed."),
                    Some(count) => detail.push_str(&format!(", {count} models listed.")),
                    None => detail.push_str(". It has no list of models; enter their names."),
                }
                let title = match (&endpoint.key, model) {
                    (_, Some(model)) => format!("{model} answers"),
                    (Some(_), None) => "The key works".to_owned(),
                    (None, None) => format!("{} answers", endpoint.name),
                };
                let latency = ok.latency;
                Tested { outcome: Outcome::Works, title, detail, said: None, latency }
            }
            Err(fault) => failed(fault, model, started.elapsed()),
        }
    }

    fn silence(&self, endpoint: &Endpoint) -> Fault {
        Fault {
            kind: FaultKind::Network,
            status: None,
            message: format!(
                "{} did not answer within {} seconds. Check its address, and whether it is up.",
                endpoint.name,
                self.wait.as_secs_f64().ceil()
            ),
            provider_message: None,
            retry_after: None,
        }
    }

    fn seal(&self, id: ProviderId, change: Change) -> Result<Sealed, Refused> {
        let key = match &change.key {
            KeyChange::Keep => None,
            KeyChange::Remove => Some(None),
            KeyChange::Set(key) => {
                let text =
                    self.vault.seal(&sealed_for(id), key.expose()).context("sealing a key")?;
                Some(Some((text, key.clone())))
            }
        };
        Ok(Sealed { change, key })
    }

    async fn note(
        &self,
        by: &Actor,
        action: &'static str,
        provider: &Provider,
        mut detail: Value,
    ) -> Result<(), Refused> {
        detail["name"] = provider.name.clone().into();
        let deed = audit::Deed {
            actor: Some(by.user),
            action,
            subject: ("provider", Some(provider.id.to_string())),
            detail,
            ip: by.ip.clone(),
        };
        Ok(audit::record(self.db, self.clock, self.entropy, deed).await?)
    }
}

/// A change whose key is ready to be stored.
struct Sealed {
    change: Change,
    /// `Some(None)` removes the key.
    key: Option<Option<(String, Secret)>>,
}

impl Sealed {
    fn apply(self, provider: &mut Provider, clock: &dyn Clock) {
        let Change { name, kind, url, key: _, models, meta, disabled } = self.change;
        let now = clock.now();
        provider.name = name.unwrap_or_else(|| std::mem::take(&mut provider.name));
        provider.url = url.unwrap_or_else(|| std::mem::take(&mut provider.url));
        provider.kind = kind.unwrap_or(provider.kind);
        if let Some(key) = self.key {
            let hint = key.as_ref().map(|(_, key)| key.hint()).filter(|it| !it.is_empty());
            provider.key_hint = hint;
            provider.key = key.map(|(sealed, _)| sealed);
        }
        if let Some(models) = models {
            provider.models = json!(models);
        }
        // Prices in the catalogue hold at some addresses only.
        settle(provider, |known, _| known.entered.extend(meta.unwrap_or_default()));
        match disabled {
            Some(true) => provider.disabled_at = provider.disabled_at.or(Some(now)),
            Some(false) => provider.disabled_at = None,
            None => {}
        }
        provider.updated_at = now;
    }
}

/// The ids of the models that sessions can use, in the order in which they were chosen.
pub fn chosen(provider: &Provider) -> Vec<String> {
    serde_json::from_value(provider.models.clone()).unwrap_or_default()
}

/// What is known of a provider's models.
pub fn known(provider: &Provider) -> Meta {
    serde_json::from_value(provider.meta.clone()).unwrap_or_default()
}

/// What would hold of a model if nothing were entered of it.
pub fn unentered(provider: &Provider, meta: &Meta, id: &str) -> ModelMeta {
    meta.listed.get(id).cloned().unwrap_or_default().or(&catalogued(provider, id))
}

/// What the catalogue says of a model at the address of a provider.
fn catalogued(provider: &Provider, id: &str) -> ModelMeta {
    let url = Url::parse(&provider.url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    ModelInfo::named(id).completed(host).into()
}

/// Changes what is known of a provider's models, and works out anew what holds.
fn settle(provider: &mut Provider, change: impl FnOnce(&mut Meta, &[String])) {
    let (mut meta, chosen) = (known(provider), chosen(provider));
    meta.settle(&chosen, |id| catalogued(provider, id));
    change(&mut meta, &chosen);
    meta.settle(&chosen, |id| catalogued(provider, id));
    provider.meta = json!(meta);
}

/// Keeps what the provider's list says now. Of a model that is gone from the list it stays where
/// sessions use it.
fn relist(meta: &mut Meta, listed: Vec<ModelInfo>, chosen: &[String]) {
    let mut before = std::mem::take(&mut meta.listed);
    let listed = listed.into_iter().filter(|it| it.id.len() <= MAX_MODEL);
    meta.listed = listed.map(|it| (it.id.clone(), ModelMeta::from(it))).collect();
    for id in chosen {
        if let Some(known) = before.remove(id) {
            meta.listed.entry(id.clone()).or_insert(known);
        }
    }
}

/// What a key is sealed for: the name of its row.
pub fn sealed_for(id: ProviderId) -> String {
    format!("provider:{id}")
}

fn locked(err: &VaultError) -> Tested {
    Tested {
        outcome: Outcome::Failed,
        title: "The stored key cannot be opened".to_owned(),
        detail: err.to_string(),
        said: None,
        latency: Duration::ZERO,
    }
}

fn failed(fault: Fault, model: Option<&str>, latency: Duration) -> Tested {
    let title = match (fault.kind, model) {
        (FaultKind::Auth, _) => "The key was refused".to_owned(),
        (FaultKind::Quota, _) => "The account is out of credit".to_owned(),
        (FaultKind::Rate, _) => "Too many requests for the moment".to_owned(),
        (FaultKind::Overload, _) => "The provider has a fault of its own".to_owned(),
        (FaultKind::NotFound, Some(model)) => format!("{model} was not found"),
        (FaultKind::NotFound, None) => "Nothing was found at this address".to_owned(),
        (FaultKind::Network, _) => "Not reachable".to_owned(),
        (FaultKind::BadRequest | FaultKind::Overflow, _) => "The request was refused".to_owned(),
        (FaultKind::Stream, _) => "The answer cannot be read".to_owned(),
    };
    let title = match fault.status {
        Some(status) => format!("{title} ({status})"),
        None => title,
    };
    // A fault is told to somebody who prompts an agent; here somebody sets up a provider.
    let detail = fault
        .message
        .replace("send the prompt again", "test it again")
        .replace("Send the prompt again", "Test it again");
    Tested { outcome: Outcome::Failed, title, detail, said: fault.provider_message, latency }
}
