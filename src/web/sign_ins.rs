//! The server side of sign-in cookies: what a cookie names is a row that can be taken away.

use std::sync::Arc;

use actix_session::storage::{LoadError, SaveError, SessionKey, SessionStore, UpdateError};
use actix_web::cookie::time::Duration;
use anyhow::Context as _;
use chrono::TimeDelta;

use super::{guard::USER_KEY, token_hash};
use crate::{
    app::App,
    store::{entity::sign_in::Model as SignIn, sign_ins},
};

/// Under which names a sign-in keeps where it came from.
pub const IP_KEY: &str = "ip";
pub const USER_AGENT_KEY: &str = "user_agent";
/// Under which name it keeps what of the password was shown.
pub const PROOF_KEY: &str = "proof";
/// What tells a person's sign-ins apart for the one that looks at their list.
pub const MARK_KEY: &str = "mark";

/// The mark of a sign-in.
pub fn mark(sign_in: &SignIn) -> Option<String> {
    // actix-session keeps each value as JSON.
    serde_json::from_str(sign_in.state.get(MARK_KEY)?.as_str()?).ok()
}

/// What actix-session keeps: JSON texts by name.
type SessionState = std::collections::HashMap<String, String>;

/// How often the use of a sign-in is noted, so that most requests write nothing.
const NOTED_EVERY: TimeDelta = TimeDelta::minutes(10);

/// Keeps sign-ins in the database, by the hash of what the cookie carries.
pub struct SignIns(pub Arc<App>);

impl SignIns {
    fn row(&self, id: String, state: &SessionState) -> anyhow::Result<SignIn> {
        let now = self.0.clock.now();
        let text = |key: &str| text(state, key);
        Ok(SignIn {
            id,
            user_id: text(USER_KEY).and_then(|id| id.parse().ok()),
            state: serde_json::to_value(state).context("keeping a sign-in")?,
            ip: text(IP_KEY),
            user_agent: text(USER_AGENT_KEY),
            created_at: now,
            seen_at: now,
            expires_at: now + TimeDelta::days(self.0.config.accounts.idle_days),
        })
    }

    async fn keep(&self, row: SignIn, state: &SessionState) -> anyhow::Result<()> {
        let shown = text(state, PROOF_KEY);
        Ok(sign_ins::save(&self.0.db, row, shown.as_deref(), self.0.clock.now()).await?)
    }

    async fn find(&self, key: &SessionKey) -> anyhow::Result<Option<SignIn>> {
        let now = self.0.clock.now();
        let found = sign_ins::find(&self.0.db, &token_hash(key.as_ref()), now).await?;
        let oldest = now - TimeDelta::days(self.0.config.accounts.absolute_days);
        Ok(found.filter(|row| row.created_at > oldest))
    }
}

impl SessionStore for SignIns {
    async fn load(&self, key: &SessionKey) -> Result<Option<SessionState>, LoadError> {
        let Some(row) = self.find(key).await.map_err(|err| LoadError::Other(hide(err)))? else {
            return Ok(None);
        };
        let state = serde_json::from_value(row.state.clone());
        let state = state.map_err(|err| LoadError::Deserialization(err.into()))?;
        let now = self.0.clock.now();
        if now - row.seen_at > NOTED_EVERY {
            let expires = now + TimeDelta::days(self.0.config.accounts.idle_days);
            let noted = sign_ins::seen(&self.0.db, &row.id, now, expires).await;
            noted.map_err(|err| LoadError::Other(hide(err.into())))?;
        }
        Ok(Some(state))
    }

    async fn save(&self, state: SessionState, _: &Duration) -> Result<SessionKey, SaveError> {
        let mut key = String::with_capacity(64);
        for byte in self.0.entropy.bytes() {
            use std::fmt::Write as _;
            let _ = write!(key, "{byte:02x}");
        }
        let row = self.row(token_hash(&key), &state).map_err(|err| SaveError::Other(hide(err)))?;
        let saved = self.keep(row, &state).await;
        saved.map_err(|err| SaveError::Other(hide(err)))?;
        SessionKey::try_from(key).map_err(|err| SaveError::Other(err.into()))
    }

    async fn update(
        &self,
        key: SessionKey,
        state: SessionState,
        _: &Duration,
    ) -> Result<SessionKey, UpdateError> {
        let update = async {
            let mut row = self.row(token_hash(key.as_ref()), &state)?;
            // One that was taken away in the meantime is not brought back.
            let old = self.find(&key).await?.context("the sign-in has ended")?;
            row.created_at = old.created_at;
            self.keep(row, &state).await
        };
        update.await.map_err(|err| UpdateError::Other(hide(err)))?;
        Ok(key)
    }

    async fn update_ttl(&self, _: &SessionKey, _: &Duration) -> anyhow::Result<()> {
        Ok(())
    }

    async fn delete(&self, key: &SessionKey) -> anyhow::Result<()> {
        let end = async {
            let id = token_hash(key.as_ref());
            let found = sign_ins::find(&self.0.db, &id, self.0.clock.now()).await?;
            sign_ins::delete(&self.0.db, &id).await?;
            // What it follows ends with it.
            if let Some(user) = found.and_then(|row| row.user_id) {
                self.0.engine.hub.rights_changed(user);
            }
            anyhow::Ok(())
        };
        end.await.map_err(hide)
    }
}

/// A value of what actix-session keeps, each as JSON.
fn text(state: &SessionState, key: &str) -> Option<String> {
    serde_json::from_str(state.get(key)?).ok()
}

/// Logs what went wrong inside: the text of these errors is shown as it is.
fn hide(err: anyhow::Error) -> anyhow::Error {
    tracing::error!("sign-ins: {err:#}");
    anyhow::anyhow!("Something broke on our side. It has been logged.")
}
