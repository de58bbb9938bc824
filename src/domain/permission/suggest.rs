//! The rules that "always" proposes: narrow, and none where nobody could oversee what it allows.

use super::{
    fixed,
    judge::ProposedRule,
    paths::{Place, file_name, is_below, normalise},
    pattern,
    programs::{self, Nature},
    rule::MCP_PREFIX,
    shell::Word,
};

/// Programs whose first words say what they do, and how many of them do.
const ARITY: &[(&str, usize)] = &[
    ("git", 2),
    ("git stash", 3),
    ("git remote", 3),
    ("git worktree", 3),
    ("git branch", 3),
    ("git tag", 3),
    ("git push", 3),
    ("cargo", 2),
    ("cargo nextest", 3),
    ("go", 2),
    ("gh", 3),
    ("ruff", 2),
    ("cmake", 2),
    ("bazel", 2),
    ("swift", 2),
    ("zig", 2),
    ("flutter", 2),
    ("dart", 2),
    ("deno", 2),
    ("pytest", 1),
    ("jest", 1),
    ("vitest", 1),
    ("eslint", 1),
    ("prettier", 1),
    ("tsc", 1),
    ("mypy", 1),
    ("pyright", 1),
    ("black", 1),
    ("isort", 1),
    ("flake8", 1),
    ("rustfmt", 1),
    ("gofmt", 1),
    ("clang-format", 1),
    ("ctest", 1),
    ("rspec", 1),
    ("rubocop", 1),
    ("phpunit", 1),
    ("shellcheck", 1),
    ("hadolint", 1),
    ("mkdir", 1),
    ("touch", 1),
    ("cp", 1),
    ("mv", 1),
    ("diff", 1),
    ("ls", 1),
    ("cat", 1),
    ("head", 1),
    ("tail", 1),
    ("wc", 1),
    ("grep", 1),
    ("rg", 1),
    ("tree", 1),
    ("du", 1),
    ("stat", 1),
    ("file", 1),
    ("sort", 1),
    ("uniq", 1),
    ("cut", 1),
    ("rev", 1),
    ("cd", 1),
    ("tokei", 1),
    ("cloc", 1),
    ("gcc", 1),
    ("g++", 1),
    ("clang", 1),
    ("rustc", 1),
    ("javac", 1),
];

/// The longest command that is proposed as it stands.
const MAX_EXACT: usize = 200;

/// Proposes a rule for one simple command.
pub(super) fn command(tool: &str, words: &[Word]) -> Option<ProposedRule> {
    let program = words.first()?.literal()?;
    if programs::nature(words) == Nature::Runs || !programs::risks(words).is_empty() {
        return None;
    }
    let literal: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    let two = literal.get(..2).map(|it| it.join(" "));
    let arity = |name: &str| ARITY.iter().find(|it| it.0 == name).map(|it| it.1);
    let arity = two.as_deref().and_then(arity).or_else(|| arity(program));
    let head = arity.and_then(|arity| literal.get(..arity));
    let is_word = |it: &&str| {
        it.starts_with(|it: char| it.is_ascii_alphabetic())
            && it.chars().all(|it| it.is_ascii_alphanumeric() || "-_:+".contains(it))
    };
    if let Some(head) = head.filter(|it| it.iter().all(is_word)) {
        return Some(propose(tool, format!("{} *", head.join(" "))));
    }
    let exact = words.iter().map(Word::quoted).collect::<Vec<_>>().join(" ");
    (exact.chars().count() <= MAX_EXACT).then(|| propose(tool, pattern::escape(&exact)))
}

/// Proposes the file itself.
pub(super) fn file(tool: &str, path: &str) -> Option<ProposedRule> {
    if fixed::in_git(path) {
        return None;
    }
    Some(propose(tool, pattern::escape_path(path)?))
}

/// Proposes a folder outside the project with what is in it.
pub(super) fn folder(place: &Place<'_>, path: &str) -> Option<ProposedRule> {
    if is_broad(place, path) {
        return None;
    }
    Some(propose("external_directory", format!("{}/**", pattern::escape_path(path)?)))
}

/// Proposes the folder of a file outside the project, or the file itself where that folder holds
/// too much.
pub(super) fn surroundings(place: &Place<'_>, path: &str) -> Option<ProposedRule> {
    let name = file_name(path);
    let folder = path.strip_suffix(name).unwrap_or_default().trim_end_matches('/');
    let hidden = path.split('/').any(|it| it.starts_with('.'));
    if hidden || is_broad(place, folder) || is_system(folder) {
        return Some(propose("external_directory", pattern::escape_path(path)?));
    }
    Some(propose("external_directory", format!("{}/**", pattern::escape_path(folder)?)))
}

/// Proposes a host or another name.
pub(super) fn name(tool: &str, name: &str) -> Option<ProposedRule> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.:/@".contains(it);
    (!name.is_empty() && name.chars().all(plain)).then(|| propose(tool, name.to_owned()))
}

/// Proposes a tool as a whole, where it is one of a server that somebody added.
pub(super) fn tool(tool: &str) -> Option<ProposedRule> {
    (tool.starts_with(MCP_PREFIX) || tool == "web_search" || tool == "memory_remember")
        .then(|| propose(tool, "*".into()))
}

fn propose(tool: &str, pattern: String) -> ProposedRule {
    ProposedRule { tool: tool.into(), pattern }
}

/// Whether a folder holds the project, a home, or nearly everything.
fn is_broad(place: &Place<'_>, path: &str) -> bool {
    let path = normalise(path);
    let holds = |it: &str| is_below(&normalise(it), &path);
    path.matches('/').count() < 2 && !path.starts_with("/tmp/")
        || holds(place.root)
        || holds(place.home)
        || holds(place.data_dir)
}

/// Whether a folder belongs to the machine.
fn is_system(path: &str) -> bool {
    ["/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/var"].iter().any(|it| is_below(path, it))
}
