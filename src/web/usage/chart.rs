//! Bars for each day, stacked by model, as numbers that the template writes into an SVG.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;

use super::day_of;
use crate::{
    domain::zone::Span,
    store::usage::Sum,
    web::{sessions::words::short, words::money},
};

const LEFT: f64 = 46.0;
const RIGHT: f64 = 960.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 196.0;
/// Colours that the style sheet has.
const COLOURS: [&str; 4] = ["b1", "b2", "b3", "b4"];

pub struct Chart {
    /// What the bars are high by: `Cost`, or `Tokens` where no price is known.
    pub measure: &'static str,
    pub title: String,
    pub told: String,
    pub series: Vec<Series>,
    pub lines: Vec<Mark>,
    pub days: Vec<Day>,
    /// The days on which something was used, newest first.
    pub rows: Vec<Row>,
}

pub struct Series {
    pub class: &'static str,
    pub name: String,
}

/// A line with its number.
pub struct Mark {
    pub y: String,
    pub text_y: String,
    pub label: String,
}

pub struct Day {
    pub told: String,
    pub bars: Vec<Bar>,
    pub x: String,
    pub width: String,
    pub hit_x: String,
    pub hit_width: String,
    pub middle: String,
    /// Below the bar; only some days have room for it.
    pub label: Option<String>,
}

pub struct Bar {
    pub class: &'static str,
    pub y: String,
    pub height: String,
}

pub struct Row {
    pub day: String,
    /// One for each series.
    pub parts: Vec<String>,
    pub total: String,
    pub tokens: String,
    pub unknown: i64,
}

/// What was used on one day.
#[derive(Default)]
struct Used {
    parts: [i64; COLOURS.len()],
    tokens: i64,
    unknown: i64,
}

impl Chart {
    /// Draws sums by day and model.
    pub fn of(span: &Span, sums: &[Sum]) -> Self {
        let by_cost = sums.iter().any(|sum| sum.cost > 0);
        let worth = |sum: &Sum| if by_cost { sum.cost } else { tokens(sum) };
        let say = |amount: i64| {
            if by_cost { money(amount) } else { short(amount.max(0).unsigned_abs()) }
        };
        let (series, place) = series(sums, worth);
        let mut used: BTreeMap<NaiveDate, Used> = BTreeMap::new();
        for sum in sums {
            let day = used.entry(day_of(sum.day.unwrap_or_default())).or_default();
            let model = sum.model.as_deref().unwrap_or_default();
            day.parts[place.get(model).copied().unwrap_or(COLOURS.len() - 1)] += worth(sum);
            day.tokens += tokens(sum);
            day.unknown += sum.unknown;
        }
        let most = used.values().map(|day| day.parts.iter().sum::<i64>()).max().unwrap_or(0);
        let (step, steps) = scale(most);
        let top = (step * steps).max(1) as f64;
        let high = |amount: i64| amount as f64 / top * (BOTTOM - TOP);
        let at = |value: f64| format!("{value:.1}");
        let lines = (0..=steps).map(|line| {
            let y = BOTTOM - high(step * line);
            Mark { y: at(y), text_y: at(y + 4.0), label: say(step * line) }
        });
        let slot = (RIGHT - LEFT) / span.days().max(1) as f64;
        let every = (64.0 / slot).ceil().max(1.0) as usize;
        let days = span.each().enumerate().map(|(index, day)| {
            let left = LEFT + slot * index as f64;
            let mut bars = Vec::new();
            let mut y = BOTTOM;
            let mut total = 0;
            if let Some(used) = used.get(&day) {
                for (amount, class) in used.parts.iter().zip(COLOURS) {
                    total += amount;
                    let height = high(*amount);
                    y -= height;
                    if *amount > 0 {
                        bars.push(Bar { class, y: at(y), height: at(height) });
                    }
                }
            }
            Day {
                told: format!("{}: {}", day.format("%-d %b"), say(total)),
                bars,
                x: at(left + slot * 0.18),
                width: at(slot * 0.64),
                hit_x: at(left),
                hit_width: at(slot),
                middle: at(left + slot / 2.0),
                label: index.is_multiple_of(every).then(|| day.format("%-d %b").to_string()),
            }
        });
        let rows = used.iter().rev().map(|(day, used)| Row {
            day: day.format("%-d %b %Y").to_string(),
            parts: used.parts.iter().take(series.len()).map(|part| say(*part)).collect(),
            total: say(used.parts.iter().sum()),
            tokens: short(used.tokens.max(0).unsigned_abs()),
            unknown: used.unknown,
        });
        let measure = if by_cost { "Cost" } else { "Tokens" };
        let dates = |day: NaiveDate| day.format("%-d %B %Y").to_string();
        Self {
            measure,
            title: format!(
                "{measure} by day and model, {} to {}",
                dates(span.first),
                dates(span.last)
            ),
            told: format!("At most {} a day. The table below has the numbers.", say(most)),
            lines: lines.collect(),
            days: days.collect(),
            rows: rows.collect(),
            series,
        }
    }
}

/// The models that have a colour, dearest first; the last one is shared where there are more.
fn series(sums: &[Sum], worth: impl Fn(&Sum) -> i64) -> (Vec<Series>, HashMap<&str, usize>) {
    let mut models: HashMap<&str, i64> = HashMap::new();
    for sum in sums {
        *models.entry(sum.model.as_deref().unwrap_or_default()).or_default() += worth(sum);
    }
    let mut models: Vec<(&str, i64)> = models.into_iter().collect();
    models.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let own = if models.len() > COLOURS.len() { COLOURS.len() - 1 } else { models.len() };
    let named = models.iter().take(own).zip(COLOURS);
    let mut series: Vec<Series> =
        named.map(|((model, _), class)| Series { class, name: (*model).to_owned() }).collect();
    if models.len() > own {
        let name = format!("{} others", models.len() - own);
        series.push(Series { class: COLOURS[COLOURS.len() - 1], name });
    }
    let place = models.iter().enumerate();
    let place = place.map(|(at, (model, _))| (*model, at.min(COLOURS.len() - 1))).collect();
    (series, place)
}

/// A round step and how many of them reach an amount.
fn scale(most: i64) -> (i64, i64) {
    let mut step: i64 = 1;
    for factor in [2, 5, 10].into_iter().cycle() {
        if step.saturating_mul(4) >= most {
            break;
        }
        // 1, 2, 5, 10, 20, …
        step = match factor {
            2 => step * 2,
            5 => step / 2 * 5,
            _ => step * 2,
        };
    }
    (step, (most + step - 1) / step.max(1))
}

fn tokens(sum: &Sum) -> i64 {
    sum.input + sum.cache_read + sum.cache_write + sum.output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_reach_the_top() {
        assert_eq!(scale(0), (1, 0));
        assert_eq!(scale(7), (2, 4));
        assert_eq!(scale(21), (10, 3));
        assert_eq!(scale(6_900_000), (2_000_000, 4));
        for most in [1, 9, 99, 12_345, i64::MAX / 16] {
            let (step, steps) = scale(most);
            assert!(step * steps >= most && steps <= 4, "{most}: {step} {steps}");
        }
    }

    #[test]
    fn bars_are_stacked_and_stand_on_their_day() {
        let day: NaiveDate = "2026-01-01".parse().unwrap();
        let span = Span { zone: "UTC".parse().unwrap(), first: day, last: day };
        let of = |model: &str, cost| Sum {
            day: Some(20_454),
            model: Some(model.to_owned()),
            cost,
            calls: 1,
            ..Sum::default()
        };
        let chart = Chart::of(&span, &[of("a", 1_000_000), of("b", 3_000_000)]);
        let names: Vec<&str> = chart.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((chart.measure, names), ("Cost", vec!["b", "a"]));
        assert_eq!(chart.days.len(), 1);
        assert_eq!(chart.days[0].told, "1 Jan: $4.00");
        let bars: Vec<_> =
            chart.days[0].bars.iter().map(|it| (it.y.as_str(), it.height.as_str())).collect();
        assert_eq!(bars, [("56.5", "139.5"), ("10.0", "46.5")]);
        let many: Vec<Sum> = (0..9).map(|it| of(&format!("m{it}"), 1)).collect();
        assert_eq!(Chart::of(&span, &many).series[3].name, "6 others");
    }
}
