//! The application secret: which one it is, and a new one in its place.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;

use super::{Actor, App};
use crate::{
    adapters::vault::{Vault, VaultError, rotation},
    config::Config,
    engine::providers::sealed_for,
    store::{idempotency, providers},
};

/// What a rotation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Sealed anew under the present secret.
    pub resealed: usize,
    /// Sealed under it before.
    pub already: usize,
    /// Opened by neither secret: these keys have to be entered again.
    pub lost: usize,
}

/// The vault of the configured secret, or of the one in the data folder, with the one before it
/// while a rotation has not finished.
pub fn vault(config: &Config) -> anyhow::Result<Vault> {
    let file = file(config);
    let (vault, previous) = match &config.secret.key {
        Some(key) => {
            let previous = config.secret.previous.as_deref().map(Vault::from_text);
            let previous = previous.transpose().context("secret.previous")?;
            (Vault::from_text(key).context("secret.key")?, previous)
        }
        None => {
            let previous = rotation::previous_of(&file);
            let previous = previous.exists().then(|| Vault::load(&previous)).transpose()?;
            (Vault::load_or_create(&file)?, previous)
        }
    };
    Ok(match previous {
        Some(previous) => vault.with_previous(previous),
        None => vault,
    })
}

/// Makes a new secret where Forge itself keeps it. A configured one was changed by whoever
/// configures, who must have named the one before it.
pub fn begin(config: &Config) -> anyhow::Result<()> {
    match (&config.secret.key, &config.secret.previous) {
        (None, _) => Ok(rotation::begin(&file(config))?),
        (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => anyhow::bail!(
            "Nothing was changed. The secret is configured: set secret.key to a new one and \
             secret.previous to the present one, then run this again."
        ),
    }
}

/// Seals all that is stored under the present secret. Cut off in the middle, what was done stays
/// done, and the rest opens as before.
pub async fn reseal(app: &App) -> anyhow::Result<Rotated> {
    let mut rotated = Rotated::default();
    for (id, sealed) in providers::sealed(&app.db).await? {
        if let Some(new) = rotated.count(&app.vault, &sealed_for(id), &sealed)? {
            providers::reseal(&app.db, id, &sealed, new).await?;
        }
    }
    let keys = rotated;
    // Answers are there for a day. One that opens no more is forgotten, not counted.
    for (user, key_hash, sealed) in idempotency::sealed(&app.db).await? {
        let row = idempotency::row(user, &key_hash);
        match rotated.count(&app.vault, &row, &sealed)? {
            Some(new) => idempotency::reseal(&app.db, user, &key_hash, &sealed, new).await?,
            None if app.vault.open(&row, &sealed).is_err() => {
                idempotency::release(&app.db, user, &key_hash).await?;
            }
            None => {}
        }
    }
    let detail = json!({ "resealed": keys.resealed, "already": keys.already, "lost": keys.lost });
    let subject = ("secret", app.vault.fingerprint().to_owned());
    app.audit(&Actor::default(), "secret.rotated", subject, detail).await?;
    Ok(keys)
}

/// Forgets the secret before the present one, where Forge itself keeps it.
pub fn finish(config: &Config) -> anyhow::Result<()> {
    match config.secret.key {
        None => Ok(rotation::finish(&file(config))?),
        Some(_) => Ok(()),
    }
}

fn file(config: &Config) -> PathBuf {
    config.data.dir.join("secret")
}

impl Rotated {
    /// What a text is sealed as from now on, where that changes.
    fn count(
        &mut self,
        vault: &Vault,
        row: &str,
        sealed: &str,
    ) -> Result<Option<String>, VaultError> {
        let opened = match vault.open(row, sealed) {
            Ok(opened) => opened,
            Err(_) => {
                self.lost += 1;
                return Ok(None);
            }
        };
        if vault.is_current(sealed) {
            self.already += 1;
            return Ok(None);
        }
        self.resealed += 1;
        vault.seal(row, opened.expose()).map(Some)
    }
}
