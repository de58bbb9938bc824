//! What is in doubt about the pieces of a script that are no commands.

use tree_sitter::Node;

use super::Source;
use crate::domain::permission::shell::word::{Word, text_of};

/// Who sees an assignment: the shell alone, or the programs that it starts too.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reach {
    Shell,
    Program,
}

const NOT_UNDERSTOOD: &str = "uses syntax that is not understood";
const ARITHMETIC: &str = "calculates with a variable, whose value could run a command";

/// Variables that only change how a program reports, or that say that nobody sits at a terminal.
const HARMLESS: &[&str] = &[
    // How much is logged, and in which colours.
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "PYTHONUNBUFFERED",
    "COLUMNS",
    "LINES",
    // Nobody is there to answer.
    "CI",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
    // Language and time zone of what is printed.
    "LANG",
    "LC_ALL",
    "TZ",
    // Which variant of a build.
    "NODE_ENV",
    "RAILS_ENV",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "PYTHONDONTWRITEBYTECODE",
];

/// Why an assignment has to be looked at. The value is absent where it is not known.
pub(super) fn assignment(name: &str, value: Option<&str>, reach: Reach) -> Option<String> {
    let plain = |it: &str| {
        it.len() <= 200
            && it.chars().all(|it| it.is_ascii_alphanumeric() || "_-.,:=+@".contains(it))
    };
    let harmless = (HARMLESS.contains(&name) && value.is_some_and(plain))
        || (matches!(name, "PAGER" | "GIT_PAGER") && value == Some("cat"));
    // By custom the environment is in capitals; what proxies and npm read is not.
    let local = name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_");
    if harmless || (reach == Reach::Shell && local) {
        return None;
    }
    Some(format!("sets {name}, which can change what programs do"))
}

/// Why an assignment in the tree has to be looked at.
pub(super) fn assignment_node(node: Node<'_>, source: Source<'_>, reach: Reach) -> Option<String> {
    let name = node.child_by_field_name("name")?;
    if name.kind() != "variable_name" {
        return Some(ARITHMETIC.into());
    }
    let value =
        node.child_by_field_name("value").map(|it| Word::read(it, source.text, source.known));
    let value = value.as_ref().map_or(Some(""), Word::literal);
    assignment(text_of(name, source.text), value, reach)
}

/// Why a statement that is no command has to be looked at, apart from what is inside it.
pub(super) fn statement(node: Node<'_>, source: Source<'_>) -> Vec<String> {
    let mut cursor = node.walk();
    let children = node.children(&mut cursor);
    match node.kind() {
        "variable_assignment" => assignment_node(node, source, Reach::Shell).into_iter().collect(),
        "variable_assignments" => {
            children.filter_map(|it| assignment_node(it, source, Reach::Shell)).collect()
        }
        "declaration_command" => {
            let mut reach = Reach::Shell;
            let mut doubts = Vec::new();
            for child in children {
                let text = text_of(child, source.text);
                match child.kind() {
                    "export" => reach = Reach::Program,
                    "local" | "declare" | "typeset" | "readonly" => {}
                    "word" if matches!(text, "-x" | "-gx" | "-rx") => reach = Reach::Program,
                    "word" if matches!(text, "-r" | "-g" | "-a" | "-p") => {}
                    "variable_assignment" => doubts.extend(assignment_node(child, source, reach)),
                    "variable_name" => doubts.extend(assignment(text, Some(""), reach)),
                    _ => doubts.push(NOT_UNDERSTOOD.into()),
                }
            }
            doubts
        }
        "unset_command" => children
            .filter(|it| it.is_named())
            .filter_map(|it| match it.kind() {
                "variable_name" => assignment(text_of(it, source.text), None, Reach::Shell),
                _ => Some(NOT_UNDERSTOOD.into()),
            })
            .collect(),
        "compound_statement" if !is_number(node, source) => vec![ARITHMETIC.into()],
        // The rest are the pieces of loops, branches and tests, which inner() looked at.
        _ => Vec::new(),
    }
}

/// Why one node inside a statement has to be looked at.
pub(super) fn node(node: Node<'_>, source: Source<'_>) -> Option<String> {
    let text = text_of(node, source.text);
    match node.kind() {
        "arithmetic_expansion" if !is_number(node, source) => Some(ARITHMETIC.into()),
        "subscript" => match node.child_by_field_name("index") {
            Some(index) if index.kind() == "number" => None,
            Some(index) if matches!(text_of(index, source.text), "@" | "*") => None,
            _ => Some(ARITHMETIC.into()),
        },
        "expansion" if !is_simple_expansion(node) => Some(NOT_UNDERSTOOD.into()),
        "test_command" => test(node, source),
        "while_statement" | "for_statement" | "do_group" => None,
        "c_style_for_statement" | "ternary_expression" | "postfix_expression" => {
            Some(ARITHMETIC.into())
        }
        "unary_expression" | "binary_expression" | "parenthesized_expression" => None,
        "word"
        | "number"
        | "string"
        | "string_content"
        | "raw_string"
        | "ansi_c_string"
        | "concatenation"
        | "command_name"
        | "simple_expansion"
        | "variable_name"
        | "special_variable_name"
        | "test_operator"
        | "regex"
        | "extglob_pattern"
        | "brace_expression"
        | "array"
        | "variable_assignment"
        | "variable_assignments"
        | "heredoc_body"
        | "heredoc_content"
        | "herestring_redirect"
        | "declaration_command"
        | "unset_command"
        | "compound_statement"
        | "arithmetic_expansion"
        | "expansion"
        | "translated_string"
        | "comment"
        | "file_descriptor" => None,
        // A bare token between the words, such as `==`.
        _ if !node.is_named() && text.chars().all(|it| "=~".contains(it)) => None,
        _ => Some(NOT_UNDERSTOOD.into()),
    }
}

/// Whether a calculation is only about numbers. A variable's value is calculated again, and that
/// can run a command: `a[$(…)]`.
fn is_number(node: Node<'_>, source: Source<'_>) -> bool {
    let text = text_of(node, source.text);
    text.chars()
        .all(|it| it.is_ascii_digit() || it.is_whitespace() || "+-*/%()<>=!&|$[]".contains(it))
        && !text.contains("$(((")
        && text.matches('$').count() <= 1
}

/// Whether `${…}` only takes a value, perhaps with a default or without an end.
fn is_simple_expansion(node: Node<'_>) -> bool {
    const OPERATORS: &[&str] =
        &["${", "}", ":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "\""];
    let mut cursor = node.walk();
    node.children(&mut cursor).all(|it| it.is_named() || OPERATORS.contains(&it.kind()))
}

/// Why a test has to be looked at: some compare as calculations, and `-v` calculates too.
fn test(node: Node<'_>, source: Source<'_>) -> Option<String> {
    let text = text_of(node, source.text);
    let double = text.starts_with("[[");
    let mut open = vec![node];
    while let Some(it) = open.pop() {
        let piece = text_of(it, source.text);
        let calculates = matches!(piece, "-v" | "-R")
            || (double && matches!(piece, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
        if calculates {
            return Some(ARITHMETIC.into());
        }
        // In single brackets these are redirects.
        if !double && !it.is_named() && matches!(it.kind(), "<" | ">" | ">>") {
            return Some(NOT_UNDERSTOOD.into());
        }
        let mut cursor = it.walk();
        open.extend(it.children(&mut cursor));
    }
    None
}
