//! Several replacements in one file, of which all are made or none.

use super::{EditError, ReplaceAll, apply};

/// One of several replacements.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub all: ReplaceAll,
}

/// A file's content after all replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllEdited {
    pub content: Vec<u8>,
    /// The replacements, counted from 1, whose place differed in white space.
    pub inexact: Vec<usize>,
    /// How many places were replaced.
    pub count: usize,
}

/// Why nothing was changed: what is wrong with which replacement, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SomeFailed {
    pub failed: Vec<(usize, String)>,
    /// Those that could have been made.
    pub fine: Vec<usize>,
}

/// Makes the replacements in their order, each in what those before it have left.
///
/// Where one cannot be made, the others are tried all the same: so everything that is wrong is
/// told at once.
pub fn apply_all(content: &[u8], changes: &[Change<'_>]) -> Result<AllEdited, SomeFailed> {
    let mut now = AllEdited { content: content.to_vec(), inexact: Vec::new(), count: 0 };
    let mut trouble = SomeFailed { failed: Vec::new(), fine: Vec::new() };
    for (number, change) in (1..).zip(changes) {
        match apply(&now.content, change.old, change.new, change.all) {
            Ok(edited) => {
                now.content = edited.content;
                now.count += edited.count;
                now.inexact.extend(edited.inexact.then_some(number));
                trouble.fine.push(number);
            }
            Err(err) => trouble.failed.push((number, told(&err, content, &now.content, change))),
        }
    }
    if trouble.failed.is_empty() { Ok(now) } else { Err(trouble) }
}

/// Why a replacement cannot be made, and whether one before it is the reason.
fn told(err: &EditError, first: &[u8], now: &[u8], change: &Change<'_>) -> String {
    let by_another = matches!(err, EditError::NotFound(_) | EditError::Ambiguous { .. })
        && first != now
        && apply(first, change.old, change.new, change.all).is_ok();
    match by_another {
        true => format!("An earlier edit of this call changed its place. {err}"),
        false => err.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change<'a>(old: &'a str, new: &'a str) -> Change<'a> {
        Change { old, new, all: ReplaceAll::No }
    }

    #[test]
    fn each_is_made_in_what_the_one_before_has_left() {
        let edited = apply_all(b"a\nb\n", &[change("a", "x"), change("x\nb", "y")]).unwrap();
        assert_eq!((edited.content.as_slice(), edited.count), (&b"y\n"[..], 2));
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let changes = [change("a", "x"), change("nowhere", "y"), change("b", "z"), change("", "q")];
        let trouble = apply_all(b"a\nb\n", &changes).unwrap_err();
        assert_eq!(trouble.fine, [1, 3]);
        assert_eq!(trouble.failed.iter().map(|it| it.0).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn an_edit_whose_place_another_has_changed_is_told_so() {
        let trouble = apply_all(b"one two\n", &[change("one", "1"), change("one two", "3")]);
        let told = &trouble.unwrap_err().failed[0].1;
        assert!(told.starts_with("An earlier edit of this call changed its place."), "{told}");
    }
}
