//! Budgets: how much may be spent by whom, in which time, and what a call may cost at most.

mod calendar;

use std::{fmt, ops::Range, str::FromStr};

use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

pub use self::calendar::{Calendar, Kept};
use super::{
    ids::{ProjectId, SessionId, UserId},
    message::{UnknownWord, words},
    provider::ModelMeta,
    zone::{Zone, bucket},
};

/// Whose spending a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Each person by themselves, unless they have a budget of their own for the same period.
    Everyone,
    User,
    Project,
    Session,
}

/// The time after which a budget starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    Day,
    /// From Monday on.
    Week,
    Month,
    /// Never.
    Total,
}

words! {
    Scope { Everyone => "everyone", User => "user", Project => "project", Session => "session" }
    Period { Day => "day", Week => "week", Month => "month", Total => "total" }
}

/// Whose calls are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    User(UserId),
    Project(ProjectId),
    Session(SessionId),
}

/// The most that a budget can be, in micro-dollars.
pub const MOST: i64 = 1_000_000_000_000;

/// The time that a budget is about now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Option<DateTime<Utc>>,
    /// When it starts anew.
    pub until: Option<DateTime<Utc>>,
}

impl Window {
    /// The window of a period at a moment, where a person is.
    pub fn of(period: Period, zone: Zone, now: DateTime<Utc>) -> Self {
        let today = zone.day(now);
        let (first, next) = match period {
            Period::Total => return Self { from: None, until: None },
            Period::Day => (today, today + Days::new(1)),
            Period::Week => {
                let monday = today - Days::new(today.weekday().num_days_from_monday().into());
                (monday, monday + Days::new(7))
            }
            Period::Month => {
                let first = NaiveDate::from_ymd_opt(today.year(), today.month(), 1);
                let first = first.unwrap_or(today);
                (first, first + Months::new(1))
            }
        };
        Self { from: Some(zone.start(first)), until: Some(zone.start(next)) }
    }

    pub fn buckets(&self) -> Range<i64> {
        self.from.map_or(0, bucket)..self.until.map_or(i64::MAX, bucket)
    }
}

/// What one call may cost at most, known before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Micro-dollars of what is sent.
    input: i64,
    /// Micro-dollars per million tokens of the answer.
    price: i64,
    /// The most tokens of the answer.
    output: u64,
    /// Whether that is a guess, to which the answer has to be held.
    guessed: bool,
}

/// Bytes of a token at worst: fewer than the usual four, so that the estimate is above the truth.
const BYTES_A_TOKEN: u64 = 3;
/// Tokens that an answer is taken to have at most where the model's limit is not known.
const USUAL_OUTPUT: u64 = 16_000;
/// An answer that must be shorter than this is not worth asking for.
const LEAST_OUTPUT: u64 = 2_048;

impl Worst {
    /// What a request of so many bytes may cost; `None` where the price is not known.
    pub fn of(meta: &ModelMeta, bytes: usize, max_output: Option<u32>) -> Option<Self> {
        let dear = [Some(meta.price_input?), meta.price_cache_read, meta.price_cache_write];
        let dear = dear.into_iter().flatten().max().unwrap_or(0);
        let price = meta.price_output?;
        if meta.has_negative_price() {
            return None;
        }
        let tokens = (bytes as u64).div_ceil(BYTES_A_TOKEN);
        let tokens = meta.context.filter(|it| *it > 0).map_or(tokens, |it| tokens.min(it));
        let limits = [max_output.map(u64::from), meta.output_limit];
        let limit = limits.into_iter().flatten().filter(|it| *it > 0).min();
        let output = limit.unwrap_or(USUAL_OUTPUT);
        Some(Self { input: cost(tokens, dear), price, output, guessed: limit.is_none() })
    }

    /// With the longest answer.
    pub fn whole(&self) -> i64 {
        self.input.saturating_add(cost(self.output, self.price))
    }

    /// With the shortest answer that is worth asking for.
    pub fn least(&self) -> i64 {
        self.input.saturating_add(cost(self.output.min(LEAST_OUTPUT), self.price))
    }

    /// How long the answer may be for an amount; `None` where that is no limit beyond the one that
    /// holds for it anyway.
    pub fn output_for(&self, micros: i64) -> Option<u32> {
        if self.whole() <= micros {
            let guess = u32::try_from(self.output).ok();
            return guess.filter(|_| self.guessed && self.price > 0);
        }
        let left = i128::from(micros.saturating_sub(self.input)).max(0);
        let tokens = left * 1_000_000 / i128::from(self.price.max(1));
        Some(u32::try_from(tokens).unwrap_or(u32::MAX))
    }
}

fn cost(tokens: u64, price: i64) -> i64 {
    let millionths = i128::from(tokens) * i128::from(price);
    i64::try_from((millionths + 999_999) / 1_000_000).unwrap_or(i64::MAX)
}

/// A budget as people are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub scope: Scope,
    /// Whether only administrators can change it.
    pub imposed: bool,
    /// The name of the project, where it is one's.
    pub project: String,
    pub period: Period,
    pub limit: i64,
    /// Micro-dollars that are not spent.
    pub left: i64,
    pub window: Window,
    pub zone: Zone,
}

impl Told {
    /// `Your daily budget of $5.00`
    pub fn name(&self) -> String {
        let how = match self.period {
            Period::Day => "daily budget",
            Period::Week => "weekly budget",
            Period::Month => "monthly budget",
            Period::Total => "budget",
        };
        let limit = dollars(self.limit);
        match self.scope {
            Scope::Everyone | Scope::User => format!("Your {how} of {limit}"),
            Scope::Project => format!("The {how} of {limit} for the project {}", self.project),
            Scope::Session => format!("The {how} of {limit} for this session"),
        }
    }

    /// When it starts anew, in a sentence.
    pub fn anew(&self) -> String {
        match self.window.until {
            Some(at) => format!("It starts anew on {}.", self.zone.written(at)),
            None => "It does not start anew.".to_owned(),
        }
    }

    /// What is left, in a few words: `$1.20 of $5.00 left today`.
    pub fn remaining(&self) -> String {
        let when = match self.period {
            Period::Day => " today",
            Period::Week => " this week",
            Period::Month => " this month",
            Period::Total => "",
        };
        let whose = match self.scope {
            Scope::Everyone | Scope::User => "",
            Scope::Project => ", project",
            Scope::Session => ", session",
        };
        format!("{} of {} left{when}{whose}", dollars(self.left.max(0)), dollars(self.limit))
    }

    /// Why the next call is not made.
    pub fn spent(&self, needed: i64) -> String {
        let (name, left) = (self.name(), dollars(self.left.max(0)));
        let left = format!(
            "{name} does not allow another call: {left} is left, and the call may cost {}.",
            dollars(needed)
        );
        format!("{left} {} {}", self.anew(), self.way_out())
    }

    /// Why a model is not called whose price is not known.
    pub fn unknown(&self, model: &str) -> String {
        format!(
            "{} does not allow models whose price is not known, and that of {model} is not. \
             Choose another model, have its price entered with the provider, or have the budget \
             allow unknown prices. {} is left. {}",
            self.name(),
            dollars(self.left.max(0)),
            self.anew()
        )
    }

    fn way_out(&self) -> &'static str {
        if self.imposed {
            "Choose a cheaper model, or ask an administrator to raise it."
        } else {
            "Choose a cheaper model, or have it raised on the page Usage."
        }
    }
}

/// Micro-dollars to the cent; below a dollar, as exact as there is something to say. What is left
/// is never rounded up.
pub fn dollars(micros: i64) -> String {
    let (sign, micros) =
        if micros < 0 { ("-", micros.unsigned_abs()) } else { ("", micros as u64) };
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if whole > 0 {
        return format!("{sign}${whole}.{:02}", rest / 10_000);
    }
    let digits = format!("{:04}", rest / 100);
    let kept = digits.trim_end_matches('0').len().max(2);
    format!("{sign}$0.{}", &digits[..kept])
}

/// No amount that a budget can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Give an amount in dollars above 0 and up to 1000000, like 12.50.")]
pub struct WrongAmount;

/// Reads an amount in dollars, exactly.
pub fn parse_dollars(text: &str) -> Result<i64, WrongAmount> {
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || rest.len() > 6 || !digits(whole) || !digits(rest) {
        return Err(WrongAmount);
    }
    let number = |text: &str| text.parse::<i64>().map_err(|_| WrongAmount);
    check(number(whole)? * 1_000_000 + number(&format!("{rest:0<6}"))?)
}

/// Takes an amount in dollars as programs send it.
pub fn from_dollars(amount: f64) -> Result<i64, WrongAmount> {
    let micros = (amount * 1e6).round();
    if !(1.0..=MOST as f64).contains(&micros) {
        return Err(WrongAmount);
    }
    check(micros as i64)
}

fn check(micros: i64) -> Result<i64, WrongAmount> {
    if (1..=MOST).contains(&micros) { Ok(micros) } else { Err(WrongAmount) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn windows_begin_and_end_where_the_person_is() {
        let zone: Zone = "America/New_York".parse().unwrap();
        let of = |period, now| {
            let window = Window::of(period, zone, at(now));
            (window.from.unwrap(), window.until.unwrap())
        };
        // A Sunday evening there, and the day on which the clocks go forward.
        let now = "2026-03-09T02:00:00Z";
        let day = (at("2026-03-08T05:00:00Z"), at("2026-03-09T04:00:00Z"));
        assert_eq!(of(Period::Day, now), day);
        let week = (at("2026-03-02T05:00:00Z"), at("2026-03-09T04:00:00Z"));
        assert_eq!(of(Period::Week, now), week);
        let month = (at("2026-03-01T05:00:00Z"), at("2026-04-01T04:00:00Z"));
        assert_eq!(of(Period::Month, now), month);
        assert_eq!(Window::of(Period::Total, zone, at(now)).buckets(), 0..i64::MAX);
    }

    #[test]
    fn amounts_are_read_exactly_and_absurd_ones_are_refused() {
        assert_eq!(parse_dollars("12.50"), Ok(12_500_000));
        assert_eq!(parse_dollars(" $0.000001 "), Ok(1));
        assert_eq!(parse_dollars("1000000"), Ok(MOST));
        for wrong in ["", "0", "0.00", "-1", "1e3", "NaN", "12,50", "1.0000001", "1000001", "."] {
            assert!(parse_dollars(wrong).is_err(), "{wrong}");
        }
        assert_eq!(from_dollars(0.1), Ok(100_000));
        for wrong in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e300, 1e-9] {
            assert!(from_dollars(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_never_rounded_up() {
        let said = [0, 99, 1_999, 123_456, 500_000, 1_999_999, 1_234_567_890].map(dollars);
        assert_eq!(said, ["$0.00", "$0.00", "$0.0019", "$0.1234", "$0.50", "$1.99", "$1234.56"]);
    }

    #[test]
    fn the_worst_case_knows_input_output_and_what_an_amount_is_enough_for() {
        let meta = ModelMeta {
            price_input: Some(2_000_000),
            price_output: Some(8_000_000),
            output_limit: Some(10_000),
            ..ModelMeta::default()
        };
        let worst = Worst::of(&meta, 3_000, None).unwrap();
        assert_eq!(worst.whole(), 2_000 + 80_000);
        assert_eq!(worst.least(), 2_000 + 16_384);
        assert_eq!(worst.output_for(100_000), None);
        assert_eq!(worst.output_for(42_000), Some(5_000));
        assert_eq!(worst.output_for(0), Some(0));
        assert_eq!(Worst::of(&meta, 3_000, Some(1_000)).unwrap().whole(), 2_000 + 8_000);
    }

    #[test]
    fn an_answer_without_a_limit_is_held_to_what_is_set_aside_for_it() {
        let meta = ModelMeta {
            price_input: Some(2_000_000),
            price_output: Some(8_000_000),
            ..ModelMeta::default()
        };
        let worst = Worst::of(&meta, 3_000, None).unwrap();
        assert_eq!(worst.output_for(i64::MAX), Some(16_000));
        assert_eq!(Worst::of(&meta, 3_000, Some(1_000)).unwrap().output_for(i64::MAX), None);
        let free = ModelMeta { price_input: Some(0), price_output: Some(0), ..meta };
        assert_eq!(Worst::of(&free, 3_000, None).unwrap().output_for(0), None);
    }

    #[test]
    fn what_is_sent_costs_the_dearest_of_its_prices() {
        let meta = ModelMeta {
            price_input: Some(1_000_000),
            price_output: Some(0),
            price_cache_read: Some(3_000_000),
            price_cache_write: Some(2_000_000),
            ..ModelMeta::default()
        };
        assert_eq!(Worst::of(&meta, 3_000, None).unwrap().whole(), 3_000);
    }

    #[test]
    fn a_price_that_is_unknown_or_negative_has_no_worst_case() {
        let known =
            ModelMeta { price_input: Some(1), price_output: Some(1), ..ModelMeta::default() };
        assert!(Worst::of(&known, 1, None).is_some());
        let none = ModelMeta { price_output: None, ..known.clone() };
        let negative = ModelMeta { price_input: Some(-1_000_000), ..known };
        assert!(Worst::of(&none, 1, None).is_none());
        assert!(Worst::of(&negative, 1, None).is_none());
    }
}
