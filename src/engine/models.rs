//! The models that a person can choose from: those that admins let sessions use, what each of them
//! takes, and which the person likes or used last.

use std::collections::HashSet;

use serde::Deserialize as _;

use super::{
    Engine,
    providers::{Providers, chosen},
    refused::Refused,
};
use crate::{
    adapters::model::{highest_temperature, takes_effort},
    domain::{
        conversation::Effort,
        ids::{ProviderId, UserId},
        provider::{Kind, Meta, ModelMeta, split_model},
    },
    store::{
        Db, DbErr, entity::model_favourite::Model as Favourite,
        entity::provider::Model as Provider, favourites, providers, sessions,
    },
};

/// Sessions that are looked through for the models used last, and how many models these are.
const SESSIONS: u64 = 60;
const RECENT: usize = 8;
/// The most favourites of a person.
const MOST_LIKED: u64 = 500;

/// A model that sessions can use.
#[derive(Clone, Debug)]
pub struct Offer {
    pub provider: ProviderId,
    pub provider_name: String,
    pub kind: Kind,
    pub id: String,
    pub meta: ModelMeta,
    pub favourite: bool,
    /// How many others the person used after it; absent where that was long ago, or never.
    pub used: Option<usize>,
}

impl Offer {
    /// As a session names it: `<provider id>/<model id>`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    pub fn takes_effort(&self) -> bool {
        takes_effort(self.kind, &self.id, &self.meta)
    }

    /// The highest temperature that it takes; `None` where it takes none.
    pub fn highest_temperature(&self) -> Option<f32> {
        highest_temperature(self.kind, &self.id)
    }

    /// Refuses what the model does not take.
    pub fn check(&self, effort: Option<Effort>, temperature: Option<f64>) -> Result<(), Refused> {
        if effort.is_some() && !self.takes_effort() {
            return Err(Refused::field(
                "effort",
                format!("{} is not known to take a reasoning effort. Leave it out.", self.id),
            ));
        }
        match (temperature, self.highest_temperature()) {
            (Some(_), None) => {
                let text = format!("{} takes no temperature. Leave it out.", self.id);
                Err(Refused::field("temperature", text))
            }
            (Some(given), Some(most)) if !(0.0..=f64::from(most)).contains(&given) => {
                Err(Refused::field("temperature", format!("Give a number from 0 to {most}.")))
            }
            _ => Ok(()),
        }
    }

    fn of(provider: &Provider, meta: &Meta, id: String) -> Self {
        Self {
            provider: provider.id,
            provider_name: provider.name.clone(),
            kind: provider.kind,
            meta: meta.models.get(&id).cloned().unwrap_or_default(),
            id,
            favourite: false,
            used: None,
        }
    }
}

/// All that a person can choose from: favourites first, then what they used last, then the others
/// by provider, in the order in which an admin chose them.
pub async fn offers(engine: &Engine, user: UserId) -> Result<Vec<Offer>, DbErr> {
    let db = &engine.db;
    let liked = favourites::of(db, user).await?.into_iter();
    let liked: HashSet<_> = liked.map(|it| (it.provider_id, it.model)).collect();
    let used = used(db, user).await?;
    let mut all = Vec::new();
    for provider in Providers::of(engine).offered(user).await? {
        let meta = Meta::deserialize(&provider.meta).unwrap_or_default();
        for id in chosen(&provider) {
            let named = (provider.id, id);
            let favourite = liked.contains(&named);
            let used = used.iter().position(|it| *it == named);
            all.push(Offer { favourite, used, ..Offer::of(&provider, &meta, named.1) });
        }
    }
    // Stable, so that what is equal stays in its order.
    all.sort_by_key(|it| (!it.favourite, it.used.unwrap_or(usize::MAX)));
    Ok(all)
}

/// Those whose name, with that of their provider, has every word of a query.
pub fn matching(all: Vec<Offer>, query: &str) -> Vec<Offer> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let fits = |offer: &Offer| {
        let name = format!("{} {}", offer.id, offer.provider_name).to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    all.into_iter().filter(fits).collect()
}

/// The model of this name: there, switched on, and among those that sessions can use.
pub async fn find(engine: &Engine, user: UserId, name: &str) -> Result<Offer, Refused> {
    let wrong = |text: &str| Refused::field("model", text.to_owned());
    let (id, model) =
        split_model(name).ok_or_else(|| wrong("Name a model as <provider id>/<model id>."))?;
    let provider = providers::usable(&engine.db, user, id).await?;
    let provider = provider
        .filter(|it| it.disabled_at.is_none() && Providers::of(engine).permits(it))
        .ok_or_else(|| wrong("There is no such provider."))?;
    if !chosen(&provider).iter().any(|it| it == model) {
        return Err(wrong("That provider offers no such model to sessions."));
    }
    let meta = Meta::deserialize(&provider.meta).unwrap_or_default();
    Ok(Offer::of(&provider, &meta, model.to_owned()))
}

/// The model of the person's newest session where it is still there, else the first of all.
pub(super) async fn usual(engine: &Engine, user: UserId) -> Result<Offer, Refused> {
    for session in sessions::recent(&engine.db, user, 1).await? {
        if let Some(provider) = session.provider_id
            && let Ok(found) = find(engine, user, &format!("{provider}/{}", session.model)).await
        {
            return Ok(found);
        }
    }
    for provider in Providers::of(engine).offered(user).await? {
        if let Some(first) = chosen(&provider).into_iter().next() {
            let meta = Meta::deserialize(&provider.meta).unwrap_or_default();
            return Ok(Offer::of(&provider, &meta, first));
        }
    }
    Err(Refused::Conflict(
        "No model can be used yet. An administrator adds a provider first.".into(),
    ))
}

/// Takes a model out of a person's favourites, if it is there.
pub async fn unlike(engine: &Engine, user: UserId, name: &str) -> Result<(), DbErr> {
    match split_model(name) {
        Some((provider, model)) => favourites::remove(&engine.db, user, provider, model).await,
        None => Ok(()),
    }
}

/// Puts a model among a person's favourites.
pub async fn like(engine: &Engine, user: UserId, name: &str) -> Result<Favourite, Refused> {
    let offer = find(engine, user, name).await?;
    let row = Favourite {
        user_id: user,
        provider_id: offer.provider,
        model: offer.id,
        created_at: engine.clock.now(),
    };
    let added = favourites::add(&engine.db, row, MOST_LIKED).await?;
    added.ok_or_else(|| {
        Refused::Conflict(format!("You have {MOST_LIKED} favourites. Take one out first."))
    })
}

/// The models that a person used last, newest first.
async fn used(db: &Db, user: UserId) -> Result<Vec<(ProviderId, String)>, DbErr> {
    let mut seen = HashSet::new();
    let sessions = sessions::recent(db, user, SESSIONS).await?.into_iter();
    let named = sessions.filter_map(|it| Some((it.provider_id?, it.model)));
    Ok(named.filter(|it| seen.insert(it.clone())).take(RECENT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Entropy;

    struct Zero;

    impl Entropy for Zero {
        fn bits(&self) -> u128 {
            0
        }
    }

    #[test]
    fn every_word_of_a_query_counts() {
        let offer = |id: &str| Offer {
            provider: ProviderId::mint(chrono::DateTime::UNIX_EPOCH, &Zero),
            provider_name: "Team Anthropic".into(),
            kind: Kind::Anthropic,
            id: id.into(),
            meta: ModelMeta::default(),
            favourite: false,
            used: None,
        };
        let found = |query: &str| {
            let all = vec![offer("claude-opus-5"), offer("claude-haiku-4-5")];
            matching(all, query).into_iter().map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(found(" HAIKU team "), ["claude-haiku-4-5"]);
        assert_eq!(found("").len(), 2);
        assert!(found("gpt").is_empty());
    }

    #[test]
    fn what_a_model_does_not_take_is_refused() {
        let mut offer = Offer {
            provider: ProviderId::mint(chrono::DateTime::UNIX_EPOCH, &Zero),
            provider_name: String::new(),
            kind: Kind::Anthropic,
            id: "claude-sonnet-4-5".into(),
            meta: ModelMeta::default(),
            favourite: false,
            used: None,
        };
        assert!(offer.check(Some(Effort::Low), None).is_err(), "nothing is known of it");
        offer.meta.reasoning = Some(true);
        assert!(offer.check(Some(Effort::Low), Some(1.0)).is_ok());
        for wrong in [1.1, -0.1, f64::NAN, f64::INFINITY] {
            assert!(offer.check(None, Some(wrong)).is_err(), "{wrong}");
        }
        offer.id = "claude-opus-5-5".into();
        assert!(offer.check(None, Some(0.5)).is_err());
    }
}
