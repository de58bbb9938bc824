//! Which hosts commands may reach while they run.

use super::{
    judge::{About, Call, judge},
    paths::Place,
    rule::{Action, NETWORK, Origin, RuleSet, Trust},
};

/// What the rules say of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reachable {
    Yes,
    /// No rule is about it.
    NoRule,
    /// This rule refuses it.
    Denied(String),
    /// Its project is not trusted.
    Untrusted,
}

/// Whether a command may reach a host: a name or an address, with a port where it is not one of the
/// web's.
pub fn may_reach(rules: &RuleSet, place: Place<'_>, host: &str) -> Reachable {
    let host = host.to_ascii_lowercase();
    let judged = judge(rules, &Call { tool: NETWORK, about: About::Host { host: &host }, place });
    match judged.action {
        Action::Allow => Reachable::Yes,
        // Nothing is asked while a command runs, so this is what distrust makes of an allow.
        Action::Ask => Reachable::Untrusted,
        Action::Deny if judged.origin == Origin::BuiltIn => Reachable::NoRule,
        Action::Deny => Reachable::Denied(judged.because),
    }
}

/// Whether there may be any host at all that commands reach.
pub fn may_reach_some(rules: &RuleSet) -> bool {
    rules.trusted == Trust::Trusted
        && rules.all().any(|rule| rule.tool == NETWORK && rule.action == Action::Allow)
}
