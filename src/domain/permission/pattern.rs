//! The globs that rules are written in.

/// Whether a pattern covers a command, a host or a name. `*` stands for any text, also for none;
/// `\*` is a star; `git status *` covers `git status` alone too.
pub(super) fn covers_text(pattern: &str, text: &str) -> bool {
    // Most rules are about something else, which their first words show.
    let head = pattern.split(['*', '\\']).next().unwrap_or_default();
    if !text.starts_with(head) && pattern.strip_suffix(" *") != Some(text) {
        return false;
    }
    let tokens = text_tokens(pattern);
    let chars: Vec<char> = text.chars().collect();
    if run(&tokens, &chars) {
        return true;
    }
    matches!(tokens.as_slice(), [bare @ .., Token::Char(' '), Token::Star] if run(bare, &chars))
}

/// Whether a pattern covers a path. `*` and `?` stay in one segment, `**` crosses them, `[ab]` is
/// one of these characters, `{a,b}` one of these texts. `src/**` covers `src` too, and a lone `*`
/// covers everything.
pub(super) fn covers_path(pattern: &str, path: &str) -> bool {
    if is_everything(pattern) {
        return true;
    }
    let segments: Vec<&str> = path.split('/').collect();
    alternatives(pattern).iter().any(|it| {
        let it: Vec<&str> = it.split('/').collect();
        segments_match(&it, &segments)
    })
}

/// Whether a path pattern may cover something below a folder: `.`, or a path without wildcards.
pub(super) fn reaches(pattern: &str, folder: &str) -> bool {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let head = pattern.get(..wild).unwrap_or_default();
    let head = head.trim_end_matches(|it| it != '/').trim_end_matches('/');
    let below = |path: &str, folder: &str| {
        folder.is_empty()
            || path.strip_prefix(folder).is_some_and(|it| it.is_empty() || it.starts_with('/'))
    };
    let folder = if folder == "." { "" } else { folder };
    let absolute = |it: &str| it.starts_with('/');
    let exact = pattern.trim_end_matches('/');
    (below(exact, folder) && absolute(exact) == absolute(folder))
        || (below(head, folder) && absolute(head) == absolute(folder))
        || (wild < pattern.len() && below(folder, head))
}

/// Whether a pattern means all there is.
pub(super) fn is_everything(pattern: &str) -> bool {
    matches!(pattern, "*" | "**" | "**/*")
}

/// Whether the braces of a pattern stand for few enough texts to be looked at.
pub(super) fn is_bounded(pattern: &str) -> bool {
    write_out(pattern).is_some()
}

/// Writes a text so that as a pattern it covers only itself.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '*' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// Writes a path so that as a pattern it covers only itself, where that is possible.
pub(super) fn escape_path(path: &str) -> Option<String> {
    (!path.contains(['*', '?', '[', ']', '{', '}', '\\'])).then(|| path.to_owned())
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Char(char),
    /// One of these, or with `true` none of these.
    Class(Vec<(char, char)>, bool),
    Any,
    Star,
}

impl Token {
    fn takes(&self, char: char) -> bool {
        match self {
            Self::Char(it) => *it == char,
            Self::Any | Self::Star => true,
            Self::Class(ranges, not) => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&char)) != *not
            }
        }
    }
}

fn text_tokens(pattern: &str) -> Vec<Token> {
    let mut chars = pattern.chars().peekable();
    let mut tokens = Vec::with_capacity(pattern.len());
    while let Some(char) = chars.next() {
        tokens.push(match char {
            '*' => Token::Star,
            '\\' => match chars.next_if(|it| matches!(it, '*' | '\\')) {
                Some(literal) => Token::Char(literal),
                None => Token::Char('\\'),
            },
            char => Token::Char(char),
        });
    }
    tokens
}

fn segment_tokens(pattern: &str) -> Vec<Token> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut tokens = Vec::with_capacity(chars.len());
    let mut at = 0;
    while let Some(char) = chars.get(at).copied() {
        at += 1;
        tokens.push(match char {
            '*' => Token::Star,
            '?' => Token::Any,
            '[' => match class(&chars, at) {
                Some((class, end)) => {
                    at = end;
                    class
                }
                None => Token::Char('['),
            },
            char => Token::Char(char),
        });
    }
    tokens
}

/// Reads what follows a `[`, up to and with the `]`.
fn class(chars: &[char], mut at: usize) -> Option<(Token, usize)> {
    let not = matches!(chars.get(at), Some('!' | '^'));
    if not {
        at += 1;
    }
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let from = *chars.get(at)?;
        if from == ']' && at > first {
            return Some((Token::Class(ranges, not), at + 1));
        }
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(to)) if *to != ']' => {
                ranges.push((from, *to));
                at += 3;
            }
            _ => {
                ranges.push((from, from));
                at += 1;
            }
        }
    }
}

/// Matches with one place to go back to: the last star takes a character more each time.
fn run(tokens: &[Token], chars: &[char]) -> bool {
    let (mut token, mut char) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while char < chars.len() {
        match tokens.get(token) {
            Some(Token::Star) => {
                back = Some((token, char));
                token += 1;
            }
            Some(it) if chars.get(char).is_some_and(|char| it.takes(*char)) => {
                token += 1;
                char += 1;
            }
            _ => match &mut back {
                Some((star, taken)) => {
                    *taken += 1;
                    token = *star + 1;
                    char = *taken;
                }
                None => return false,
            },
        }
    }
    tokens.get(token..).is_some_and(|rest| rest.iter().all(|it| *it == Token::Star))
}

/// Like [`run`], with segments for characters and `**` for the star.
fn segments_match(pattern: &[&str], path: &[&str]) -> bool {
    let (mut piece, mut segment) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(name) = path.get(segment) {
        match pattern.get(piece) {
            Some(&"**") => {
                back = Some((piece, segment));
                piece += 1;
            }
            Some(glob) if run(&segment_tokens(glob), &name.chars().collect::<Vec<_>>()) => {
                piece += 1;
                segment += 1;
            }
            _ => match &mut back {
                Some((star, taken)) => {
                    *taken += 1;
                    piece = *star + 1;
                    segment = *taken;
                }
                None => return false,
            },
        }
    }
    pattern.get(piece..).is_some_and(|rest| rest.iter().all(|it| *it == "**"))
}

/// The most texts that the braces of one pattern may stand for.
const MAX_ALTERNATIVES: usize = 64;

fn alternatives(pattern: &str) -> Vec<String> {
    write_out(pattern).unwrap_or_else(|| vec![pattern.to_owned()])
}

/// Writes out `{a,b}`, unless that is too much. Braces without their partner are themselves.
fn write_out(pattern: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(it) = open.pop() {
        let group = it.find('}').and_then(|end| {
            let start = it.get(..end)?.rfind('{')?;
            Some((it.get(..start)?, it.get(start + 1..end)?, it.get(end + 1..)?))
        });
        let Some((head, choices, tail)) = group else {
            done.push(it);
            continue;
        };
        open.extend(choices.split(',').map(|choice| format!("{head}{choice}{tail}")));
        if done.len() + open.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    Some(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_pattern_covers_the_bare_command_too() {
        for text in ["git status", "git status -s", "git status a b"] {
            assert!(covers_text("git status *", text), "{text}");
        }
        assert!(!covers_text("git status *", "git stash"));
        assert!(!covers_text("git status *", "git statusx"));
    }

    #[test]
    fn an_escaped_star_is_a_star() {
        assert!(covers_text(r"echo \*", "echo *"));
        assert!(!covers_text(r"echo \*", "echo x"));
        assert_eq!(escape(r"a*\b"), r"a\*\\b");
        assert!(covers_text(&escape(r"a*\b"), r"a*\b"));
    }

    #[test]
    fn pieces_between_stars_come_in_order_and_do_not_overlap() {
        assert!(covers_text("a*b*c", "a-b-b-c"));
        assert!(!covers_text("a*b*c", "a-c-b"));
        assert!(!covers_text("ab*ba", "aba"));
    }

    #[test]
    fn a_star_in_a_path_stays_in_its_segment() {
        for (pattern, path, covered) in [
            ("src/*", "src/a.rs", true),
            ("src/*", "src/a/b.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src", true),
            ("src/**", "srcs/a", false),
            ("**/.env*", ".env", true),
            ("**/.env*", "a/b/.env.local", true),
            ("**/.env*", "a/env", false),
            ("*.rs", "a/b.rs", false),
            ("**/*.{rs,toml}", "a/Cargo.toml", true),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("[a-c]?.txt", "b1.txt", true),
            ("[!a]*", "abc", false),
            ("*", "a/b/c", true),
            ("/etc/**", "/etc/hosts", true),
        ] {
            assert_eq!(covers_path(pattern, path), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        let pattern = "**/a*a*a*/".repeat(20) + "b";
        assert!(!covers_path(&pattern, &"aaaa/".repeat(40)));
        assert!(!covers_path(&"{a,b}".repeat(40), "x"));
        assert!(!covers_text(&"a*".repeat(200), &"a".repeat(150)));
    }
}
