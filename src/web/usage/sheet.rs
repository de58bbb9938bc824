//! Usage as a table for spreadsheets.

use std::borrow::Cow;

use anyhow::Context as _;
use chrono::NaiveDate;

use super::day_of;
use crate::store::usage::{Sum, named};

const HEAD: [&str; 14] = [
    "day",
    "person",
    "project",
    "provider",
    "model",
    "calls",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "calls_without_price",
    "calls_estimated",
];

/// Writes sums by everything there is, a line each.
pub fn write(sums: &[Sum]) -> anyhow::Result<Vec<u8>> {
    let mut sheet = csv::Writer::from_writer(Vec::new());
    sheet.write_record(HEAD)?;
    for sum in sums {
        let name = |text: &Option<String>| {
            plain(named(text.as_deref().unwrap_or_default()).1).into_owned()
        };
        let day = sum.day.map(day_of).map(|day: NaiveDate| day.to_string());
        // Where no price is known there is nothing to add, which is not zero.
        let cost = (sum.unknown < sum.calls).then(|| exact(sum.cost));
        sheet.write_record([
            day.unwrap_or_default(),
            name(&sum.person),
            name(&sum.project),
            name(&sum.provider),
            plain(sum.model.as_deref().unwrap_or_default()).into_owned(),
            sum.calls.to_string(),
            sum.input.to_string(),
            sum.cache_read.to_string(),
            sum.cache_write.to_string(),
            sum.output.to_string(),
            sum.reasoning.to_string(),
            cost.unwrap_or_default(),
            sum.unknown.to_string(),
            sum.estimated.to_string(),
        ])?;
    }
    sheet.into_inner().context("a table that is not finished")
}

/// Text that no spreadsheet takes for a formula.
fn plain(text: &str) -> Cow<'_, str> {
    let first = text.trim_start_matches([' ', '\u{a0}']).chars().next();
    match first {
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠') => {
            format!("'{text}").into()
        }
        _ => text.into(),
    }
}

fn exact(micros: i64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_formula_is_text() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1"] {
            assert_eq!(plain(text), format!("'{text}"));
        }
        assert_eq!(plain("atlas-core"), "atlas-core");
    }

    #[test]
    fn commas_quotes_and_unknown_costs_are_written() {
        let id = "0".repeat(52);
        let sum = Sum {
            day: Some(20_454),
            project: Some(format!("{id}a, \"b\"")),
            calls: 2,
            unknown: 2,
            ..Sum::default()
        };
        let known = Sum { cost: 1_500_000, unknown: 1, ..sum.clone() };
        let text = String::from_utf8(write(&[sum, known]).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "2026-01-01,,\"a, \"\"b\"\"\",,,2,0,0,0,0,0,,2,0");
        assert_eq!(lines[2], "2026-01-01,,\"a, \"\"b\"\"\",,,2,0,0,0,0,0,1.500000,1,0");
    }
}
