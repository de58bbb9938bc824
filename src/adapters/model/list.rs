//! Which models a provider offers, and whether it can be asked at all.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::timeout;

use super::{
    Endpoint, Kind, ModelInfo, Models, Peer, authorized, is_web_page, openai, read_up_to, web_page,
};
use crate::domain::{
    conversation::{Item, Request},
    model::{Fault, FaultKind},
};

/// The longest list that is read.
const MAX_LIST: usize = 8 * 1_024 * 1_024;
const MAX_MODELS: usize = 5_000;
const LIST_WAIT: Duration = Duration::from_secs(20);

/// A provider that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOk {
    /// Until the list was there; with a model, until its first words were.
    pub latency: Duration,
    /// How many models are listed, where the provider lists them.
    pub models: Option<usize>,
}

impl Models {
    /// The models of a provider, by id.
    pub async fn list(&self, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, Fault> {
        let peer = Peer::new(endpoint, None);
        let url = match endpoint.kind {
            Kind::Openai => openai::models_url(&endpoint.url),
        };
        let url = url.map_err(|why| peer.fault(FaultKind::BadRequest).told(why))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let call = authorized(endpoint, self.client.get(url))?;
        let read = async {
            let response = self.send(&peer, call).await?;
            if is_web_page(&response) {
                return Err(web_page(&peer));
            }
            read_up_to(response, MAX_LIST).await.map_err(|err| peer.network(err))
        };
        let body = timeout(LIST_WAIT, read).await.map_err(|_| peer.silent(LIST_WAIT))??;
        let list = serde_json::from_slice::<Value>(&body).ok();
        let list = list.as_ref().and_then(|list| match endpoint.kind {
            Kind::Openai => openai::models(list),
        });
        let mut models = list.ok_or_else(|| {
            peer.fault(FaultKind::Stream).told(format!(
                "{} answers, but not with a list of models. Check its address and kind.",
                endpoint.name
            ))
        })?;
        models.sort_by(|one, other| one.id.cmp(&other.id));
        models.dedup_by(|one, other| one.id == other.id);
        models.truncate(MAX_MODELS);
        Ok(models.into_iter().map(|it| it.completed(&host)).collect())
    }

    /// Tries the address and the key, and with a model also a short reply of that.
    pub async fn test(&self, endpoint: &Endpoint, model: Option<&str>) -> Result<TestOk, Fault> {
        let started = Instant::now();
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
            items: vec![Item::User { text: "Answer with the word: ready".to_owned() }],
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
