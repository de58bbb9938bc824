//! The limits of a run besides its steps: how long it may work, and what it may cost.

use std::time::{Duration, Instant};

use crate::config::Agent;

/// How far a run has come.
pub(super) struct Limits {
    most: Duration,
    /// Micro-dollars.
    most_cost: Option<i64>,
    cost_before: i64,
    worked: Duration,
    /// Since when it works; `None` while a person is waited for, which costs nobody anything.
    since: Option<Instant>,
}

impl Limits {
    /// The limits of a run in a session that has cost so much already, in micro-dollars.
    pub fn new(config: &Agent, cost_before: i64, now: Instant) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a config value of some dollars")]
        let micros = |dollars: f64| (dollars * 1e6) as i64;
        Self {
            most: Duration::from_secs(config.max_minutes * 60),
            most_cost: config.max_cost.map(micros),
            cost_before,
            worked: Duration::ZERO,
            since: Some(now),
        }
    }

    /// Says whether a person is being waited for.
    pub fn waits(&mut self, waits: bool, now: Instant) {
        match (waits, self.since) {
            (true, Some(since)) => {
                self.worked += now.duration_since(since);
                self.since = None;
            }
            (false, None) => self.since = Some(now),
            _ => {}
        }
    }

    /// Which limit is reached, in words, where the session has cost so much by now.
    pub fn reached(&self, cost: i64, now: Instant) -> Option<String> {
        let since = self.since.map(|since| now.duration_since(since));
        let worked = self.worked + since.unwrap_or_default();
        if worked >= self.most {
            let minutes = self.most.as_secs() / 60;
            return Some(format!("{minutes} minutes of work"));
        }
        let most = self.most_cost?;
        (cost - self.cost_before >= most).then(|| format!("${:.2}", most as f64 / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(max_minutes: u64, max_cost: Option<f64>) -> Agent {
        Agent { max_minutes, max_cost, ..Agent::default() }
    }

    #[test]
    fn time_counts_but_not_while_a_person_is_waited_for() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut limits = Limits::new(&config(10, None), 0, start);
        limits.waits(true, at(540));
        limits.waits(true, at(900));
        assert_eq!(limits.reached(0, at(4_000)), None);
        limits.waits(false, at(5_000));
        assert_eq!(limits.reached(0, at(5_059)), None);
        assert!(limits.reached(0, at(5_060)).unwrap().contains("10 minutes"));
    }

    #[test]
    fn what_it_costs_counts_from_its_beginning() {
        let now = Instant::now();
        let limits = Limits::new(&config(10, Some(0.5)), 2_000_000, now);
        assert_eq!(limits.reached(2_499_999, now), None);
        assert!(limits.reached(2_500_000, now).unwrap().contains("$0.50"));
        assert_eq!(Limits::new(&config(10, None), 0, now).reached(i64::MAX, now), None);
    }
}
