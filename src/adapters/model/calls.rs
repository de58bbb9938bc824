//! Puts tool calls together from their pieces.

use std::{borrow::Cow, collections::VecDeque};

use crate::domain::model::{Delta, RawCall, parse_arguments};

/// The most bytes of arguments of one reply.
pub(super) const MAX_ARGUMENTS: usize = 1_024 * 1_024;
const MAX_CALLS: usize = 128;
/// The longest id or name of a call. Some servers put the proof of a thought into the id.
const MAX_NAME: usize = 16 * 1_024;

/// The calls of a reply so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    argument_bytes: usize,
}

/// There are more calls, or more of their arguments, than a reply has a reason for.
pub(super) struct TooMany;

/// What a stream says of a call at once. An empty id or name is none.
#[derive(Default)]
pub(super) struct Piece<'a> {
    pub index: Option<u64>,
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    /// More of them, as JSON text.
    pub arguments: Cow<'a, str>,
    pub signature: Option<&'a str>,
}

#[derive(Default)]
struct Call {
    /// The provider's number and id.
    index: Option<u64>,
    given: Option<String>,
    /// The id that is told.
    id: String,
    /// Empty until it is known; the call is told of from then on.
    name: String,
    arguments: String,
    signature: Option<String>,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn into_raw(self) -> Vec<RawCall> {
        let raw = |it: Call| RawCall {
            id: it.id,
            name: it.name,
            arguments: it.arguments,
            signature: it.signature,
        };
        self.calls.into_iter().map(raw).collect()
    }

    /// Takes one piece of one call.
    pub fn add(&mut self, piece: Piece<'_>, said: &mut VecDeque<Delta>) -> Result<(), TooMany> {
        let Piece { index, id: given, name, arguments: more, signature } = piece;
        let size = more.len() + signature.map_or(0, str::len);
        let named = [given, name].into_iter().flatten().map(str::len).max();
        if self.argument_bytes + size > MAX_ARGUMENTS || named > Some(MAX_NAME) {
            return Err(TooMany);
        }
        self.argument_bytes += size;
        let at = match self.continued(index, given, name) {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => return Err(TooMany),
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        if let Some(signature) = signature {
            self.calls[at].signature = Some(signature.to_owned());
        }
        if !self.calls[at].name.is_empty() {
            if !more.is_empty() {
                self.calls[at].arguments.push_str(&more);
                said.push_back(Delta::CallArguments { index: at, text: more.into_owned() });
            }
            return Ok(());
        }
        // What to show of a call is not known before its name is.
        let id = self.free_id(at, given);
        let call = &mut self.calls[at];
        call.given = call.given.take().or(given.map(str::to_owned));
        call.id = id;
        call.arguments.push_str(&more);
        if let Some(name) = name {
            call.name = name.to_owned();
            let (id, name) = (call.id.clone(), call.name.clone());
            said.push_back(Delta::CallStarted { index: at, id, name });
            if !call.arguments.is_empty() {
                said.push_back(Delta::CallArguments { index: at, text: call.arguments.clone() });
            }
        }
        Ok(())
    }

    /// The call that a piece goes on with, or `None` where it begins another.
    ///
    /// Servers leave out the index, count from 1, give every call the index 0 and an id of its own,
    /// repeat the id or the name with each piece, or give no id at all.
    fn continued(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let same_id = |it: &Call| {
            let compatible = index.is_none() || it.index.is_none() || it.index == index;
            id.is_some() && it.given.as_deref() == id && compatible
        };
        if let Some(at) = self.calls.iter().rposition(same_id) {
            return Some(at);
        }
        let at = match index {
            Some(_) => self.calls.iter().rposition(|it| it.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[at];
        let another = match (id, name) {
            (_, None) => false,
            (Some(_), Some(_)) => call.given.is_some() || !call.name.is_empty(),
            (None, Some(name)) => {
                !call.name.is_empty() && (call.name != name || is_complete(&call.arguments))
            }
        };
        (!another).then_some(at)
    }

    /// The provider's id, or one of our own where it gave none or one that another call has.
    fn free_id(&self, at: usize, given: Option<&str>) -> String {
        let wanted = self.calls[at].given.as_deref().or(given);
        let wanted = wanted.map_or_else(|| format!("call_{}", at + 1), str::to_owned);
        let taken = |id: &str| self.calls.iter().enumerate().any(|(n, it)| n != at && it.id == id);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut ids = std::iter::once(wanted.clone()).chain(numbered);
        ids.find(|id| !taken(id)).unwrap_or_default()
    }
}

fn is_complete(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}') && parse_arguments(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_a_name_that_is_no_name_ends_the_reply() {
        let long = "x".repeat(MAX_NAME + 1);
        let (mut calls, mut said) = (Calls::default(), VecDeque::new());
        let fits = &long[1..];
        let piece = Piece { id: Some(fits), name: Some("read"), ..Piece::default() };
        assert!(calls.add(piece, &mut said).is_ok());
        for (id, name) in [(Some(long.as_str()), Some("read")), (None, Some(long.as_str()))] {
            let piece = Piece { id, name, ..Piece::default() };
            assert!(calls.add(piece, &mut said).is_err());
        }
        assert_eq!((calls.len(), said.len()), (1, 1));
    }
}
