//! What a model is told when its text is not in the file: how the file really reads.

use std::{collections::HashMap, ops::Range};

use super::{
    indent::indent_len,
    loose::{hash, is_blank, lines_of, ranges, words},
};
use crate::domain::text;

/// How many lines of the file are shown.
const SHOWN: usize = 12;
/// How many bytes of such a line.
const WIDE: usize = 160;
/// Lines of a file after the first so many are not compared.
const COMPARED: usize = 50_000;

/// What a tool calls the text that it looks for, and the one that is to stand there.
pub(super) struct Names {
    /// `old_string is`
    pub old_is: &'static str,
    pub old: &'static str,
    /// `new_string is`
    pub new_is: &'static str,
}

pub(super) const OF_EDIT: Names =
    Names { old_is: "old_string is", old: "old_string", new_is: "new_string is" };
pub(super) const OF_CHUNK: Names = Names {
    old_is: "its old lines are",
    old: "context and old lines",
    new_is: "What it makes of them is",
};

pub(super) fn not_found(flat: &[u8], needle: &str, replacement: &str, names: &Names) -> String {
    let mut message = format!("{} not in the file, so nothing was changed.", names.old_is);
    if let Some(line) = already_there(flat, replacement) {
        message.push_str(&format!(
            " {} already there, at line {line}: this change may have been made before.",
            names.new_is
        ));
    }
    if is_numbered(needle) {
        message.push_str(
            " It seems to contain the line numbers that read puts in front; leave them out.",
        );
    }
    let lines = ranges(flat);
    let lines: Vec<&[u8]> = lines.into_iter().take(COMPARED).map(|line| &flat[line]).collect();
    let wanted: Vec<&[u8]> = lines_of(needle).map(str::as_bytes).collect();
    let Some(closest) = closest(&lines, &wanted) else {
        message.push_str(" Nothing in the file resembles it. Read the file again, and check that it is the right one.");
        return message;
    };
    message.push_str(&format!(
        " The closest is at lines {}-{} (marked > where it differs; in the indentation · is a space and → a tab):\n",
        closest.start + 1,
        closest.end
    ));
    for at in closest.clone().take(SHOWN) {
        let mark = if wanted.get(at - closest.start) == Some(&lines[at]) { ' ' } else { '>' };
        message.push_str(&format!("{mark} {:>4}|{}\n", at + 1, visible(lines[at])));
    }
    if closest.len() > SHOWN {
        message.push_str(&format!("  and {} more\n", text::counted(closest.len() - SHOWN, "line")));
    }
    message.push_str(&format!("Give {} exactly as the file reads.", names.old));
    message
}

/// The line where a replacement that is worth the name already stands.
fn already_there(flat: &[u8], replacement: &str) -> Option<usize> {
    let text = replacement.trim();
    if text.len() < 3 {
        return None;
    }
    let at = memchr::memmem::find(flat, text.as_bytes())?;
    Some(memchr::memchr_iter(b'\n', &flat[..at]).count() + 1)
}

/// Whether each line starts with a number and a tab or a bar, as in the output of read.
fn is_numbered(text: &str) -> bool {
    lines_of(text).all(|line| {
        let rest = line.trim_start();
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        number.len() < rest.len() && number.starts_with(['\t', '|', '→'])
    })
}

/// The run of lines that shares most with the wanted ones.
fn closest(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<Range<usize>> {
    let start = most_equal(lines, wanted).or_else(|| most_alike(lines, wanted))?;
    Some(start..lines.len().min(start + wanted.len()))
}

/// Where most lines are equal but for white space.
fn most_equal(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<usize> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, line) in wanted.iter().enumerate().take(200) {
        // A lone brace says little about where one is.
        if line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count() > 1 {
            places.entry(hash(line)).or_default().push(at);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        for offset in places.get(&hash(line)).into_iter().flatten().take(20) {
            *votes.entry(at.saturating_sub(*offset)).or_default() += 1;
        }
    }
    votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)))
        .map(|(start, _)| start)
}

/// Where a line shares at least half of its words with the longest wanted one.
fn most_alike(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<usize> {
    let (offset, longest) = wanted
        .iter()
        .enumerate()
        .filter(|(_, line)| !is_blank(line))
        .max_by_key(|(_, line)| line.len())?;
    let sought: Vec<&[u8]> = names(longest).take(100).collect();
    let share = |line: &[u8]| {
        let (mut all, mut same) = (0, 0);
        for name in names(line).take(200) {
            all += 1;
            same += usize::from(sought.contains(&name));
        }
        same * 100 / all.max(sought.len()).max(1)
    };
    let best =
        lines.iter().enumerate().map(|(at, line)| (share(line), std::cmp::Reverse(at))).max()?;
    (best.0 >= 50).then(|| best.1.0.saturating_sub(offset))
}

/// The parts of a line between which a person would put a space.
fn names(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    words(line)
        .flat_map(|word| word.split(|byte| byte.is_ascii_punctuation() && *byte != b'_'))
        .filter(|name| !name.is_empty())
}

fn visible(line: &[u8]) -> String {
    let (indent, rest) = line.split_at(indent_len(line));
    let mut shown: String =
        indent.iter().take(WIDE).map(|byte| if *byte == b'\t' { '→' } else { '·' }).collect();
    let rest = String::from_utf8_lossy(rest);
    let cut = text::cut(&rest, WIDE);
    shown.push_str(cut);
    if cut.len() < rest.len() {
        shown.push('…');
    }
    shown
}
