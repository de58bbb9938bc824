//! A reply while it streams.

use std::{collections::VecDeque, fmt, time::Duration};

use reqwest::Response;
use tokio::time::timeout;

use super::{Decode, Peer, Progress};
use crate::domain::model::{Delta, Fault, Reply, Usage};

/// How long the account of what was used is waited for once all is said.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How long the end of the body is waited for after the end of the reply. It nearly always comes
/// with it, and then the connection is free for the next step at once.
const BODY_END: Duration = Duration::from_millis(20);

/// How long, and how many bytes of, what follows after that is read.
const REST_WAIT: Duration = Duration::from_secs(1);
const MAX_REST: usize = 64 * 1_024;

/// A reply that is coming in. Dropping it ends the call.
pub struct ReplyStream {
    /// Taken once it is read to its end.
    response: Option<Response>,
    decoder: Box<dyn Decode>,
    said: VecDeque<Delta>,
    fault: Option<Fault>,
    peer: Peer,
    idle: Duration,
}

impl ReplyStream {
    pub(super) fn new(
        response: Response,
        decoder: Box<dyn Decode>,
        peer: Peer,
        idle: Duration,
    ) -> Self {
        let (response, said) = (Some(response), VecDeque::new());
        Self { response, decoder, said, fault: None, peer, idle }
    }

    /// The next piece as soon as its bytes are there; `None` at the end. Nothing is lost where the
    /// future is dropped before it is ready.
    pub async fn next(&mut self) -> Result<Option<Delta>, Fault> {
        loop {
            if let Some(delta) = self.said.pop_front() {
                return Ok(Some(delta));
            }
            if let Some(fault) = &self.fault {
                return Err(fault.clone());
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            let progress = self.decoder.progress();
            let wait = match progress {
                Progress::Open => self.idle,
                Progress::Said => LAST_WORDS.min(self.idle),
                Progress::Done => BODY_END,
            };
            match timeout(wait, response.chunk()).await {
                Ok(Ok(Some(_))) if progress == Progress::Done => self.end(),
                Ok(Ok(Some(bytes))) => {
                    self.fault = self.decoder.push(&bytes, &mut self.said).err();
                }
                Ok(Ok(None)) => self.end(),
                // After the last word, a connection that is cut or silent loses nothing.
                Ok(Err(_)) | Err(_) if progress != Progress::Open => self.end(),
                Ok(Err(err)) => self.fault = Some(self.peer.network(err)),
                Err(_) => self.fault = Some(self.peer.silent(self.idle)),
            }
            if self.fault.is_some() {
                self.response = None;
            }
        }
    }

    /// What the provider has said of what was used: of a reply too that does not become whole.
    pub fn usage(&self) -> Option<Usage> {
        self.decoder.usage()
    }

    /// The whole reply. What has not been taken by [`ReplyStream::next`] is read first.
    pub async fn reply(mut self) -> Result<Reply, Fault> {
        while self.next().await?.is_some() {}
        Ok(self.decoder.reply())
    }

    fn end(&mut self) {
        self.fault = self.decoder.end(&mut self.said).err();
        if let Some(response) = self.response.take() {
            tokio::spawn(read_rest(response));
        }
    }
}

impl fmt::Debug for ReplyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyStream").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// Reads a body to its end, so that the connection can carry the next step. Nobody waits for it.
async fn read_rest(mut response: Response) {
    let rest = async {
        let mut left = MAX_REST;
        while let Ok(Some(bytes)) = response.chunk().await {
            left = left.saturating_sub(bytes.len());
            if left == 0 {
                break;
            }
        }
    };
    // Where it takes too long the connection is closed, and the next step opens another.
    let _ = timeout(REST_WAIT, rest).await;
}
