//! The removal of quotes and escapes, with an eye on what the shell would expand.

use tree_sitter::Node;

use super::{HOLE, Known, Unknown, Word, text_of};

pub(super) fn read(node: Node<'_>, source: &str, known: Known<'_>) -> Word {
    let mut reader = Reader { source, known, chars: Vec::new(), unknown: None };
    reader.node(node, Quote::No);
    reader.finish(text_of(node, source).to_owned())
}

#[derive(Clone, Copy, PartialEq)]
enum Quote {
    No,
    Double,
}

struct Reader<'a> {
    source: &'a str,
    known: Known<'a>,
    /// Each character, and whether it was quoted.
    chars: Vec<(char, bool)>,
    unknown: Option<Unknown>,
}

impl Reader<'_> {
    fn node(&mut self, node: Node<'_>, quote: Quote) {
        let text = text_of(node, self.source);
        match node.kind() {
            "word"
            | "number"
            | "regex"
            | "extglob_pattern"
            | "variable_name"
            | "test_operator"
            | "special_variable_name" => self.unquoted(text),
            "string_content" => self.double_quoted(text),
            "raw_string" => self.quoted(text.get(1..text.len().saturating_sub(1))),
            "ansi_c_string" => self.ansi(text),
            "command_name" | "concatenation" => self.children(node, quote),
            "string" => self.string(node),
            "translated_string" => self.children(node, quote),
            "simple_expansion" | "expansion" => self.variable(text),
            "command_substitution" | "process_substitution" => self.hole(Unknown::Substitution),
            "brace_expression" => self.hole(Unknown::Braces),
            _ if !node.is_named() && quote == Quote::No && text == "$" => {}
            _ => self.hole(Unknown::Variable),
        }
    }

    fn children(&mut self, node: Node<'_>, quote: Quote) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, quote);
        }
    }

    /// The spaces at the edges of a string belong to no node, so gaps are taken over too.
    fn string(&mut self, node: Node<'_>) {
        let end = node.end_byte().saturating_sub(1);
        let mut at =
            node.start_byte() + if text_of(node, self.source).starts_with('$') { 2 } else { 1 };
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.double_quoted(self.source.get(at..child.start_byte()).unwrap_or_default());
            self.node(child, Quote::Double);
            at = child.end_byte();
        }
        self.double_quoted(self.source.get(at..end).unwrap_or_default());
        if self.chars.is_empty() {
            // An empty string still makes a word, and one that no tilde or brace can begin.
            self.chars.push(('\0', true));
        }
    }

    fn quoted(&mut self, text: Option<&str>) {
        self.chars.extend(text.unwrap_or_default().chars().map(|it| (it, true)));
    }

    fn hole(&mut self, unknown: Unknown) {
        self.unknown = Some(unknown);
        self.chars.push((HOLE, true));
    }

    fn unquoted(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(next) => self.chars.push((next, true)),
                    None => self.chars.push(('\\', true)),
                },
                char => self.chars.push((char, false)),
            }
        }
    }

    fn double_quoted(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            let escaped = match char {
                '\\' => chars.next_if(|it| matches!(it, '$' | '`' | '"' | '\\' | '\n')),
                _ => None,
            };
            match escaped {
                Some('\n') => {}
                Some(next) => self.chars.push((next, true)),
                None => self.chars.push((char, true)),
            }
        }
    }

    fn variable(&mut self, text: &str) {
        let value = match text {
            "$HOME" | "${HOME}" => self.known.home,
            "$PWD" | "${PWD}" => self.known.pwd,
            // Numbers, whatever they are. `$!` may be nothing at all.
            "$?" | "$#" | "$$" | "${?}" | "${#}" => Some("0"),
            _ => None,
        };
        match value {
            Some(value) => self.quoted(Some(value)),
            None => self.hole(Unknown::Variable),
        }
    }

    /// The escapes of `$'…'`, as Bash's manual lists them.
    fn ansi(&mut self, text: &str) {
        let inner = text.get(2..text.len().saturating_sub(1)).unwrap_or_default();
        let mut chars = inner.chars().peekable();
        while let Some(char) = chars.next() {
            if char != '\\' {
                self.chars.push((char, true));
                continue;
            }
            let Some(kind) = chars.next() else { return };
            let (radix, most, mut digits) = match kind {
                'x' => (16, 2, String::new()),
                'u' => (16, 4, String::new()),
                'U' => (16, 8, String::new()),
                '0'..='7' => (8, 3, kind.to_string()),
                'a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c' => return self.hole(Unknown::Variable),
                'n' | 't' | 'r' => {
                    let char = match kind {
                        'n' => '\n',
                        't' => '\t',
                        _ => '\r',
                    };
                    self.chars.push((char, true));
                    continue;
                }
                '\\' | '\'' | '"' | '?' => {
                    self.chars.push((kind, true));
                    continue;
                }
                // No escape: the backslash stays.
                other => {
                    self.chars.extend([('\\', true), (other, true)]);
                    continue;
                }
            };
            while digits.len() < most
                && let Some(digit) = chars.next_if(|it| it.is_digit(radix))
            {
                digits.push(digit);
            }
            let code = u32::from_str_radix(&digits, radix).ok().filter(|it| *it != 0);
            match code.and_then(char::from_u32) {
                Some(char) if char.is_ascii() => self.chars.push((char, true)),
                // Bytes above 127 depend on the encoding, and a zero ends the word.
                _ => return self.hole(Unknown::Variable),
            }
        }
    }

    fn finish(mut self, raw: String) -> Word {
        self.tilde();
        if self.has_braces() {
            self.unknown = Some(Unknown::Braces);
        }
        let bare = |char: char| self.chars.contains(&(char, false));
        let glob = bare('*') || bare('?') || (bare('[') && bare(']'));
        let text = self.chars.iter().map(|it| it.0).filter(|it| *it != '\0').collect();
        Word { raw, text, unknown: self.unknown, glob }
    }

    /// Puts the home in place of a tilde at the start, or after the `=` of `name=~/…`.
    fn tilde(&mut self) {
        let start = match self.chars.iter().position(|it| *it == ('=', false)) {
            Some(at) if self.chars.get(at + 1) == Some(&('~', false)) => at + 1,
            _ => 0,
        };
        if self.chars.get(start) != Some(&('~', false)) {
            return;
        }
        match (self.chars.get(start + 1), self.known.home) {
            (None | Some(('/', _)), Some(home)) => {
                let home = home.chars().map(|it| (it, true));
                self.chars.splice(start..=start, home);
            }
            (None | Some(('/', _)), None) => self.unknown = Some(Unknown::Variable),
            _ => self.unknown = Some(Unknown::Home),
        }
    }

    fn has_braces(&self) -> bool {
        let open = self.chars.iter().position(|it| *it == ('{', false));
        let close = self.chars.iter().rposition(|it| *it == ('}', false));
        let (Some(open), Some(close)) = (open, close) else { return false };
        let inner = self.chars.get(open..close).unwrap_or_default();
        inner.contains(&(',', false)) || inner.windows(2).any(|it| it == [('.', false); 2])
    }
}
