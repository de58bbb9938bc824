//! The one gate that every tool call passes: what the rules say of what it is about.

use std::path::PathBuf;

use super::{
    Engine,
    tools::{Subject, Veil},
};
use crate::{
    domain::{ask::ProposedRule, turn::Gate},
    store::entity::project::Model as Project,
};

/// What the gate says of a call.
#[derive(Clone, Debug)]
pub struct Judged {
    pub gate: Gate,
    /// What is asked about, in full: the command or the path.
    pub subject: String,
    /// The deciding rule in words.
    pub because: String,
    pub reasons: Vec<String>,
    pub always: Vec<ProposedRule>,
}

impl Judged {
    /// For a call that never gets to the gate: it has its result already.
    pub fn settled() -> Self {
        Self {
            gate: Gate::Deny,
            subject: String::new(),
            because: String::new(),
            reasons: Vec::new(),
            always: Vec::new(),
        }
    }
}

/// Judges the calls of one run by the rules that hold for its project.
pub struct Gatekeeper {
    root: PathBuf,
}

impl Gatekeeper {
    pub async fn load(_engine: &Engine, project: &Project) -> anyhow::Result<Self> {
        Ok(Self { root: PathBuf::from(&project.path) })
    }
    pub fn veil(&self) -> Veil {
        Veil::default()
    }
    pub fn judge(&self, tool: &str, _subjects: &[Subject]) -> Judged {
        let _ = &self.root;
        Judged { gate: if tool == "bash" { Gate::Ask } else { Gate::Allow }, ..Judged::settled() }
    }
}
