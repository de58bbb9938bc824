//! Which words changed inside a line that was changed.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Line;

/// Longer lines are not looked into.
const LONGEST: usize = 2_000;

/// Marks what differs between a removed line and the added one that took its place, unless the
/// two have little in common: then everything would be marked, which says nothing.
pub(super) fn emphasise(old: &mut Line, new: &mut Line) {
    let (before, after) = (old.text(), new.text());
    if before.len() > LONGEST || after.len() > LONGEST {
        return;
    }
    let (old_words, new_words) = (words(&before), words(&after));
    let ops = capture_diff_slices(Algorithm::Myers, &old_words, &new_words);
    let (mut old_spans, mut new_spans) = (Vec::new(), Vec::new());
    let mut same = 0;
    for op in &ops {
        let changed = !matches!(op, DiffOp::Equal { .. });
        let (left, right) = (&old_words[op.old_range()], &new_words[op.new_range()]);
        if !changed {
            same += left.iter().map(|word| word.trim().len()).sum::<usize>();
        }
        push(&mut old_spans, changed, left);
        push(&mut new_spans, changed, right);
    }
    if same * 2 >= before.trim().len().min(after.trim().len()) && same > 0 {
        old.spans = old_spans;
        new.spans = new_spans;
    }
}

fn push(spans: &mut Vec<(bool, String)>, emphasised: bool, words: &[&str]) {
    if !words.is_empty() {
        spans.push((emphasised, words.concat()));
    }
}

/// Runs of letters and digits, runs of spaces, and every other character alone.
fn words(line: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in line.char_indices() {
        if last.is_some_and(|last| last != class(c) || last == 2) {
            words.push(&line[start..at]);
            start = at;
        }
        last = Some(class(c));
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}
