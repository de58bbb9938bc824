//! What was heard of a reply so far, whatever format it comes in.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    Peer,
    calls::{Calls, Piece, TooMany},
    sse::TooLong,
};
use crate::domain::{
    message::Tokens,
    model::{Answer, Delta, Fault, FaultKind, Finish, Reply, Thought, Usage, classify},
};

/// The most bytes of text, and of reasoning with its proofs; a reply that is longer is ended here
/// as one that reached its limit.
pub(super) const MAX_TEXT: usize = 4 * 1_024 * 1_024;

/// The longest account of a provider that is kept.
const MAX_USAGE: usize = 4_096;

/// Why no more is read.
pub(super) enum Stop {
    /// The reply is whole.
    Done,
    TooLong,
    NoJson,
    /// The provider says that something went wrong.
    Error(Value),
    /// Something else that makes it no reply.
    Fault(Box<Fault>),
}

impl From<TooLong> for Stop {
    fn from(TooLong: TooLong) -> Self {
        Self::TooLong
    }
}

/// A reply as far as it has come.
pub(super) struct Heard {
    pub peer: Peer,
    pub text: String,
    pub reasoning: String,
    pub calls: Calls,
    pub finish: Option<Finish>,
    pub usage: Option<Usage>,
    pub done: bool,
}

impl Heard {
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            text: String::new(),
            reasoning: String::new(),
            calls: Calls::default(),
            finish: None,
            usage: None,
            done: false,
        }
    }

    pub fn say(&mut self, more: &str, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        if more.is_empty() {
            return Ok(());
        }
        if self.text.len() + more.len() > MAX_TEXT {
            return self.cut();
        }
        self.text.push_str(more);
        said.push_back(Delta::Text(more.to_owned()));
        Ok(())
    }

    pub fn think(&mut self, more: &str, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        if more.is_empty() {
            return Ok(());
        }
        if self.reasoning.len() + more.len() > MAX_TEXT {
            return self.cut();
        }
        self.reasoning.push_str(more);
        said.push_back(Delta::Reasoning(more.to_owned()));
        Ok(())
    }

    pub fn call(&mut self, piece: Piece<'_>, said: &mut VecDeque<Delta>) -> Result<(), Stop> {
        match self.calls.add(piece, said) {
            Ok(()) => Ok(()),
            Err(TooMany) => self.cut(),
        }
    }

    /// Notes what was used, where the account says anything.
    pub fn account(&mut self, tokens: Tokens, raw: &Value) {
        if tokens == Tokens::default() {
            return;
        }
        // Some account anew in every chunk: whether it is too long is looked at once, at the end.
        self.usage = Some(Usage { tokens, cost_micros: None, raw: raw.clone() });
    }

    /// Takes note that the reply is whole.
    pub fn stop(&mut self) -> Result<(), Stop> {
        self.done = true;
        Err(Stop::Done)
    }

    /// Ends a reply that is longer than any reply has a reason to be.
    pub fn cut(&mut self) -> Result<(), Stop> {
        self.finish = Some(Finish::Length);
        self.stop()
    }

    /// Whether what was heard is a whole reply.
    pub fn check(&self) -> Result<(), Fault> {
        if !self.done && self.finish.is_none() {
            return Err(self.peer.fault(FaultKind::Stream));
        }
        let written = self.usage.as_ref().is_some_and(|it| it.tokens.output > 0);
        let nothing = self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty();
        if self.text.is_empty()
            && self.calls.is_empty()
            && self.finish == Some(Finish::ContentFilter)
        {
            // Without a word nobody would know that it was no answer.
            return Err(self.peer.fault(FaultKind::BadRequest).told(format!(
                "{} declined to answer. Change the prompt, or choose another model.",
                self.peer.provider
            )));
        }
        if nothing && !written && matches!(self.finish, None | Some(Finish::Stop)) {
            return Err(self.peer.fault(FaultKind::Stream).told(format!(
                "{} sent an empty reply. Send the prompt again; if it stays so, choose another \
                 model.",
                self.peer.provider
            )));
        }
        Ok(())
    }

    pub fn fault(&self, stop: Stop) -> Fault {
        let told = match stop {
            Stop::Error(said) => {
                let body = said.to_string();
                let answer = Answer { status: None, retry_after: None, body: &body };
                return classify(&answer, &self.peer.asked());
            }
            Stop::Fault(fault) => return *fault,
            Stop::TooLong => "a line that is too long",
            Stop::NoJson | Stop::Done => "something that is no JSON",
        };
        self.peer.fault(FaultKind::Stream).told(format!(
            "{} sent {told}. Check its address and kind, then send the prompt again.",
            self.peer.provider
        ))
    }

    /// The whole reply, with what must go back along with the thought.
    pub fn into_reply(self, signature: Option<String>) -> Reply {
        let calls = self.calls.into_raw();
        let finish = match self.finish {
            None | Some(Finish::Stop) if !calls.is_empty() => Finish::ToolCalls,
            finish => finish.unwrap_or(Finish::Stop),
        };
        let thought = Thought { text: self.reasoning, signature };
        let thought = Some(thought).filter(|it| *it != Thought::default());
        let usage = self.usage.map(|mut used| {
            if used.raw.to_string().len() > MAX_USAGE {
                used.raw = Value::Null;
            }
            used
        });
        Reply { text: self.text, reasoning: thought, calls, finish, usage }
    }
}

/// The number at a path; of servers that count in floating point too.
pub(super) fn number(value: &Value, path: &[&str]) -> Option<u64> {
    let value = path.iter().try_fold(value, |value, name| value.get(name))?;
    // A cast of a negative number gives 0.
    value.as_u64().or_else(|| value.as_f64().map(|it| it as u64))
}

/// A word of the provider for how a reply ended, bounded.
pub(super) fn other_finish(word: &str) -> Finish {
    Finish::Other(word.chars().take(40).collect())
}
