//! The network of a command: which way out it gets, and what is told of where it went.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{super::Outcome, BashContext};
use crate::{
    adapters::{
        proxy::{Judge, Refusal, Target, Visit},
        sandbox::{Mode, Network},
    },
    domain::ids::SessionId,
    engine::{Engine, gate::Gatekeeper},
};

/// Hosts that are told of with a call.
const TOLD: usize = 10;

/// The way out that a command gets. What may pass is judged host by host.
pub(super) fn of(context: &BashContext<'_>) -> Network {
    match context.engine.sandbox.report().mode {
        // In a network of its own the proxy is all that it could reach. Also where no rule allows
        // anything, so that it learns why.
        Some(Mode::Namespaces) => Network::Door,
        // Here a way out means that it may make sockets at all.
        _ if context.gate.has_network() => Network::Door,
        _ => Network::Off,
    }
}

/// Judges the hosts of a command by the rules that hold at that moment: it may run for long, and
/// what a person allows or forbids meanwhile is meant for it too.
pub(super) fn judge(context: &BashContext<'_>) -> impl Judge + use<> {
    ByTheRules {
        engine: context.engine.clone(),
        session: context.session,
        gate: Mutex::new(context.gate.clone()),
    }
}

struct ByTheRules {
    engine: Arc<Engine>,
    session: SessionId,
    /// With the rules as they were read last.
    gate: Mutex<Gatekeeper>,
}

impl Judge for ByTheRules {
    fn judge<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            let mut gate = self.gate.lock().await;
            if !gate.is_current(&self.engine) {
                let read = Gatekeeper::of_session(&self.engine, self.session).await;
                *gate = read.map_err(|err| {
                    tracing::error!(session = %self.session, "reading rules for a command: {err:#}");
                    Refusal::RulesUnread
                })?;
            }
            gate.may_reach(target)
        })
    }
}

/// Adds what was reached, and says what was not and what would help.
pub(super) fn tell(outcome: &mut Outcome, context: &BashContext<'_>, visits: &[Visit]) {
    let mut refused = 0;
    for visit in visits {
        if let Some(refusal) = &visit.refused {
            refused += 1;
            if refused <= TOLD {
                outcome.say(&refusal.about(&visit.target));
            }
        }
    }
    if refused > TOLD {
        outcome.say(&format!("{} more hosts were not reached.", refused - TOLD));
    }
    let report = context.engine.sandbox.report();
    let promised = context.gate.has_network();
    if promised && report.mode == Some(Mode::Landlock) && !report.has_network() {
        outcome.say(
            "The rules allow commands to reach hosts, but this server cannot keep them to those, \
             so there was no network. Its administrators see on the Sandbox page what would help.",
        );
    }
    if let (Value::Object(fields), false) = (&mut outcome.metadata, visits.is_empty()) {
        fields.insert("network".into(), metadata(visits));
    }
}

/// What is kept with a call of the hosts that its command asked for.
pub(super) fn metadata(visits: &[Visit]) -> Value {
    let visits = visits.iter().take(TOLD * 2).map(|visit| {
        json!({
            "host": visit.target.to_string(),
            "connections": visit.connections,
            "bytes": visit.bytes,
            "refused": visit.refused.as_ref().map(|it| it.about(&visit.target)),
        })
    });
    visits.collect()
}
