//! The words of a session: what it is doing, what it waits for, what it plans.

use serde::{Deserialize, Serialize};

use super::message::{Tokens, UnknownWord, words};
use std::{fmt, str::FromStr};

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Idle,
    Running,
    /// A person is asked and the agent waits for the answer.
    Waiting,
    /// Stopped by a person, or by the end of the server.
    Aborted,
    Error,
}

impl SessionStatus {
    /// Whether an agent is at work, or would be if it were answered.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }
}

/// How a prompt waits that was sent while the agent was at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queued {
    /// Until the agent is done with what it does now.
    Queue,
    /// Until its next step.
    Steer,
}

/// What an agent asks a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Permission,
}

/// What became of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskStatus {
    Open,
    Allowed,
    Denied,
    /// Nobody needs to answer any more: the run was stopped.
    Withdrawn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Done,
    Cancelled,
}

words! {
    SessionStatus {
        Idle => "idle", Running => "running", Waiting => "waiting",
        Aborted => "aborted", Error => "error",
    }
    Queued { Queue => "queue", Steer => "steer" }
    AskKind { Permission => "permission" }
    AskStatus {
        Open => "open", Allowed => "allowed", Denied => "denied", Withdrawn => "withdrawn",
    }
    TodoStatus {
        Pending => "pending", InProgress => "in_progress",
        Done => "done", Cancelled => "cancelled",
    }
}

/// One line of an agent's list, as the agent writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    pub text: String,
    #[serde(default)]
    pub status: TodoStatus,
}

/// Totals of a session, kept with it so that a list of sessions needs no other table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub version: u32,
    pub tokens: Tokens,
    /// Micro-dollars of all steps whose price was known.
    pub cost_micros: i64,
    /// Whether some step's price was not known.
    pub cost_incomplete: bool,
    pub steps: u32,
    /// Input of the newest step, cached or not: how full the model's window is.
    pub context_tokens: u64,
    pub files: Vec<ChangedFile>,
}

/// A file that a session has changed, compared with how it found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the project.
    pub path: String,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Modified,
    Deleted,
}

/// Why an answer ended before it was done, in words for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub version: u32,
    /// A word for programs: `auth`, `rate`, `network`, `aborted`, `interrupted`, …
    pub code: String,
    /// What happened and what to do, in plain words.
    pub message: String,
    /// What the provider said, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message: Option<String>,
}
