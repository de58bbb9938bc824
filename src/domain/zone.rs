//! Where a person's days begin, over every change of the clocks there.

use std::{fmt, ops::Range, str::FromStr};

use chrono::{
    DateTime, Days as Later, NaiveDate, NaiveTime, Offset as _, TimeDelta, TimeZone as _, Utc,
};
use chrono_tz::{TZ_VARIANTS, Tz};

/// Seconds of a bucket. Every offset from UTC is a multiple of it, so that days of every time zone
/// begin with a bucket.
const BUCKET: i64 = 15 * 60;

/// Buckets of a day without a change of the clocks.
pub const BUCKETS_A_DAY: i64 = 96;

/// The quarter of an hour that a moment lies in, counted from 1970.
pub fn bucket(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(BUCKET)
}

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(Tz);

impl Zone {
    /// The one that a person has chosen, or the default.
    pub fn of(chosen: Option<&str>, default: Tz) -> Self {
        chosen.and_then(|name| name.parse().ok()).unwrap_or(Self(default))
    }

    /// The names that people choose from.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TZ_VARIANTS.iter().map(|zone| zone.name())
    }

    /// The day that it is there.
    pub fn day(self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.0).date_naive()
    }

    /// When a day begins there. Where the clocks jump over midnight, that is after the jump.
    pub fn start(self, day: NaiveDate) -> DateTime<Utc> {
        let mut local = day.and_time(NaiveTime::MIN);
        // Whole days have been left out too.
        for _ in 0..2 * BUCKETS_A_DAY {
            if let Some(at) = self.0.from_local_datetime(&local).earliest() {
                return at.with_timezone(&Utc);
            }
            local += TimeDelta::seconds(BUCKET);
        }
        local.and_utc()
    }

    /// A moment as people there write it: `2 December 2026 at 00:00 (Europe/Berlin)`.
    pub fn written(self, at: DateTime<Utc>) -> String {
        let local = at.with_timezone(&self.0);
        format!("{} ({})", local.format("%-d %B %Y at %H:%M"), self.0.name())
    }

    /// How far ahead of UTC a bucket is, in buckets.
    fn ahead(self, bucket: i64) -> i64 {
        let at = DateTime::from_timestamp(bucket.saturating_mul(BUCKET), 0).unwrap_or_default();
        let offset = self.0.offset_from_utc_datetime(&at.naive_utc()).fix();
        i64::from(offset.local_minus_utc()).div_euclid(BUCKET)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// No zone has that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no such time zone. Write its name like Europe/Berlin.")]
pub struct UnknownZone;

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        name.parse().map(Self).map_err(|_| UnknownZone)
    }
}

/// Some days of a time zone, the first and the last among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub zone: Zone,
    pub first: NaiveDate,
    pub last: NaiveDate,
}

/// How far ahead of UTC a zone is until some bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub until: i64,
    pub buckets: i64,
}

impl Span {
    /// The buckets of these days.
    pub fn buckets(&self) -> Range<i64> {
        let after = self.last.checked_add_days(Later::new(1)).unwrap_or(self.last);
        bucket(self.zone.start(self.first))..bucket(self.zone.start(after))
    }

    /// How many days there are.
    pub fn days(&self) -> i64 {
        (self.last - self.first).num_days() + 1
    }

    /// Each of the days.
    pub fn each(&self) -> impl Iterator<Item = NaiveDate> {
        self.first.iter_days().take(usize::try_from(self.days()).unwrap_or(0))
    }

    /// How far ahead of UTC the zone is in these days: one after the other, mostly one or two.
    pub fn ahead(&self) -> Vec<Ahead> {
        let Range { start, end } = self.buckets();
        let (mut all, mut from) = (Vec::new(), start);
        while from < end {
            let buckets = self.zone.ahead(from);
            let mut until = from;
            // Day by day, then exactly.
            while until < end && self.zone.ahead(until) == buckets {
                until += BUCKETS_A_DAY;
            }
            while until > from && self.zone.ahead(until - 1) != buckets {
                until -= 1;
            }
            let until = until.min(end);
            all.push(Ahead { until, buckets });
            from = until;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_day_begins_where_the_person_is() {
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        assert_eq!(berlin.start(day("2026-01-10")), at("2026-01-09T23:00:00Z"));
        assert_eq!(berlin.start(day("2026-07-10")), at("2026-07-09T22:00:00Z"));
        assert_eq!(berlin.day(at("2026-07-09T22:30:00Z")), day("2026-07-10"));
        let kathmandu: Zone = "Asia/Kathmandu".parse().unwrap();
        assert_eq!(kathmandu.start(day("2026-01-10")), at("2026-01-09T18:15:00Z"));
        assert!("Mars/Olympus".parse::<Zone>().is_err());
    }

    #[test]
    fn a_midnight_that_is_jumped_over_begins_after_the_jump() {
        let sao_paulo: Zone = "America/Sao_Paulo".parse().unwrap();
        assert_eq!(sao_paulo.start(day("2018-11-04")), at("2018-11-04T03:00:00Z"));
        let apia: Zone = "Pacific/Apia".parse().unwrap();
        assert_eq!(apia.start(day("2011-12-30")), apia.start(day("2011-12-31")));
    }

    #[test]
    fn days_with_a_change_of_the_clocks_are_shorter_and_longer() {
        let zone: Zone = "Europe/Berlin".parse().unwrap();
        let of = |text| Span { zone, first: day(text), last: day(text) }.buckets();
        let length = |text| of(text).end - of(text).start;
        assert_eq!(
            [length("2026-03-28"), length("2026-03-29"), length("2026-10-25")],
            [96, 92, 100]
        );
    }

    #[test]
    fn each_bucket_falls_on_the_day_that_the_clock_on_the_wall_says() {
        for name in ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe"]
        {
            let zone: Zone = name.parse().unwrap();
            let span = Span { zone, first: day("2018-01-01"), last: day("2018-12-31") };
            let ahead = span.ahead();
            assert!(ahead.len() <= 3, "{name}: {ahead:?}");
            for bucket in span.buckets() {
                let part = ahead.iter().find(|part| bucket < part.until).unwrap();
                let number = (bucket + part.buckets) / BUCKETS_A_DAY;
                let moment = DateTime::from_timestamp(bucket * BUCKET, 0).unwrap();
                let since = zone.day(moment) - NaiveDate::default();
                assert_eq!(number, since.num_days(), "{name} at {moment}");
            }
        }
    }
}
