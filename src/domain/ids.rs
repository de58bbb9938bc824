//! One newtype per kind of row, so that a session's id can never stand in for its project's.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Where the unpredictable half of an id, a token or a salt comes from.
///
/// A server asks the operating system. A test counts upwards, so that ids, and the snapshots
/// that contain them, come out the same on every run.
pub trait Entropy: Send + Sync {
    /// 128 fresh bits.
    fn bits(&self) -> u128;

    /// 32 fresh bytes: the stuff of tokens.
    fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.bits().to_be_bytes());
        bytes[16..].copy_from_slice(&self.bits().to_be_bytes());
        bytes
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Ulid);

        impl $name {
            /// Mints an id that sorts by the moment it was minted.
            pub fn mint(at: DateTime<Utc>, entropy: &dyn Entropy) -> Self {
                let millis = at.timestamp_millis().max(0).cast_unsigned();
                Self(Ulid::from_parts(millis, entropy.bits()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ulid::DecodeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// A person with an account.
    UserId
    /// A key with which a script acts for a person.
    ApiTokenId
    /// One request to the server, in its answer and in the log.
    RequestId
    /// One line of the audit log.
    AuditId
    /// A folder on the server that somebody works on here.
    ProjectId
    /// Where models are asked: an address, a kind and a key.
    ProviderId
    /// One conversation with an agent.
    SessionId
    /// One prompt or one answer of a session.
    MessageId
    /// A piece of a message: some text, a tool call, the end of a step.
    PartId
    /// One line of an agent's list of what is to be done.
    TodoId
    /// A question of an agent to a person.
    AskId
    /// One line of a permission list.
    RuleId
    /// How a file was before a message changed it.
    SnapshotId
    /// One line of the ledger: what one call of a model used.
    UsageId
    /// How much may be spent by whom, in which time.
    BudgetId
    /// A file that somebody gave to a session.
    AttachmentId
}
