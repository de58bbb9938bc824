//! What a shell command consists of: every simple command and every redirect in it, wherever they
//! are nested, and what of them is only known when it runs.
//!
//! The reader fails closed. It leans on the grammar that editors use, knows where that grammar and
//! Bash part ways, and says of everything it does not know that it does not know it.

mod check;
mod cwd;
mod find;
mod walk;
mod word;
mod wrap;

use std::{cell::RefCell, ops::ControlFlow};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

pub(super) use self::{
    cwd::Cwds,
    find::Search,
    word::{HOLE, Unknown, Word},
};
use self::{walk::Walk, word::Known};
use super::paths::Place;

/// The longest command that is looked into.
const MAX_BYTES: usize = 64 * 1024;
/// How many scripts may be quoted within one another: `sh -c "sh -c …"`.
const MAX_NESTING: usize = 6;
/// The most simple commands and redirects of one script.
const MAX_STEPS: usize = 400;

/// How many hundred operations the parser may take; a long script takes some thousand.
const MAX_LOOKS: usize = 20_000;
/// The parser is handed the text in pieces of so many bytes. For some texts it looks ahead to the
/// end again and again: what needs this many pieces is given up.
const PIECE: usize = 256;
const MAX_PIECES: usize = 12_000;

/// A thing that a script does.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The piece of the script that says so.
    pub raw: String,
    pub what: What,
    /// The folders it may run in.
    pub cwds: Cwds,
    /// Why a person has to look at it, whatever the rules say.
    pub doubts: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Command {
        words: Vec<Word>,
        role: Role,
    },
    Redirect {
        target: Word,
        direction: Direction,
    },
    /// Something else that is in doubt: an assignment, a test, syntax that was not understood.
    Other,
    /// A whole script that could not be taken apart.
    Opaque,
}

/// What a command is to the one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It does its own work.
    Program,
    /// It only starts another command, which is a step of its own: `nice`, `env`, `sh -c`.
    Transparent,
    /// It starts another command with other powers: `sudo`.
    Elevating,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    From,
    To,
}

impl Step {
    fn opaque(raw: &str, cwds: Cwds, reason: &str) -> Self {
        Self { raw: raw.into(), what: What::Opaque, cwds, doubts: vec![reason.into()] }
    }
}

/// Takes a command apart. `cwd` is the absolute path of the folder in which it is started.
pub(super) fn read(text: &str, place: &Place<'_>, cwd: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut walk = Walk::new(place.home, &mut steps);
    walk.script(text, Cwds::one(cwd), MAX_NESTING);
    let (moved, poisoned, functions) = walk.finish();
    for (at, step) in steps.iter_mut().enumerate() {
        let in_function = functions.iter().any(|range| range.contains(&at));
        if poisoned || (moved && in_function) {
            step.cwds = Cwds::Unknown;
        }
    }
    if steps.len() > MAX_STEPS {
        return vec![Step::opaque(text, Cwds::one(cwd), "is too long to look into")];
    }
    steps
}

/// Parses a script, or says why it is not looked into.
fn parse(text: &str, depth: usize) -> Result<Tree, &'static str> {
    thread_local! {
        static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
    }
    check::text(text)?;
    let tree = PARSER.with_borrow_mut(|slot| {
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *slot = Some(parser);
        }
        let parser = slot.as_mut()?;
        let (mut looks, mut pieces) = (0, 0);
        let mut progress = |state: &ParseState| {
            looks += 1;
            match state.has_error() || looks > MAX_LOOKS {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let mut read = |at: usize, _| {
            pieces += 1;
            let end = if pieces > MAX_PIECES { at } else { (at + PIECE).min(text.len()) };
            text.as_bytes().get(at..end).unwrap_or_default()
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        parser.reset();
        tree.filter(|_| pieces <= MAX_PIECES)
    });
    let tree = tree.ok_or("cannot be parsed")?;
    check::tree(&tree, text, depth)?;
    Ok(tree)
}

/// Whether a character does not show, or shows as something that it is not.
pub(super) fn is_invisible(char: char) -> bool {
    char.is_control()
        || (char.is_whitespace() && char != ' ')
        || matches!(char,
            '\u{AD}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFC}' | '\u{E0000}'..='\u{E0FFF}')
}
