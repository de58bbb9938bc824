//! Slows down guessing: after a few failures in a row each further try waits longer.
//!
//! A try is counted as a failure when it begins and forgiven when it succeeds, so that tries at
//! the same time count too. What is refused is not counted: nobody can keep a key shut by
//! knocking, and the longest wait is minutes.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

/// How patient a throttle is.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Failures that cost nothing.
    pub free: u32,
    /// The longest wait. The first is a second, and each is twice the one before.
    pub longest: TimeDelta,
}

/// A login, from anywhere.
pub const LOGIN: Limits = Limits { free: 5, longest: TimeDelta::minutes(5) };
/// An address, whatever the login. Offices share one.
pub const ADDRESS: Limits = Limits { free: 20, longest: TimeDelta::minutes(15) };

/// Time without a failure after which a key is forgotten.
const FORGOTTEN: TimeDelta = TimeDelta::hours(1);
/// Keys that are remembered.
const KEYS: usize = 10_000;
/// Bytes of a key that count.
const KEY_BYTES: usize = 96;

/// The failures that are remembered.
#[derive(Debug, Default)]
pub struct Throttle {
    failures: HashMap<String, Failures>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl Throttle {
    /// Begins a try that counts for all of these keys.
    ///
    /// Returns how long the next one will have to wait should this one fail, or, if this one must
    /// not even be made, how long to wait with it.
    pub fn begin(
        &mut self,
        keys: &[(&str, Limits)],
        now: DateTime<Utc>,
    ) -> Result<TimeDelta, TimeDelta> {
        let wait = keys.iter().map(|(key, _)| self.wait(key, now)).max().unwrap_or_default();
        if wait > TimeDelta::zero() {
            return Err(wait);
        }
        let mut next = TimeDelta::zero();
        for (key, limits) in keys {
            next = next.max(self.fail(short(key), *limits, now));
        }
        self.make_room(now);
        Ok(next)
    }

    /// The try was right: the first of its keys starts afresh, the others lose this one failure.
    pub fn succeeded(&mut self, keys: &[(&str, Limits)]) {
        for (index, (key, limits)) in keys.iter().enumerate() {
            let Some(failures) = self.failures.get_mut(short(key)) else { continue };
            failures.count = failures.count.saturating_sub(1);
            failures.until = failures.last;
            if index == 0 || failures.count == 0 {
                self.failures.remove(short(key));
            } else if failures.count > limits.free {
                failures.until = failures.last + delay(failures.count, *limits);
            }
        }
    }

    fn wait(&self, key: &str, now: DateTime<Utc>) -> TimeDelta {
        self.failures.get(short(key)).map_or(TimeDelta::zero(), |failures| failures.until - now)
    }

    fn fail(&mut self, key: &str, limits: Limits, now: DateTime<Utc>) -> TimeDelta {
        let fresh = Failures { count: 0, last: now, until: now };
        let failures = self.failures.entry(key.to_owned()).or_insert(fresh);
        if now - failures.last > FORGOTTEN {
            *failures = fresh;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        let delay = delay(failures.count, limits);
        failures.until = now + delay;
        delay
    }

    fn make_room(&mut self, now: DateTime<Utc>) {
        if self.failures.len() <= KEYS {
            return;
        }
        self.failures.retain(|_, failures| now - failures.last <= FORGOTTEN);
        if self.failures.len() <= KEYS {
            return;
        }
        let mut counts: Vec<_> = self.failures.values().map(|it| (it.count, it.last)).collect();
        counts.sort_unstable();
        // Those that failed least and longest ago go, half of all, so that this is seldom.
        let middle = counts[counts.len() / 2];
        self.failures.retain(|_, failures| (failures.count, failures.last) > middle);
    }
}

fn delay(count: u32, limits: Limits) -> TimeDelta {
    let Some(over) = count.checked_sub(limits.free + 1) else { return TimeDelta::zero() };
    TimeDelta::seconds(1_i64 << over.min(20)).min(limits.longest)
}

fn short(key: &str) -> &str {
    &key[..key.floor_char_boundary(KEY_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Limits = Limits { free: 2, longest: TimeDelta::seconds(60) };

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn waits_grow_up_to_the_longest() {
        let mut throttle = Throttle::default();
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..10 {
            let wait = throttle.begin(&[("ada", FEW)], at(now)).unwrap().num_seconds();
            waits.push(wait);
            now += wait;
        }
        assert_eq!(waits, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn knocking_on_a_shut_key_does_not_keep_it_shut() {
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            throttle.begin(&[("ada", FEW)], at(0)).unwrap();
        }
        for _ in 0..1000 {
            assert_eq!(throttle.begin(&[("ada", FEW)], at(0)), Err(TimeDelta::seconds(1)));
        }
        assert!(throttle.begin(&[("ada", FEW)], at(1)).is_ok());
    }

    #[test]
    fn a_success_forgets_the_login_and_not_the_address() {
        let mut throttle = Throttle::default();
        let keys = [("ada", FEW), ("address", FEW)];
        for _ in 0..2 {
            throttle.begin(&keys, at(0)).unwrap();
        }
        throttle.begin(&keys, at(0)).unwrap();
        throttle.succeeded(&keys);
        assert_eq!(throttle.begin(&[("ada", FEW)], at(0)), Ok(TimeDelta::zero()));
        assert_eq!(throttle.begin(&[("address", FEW)], at(0)), Ok(TimeDelta::seconds(1)));
    }

    #[test]
    fn a_quiet_hour_is_forgiven() {
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            throttle.begin(&[("ada", FEW)], at(0)).unwrap();
        }
        assert_eq!(throttle.begin(&[("ada", FEW)], at(3601)), Ok(TimeDelta::zero()));
    }

    #[test]
    fn memory_is_bounded_and_the_worst_are_kept() {
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            throttle.begin(&[("ada", FEW)], at(0)).unwrap();
        }
        for n in 0..3 * KEYS {
            throttle.begin(&[(&format!("{n} {}", "x".repeat(500)), FEW)], at(0)).unwrap();
        }
        assert!(throttle.failures.len() <= KEYS + 1);
        assert!(throttle.begin(&[("ada", FEW)], at(0)).is_err());
    }
}
