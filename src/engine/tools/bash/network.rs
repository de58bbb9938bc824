//! The network of a command: which way out it gets, and what is told of where it went.

use serde_json::{Value, json};

use super::{super::Outcome, BashContext};
use crate::adapters::{
    proxy::Visit,
    sandbox::{Mode, Network},
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
