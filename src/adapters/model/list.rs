//! Which models a provider offers, and whether it can be asked at all.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    Endpoint, Kind, ModelInfo, Models, Peer,
    formats::{self, authorized},
    is_web_page, ollama, openai, read_up_to, web_page,
};
use crate::domain::{
    conversation::{Item, Request},
    model::{Fault, FaultKind},
    text::json_without_nul,
};

/// The longest list that is read.
const MAX_LIST: usize = 8 * 1_024 * 1_024;
const MAX_MODELS: usize = 5_000;
const LIST_WAIT: Duration = Duration::from_secs(20);

/// How many models are described one by one, and how many of these at once.
const MAX_DESCRIBED: usize = 200;
const DESCRIBED_AT_ONCE: usize = 8;

/// A provider that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOk {
    /// Until the list was there; with a model, until its first words were.
    pub latency: Duration,
    /// How many models are listed, where the provider lists them.
    pub models: Option<usize>,
}

impl Models {
    /// The models of a provider, by id, with what its list says of them.
    pub async fn list(&self, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, Fault> {
        let peer = Peer::new(endpoint, None);
        let kind = endpoint.kind;
        let url = formats::list_url(kind, &endpoint.url);
        let url = url.map_err(|why| peer.fault(FaultKind::BadRequest).told(why))?;
        let list = self
            .read(&peer, authorized(endpoint, self.call(endpoint, &peer, Method::GET, url)?)?)
            .await?;
        let list = list.as_ref().and_then(|list| formats::models(kind, list));
        let mut models = list.ok_or_else(|| {
            peer.fault(FaultKind::Stream).told(format!(
                "{} answers, but not with a list of models. Check its address and kind.",
                endpoint.name
            ))
        })?;
        models.sort_by(|one, other| one.id.cmp(&other.id));
        models.dedup_by(|one, other| one.id == other.id);
        models.truncate(MAX_MODELS);
        if kind == Kind::Ollama {
            models = self.described(endpoint, &peer, models).await;
        }
        Ok(models)
    }

    /// Reads a whole answer; `None` where it is no JSON.
    async fn read(&self, peer: &Peer, call: RequestBuilder) -> Result<Option<Value>, Fault> {
        let read = async {
            let response = self.send(peer, call).await?;
            if is_web_page(&response) {
                return Err(web_page(peer));
            }
            read_up_to(response, MAX_LIST).await.map_err(|err| peer.network(err))
        };
        let body = timeout(LIST_WAIT, read).await.map_err(|_| peer.silent(LIST_WAIT))??;
        let body = std::str::from_utf8(&body).ok().map(json_without_nul);
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    /// Asks for what Ollama's list does not say. What cannot be learned stays unknown.
    async fn described(
        &self,
        endpoint: &Endpoint,
        peer: &Peer,
        models: Vec<ModelInfo>,
    ) -> Vec<ModelInfo> {
        let describe = |(at, model): (usize, ModelInfo)| async move {
            let Ok(url) = ollama::show_url(&endpoint.url) else { return model };
            if at >= MAX_DESCRIBED {
                return model;
            }
            let called = self.call(endpoint, peer, Method::POST, url);
            let called = called
                .and_then(|call| authorized(endpoint, call.json(&json!({ "model": model.id }))));
            let Ok(call) = called else { return model };
            match self.read(peer, call).await {
                Ok(Some(shown)) => ollama::described(model, &shown),
                Ok(None) | Err(_) => model,
            }
        };
        stream::iter(models.into_iter().enumerate())
            .map(describe)
            .buffered(DESCRIBED_AT_ONCE)
            .collect()
            .await
    }

    /// Whether the key is one, where the list of models is open to everybody.
    async fn check_key(&self, endpoint: &Endpoint) -> Result<(), Fault> {
        if endpoint.kind != Kind::Openrouter || endpoint.key.is_none() {
            return Ok(());
        }
        let peer = Peer::new(endpoint, None);
        let url = openai::key_url(&endpoint.url);
        let url = url.map_err(|why| peer.fault(FaultKind::BadRequest).told(why))?;
        match self
            .read(&peer, authorized(endpoint, self.call(endpoint, &peer, Method::GET, url)?)?)
            .await
        {
            // A server in between may not know of keys.
            Err(fault) if fault.kind == FaultKind::NotFound => Ok(()),
            read => read.map(drop),
        }
    }

    /// Tries the address and the key, and with a model also a short reply of that.
    pub async fn test(&self, endpoint: &Endpoint, model: Option<&str>) -> Result<TestOk, Fault> {
        let started = Instant::now();
        self.check_key(endpoint).await?;
        let listed = match self.list(endpoint).await {
            Ok(models) => Some(models.len()),
            // Some providers have no list, and answer all the same.
            Err(fault) if fault.kind == FaultKind::NotFound && model.is_some() => None,
            Err(fault) => return Err(fault),
        };
        let Some(model) = model else {
            return Ok(TestOk { latency: started.elapsed(), models: listed });
        };
        let request = Request {
            model: model.to_owned(),
            items: Item::user("Answer with the word: ready", Vec::new()).into_iter().collect(),
            // Room for a model that thinks first.
            max_output_tokens: Some(256),
            ..Request::default()
        };
        let started = Instant::now();
        let mut stream = self.stream(endpoint, &request).await?;
        stream.next().await?;
        let latency = started.elapsed();
        stream.reply().await?;
        Ok(TestOk { latency, models: listed })
    }
}
