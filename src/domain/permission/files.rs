//! Whether a tool may do something with one path.

use super::{
    defaults, fixed,
    paths::{Place, Where},
    pattern,
    rule::{Action, Origin, Rule, RuleSet, Subject, WRITERS},
};

/// What was decided, by which list, and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub action: Action,
    pub origin: Origin,
    pub because: String,
}

impl Verdict {
    pub(super) fn fixed(because: &str) -> Self {
        Self { action: Action::Deny, origin: Origin::Fixed, because: because.into() }
    }

    pub(super) fn built_in(action: Action, because: &str) -> Self {
        Self { action, origin: Origin::BuiltIn, because: because.into() }
    }

    pub(super) fn rule(origin: Origin, rule: &Rule) -> Self {
        Self { action: rule.action, origin, because: format!("{origin} rule: {rule}") }
    }
}

/// Judges a path in the project, relative to it.
pub(super) fn inside(rules: &RuleSet, tool: &str, path: &str) -> Verdict {
    if WRITERS.contains(&tool)
        && let Some(why) = fixed::unwritable(path)
    {
        return Verdict::fixed(why);
    }
    by_rules(rules, tool, path)
}

/// Judges an absolute path outside the project: first whether the tool may go there, then whether
/// it may do this with such a file.
pub(super) fn outside(rules: &RuleSet, tool: &str, path: &str) -> Vec<(&'static str, Verdict)> {
    let question = by_rules(rules, "external_directory", path);
    let own = match WRITERS.contains(&tool).then(|| fixed::unwritable(path)).flatten() {
        Some(why) => Verdict::fixed(why),
        None => by_rules(rules, tool, path),
    };
    vec![("external_directory", question), ("", own)]
}

fn by_rules(rules: &RuleSet, tool: &str, path: &str) -> Verdict {
    match rules.find(tool, Subject::Path(path)) {
        Some((origin, rule)) => Verdict::rule(origin, rule),
        None => {
            let (action, because) = defaults::of_path(tool, path);
            Verdict::built_in(action, because)
        }
    }
}

/// A rule, other than one for everything, that keeps a tool from something in a folder.
pub(super) fn restricts_below<'r>(
    rules: &'r RuleSet,
    tool: &str,
    folder: &str,
) -> Option<&'r Rule> {
    let restricts = |rule: &&Rule| {
        rule.action != Action::Allow
            && matches!(
                rule.tool.as_str(),
                "*" | "read" | "write" | "edit" | "grep" | "list" | "glob"
            )
            && (rule.tool == tool || rule.tool == "*" || (rule.tool == "edit" && tool == "write"))
            && pattern::reaches(&rule.pattern, folder)
    };
    rules.all().find(restricts)
}

/// Whether a tool that goes through many files, such as a search, may show this one without asking.
/// `path` is relative to the project and leads where it says.
pub fn may_show(rules: &RuleSet, place: Place<'_>, path: &str) -> bool {
    match place.locate(&place.absolute(path)) {
        Where::Inside(path) => inside(rules, "read", &path).action == Action::Allow,
        Where::Outside(_) | Where::Data => false,
    }
}
