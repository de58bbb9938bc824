//! Outputs of tools as far as the timeline shows them: their beginning, their end, what was found.

use serde::Deserialize;

use super::{
    view::{Content, Match, Shown},
    words::number,
};
use crate::domain::text::cut;

/// Lines and bytes of an output that the timeline shows; the rest is a link away.
const LINES: usize = 40;
pub const BYTES: usize = 6 << 10;
/// Places that a search found, in the timeline.
const MATCHES: usize = 40;

/// The whole output of a tool as content of its line.
pub fn content(part: &str, text: &str) -> Content {
    if text.trim().is_empty() { Content::Nothing } else { Content::Output(head(part, text)) }
}

/// The beginning of a text.
pub fn head(part: &str, text: &str) -> Shown {
    let all = text.lines().count();
    let kept: Vec<&str> = cut(text, BYTES).lines().take(LINES).collect();
    bounded(part, &kept, all, text.len())
}

/// The end of a text, where a command says how it went.
pub fn tail(part: &str, text: &str) -> Shown {
    let all = text.lines().count();
    let from = text.ceil_char_boundary(text.len().saturating_sub(BYTES));
    let lines: Vec<&str> = text[from..].lines().collect();
    bounded(part, &lines[lines.len().saturating_sub(LINES)..], all, text.len())
}

fn bounded(part: &str, kept: &[&str], all: usize, bytes: usize) -> Shown {
    let is_all = kept.len() == all && bytes <= BYTES;
    Shown {
        text: kept.join("\n"),
        of: (!is_all).then(|| format!("{} of {} lines", kept.len(), number(all as u64))),
        whole: (!is_all).then(|| part.to_owned()),
    }
}

/// What `grep` found, as it is stored with its call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Found {
    pub matches: Vec<Hit>,
    pub count: u64,
    pub files: u64,
    pub warnings: Vec<String>,
}

/// A line that was found.
#[derive(Deserialize)]
pub struct Hit {
    path: String,
    line: u64,
    text: String,
    #[serde(default)]
    ranges: Vec<(usize, usize)>,
}

/// The lines that were found, with what matched in them.
pub fn matches(hits: Vec<Hit>) -> Vec<Match> {
    let view = |hit: Hit| {
        let mut pieces = Vec::new();
        let mut at = 0;
        for (from, to) in hit.ranges {
            // Ranges that do not fit the text are left out: the text matters more.
            let (Some(before), Some(found)) = (hit.text.get(at..from), hit.text.get(from..to))
            else {
                continue;
            };
            pieces.push((false, before.to_owned()));
            pieces.push((true, found.to_owned()));
            at = to;
        }
        pieces.push((false, hit.text.get(at..).unwrap_or_default().to_owned()));
        Match { place: format!("{}:{}", hit.path, hit.line), pieces }
    };
    hits.into_iter().take(MATCHES).map(view).collect()
}
