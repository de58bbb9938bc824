//! Which hosts commands reach.

use super::{PLACE, rules};
use crate::domain::permission::{Reachable, Trust, may_reach, may_reach_some};

#[test]
fn only_a_rule_that_names_the_network_lets_commands_out() {
    for (text, host, expected) in [
        ("", "crates.io", "no rule"),
        ("project allow * *", "crates.io", "no rule"),
        ("project ask * *", "crates.io", "no rule"),
        ("project allow web_fetch *", "crates.io", "no rule"),
        ("project allow bash *", "crates.io", "no rule"),
        ("project allow network crates.io", "crates.io", "yes"),
        ("project allow network crates.io", "Crates.IO", "yes"),
        ("project allow network crates.io", "index.crates.io", "no rule"),
        ("project allow network crates.io", "crates.io.evil.org", "no rule"),
        ("project allow network crates.io", "evil-crates.io", "no rule"),
        ("project allow network *.crates.io", "index.crates.io", "yes"),
        ("project allow network *.crates.io", "crates.io", "no rule"),
        ("project allow network *.crates.io", "xcrates.io", "no rule"),
        ("project allow network *", "anything.example", "yes"),
        // Other ports than those of the web are named.
        ("project allow network github.com", "github.com:22", "no rule"),
        ("project allow network github.com:22", "github.com:22", "yes"),
        ("project allow network github.com:22", "github.com", "no rule"),
        ("project allow network 93.184.215.14", "93.184.215.14", "yes"),
        ("global allow network crates.io", "crates.io", "yes"),
        ("agent allow network crates.io", "crates.io", "yes"),
        ("global deny network *\nproject allow network crates.io", "crates.io", "denied"),
        ("global deny * *\nproject allow network crates.io", "crates.io", "denied"),
        ("global deny network *.evil.org\nproject allow network *", "x.evil.org", "denied"),
        ("global deny network *.evil.org\nproject allow network *", "good.org", "yes"),
        ("project allow network *\nproject deny network evil.org", "evil.org", "denied"),
        ("project deny network evil.org\nproject allow network *", "evil.org", "yes"),
        ("global allow network *\nproject deny network evil.org", "evil.org", "denied"),
    ] {
        let found = match may_reach(&rules(text), PLACE, host) {
            Reachable::Yes => "yes",
            Reachable::NoRule => "no rule",
            Reachable::Denied(rule) => {
                assert!(rule.contains("deny"), "{rule}");
                "denied"
            }
            Reachable::Untrusted => "untrusted",
        };
        assert_eq!(found, expected, "{text} for {host}");
    }
}

#[test]
fn an_untrusted_project_reaches_nothing() {
    let mut rules = rules("project allow network *");
    assert!(may_reach_some(&rules));
    rules.trusted = Trust::Untrusted;
    assert_eq!(may_reach(&rules, PLACE, "crates.io"), Reachable::Untrusted);
    assert!(!may_reach_some(&rules));
}

#[test]
fn without_a_rule_that_allows_there_is_no_way_out() {
    assert!(!may_reach_some(&rules("project allow * *\nglobal deny network *")));
    assert!(may_reach_some(&rules("global allow network a.org")));
}
