//! What administrators set while Forge runs. What is not set is as the configuration says.

use serde::{Deserialize, Serialize};

use super::reach::{WrongHost, parse_host};

/// The version of [`Values`] that is written.
const VERSION: u32 = 1;
/// The most hosts that can be allowed.
const MOST_HOSTS: usize = 200;

/// What is set; what is absent is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    pub version: u32,
    /// Whether members may have providers of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personal_providers: Option<bool>,
    /// Hosts in the server's own network that these may lie at all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,
}

/// What is to be changed; `Some(None)` takes a value away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub personal_providers: Option<Option<bool>>,
    pub allowed_hosts: Option<Option<Vec<String>>>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Config,
    /// It was set for the whole server.
    Global,
}

/// A value that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    pub value: T,
    pub from: Origin,
}

/// Why hosts are not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongHosts {
    #[error("Allow at most {MOST_HOSTS} hosts.")]
    TooMany,
    #[error(transparent)]
    Wrong(#[from] WrongHost),
}

impl<T: Clone> Given<T> {
    /// What is set, or else what the configuration says.
    pub fn of(set: Option<&T>, config: &T) -> Self {
        match set {
            Some(set) => Self { value: set.clone(), from: Origin::Global },
            None => Self { value: config.clone(), from: Origin::Config },
        }
    }

    /// Whether it was set, and can be reset.
    pub fn is_set(&self) -> bool {
        self.from == Origin::Global
    }
}

impl Change {
    /// With hosts as they are compared, each once.
    pub fn checked(mut self) -> Result<Self, WrongHosts> {
        if let Some(Some(hosts)) = &mut self.allowed_hosts {
            if hosts.len() > MOST_HOSTS {
                return Err(WrongHosts::TooMany);
            }
            let mut all = Vec::with_capacity(hosts.len());
            for host in &*hosts {
                let host = parse_host(host)?;
                if !all.contains(&host) {
                    all.push(host);
                }
            }
            *hosts = all;
        }
        Ok(self)
    }

    /// The names of what it touches.
    pub fn keys(&self) -> Vec<&'static str> {
        let touched = [
            ("personal_providers", self.personal_providers.is_some()),
            ("allowed_hosts", self.allowed_hosts.is_some()),
        ];
        touched.into_iter().filter_map(|(key, touched)| touched.then_some(key)).collect()
    }
}

impl Values {
    /// The same after a change.
    #[must_use]
    pub fn changed(self, change: Change) -> Self {
        Self {
            version: VERSION,
            personal_providers: change.personal_providers.unwrap_or(self.personal_providers),
            allowed_hosts: change.allowed_hosts.unwrap_or(self.allowed_hosts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_changed_is_stored_and_a_reset_takes_it_away() {
        let off = Change { personal_providers: Some(Some(false)), ..Change::default() };
        let values = Values::default().changed(off);
        let stored = serde_json::to_string(&values).unwrap();
        assert_eq!(stored, r#"{"version":1,"personal_providers":false}"#);
        let reset = Change { personal_providers: Some(None), ..Change::default() };
        assert_eq!(serde_json::to_string(&values.changed(reset)).unwrap(), r#"{"version":1}"#);
    }

    #[test]
    fn what_is_set_goes_before_the_configuration() {
        assert_eq!(Given::of(None, &true), Given { value: true, from: Origin::Config });
        assert_eq!(Given::of(Some(&false), &true), Given { value: false, from: Origin::Global });
    }

    #[test]
    fn hosts_are_kept_as_they_are_compared_and_each_once() {
        let of = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
            let change = Change { allowed_hosts: Some(Some(hosts)), ..Change::default() };
            change.checked().map(|it| it.allowed_hosts.flatten().unwrap())
        };
        let kept = of(&[" LLM.Internal. ", "llm.internal", "[FD00::7]", "10.0.0.7"]);
        assert_eq!(kept, Ok(["llm.internal", "fd00::7", "10.0.0.7"].map(str::to_owned).to_vec()));
        assert!(matches!(of(&["10.0.0.0/8"]), Err(WrongHosts::Wrong(_))));
        assert_eq!(of(&["a"; MOST_HOSTS + 1]), Err(WrongHosts::TooMany));
    }
}
