//! Numbers and states, as pages say them.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        provider::split_model,
        session::{SessionStatus, Summary},
    },
    store::entity::session::Model as Session,
};

/// A moment as `datetime` attributes take it.
pub fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// A moment for a browser without scripts; with them, the page says how long ago that was.
pub fn day(at: DateTime<Utc>) -> String {
    at.format("%-d %b %Y").to_string()
}

/// A number of bytes.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = u128::from(bytes) * 10 / u128::from(unit);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// How many of something there are: `1 file`, `2 files`.
pub fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// Micro-dollars, to the cent; amounts below one are not rounded away.
pub fn money(micros: i64) -> String {
    if micros > 0 && micros < 10_000 {
        return "under $0.01".into();
    }
    let cents = (i128::from(micros) + 5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// A state of a session: the word that the style sheet knows, a symbol and a word for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    pub state: &'static str,
    pub icon: &'static str,
    pub label: &'static str,
}

pub fn sign(status: SessionStatus) -> Sign {
    let (state, icon, label) = match status {
        SessionStatus::Idle => ("idle", "circle", "Idle"),
        SessionStatus::Running => ("running", "running", "Running"),
        SessionStatus::Waiting => ("waiting", "hand", "Waiting for you"),
        SessionStatus::Aborted => ("aborted", "aborted", "Stopped"),
        SessionStatus::Error => ("error", "x-circle", "Failed"),
    };
    Sign { state, icon, label }
}

/// A session in a list.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub id: String,
    pub name: String,
    pub agent: String,
    pub model: String,
    pub sign: Sign,
    pub additions: u32,
    pub deletions: u32,
    /// Nothing where it cost nothing, or where no price is known.
    pub cost: Option<String>,
    pub moment: String,
    pub day: String,
}

impl SessionRow {
    pub fn of(session: &Session) -> Self {
        let summary: Summary = serde_json::from_value(session.summary.clone()).unwrap_or_default();
        let model = split_model(&session.model).map_or(session.model.as_str(), |(_, model)| model);
        Self {
            id: session.id.to_string(),
            name: session.name.clone(),
            agent: session.agent.clone(),
            model: model.to_owned(),
            sign: sign(session.status),
            additions: summary.files.iter().map(|file| file.additions).sum(),
            deletions: summary.files.iter().map(|file| file.deletions).sum(),
            cost: (summary.cost_micros > 0).then(|| money(summary.cost_micros)),
            moment: moment(session.updated_at),
            day: day(session.updated_at),
        }
    }
}

/// A number of tokens as people say it: `200k`, `1.05M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => {
            let hundredths = (count + 5_000) / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Micro-dollars as dollars, with at least two digits behind the point.
pub fn dollars(micros: i64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let short = text.trim_end_matches('0');
    let behind = short.len() - short.find('.').map_or(0, |at| at + 1);
    format!("{short}{}", "0".repeat(2_usize.saturating_sub(behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_and_are_not_rounded_up() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_999), "1.9 KB");
        assert_eq!(size(1_048_576), "1.0 MB");
        assert_eq!(size(u64::MAX), "18446744073.7 GB");
    }

    #[test]
    fn a_small_amount_is_not_nothing() {
        assert_eq!(money(0), "$0.00");
        assert_eq!(money(1), "under $0.01");
        assert_eq!(money(1_234_567), "$1.23");
        assert_eq!(money(995_000), "$1.00");
    }

    #[test]
    fn tokens_are_short_and_prices_exact() {
        let said: Vec<_> = [512, 8_192, 200_000, 1_000_000, 1_048_576].map(tokens).to_vec();
        assert_eq!(said, ["512", "8k", "200k", "1M", "1.05M"]);
        let said: Vec<_> = [0, 3_000_000, 125_000, 75_000, 10_500_000, 1].map(dollars).to_vec();
        assert_eq!(said, ["0.00", "3.00", "0.125", "0.075", "10.50", "0.000001"]);
    }
}
