//! Whether what a project's folder says may steer an agent.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::message::{UnknownWord, words};

/// A project starts untrusted: its instructions are not loaded, and nothing runs without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    #[default]
    Untrusted,
    Trusted,
}

words! { Trust { Untrusted => "untrusted", Trusted => "trusted" } }
