//! Providers that a person has alone: theirs to manage, seen and used by nobody else.

use std::time::Duration;

use super::{Draft, Outcome, Providers, Tested};
use crate::{
    domain::{ids::UserId, reach::Reach},
    engine::refused::{Actor, Refused},
    store::{DbErr, entity::provider::Model as Provider, providers},
};

/// The most providers that a person may have.
pub(super) const MOST: u64 = 50;

/// What is said where administrators do not want them.
pub const SWITCHED_OFF: &str = "Providers of your own are switched off on this server. What you \
     have entered is kept, and sessions cannot use it.";

impl Providers<'_> {
    /// Adds a provider that one person sees and uses.
    pub async fn create_personal(
        &self,
        owner: UserId,
        draft: Draft,
        by: &Actor,
    ) -> Result<Provider, Refused> {
        if !self.personal {
            return Err(Refused::Conflict(SWITCHED_OFF.into()));
        }
        self.add(Some(owner), draft, by).await
    }

    /// Whether a provider may be used at all.
    pub fn permits(&self, provider: &Provider) -> bool {
        provider.owner_id.is_none() || self.personal
    }

    /// The providers that a person can choose models of: switched on, and permitted.
    pub async fn offered(&self, user: UserId) -> Result<Vec<Provider>, DbErr> {
        let mut all = providers::of(self.db, user).await?;
        all.retain(|it| it.disabled_at.is_none() && self.permits(it));
        Ok(all)
    }

    pub(super) fn permit(&self, provider: &Provider) -> Result<(), Refused> {
        match self.permits(provider) {
            true => Ok(()),
            false => Err(Refused::Conflict(SWITCHED_OFF.into())),
        }
    }
}

/// Where a provider may be asked: an administrator's anywhere, a member's not in the server's own
/// network.
pub(super) fn reach(provider: &Provider) -> Reach {
    match provider.owner_id {
        None => Reach::Anywhere,
        Some(_) => Reach::Public,
    }
}

pub(super) fn too_many() -> Refused {
    Refused::Conflict(format!("You have {MOST} providers already. Delete one first."))
}

pub(super) fn switched_off() -> Tested {
    Tested {
        outcome: Outcome::Failed,
        title: "Switched off".to_owned(),
        detail: SWITCHED_OFF.to_owned(),
        said: None,
        latency: Duration::ZERO,
    }
}
