//! The one gate that every tool call passes: what the rules say of what it is about.

use std::{collections::HashSet, sync::Arc};

use anyhow::Context as _;

use super::{
    Engine,
    rules::Rules,
    tools::{Subject, Target, Veil},
};
use crate::{
    adapters::proxy::{self, Refusal},
    domain::{
        ask::ProposedRule,
        ids::SessionId,
        permission::{self, About, Action, Call, Judgement, Place, Reachable, RuleSet},
        turn::Gate,
    },
    store,
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
    /// The rules that "always" would save; empty where that is not offered.
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
#[derive(Clone)]
pub struct Gatekeeper {
    held: Arc<Held>,
}

struct Held {
    /// What [`crate::store::Db::gates`] said before the rules were read.
    gates: u64,
    rules: RuleSet,
    root: String,
    data_dir: String,
    /// Where the session's own long outputs lie: they may be read without asking.
    outputs: std::path::PathBuf,
}

impl Gatekeeper {
    /// Reads the rules that hold for a session as they are now.
    pub async fn of_session(engine: &Engine, session: SessionId) -> anyhow::Result<Self> {
        // Before anything is read: what changes from here on is noticed.
        let gates = engine.db.gates();
        let found = store::sessions::with_project(&engine.db, session).await?;
        let (session, project) = found.context("the session is gone")?;
        let data_dir = engine.config.data.dir.canonicalize();
        let data_dir = data_dir.unwrap_or_else(|_| engine.config.data.dir.clone());
        let outputs = data_dir.join("outputs").join(session.id.to_string());
        let rules = Rules::of(engine).set(&project).await?;
        let data_dir = data_dir.to_string_lossy().into_owned();
        let held = Held { gates, rules, root: project.path, data_dir, outputs };
        Ok(Self { held: Arc::new(held) })
    }

    /// Whether no rule and no trust has changed since the rules were read.
    pub fn is_current(&self, engine: &Engine) -> bool {
        self.held.gates == engine.db.gates()
    }

    /// What searches must not show, because a rule does not let it be read.
    pub fn veil(&self) -> Veil {
        let held = self.held.clone();
        Veil::new(move |path| !permission::may_show(&held.rules, held.place(), path))
    }

    /// Whether commands may reach any host at all.
    pub fn has_network(&self) -> bool {
        permission::may_reach_some(&self.held.rules)
    }

    /// Whether a command may reach a host; if not, why.
    pub fn may_reach(&self, target: &proxy::Target) -> Result<(), Refusal> {
        let held = &self.held;
        match permission::may_reach(&held.rules, held.place(), &target.to_string()) {
            Reachable::Yes => Ok(()),
            Reachable::NoRule => Err(Refusal::NoRule),
            Reachable::Denied(rule) => Err(Refusal::Rule(rule)),
            Reachable::Untrusted => Err(Refusal::Untrusted),
        }
    }

    /// Judges a call by all that it is about; the strictest verdict holds.
    pub fn judge(&self, tool: &str, subjects: &[Subject]) -> Judged {
        let mut strictest: Option<(Action, Judged)> = None;
        let mut always = Some(Vec::new());
        let mut reasons = Vec::new();
        for subject in subjects {
            let (judgement, text) = self.one(tool, subject);
            let action = judgement.action;
            if action == Action::Ask {
                reasons.extend(judgement.reasons.iter().cloned());
                let proposed = judgement.always.clone();
                always = always.zip(proposed).map(|(mut all, more)| {
                    all.extend(
                        more.into_iter()
                            .map(|it| ProposedRule { tool: it.tool, pattern: it.pattern }),
                    );
                    all
                });
            }
            if strictest.as_ref().is_none_or(|(before, _)| action > *before) {
                strictest = Some((action, judged(judgement, text)));
            }
        }
        let Some((_, mut judged)) = strictest else { return Judged::settled() };
        if let [Subject::Path(_), _, ..] = subjects {
            // Whoever is asked is asked about all of them.
            let shown = subjects.iter().filter_map(|subject| match subject {
                Subject::Path(target) => Some(target.shown()),
                _ => None,
            });
            judged.subject = shown.collect::<Vec<_>>().join("\n");
        }
        if judged.gate == Gate::Ask {
            judged.always = always.unwrap_or_default();
            judged.reasons = reasons;
            let mut told = HashSet::new();
            judged.always.retain(|it| told.insert((it.tool.clone(), it.pattern.clone())));
        }
        judged
    }

    fn one(&self, tool: &str, subject: &Subject) -> (Judgement, String) {
        let held = &self.held;
        let call =
            |about| permission::judge(&held.rules, &Call { tool, about, place: held.place() });
        match subject {
            Subject::Path(target) if tool == "read" && held.is_own_output(target) => {
                (own_output(), target.shown())
            }
            Subject::Path(target) => {
                let real = target.real.to_string_lossy();
                let about = match &target.inside {
                    Some(inside) => About::Path { inside },
                    None => About::External { path: &real },
                };
                // A command's folder is looked at, and changed by the command if at all.
                let tool = if tool == "bash" { "list" } else { tool };
                let call = Call { tool, about, place: held.place() };
                (permission::judge(&held.rules, &call), target.shown())
            }
            Subject::Command { text, folder } => {
                let real = folder.as_ref().map(|it| it.real.to_string_lossy());
                let cwd = folder.as_ref().and_then(|it| it.inside.as_deref());
                let cwd = cwd.or(real.as_deref()).unwrap_or(".");
                (call(About::Command { text, cwd }), text.clone())
            }
            Subject::Plain => (call(About::Plain), String::new()),
        }
    }
}

impl Held {
    fn place(&self) -> Place<'_> {
        Place { root: &self.root, home: "/tmp", data_dir: &self.data_dir }
    }

    fn is_own_output(&self, target: &Target) -> bool {
        target.real.starts_with(&self.outputs)
    }
}

fn judged(judgement: Judgement, subject: String) -> Judged {
    let gate = match judgement.action {
        Action::Allow => Gate::Allow,
        Action::Ask => Gate::Ask,
        Action::Deny => Gate::Deny,
    };
    Judged {
        gate,
        subject,
        because: judgement.because,
        reasons: judgement.reasons,
        always: Vec::new(),
    }
}

/// A session reads the long outputs of its own commands.
fn own_output() -> Judgement {
    Judgement {
        action: Action::Allow,
        origin: permission::Origin::BuiltIn,
        because: "built-in: the output of a command of this session".into(),
        parts: Vec::new(),
        always: None,
        reasons: Vec::new(),
    }
}
