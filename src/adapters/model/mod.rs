//! Asks models, whatever format their provider speaks.
//!
//! A format is one file: a pure function that builds a request from the one internal conversation,
//! an incremental decoder of its stream, and a reader of its list of models. `OpenAI` and
//! `OpenRouter` share one. What all have in common stands beside them: [`decoder`] cuts a stream
//! into JSON values, [`heard`] puts a reply together, [`images`] says which images go along and
//! [`proof`] which sealed thoughts do. [`formats`] knows which is whose; this file sends, and sorts
//! what goes wrong.

mod address;
mod anthropic;
mod calls;
mod decoder;
mod formats;
mod gemini;
mod heard;
#[cfg(test)]
mod hearing;
mod images;
mod list;
mod ollama;
mod openai;
mod proof;
#[cfg(test)]
mod properties;
pub mod recorded;
mod sorted;
mod sse;
mod stream;

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{Method, RequestBuilder, Response, header, redirect};
use tokio::time::timeout;
use url::Url;

pub use self::{
    formats::{highest_temperature, takes_effort},
    list::TestOk,
    stream::ReplyStream,
};
use super::reach::OwnNetwork;
pub use super::reach::{Hosts, Names, SystemNames};
pub use crate::domain::{catalogue::ModelInfo, model::Kind};
use crate::domain::{
    conversation::Request,
    model::{Answer, Asked, Delta, Fault, FaultKind, Reply, Usage, classify, retry_after},
    reach::Reach,
    secret::Secret,
};

/// The most bytes of an error that are read.
const MAX_ERROR: usize = 64 * 1_024;

/// How long the body of an error is waited for.
const ERROR_WAIT: Duration = Duration::from_secs(5);

/// Where and as whom models are asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub kind: Kind,
    /// The name that people gave the provider; faults are told with it.
    pub name: String,
    /// The base address, as a person enters it.
    pub url: String,
    pub key: Option<Secret>,
    /// Where requests may go.
    pub reach: Reach,
}

/// How long to wait for a provider.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connect: Duration,
    /// The longest silence before and between the pieces of a reply.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}

/// The clients that all models are asked with, so that a step costs no new connection.
#[derive(Clone, Debug)]
pub struct Models {
    client: reqwest::Client,
    /// For [`Reach::Public`].
    guarded: Arc<RwLock<Guarded>>,
    limits: Limits,
}

/// The client of members' providers, and where they may lie.
#[derive(Clone, Debug)]
struct Guarded {
    client: reqwest::Client,
    hosts: Hosts,
}

impl Models {
    /// Builds the clients. Fails where the system has no certificates to trust.
    pub fn new(limits: Limits) -> anyhow::Result<Self> {
        Self::with_hosts(limits, Hosts::default())
    }

    /// The same, with hosts that members' providers may lie at.
    pub fn with_hosts(limits: Limits, hosts: Hosts) -> anyhow::Result<Self> {
        // An error says that there is a provider already, and then it is this one too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guarded = Arc::new(RwLock::new(Guarded::new(limits, hosts)?));
        Ok(Self { client: client(limits).build()?, guarded, limits })
    }

    /// Lets members' providers lie at these hosts, and no longer at those that were allowed before.
    /// Calls that go on are not cut.
    pub fn allow<'a>(&self, hosts: impl IntoIterator<Item = &'a str>) -> anyhow::Result<()> {
        let hosts = self.guarded().hosts.allowing(hosts);
        // A new client: the old one keeps connections to what may not be reached any more.
        let guarded = Guarded::new(self.limits, hosts)?;
        *self.guarded.write().unwrap_or_else(PoisonError::into_inner) = guarded;
        Ok(())
    }

    fn guarded(&self) -> Guarded {
        self.guarded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A call to an address, from the client that may go as far as the endpoint may.
    fn call(
        &self,
        endpoint: &Endpoint,
        peer: &Peer,
        method: Method,
        url: Url,
    ) -> Result<RequestBuilder, Fault> {
        match endpoint.reach {
            Reach::Anywhere => Ok(self.client.request(method, url)),
            Reach::Public => {
                let guarded = self.guarded();
                guarded.hosts.check(&url).map_err(|own| peer.own_network(&own))?;
                Ok(guarded.client.request(method, url))
            }
        }
    }

    /// Sends a request and answers as soon as the provider begins to. Dropping the stream, or this
    /// future, ends the call at the provider too.
    pub async fn stream(
        &self,
        endpoint: &Endpoint,
        request: &Request,
    ) -> Result<ReplyStream, Fault> {
        match self.ask(endpoint, request).await {
            Err(fault) if refuses_proofs(&fault) => {
                // A proof may have lost its worth: with the conversation around it, for one.
                let Some(plain) = proof::without(request) else { return Err(fault) };
                tracing::info!(model = request.model, "a proof was refused, asking without");
                self.ask(endpoint, &plain).await
            }
            asked => asked,
        }
    }

    async fn ask(&self, endpoint: &Endpoint, request: &Request) -> Result<ReplyStream, Fault> {
        let (kind, peer) = (endpoint.kind, Peer::new(endpoint, Some(&request.model)));
        let url = formats::chat_url(kind, &endpoint.url, &request.model);
        let url = url.map_err(|why| peer.fault(FaultKind::BadRequest).told(why))?;
        let body = formats::body(kind, request).map_err(|err| {
            peer.fault(FaultKind::BadRequest)
                .told("The conversation cannot be written as JSON. Start a new session.")
                .quoting(&err.to_string(), &peer.asked())
        })?;
        let call = self
            .call(endpoint, &peer, Method::POST, url)?
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, formats::accepted(kind))
            .body(body);
        let response = self.send(&peer, formats::authorized(endpoint, call)?).await?;
        if is_web_page(&response) {
            return Err(web_page(&peer));
        }
        let decoder = formats::decoder(kind, peer.clone());
        Ok(ReplyStream::new(response, decoder, peer, self.limits.idle))
    }

    /// Sends a call and answers with a response that is no error.
    async fn send(&self, peer: &Peer, call: RequestBuilder) -> Result<Response, Fault> {
        let sent = timeout(self.limits.idle, call.send()).await;
        let response = sent.map_err(|_| peer.silent(self.limits.idle))?;
        let response = response.map_err(|err| peer.network(err))?;
        let status = response.status();
        tracing::debug!(provider = peer.provider, model = peer.model, %status, "model answered");
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = timeout(ERROR_WAIT, read_up_to(response, MAX_ERROR)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Err(classify(
            &Answer {
                status: Some(status.as_u16()),
                retry_after: retry_after(|name| headers.get(name)?.to_str().ok()),
                body: &String::from_utf8_lossy(&body),
            },
            &peer.asked(),
        ))
    }
}

impl Guarded {
    fn new(limits: Limits, hosts: Hosts) -> anyhow::Result<Self> {
        // A proxy would resolve the name by itself, and reach what must not be reached.
        let client = client(limits).no_proxy().dns_resolver(hosts.clone()).build()?;
        Ok(Self { client, hosts })
    }
}

fn client(limits: Limits) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("forge/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(limits.connect)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(300))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(10))
        .http2_keep_alive_while_idle(true)
        // The key goes to the address that was entered and to no other.
        .redirect(redirect::Policy::none())
        .referer(false)
}

/// What a format does with the bytes of a stream.
trait Decode: Send {
    /// Takes bytes, cut anywhere, and appends what they say. What was said before an error is
    /// appended too.
    fn push(&mut self, bytes: &[u8], said: &mut VecDeque<Delta>) -> Result<(), Fault>;

    fn progress(&self) -> Progress;

    /// Takes note that nothing more comes, and fails where that is no whole reply.
    fn end(&mut self, said: &mut VecDeque<Delta>) -> Result<(), Fault>;

    /// What was used, as far as that was said.
    fn usage(&self) -> Option<Usage>;

    /// What was said in all.
    fn reply(self: Box<Self>) -> Reply;
}

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Open,
    /// All is said, but the account of it may follow.
    Said,
    Done,
}

/// Whom a call goes to: what its faults are told with.
#[derive(Clone, Debug)]
struct Peer {
    provider: String,
    model: Option<String>,
    key: Option<Secret>,
}

impl Peer {
    fn new(endpoint: &Endpoint, model: Option<&str>) -> Self {
        Self {
            provider: endpoint.name.clone(),
            model: model.map(str::to_owned),
            key: endpoint.key.clone(),
        }
    }

    fn asked(&self) -> Asked<'_> {
        let model = self.model.as_deref();
        Asked { provider: &self.provider, model, key: self.key.as_ref() }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault::new(kind, &self.asked())
    }

    /// A fault of the connection, without the address, which may hold a password.
    fn network(&self, err: reqwest::Error) -> Fault {
        if let Some(own) = OwnNetwork::behind(&err) {
            return self.own_network(own);
        }
        let unreachable = err.is_connect();
        let fault = if err.is_builder() {
            self.fault(FaultKind::BadRequest)
                .told(format!("The address or the key of {} cannot be sent.", self.provider))
        } else if unreachable {
            self.fault(FaultKind::Network).told(format!(
                "{} cannot be reached. Check its address, and whether this server may connect to \
                 it.",
                self.provider
            ))
        } else {
            self.fault(FaultKind::Network)
        };
        fault.quoting(&causes(&err.without_url()), &self.asked())
    }

    /// Said without the address that a name has: it is nobody's business from outside.
    fn own_network(&self, own: &OwnNetwork) -> Fault {
        self.fault(FaultKind::BadRequest).told(format!(
            "{} lies in the server's own network ({}), where providers of members may not. Enter a \
             public address, or ask an administrator to allow the host on the page Settings.",
            self.provider, own.host
        ))
    }

    fn silent(&self, waited: Duration) -> Fault {
        self.fault(FaultKind::Network).told(format!(
            "{} said nothing for {} seconds. Send the prompt again; if it stays so, choose another \
             model.",
            self.provider,
            waited.as_secs_f64().ceil()
        ))
    }
}

/// The error and what caused it, innermost last.
fn causes(err: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(err), |err| err.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether a request was refused for the proof of a thought in it.
fn refuses_proofs(fault: &Fault) -> bool {
    let said = fault.provider_message.as_deref().unwrap_or_default().to_lowercase();
    fault.kind == FaultKind::BadRequest
        && ["signature", "thinking` blocks", "thinking blocks", "reasoning_details"]
            .iter()
            .any(|it| said.contains(it))
}

fn is_web_page(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|it| it.as_bytes().starts_with(b"text/html"))
}

fn web_page(peer: &Peer) -> Fault {
    peer.fault(FaultKind::NotFound)
        .told(format!("{} answers with a web page. Check its kind and its address; for OpenAI's format it usually \
         ends in /v1.", peer.provider))
}

/// The beginning of a body.
async fn read_up_to(mut response: Response, limit: usize) -> Result<Bytes, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        body.extend_from_slice(&bytes[..bytes.len().min(limit - body.len())]);
        if body.len() == limit {
            break;
        }
    }
    Ok(body.into())
}
