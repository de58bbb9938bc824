//! A word of a command line: what it says after unquoting, as far as that can be known.

use tree_sitter::Node;

mod unquote;

/// Stands in [`Word::text`] for what is only known when the command runs.
pub(crate) const HOLE: char = '\u{FFFC}';

/// Why it cannot be known what a word will say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Variable,
    Substitution,
    Home,
    Braces,
    Input,
}

impl Unknown {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Variable => "uses a variable whose value is not known",
            Self::Substitution => "uses the output of another command as an argument",
            Self::Home => "names another user's home",
            Self::Braces => "uses braces that stand for several words",
            Self::Input => "takes arguments from its input",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// As it was written.
    pub raw: String,
    /// Without quotes and escapes, [`HOLE`] where something is not known.
    pub text: String,
    pub unknown: Option<Unknown>,
    /// Whether the shell puts file names in its place.
    pub glob: bool,
}

/// What `~`, `$HOME` and `$PWD` stand for, where that is certain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    pub home: Option<&'a str>,
    pub pwd: Option<&'a str>,
}

impl Word {
    /// A word without anything that the shell would change.
    pub(crate) fn plain(text: &str) -> Self {
        Self { raw: text.into(), text: text.into(), unknown: None, glob: false }
    }

    /// A word of which nothing is known.
    pub(crate) fn hole(unknown: Unknown) -> Self {
        let text = HOLE.to_string();
        Self { raw: "…".into(), text, unknown: Some(unknown), glob: false }
    }

    /// What the word says, where nothing in it is left to the moment of running.
    pub(crate) fn literal(&self) -> Option<&str> {
        (self.unknown.is_none() && !self.glob).then_some(self.text.as_str())
    }

    /// The word in a form that says the same again when it is read by a shell.
    pub(crate) fn quoted(&self) -> String {
        let plain = |char: char| char.is_alphanumeric() || "_-./:=@%+,^~{}[]!#".contains(char);
        match self.literal() {
            Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
            Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
            None => self.raw.clone(),
        }
    }

    pub(crate) fn read(node: Node<'_>, source: &str, known: Known<'_>) -> Self {
        let raw = text_of(node, source);
        let simple = |it: u8| it.is_ascii_alphanumeric() || b"-_./:=+,%@".contains(&it);
        if raw.bytes().all(simple) {
            return Self::plain(raw);
        }
        unquote::read(node, source, known)
    }
}

/// The text of a node.
pub(crate) fn text_of<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}
