//! What a command reached through its proxy, and what it did not.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::Target;

/// Hosts that are kept of one command.
const MOST: usize = 100;

/// Why a connection was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule says anything of the host.
    NoRule,
    /// A rule, in words, refuses it.
    Rule(String),
    /// The project is not trusted, so that no rule lets its commands out.
    Untrusted,
    /// What the rules say of it could not be found out.
    RulesUnread,
    /// It leads into the server's own network.
    OwnNetwork,
    /// The name has no address.
    Unknown,
    /// Nobody answers there.
    Unreachable,
    /// The command has sent and received as much as it may.
    TooMuch,
}

impl Refusal {
    /// A sentence for whoever reads the output, with what would help.
    pub fn about(&self, target: &Target) -> String {
        match self {
            Self::NoRule => format!(
                "{target} was not reached: no rule allows it. A person can allow it with the rule \
                 network `{target}` → allow, on the Rules page of the project."
            ),
            Self::Rule(rule) => format!("{target} was not reached: {rule}."),
            Self::Untrusted => format!(
                "{target} was not reached: the project is not trusted, so its commands have no \
                 network. A person can trust it on its page."
            ),
            Self::RulesUnread => format!(
                "{target} was not reached: the rules could not be read. Try again; the log of the \
                 server says why."
            ),
            Self::OwnNetwork => format!(
                "{target} was not reached: it lies in the server's own network. Only the operator \
                 can allow that, with sandbox.private_hosts."
            ),
            Self::Unknown => format!("{target} was not reached: the name has no address."),
            Self::Unreachable => format!("{target} was not reached: nobody answers there."),
            Self::TooMuch => {
                format!("{target} was cut off: the command has used the network too much.")
            }
        }
    }
}

/// A host, and what became of the connections to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub target: Target,
    /// Connections that went through.
    pub connections: u64,
    /// Bytes in both directions.
    pub bytes: u64,
    /// Why others did not, the last time.
    pub refused: Option<Refusal>,
}

/// All visits of one command. Cheap to clone: they are shared.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    visits: Arc<Mutex<BTreeMap<Target, Visit>>>,
    bytes: Arc<AtomicU64>,
}

impl Traffic {
    /// By host.
    pub fn visits(&self) -> Vec<Visit> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn bytes(&self) -> &AtomicU64 {
        &self.bytes
    }

    pub(super) fn reached(&self, target: &Target) {
        self.note(target, |visit| visit.connections += 1);
    }

    pub(super) fn refused(&self, target: &Target, refusal: Refusal) {
        tracing::debug!(%target, ?refusal, "a command did not reach a host");
        self.note(target, |visit| visit.refused = Some(refusal));
    }

    /// Counts bytes. False when they are too many.
    pub(super) fn moved(&self, target: &Target, bytes: u64, most: u64) -> bool {
        self.note(target, |visit| visit.bytes += bytes);
        self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= most
    }

    fn note(&self, target: &Target, change: impl FnOnce(&mut Visit)) {
        let mut visits = self.lock();
        if !visits.contains_key(target) && visits.len() >= MOST {
            return;
        }
        let fresh = || Visit { target: target.clone(), connections: 0, bytes: 0, refused: None };
        change(visits.entry(target.clone()).or_insert_with(fresh));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Target, Visit>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
