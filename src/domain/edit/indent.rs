//! Indentation: how deep a line is, in which unit, and the same depth in another file's unit.

use std::collections::BTreeMap;

use super::loose::is_blank;

/// The columns of a tab where tabs and spaces meet.
const TAB: usize = 4;

/// One level of indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Tab,
    Spaces(usize),
}

/// The unit of what was given, and that of the file it goes to.
#[derive(Clone, Copy)]
pub(super) struct Units {
    pub given: Unit,
    pub file: Unit,
}

impl Unit {
    /// What most lines are indented with, and by how much they differ from the line above.
    pub fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let (mut tabs, mut spaces, mut last) = (0usize, 0usize, 0usize);
        let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
        for line in lines.filter(|line| !is_blank(line)) {
            match line[0] {
                b'\t' => tabs += 1,
                b' ' => spaces += 1,
                _ => {}
            }
            let width = width(&line[..indent_len(line)]);
            let step = width.abs_diff(last);
            if step > 1 && step <= 8 {
                *steps.entry(step).or_default() += 1;
            }
            last = width;
        }
        if tabs > 0 && tabs >= spaces {
            return Self::Tab;
        }
        let usual = steps.iter().max_by_key(|(step, count)| (**count, std::cmp::Reverse(**step)));
        Self::Spaces(usual.map_or(TAB, |(step, _)| *step))
    }

    fn width(self) -> usize {
        match self {
            Self::Tab => TAB,
            Self::Spaces(count) => count,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Tab => 1,
            Self::Spaces(count) => count,
        }
    }

    fn push_to(self, indent: &mut Vec<u8>) {
        match self {
            Self::Tab => indent.push(b'\t'),
            Self::Spaces(count) => indent.resize(indent.len() + count, b' '),
        }
    }
}

/// The indentation in the file for each width of indentation in what was given.
pub(super) struct Depths(BTreeMap<usize, Vec<u8>>);

impl Depths {
    /// Learns from lines that were given, each with the file's own. Nothing where depth does not
    /// grow alike in both.
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<Self> {
        let mut indents: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (wanted, there) in pairs.filter(|(wanted, _)| !is_blank(wanted)) {
            let there = &there[..indent_len(there)];
            let known = indents
                .entry(width(&wanted[..indent_len(wanted)]))
                .or_insert_with(|| there.to_vec());
            if width(known) != width(there) {
                return None;
            }
        }
        let grows = indents.values().map(|indent| width(indent)).is_sorted_by(|a, b| a < b);
        grows.then_some(Self(indents))
    }

    /// A line of the new text at the depth and in the unit of the file.
    pub fn apply(&self, line: &[u8], units: Units) -> Vec<u8> {
        let (indent, rest) = line.split_at(indent_len(line));
        if rest.is_empty() {
            return Vec::new();
        }
        let width = width(indent);
        let nearest = self.0.range(..=width).next_back().or_else(|| self.0.iter().next());
        let Some((known, there)) = nearest else { return line.to_vec() };
        let mut result = there.clone();
        match width.checked_sub(*known) {
            Some(deeper) => {
                let unit = units.given.width();
                (0..deeper / unit).for_each(|_| units.file.push_to(&mut result));
                result.resize(result.len() + deeper % unit, b' ');
            }
            None => {
                let levels = (known - width).div_ceil(units.given.width());
                result.truncate(result.len().saturating_sub(levels * units.file.bytes()));
            }
        }
        result.extend_from_slice(rest);
        result
    }
}

pub(super) fn indent_len(line: &[u8]) -> usize {
    line.iter().take_while(|byte| is_space(**byte)).count()
}

pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn width(indent: &[u8]) -> usize {
    indent.iter().map(|byte| if *byte == b'\t' { TAB } else { 1 }).sum()
}
