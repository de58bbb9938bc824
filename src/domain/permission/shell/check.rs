//! Whether a script is fit to be looked into, and whether the parser saw all of it.

use tree_sitter::{Node, Tree};

use super::word::text_of;

const MAX_HEREDOCS: usize = 8;
const MAX_PIPES: usize = 1000;

/// Refuses a text that is too long or that does not show what it is.
pub(super) fn text(text: &str) -> Result<(), &'static str> {
    if text.len() > super::MAX_BYTES {
        return Err("is too long to look into");
    }
    if text.chars().any(|it| it != '\n' && it != '\t' && super::is_invisible(it)) {
        return Err("has invisible or misleading characters");
    }
    if text.matches("<<").count() > MAX_HEREDOCS {
        return Err("has too many here-documents to look into");
    }
    // An error after a very long pipeline costs the parser the square of its length.
    if text.matches('|').count() > MAX_PIPES {
        return Err("is too long to look into");
    }
    // Strings for translation: the grammar drops their dollar sign.
    if text.contains("$\"") {
        return Err("uses syntax that is not understood");
    }
    Ok(())
}

/// Refuses a tree with errors, with text that belongs to nothing, or with a piece in which Bash
/// would see more than the grammar does.
pub(super) fn tree(tree: &Tree, source: &str, max_depth: usize) -> Result<(), &'static str> {
    const UNCLEAR: &str = "uses syntax that is not understood";
    let root = tree.root_node();
    if root.has_error() {
        return Err("cannot be parsed");
    }
    let mut cursor = root.walk();
    let (mut depth, mut end) = (0_usize, 0_usize);
    loop {
        let node = cursor.node();
        if node.is_missing() || node.is_error() {
            return Err("cannot be parsed");
        }
        match node.kind() {
            "heredoc_redirect" if !heredoc(node, source) => return Err(UNCLEAR),
            "command_substitution"
                if text_of(node, source).starts_with('`')
                    && (text_of(node, source).contains('\\')
                        // Without a backslash, Bash ends it at the next one.
                        || text_of(node, source).matches('`').count() != 2) =>
            {
                return Err(UNCLEAR);
            }
            "regex" if !is_one_pattern(node, source) => return Err(UNCLEAR),
            _ if is_torn(node) => return Err(UNCLEAR),
            _ => {}
        }
        if node.child_count() == 0 {
            let gap = source.get(end..node.start_byte()).ok_or(UNCLEAR)?;
            if !is_blank(gap) || !leaf(node, source) {
                return Err(UNCLEAR);
            }
            end = node.end_byte();
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > max_depth {
                return Err("is nested too deeply to look into");
            }
            continue;
        }
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                let rest = source.get(end..).unwrap_or_default();
                return if rest.trim().is_empty() { Ok(()) } else { Err(UNCLEAR) };
            }
            depth = depth.saturating_sub(1);
        }
    }
}

/// Whether there is nothing but space and joined lines. Lines that are joined without a space
/// join the words too, which the grammar does not see.
fn is_blank(text: &str) -> bool {
    let joined = text.replace("\\\n", "");
    joined.trim().is_empty() && (text.is_empty() || !joined.is_empty())
}

/// Whether a leaf holds nothing that Bash would expand or end there.
fn leaf(node: Node<'_>, source: &str) -> bool {
    let text = text_of(node, source);
    let before = source.get(..node.start_byte()).and_then(|it| it.chars().next_back());
    let starts_word = before.is_none_or(|it| it.is_whitespace() || ";&|()".contains(it));
    match node.kind() {
        "comment" => starts_word,
        "raw_string" => true,
        "ansi_c_string" => ends_once(text),
        // A quoted delimiter makes the body literal, and heredoc() looked at both.
        "heredoc_body" | "heredoc_start" | "heredoc_end" => true,
        "string_content" | "heredoc_content" => !expands(text, Inside::Quotes),
        "word" | "regex" | "extglob_pattern" | "number" | "test_operator" => {
            // `2>x` and `{fd}>x` are redirects to Bash, wherever the grammar sees words.
            let next = source.get(node.end_byte()..).and_then(|it| it.chars().next());
            let digits = text.chars().all(|it| it.is_ascii_digit()) && starts_word;
            let descriptor = matches!(next, Some('<' | '>')) && (digits || text.ends_with('}'));
            let comment = starts_word && text.starts_with('#');
            let torn = node.kind() == "word" && has_space(text);
            !(descriptor || comment || torn || expands(text, Inside::Word))
        }
        _ => true,
    }
}

/// Whether a `$'…'` ends for Bash where it ends for the grammar, which takes every `\'` for a quote
/// that goes on, also the one after a pair of backslashes.
fn ends_once(text: &str) -> bool {
    let mut escaped = false;
    let end = text.char_indices().skip(2).find(|(_, char)| {
        let ends = *char == '\'' && !escaped;
        escaped = *char == '\\' && !escaped;
        ends
    });
    end.is_some_and(|(at, _)| at + 1 == text.len())
}

/// Whether what the grammar takes for a pattern is one for Bash. Outside of `[[ … ]]` it is a word
/// like any other, and ends where words end.
fn is_one_pattern(node: Node<'_>, source: &str) -> bool {
    let text = text_of(node, source);
    let tested =
        std::iter::successors(node.parent(), Node::parent).any(|it| it.kind() == "test_command");
    !text.contains(|it: char| it.is_whitespace() || ";&<>".contains(it))
        && (tested || !text.contains(['|', '(', ')']))
}

/// Whether a piece of a word stands apart from the piece before it, so that it is another word.
fn is_torn(node: Node<'_>) -> bool {
    const WHOLE: &[&str] =
        &["concatenation", "command_name", "simple_expansion", "variable_assignment"];
    node.parent().is_some_and(|it| WHOLE.contains(&it.kind()))
        && node.prev_sibling().is_some_and(|it| it.end_byte() != node.start_byte())
}

/// Whether a word has a space in it that no backslash keeps together.
fn has_space(text: &str) -> bool {
    let mut escaped = false;
    text.chars().any(|char| {
        let splits = char.is_whitespace() && !escaped;
        escaped = char == '\\' && !escaped;
        splits
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Word,
    Quotes,
}

/// Whether a text has an unescaped character that starts an expansion or a quotation.
fn expands(text: &str, inside: Inside) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        let starts_expansion = |it: char| {
            it.is_alphanumeric()
                || "_{(@*#?$!-[".contains(it)
                || (inside == Inside::Word && "'\"".contains(it))
        };
        match char {
            '\\' => {
                chars.next();
            }
            '`' => return true,
            '$' if next.is_some_and(starts_expansion) => return true,
            '\'' | '"' if inside == Inside::Word => return true,
            '<' | '>' if inside == Inside::Word && next == Some('(') => return true,
            _ => {}
        }
    }
    false
}

/// Whether a here-document ends for Bash where it ends for the grammar.
fn heredoc(node: Node<'_>, source: &str) -> bool {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let find = |kind: &str| children.iter().find(|it| it.kind() == kind).copied();
    let (Some(start), Some(end)) = (find("heredoc_start"), find("heredoc_end")) else {
        return false;
    };
    let indented = children.iter().any(|it| it.kind() == "<<-");
    let start = text_of(start, source);
    let delimiter: String = start.chars().filter(|it| !"'\"\\".contains(*it)).collect();
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    if delimiter.is_empty() || !delimiter.chars().all(plain) || text_of(end, source) != delimiter {
        return false;
    }
    let strip = |line: &str| {
        if indented { line.trim_start_matches('\t').to_owned() } else { line.to_owned() }
    };
    let before = source.get(..end.start_byte()).unwrap_or_default();
    let after = source.get(end.end_byte()..).unwrap_or_default();
    let alone = strip(before.rsplit('\n').next().unwrap_or_default()).is_empty()
        && (after.is_empty() || after.starts_with('\n'));
    let quoted = start.contains(['\'', '"', '\\']);
    let body = find("heredoc_body");
    let unbroken = body.is_none_or(|body| {
        let text = text_of(body, source);
        (!quoted || body.child_count() == 0)
            && (quoted || !expands_unseen(body, source))
            && !text.lines().any(|line| strip(line) == delimiter)
            // A backslash at a line's end joins lines, which can hide the delimiter.
            && (quoted || !text.contains("\\\n"))
    });
    alone && unbroken
}

/// Whether a body without pieces has something to expand.
fn expands_unseen(body: Node<'_>, source: &str) -> bool {
    body.child_count() == 0 && expands(text_of(body, source), Inside::Quotes)
}
