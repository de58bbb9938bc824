//! A difference with the old lines beside the new ones.

use super::view::{DiffView, HunkView, RowView};

/// Two lines beside each other, or one beside nothing.
pub struct SplitRow {
    pub old: Option<Side>,
    pub new: Option<Side>,
}

pub struct Side {
    pub class: &'static str,
    pub number: Option<u32>,
    pub pieces: Vec<(bool, String)>,
}

pub struct SplitHunk {
    pub head: String,
    pub rows: Vec<SplitRow>,
}

/// Puts removed lines beside the added ones that follow them.
pub fn hunks(diff: &DiffView) -> Vec<SplitHunk> {
    diff.hunks.iter().map(hunk).collect()
}

fn hunk(hunk: &HunkView) -> SplitHunk {
    let mut rows = Vec::new();
    let mut removed: Vec<Side> = Vec::new();
    let mut added: Vec<Side> = Vec::new();
    for row in &hunk.rows {
        match row.class {
            // Added lines are over where a further line is removed.
            "del" if added.is_empty() => removed.push(side(row, row.old)),
            "del" => {
                pair(&mut rows, &mut removed, &mut added);
                removed.push(side(row, row.old));
            }
            "add" => added.push(side(row, row.new)),
            _ => {
                pair(&mut rows, &mut removed, &mut added);
                let (old, new) = (side(row, row.old), side(row, row.new));
                rows.push(SplitRow { old: Some(old), new: Some(new) });
            }
        }
    }
    pair(&mut rows, &mut removed, &mut added);
    SplitHunk { head: hunk.head.clone(), rows }
}

fn pair(rows: &mut Vec<SplitRow>, removed: &mut Vec<Side>, added: &mut Vec<Side>) {
    let (mut old, mut new) = (removed.drain(..), added.drain(..));
    loop {
        let row = SplitRow { old: old.next(), new: new.next() };
        if row.old.is_none() && row.new.is_none() {
            return;
        }
        rows.push(row);
    }
}

fn side(row: &RowView, number: Option<u32>) -> Side {
    Side { class: row.class, number, pieces: row.pieces.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_lines_stand_beside_the_added_ones_that_follow() {
        let row = |class: &'static str, text: &str| RowView {
            class,
            old: Some(1),
            new: Some(1),
            pieces: vec![(false, text.to_owned())],
        };
        let rows = [("del", "a"), ("del", "b"), ("add", "c"), ("", "d"), ("add", "e")];
        let rows = rows.map(|(class, text)| row(class, text)).into();
        let split = hunk(&HunkView { head: String::new(), rows });
        let text = |side: &Option<Side>| side.as_ref().map(|side| side.pieces[0].1.clone());
        let pairs: Vec<_> = split.rows.iter().map(|row| (text(&row.old), text(&row.new))).collect();
        let of = |old: &str, new: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            (some(old), some(new))
        };
        assert_eq!(pairs, [of("a", "c"), of("b", ""), of("d", "d"), of("", "e")]);
    }
}
