//! What an agent asks a person, and what the person may answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `data` column of an ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub version: u32,
    pub tool: String,
    /// The command, the path or whatever else the call is about, in full.
    pub subject: String,
    /// Where a command starts, if not in the project's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub input: Value,
    /// Why it is asked, a sentence each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The rules that "always" would save; empty where that is not offered.
    #[serde(default)]
    pub always: Vec<ProposedRule>,
    /// The deciding rule in words.
    #[serde(default)]
    pub because: String,
    /// Whether it is asked because the agent repeats itself: no rule allows that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// A rule that "always" would save. The person may narrow the pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedRule {
    pub tool: String,
    pub pattern: String,
}

/// The `reply` column of an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub version: u32,
    pub answer: Answer,
    /// With a denial: a word to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With "always": the rules that were saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<ProposedRule>,
    /// Where nobody has looked at the ask because a new rule answers it: that rule, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Once,
    Always,
    Deny,
}

impl Answer {
    pub fn allows(self) -> bool {
        self != Self::Deny
    }
}

/// The longest word to the agent, in bytes.
pub const MESSAGE_MAX: usize = 4_000;
