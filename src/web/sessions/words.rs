//! Numbers and times, as a session's page says them.

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::web::words::{day, moment};

/// A moment: exactly, and for a browser without scripts.
#[derive(Clone, Debug)]
pub struct Moment {
    pub exact: String,
    pub day: String,
}

impl Moment {
    pub fn of(at: DateTime<Utc>) -> Self {
        Self { exact: moment(at), day: day(at) }
    }
}

/// `1,204`
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,204`, `18.4k`, `131k`, `2.1M`
pub fn short(count: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit / (unit / 10));
    match count {
        0..10_000 => number(count),
        10_000..100_000 => format!("{}k", tenths(1_000)),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

/// Micro-dollars, with a third digit where the amount is small.
pub fn money(micros: i64) -> String {
    match micros {
        1..1_000 => "under $0.001".to_owned(),
        ..10_000_000 => format!("${}.{:03}", micros / 1_000_000, micros % 1_000_000 / 1_000),
        _ => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// `0.3 s`, `14.2 s`, `2 min 3 s`
pub fn took(milliseconds: u64) -> String {
    match milliseconds {
        0..100 => "0.1 s".to_owned(),
        100..100_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

/// `1 line`, `20 lines`
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", self::number(number), if number == 1 { one } else { many })
}

/// The id by which a page names a file that was changed.
pub fn anchor(path: &str) -> String {
    let hash = Sha256::digest(path.as_bytes());
    hash[..6].iter().fold("file-".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_rounded_up() {
        assert_eq!([0, 999, 1_204, 1_000_000].map(number), ["0", "999", "1,204", "1,000,000"]);
        let short = [9_999, 18_450, 131_900, 2_190_000].map(short);
        assert_eq!(short, ["9,999", "18.4k", "131k", "2.1M"]);
    }

    #[test]
    fn a_small_amount_is_not_nothing() {
        let amounts = [0, 999, 21_000, 148_999, 12_345_678].map(money);
        assert_eq!(amounts, ["$0.000", "under $0.001", "$0.021", "$0.148", "$12.34"]);
    }

    #[test]
    fn times_have_one_decimal_up_to_100_seconds() {
        assert_eq!([3, 340, 14_290, 123_000].map(took), ["0.1 s", "0.3 s", "14.2 s", "2 min 3 s"]);
    }
}
