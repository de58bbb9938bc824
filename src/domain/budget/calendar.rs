//! When budgets start anew: with the days of the person, which no change of the time zone cuts short.
//!
//! Somewhere on earth a day begins every hour. Whoever could start their budget anew by going over to
//! the time zone in which that is so would have one for each hour.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Period, Window};
use crate::domain::zone::Zone;

/// A window that goes on over a change of the time zone.
type Times = (DateTime<Utc>, DateTime<Utc>);

/// The windows that a person was in when they last changed their time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    day: Option<Times>,
    week: Option<Times>,
    month: Option<Times>,
}

/// Where a person's days begin, as budgets count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    pub zone: Zone,
    pub kept: Kept,
}

impl Calendar {
    /// The window of a period at a moment.
    pub fn window(&self, period: Period, now: DateTime<Utc>) -> Window {
        let kept = match period {
            Period::Day => self.kept.day,
            Period::Week => self.kept.week,
            Period::Month => self.kept.month,
            Period::Total => None,
        };
        match kept.filter(|(from, until)| (*from..*until).contains(&now)) {
            Some((from, until)) => Window { from: Some(from), until: Some(until) },
            None => Window::of(period, self.zone, now),
        }
    }

    /// What is kept of a person who goes over to another time zone. A window in which something was
    /// spent goes on until one begins there that is not before its end, so that none is ever
    /// shorter than its period.
    pub fn kept_over(&self, to: Zone, now: DateTime<Utc>, spent: &[Period]) -> Kept {
        let kept = |period| {
            let window = self.window(period, now);
            let (from, end) = (window.from?, window.until?);
            let there = Window::of(period, to, end);
            let until = if there.from == Some(end) { Some(end) } else { there.until };
            until.filter(|_| spent.contains(&period)).map(|until| (from, until))
        };
        Kept { day: kept(Period::Day), week: kept(Period::Week), month: kept(Period::Month) }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const ALL: [Period; 3] = [Period::Day, Period::Week, Period::Month];

    fn zone(name: &str) -> Zone {
        name.parse().unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn who_travels_goes_on_with_the_window_until_one_begins_there() {
        let home = Calendar { zone: zone("UTC"), kept: Kept::default() };
        let now = at("2026-03-04T12:00:00Z");
        let there = zone("Pacific/Kiritimati");
        let away = Calendar { zone: there, kept: home.kept_over(there, now, &ALL) };
        let day = away.window(Period::Day, now);
        assert_eq!(day.from, Some(at("2026-03-04T00:00:00Z")));
        assert_eq!(day.until, Some(at("2026-03-05T10:00:00Z")));
        let next = away.window(Period::Day, at("2026-03-05T10:00:00Z"));
        assert_eq!(next, Window::of(Period::Day, there, at("2026-03-05T10:00:00Z")));
        assert_eq!(away.window(Period::Total, now), Window { from: None, until: None });
        // Where nothing was spent, nothing is escaped.
        let free = Calendar { zone: there, kept: home.kept_over(there, now, &[]) };
        assert_eq!(free.window(Period::Day, now), Window::of(Period::Day, there, now));
        // Where it is the same time, nothing changes.
        let same = home.kept_over(zone("Africa/Abidjan"), now, &ALL);
        assert_eq!(same.day, Some((at("2026-03-04T00:00:00Z"), at("2026-03-05T00:00:00Z"))));
    }

    #[test]
    fn whoever_changes_it_every_hour_has_no_shorter_days() {
        let mut calendar = Calendar { zone: zone("UTC"), kept: Kept::default() };
        let mut now = at("2026-03-04T12:00:00Z");
        for period in ALL {
            let mut window = calendar.window(period, now);
            for hour in 0..24 * 70 {
                now += TimeDelta::hours(1);
                let to = zone(&format!("Etc/GMT{:+}", hour % 27 - 14));
                let kept = calendar.kept_over(to, now, &ALL);
                calendar = Calendar { zone: to, kept };
                let next = calendar.window(period, now);
                if next.from != window.from {
                    let length = window.until.unwrap() - window.from.unwrap();
                    let least = match period {
                        Period::Day => 24,
                        Period::Week => 7 * 24,
                        Period::Month | Period::Total => 28 * 24,
                    };
                    assert!(length >= TimeDelta::hours(least), "{period}: {length}");
                    assert!(next.from >= window.until, "{period}: {window:?} {next:?}");
                }
                window = next;
            }
        }
    }
}
