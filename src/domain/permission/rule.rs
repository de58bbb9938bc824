//! Rules, where they come from, and which of them decides.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::pattern;
pub use crate::domain::trust::Trust;
use crate::domain::{
    ids::RuleId,
    message::{UnknownWord, words},
};

/// What a rule, and in the end the gate, says.
///
/// In the order of strictness: of several verdicts the greatest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

/// Which list a verdict is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// One of the few rules that nobody can override.
    Fixed,
    Global,
    Project,
    Agent,
    BuiltIn,
}

words! {
    Action { Allow => "allow", Ask => "ask", Deny => "deny" }
    Origin {
        Fixed => "fixed", Global => "global", Project => "project",
        Agent => "agent", BuiltIn => "built_in",
    }
}

/// One line of a permission list, such as "allow `bash` for `cargo test *`".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Absent for a rule that is in no table: an agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RuleId>,
    /// One of [`TOOLS`], the name of an MCP server's tool, or `*`.
    pub tool: String,
    /// A glob over the path, the command, the host or the name that the call is about.
    pub pattern: String,
    pub action: Action,
}

/// What a rule can be about. `external_directory` is the question whether a tool may leave the
/// project, whichever tool it is; `network` is the question which hosts commands may reach while
/// they run.
pub const TOOLS: &[&str] = &[
    "read",
    "write",
    "edit",
    "multi_edit",
    "apply_patch",
    "list",
    "glob",
    "grep",
    "bash",
    "bash_output",
    "bash_kill",
    "task",
    "todo_write",
    "question",
    "web_fetch",
    "web_search",
    "skill",
    "memory_remember",
    "external_directory",
    "network",
];

/// What the tools of MCP servers begin with: `mcp__<server>__<tool>`.
pub const MCP_PREFIX: &str = "mcp__";

/// The question which hosts commands may reach.
pub(super) const NETWORK: &str = "network";

/// The longest tool name and the longest pattern of a rule, in characters.
pub const MAX_TOOL: usize = 128;
pub const MAX_PATTERN: usize = 1000;

/// Why a rule was refused, in words for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("Name the tool that the rule is about, or * for every tool.")]
    NoTool,
    #[error("There is no tool named {0}. Choose one from the list, or * for every tool.")]
    UnknownTool(String),
    #[error("Say what the rule covers, or * for everything.")]
    NoPattern,
    #[error("Keep the pattern under {} characters.", MAX_PATTERN + 1)]
    PatternTooLong,
    #[error("The pattern has a line break or another invisible character. Take it out.")]
    InvisibleCharacter,
    #[error("Choose allow or deny for network: a command that runs cannot wait for an answer.")]
    NoAnswerWhileRunning,
    #[error("Name a host, such as *.crates.io, without https:// and without a path.")]
    NoHost,
    #[error("The braces in the pattern stand for too many names. Write several rules.")]
    TooManyAlternatives,
}

impl Rule {
    /// Makes a rule from what somebody wrote.
    pub fn parse(tool: &str, pattern: &str, action: Action) -> Result<Self, RuleError> {
        let (tool, pattern) = (tool.trim(), pattern.trim());
        if tool.is_empty() {
            return Err(RuleError::NoTool);
        }
        if !is_tool(tool) {
            return Err(RuleError::UnknownTool(tool.chars().take(MAX_TOOL).collect()));
        }
        if pattern.is_empty() {
            return Err(RuleError::NoPattern);
        }
        if pattern.chars().count() > MAX_PATTERN {
            return Err(RuleError::PatternTooLong);
        }
        if pattern.chars().any(super::shell::is_invisible) {
            return Err(RuleError::InvisibleCharacter);
        }
        if tool != "bash" && !pattern::is_bounded(pattern) {
            return Err(RuleError::TooManyAlternatives);
        }
        let mut pattern = pattern.to_owned();
        if tool == NETWORK {
            if action == Action::Ask {
                return Err(RuleError::NoAnswerWhileRunning);
            }
            if pattern.contains(['/', ' ', '@']) {
                return Err(RuleError::NoHost);
            }
            pattern.make_ascii_lowercase();
        }
        Ok(Self { id: None, tool: tool.into(), pattern, action })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` → {}", self.tool, self.pattern, self.action)
    }
}

fn is_tool(name: &str) -> bool {
    let mcp = name.strip_prefix(MCP_PREFIX).is_some_and(|rest| {
        let plain = |char: char| char.is_ascii_alphanumeric() || "_-.*".contains(char);
        !rest.is_empty() && rest.chars().all(plain)
    });
    name.len() <= MAX_TOOL && (name == "*" || TOOLS.contains(&name) || mcp)
}

/// The rules that hold for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSet {
    pub global: Vec<Rule>,
    pub project: Vec<Rule>,
    pub agent: Vec<Rule>,
    pub trusted: Trust,
}

/// What a rule's pattern is held against.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    Path(&'a str),
    /// A simple command, as it was written and in the forms that it can hide behind.
    Command {
        /// What it exactly is. A rule that allows must cover one of these.
        exact: &'a [String],
        /// Other readings. They only ever make a verdict stricter.
        loose: &'a [String],
    },
    Name(&'a str),
    /// Nothing that a pattern could tell apart.
    Plain,
}

impl RuleSet {
    /// The rule that decides: a global deny, else the last match of the project's, of the global,
    /// of the agent's rules.
    pub(super) fn find(&self, tool: &str, subject: Subject<'_>) -> Option<(Origin, &Rule)> {
        let covers = |rule: &&Rule| covers(rule, tool, subject);
        let denied = self.global.iter().filter(|it| it.action == Action::Deny).rfind(covers);
        if let Some(rule) = denied {
            return Some((Origin::Global, rule));
        }
        let lists = [
            (Origin::Project, &self.project),
            (Origin::Global, &self.global),
            (Origin::Agent, &self.agent),
        ];
        lists.into_iter().find_map(|(origin, list)| Some((origin, list.iter().rfind(covers)?)))
    }

    /// Every rule, whichever list it is in.
    pub(super) fn all(&self) -> impl Iterator<Item = &Rule> {
        self.project.iter().chain(&self.global).chain(&self.agent)
    }
}

/// The tools that look at files, and those that change them. A rule for `read` is about looking,
/// one for `write` or `edit` about changing, with whatever tool: else a deny would only send the
/// agent to the next tool.
pub(super) const READERS: &[&str] = &["read", "list", "glob", "grep"];
pub(super) const WRITERS: &[&str] = &["write", "edit", "multi_edit", "apply_patch"];

fn covers(rule: &Rule, tool: &str, subject: Subject<'_>) -> bool {
    covers_tool(rule, tool) && covers_subject(rule, subject)
}

fn covers_tool(rule: &Rule, tool: &str) -> bool {
    match rule.tool.as_str() {
        // Leaving the project is a question of its own, and so is the network: only a rule that
        // names it can allow it.
        "*" if tool == NETWORK => rule.action == Action::Deny,
        "*" => tool != "external_directory" || rule.action != Action::Allow,
        "read" => READERS.contains(&tool),
        "write" | "edit" => WRITERS.contains(&tool),
        name if name.starts_with(MCP_PREFIX) => pattern::covers_text(name, tool),
        name => name == tool,
    }
}

fn covers_subject(rule: &Rule, subject: Subject<'_>) -> bool {
    match subject {
        Subject::Path(path) => pattern::covers_path(&rule.pattern, path),
        Subject::Command { exact, loose } => {
            let covers = |it: &String| pattern::covers_text(&rule.pattern, it);
            exact.iter().any(covers) || (rule.action != Action::Allow && loose.iter().any(covers))
        }
        Subject::Name(name) => pattern::covers_text(&rule.pattern, name),
        Subject::Plain => pattern::is_everything(&rule.pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_they_were_written() {
        for action in [Action::Allow, Action::Ask, Action::Deny] {
            assert_eq!(action.to_string().parse(), Ok(action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.to_string());
        }
        assert_eq!("built_in".parse(), Ok(Origin::BuiltIn));
        assert!("perhaps".parse::<Action>().is_err());
    }

    #[test]
    fn a_rule_is_refused_with_what_is_wrong_with_it() {
        let parse = |tool: &str, pattern: &str| Rule::parse(tool, pattern, Action::Allow);
        assert!(parse("bash", " cargo test * ").is_ok_and(|it| it.pattern == "cargo test *"));
        assert!(parse("mcp__github__*", "*").is_ok());
        assert_eq!(parse(" ", "x"), Err(RuleError::NoTool));
        assert_eq!(parse("rm", "x"), Err(RuleError::UnknownTool("rm".into())));
        assert_eq!(parse("bash", ""), Err(RuleError::NoPattern));
        assert_eq!(parse("bash", &"x".repeat(1001)), Err(RuleError::PatternTooLong));
        assert_eq!(parse("bash", "a\nb"), Err(RuleError::InvisibleCharacter));
        let network = |pattern: &str, action| Rule::parse("network", pattern, action);
        assert!(network("*.Crates.io", Action::Allow).is_ok_and(|it| it.pattern == "*.crates.io"));
        assert_eq!(network("a.org", Action::Ask), Err(RuleError::NoAnswerWhileRunning));
        assert_eq!(network("https://a.org", Action::Deny), Err(RuleError::NoHost));
        let braces = "{a,b}".repeat(9);
        assert_eq!(parse("write", &braces), Err(RuleError::TooManyAlternatives));
        assert!(parse("bash", &braces).is_ok());
    }

    #[test]
    fn strictness_is_the_order_of_actions() {
        assert!(Action::Allow < Action::Ask && Action::Ask < Action::Deny);
    }
}
