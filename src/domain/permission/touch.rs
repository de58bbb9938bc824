//! Whether a command may do to a path what it is about to do.

use super::{
    defaults, files,
    files::Verdict,
    fixed::{self, Extent},
    judge::ProposedRule,
    paths::{Place, Where, file_name, fixed_folder, join},
    pattern,
    programs::{Access, Effect},
    rule::{Action, RuleSet, Subject},
    shell::{Cwds, HOLE, Word},
    suggest,
};

/// One thing that was found about a step of a script.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub verdict: Verdict,
    /// For the ask box, in words.
    pub reason: Option<String>,
    /// The rule that would settle it. Where something is asked without one, nothing is offered.
    pub proposal: Option<ProposedRule>,
}

impl Finding {
    pub(super) fn of(verdict: Verdict) -> Self {
        Self { verdict, reason: None, proposal: None }
    }

    /// Something that a person has to look at, whatever the rules say.
    pub(super) fn doubt(reason: &str) -> Self {
        let verdict =
            Verdict::built_in(Action::Ask, &format!("built-in: asked because it {reason}"));
        Self { verdict, reason: Some(reason.into()), proposal: None }
    }
}

/// Files that are there for every program and keep nothing.
const FREE: &[&str] = &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Judges one effect of a command, for each folder that it may run in.
pub(super) fn touch(
    rules: &RuleSet,
    place: &Place<'_>,
    cwds: &Cwds,
    effect: &Effect,
) -> Vec<Finding> {
    let text = effect.path.text.as_str();
    if text == "-" || text.is_empty() || FREE.contains(&text) {
        return Vec::new();
    }
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return vec![Finding::doubt("opens a connection to the network")];
    }
    if let Some(unknown) = effect.path.unknown {
        let known = text.split(HOLE).next().unwrap_or_default();
        if known.starts_with('/') && place.locate(known) == Where::Data {
            return vec![Finding::of(Verdict::fixed(fixed::DATA_FOLDER))];
        }
        return vec![Finding::doubt(unknown.reason())];
    }
    let paths: Vec<String> = match cwds {
        _ if text.starts_with('/') => vec![join("/", text)],
        Cwds::Known(all) => all.iter().map(|it| join(it, text)).collect(),
        Cwds::Unknown => return vec![Finding::doubt("runs in a folder that is not known")],
    };
    paths.iter().flat_map(|path| one(rules, place, effect, path)).collect()
}

fn one(rules: &RuleSet, place: &Place<'_>, effect: &Effect, path: &str) -> Vec<Finding> {
    let access = effect.access;
    let tree = matches!(
        access,
        Access::ReadTree | Access::WriteTree | Access::RemoveSome | Access::RemoveTree
    );
    let extent = match access {
        Access::RemoveTree => Some(Extent::Whole),
        Access::RemoveSome => Some(Extent::Some),
        _ => None,
    };
    let undeletable =
        extent.and_then(|extent| fixed::undeletable(place, path, &effect.path.text, extent));
    if let Some(why) = undeletable {
        return vec![Finding::of(Verdict::fixed(&why))];
    }
    // What a wildcard stands for lies in the folder before it.
    let folder = if effect.path.glob { fixed_folder(path) } else { path };
    if place.locate(folder) == Where::Data || (tree && place.holds_data(path)) {
        return vec![Finding::of(Verdict::fixed(fixed::DATA_FOLDER))];
    }
    let (tool, verb) = match access {
        Access::List => ("list", "looks at"),
        Access::Read | Access::ReadTree => ("read", "reads"),
        Access::Write | Access::WriteTree => ("write", "writes to"),
        Access::RemoveSome | Access::RemoveTree => ("write", "deletes"),
    };
    let mut findings = Vec::new();
    match place.locate(path) {
        Where::Data => findings.push(Finding::of(Verdict::fixed(fixed::DATA_FOLDER))),
        Where::Inside(inside) => {
            let verdict = files::inside(rules, tool, &inside);
            let asks = verdict.action == Action::Ask;
            let proposal =
                if asks && extent.is_none() { suggest::file(tool, &inside) } else { None };
            let reason = asks.then(|| format!("{verb} {inside}"));
            findings.push(Finding { verdict, reason, proposal });
            if tree && let Some(rule) = files::restricts_below(rules, tool, &inside) {
                let reason = format!("goes through {inside}, where the rule {rule} may hold");
                findings.push(Finding::doubt(&reason));
            }
        }
        Where::Outside(outside) => {
            for (question, verdict) in files::outside(rules, tool, &outside) {
                let asks = verdict.action == Action::Ask;
                let proposal = match question {
                    _ if !asks || extent.is_some() => None,
                    "external_directory"
                        if matches!(
                            access,
                            Access::List | Access::ReadTree | Access::WriteTree
                        ) =>
                    {
                        suggest::folder(place, &outside)
                    }
                    "external_directory" => suggest::surroundings(place, &outside),
                    _ => suggest::file(tool, &outside),
                };
                let outside_the_project = format!("{verb} {outside}, outside the project");
                let reason = (asks && !question.is_empty()).then_some(outside_the_project);
                findings.push(Finding { verdict, reason, proposal });
            }
        }
    }
    if effect.path.glob && access != Access::List {
        findings.push(Finding::doubt("names files by a pattern"));
    }
    findings
}

/// Whether one of the words of a command leads into Forge's data folder, whatever the command is.
pub(super) fn reaches_data(place: &Place<'_>, cwds: &Cwds, words: &[Word]) -> bool {
    let near = match cwds {
        Cwds::Known(all) => {
            all.iter().any(|it| place.holds_data(it) || place.locate(it) == Where::Data)
        }
        Cwds::Unknown => false,
    };
    words.iter().flat_map(|it| values(&it.text)).any(|part| {
        (near || part.contains('/') || part == "..")
            && targets(cwds, part).any(|it| place.locate(&it) == Where::Data)
    })
}

/// What a word of a command names that is not to be read, whichever program the command is.
pub(super) fn names_secret(
    rules: &RuleSet,
    place: &Place<'_>,
    cwds: &Cwds,
    word: &Word,
) -> Option<Finding> {
    values(&word.text).into_iter().find_map(|part| {
        targets(cwds, part).find_map(|path| match place.locate(&path) {
            Where::Inside(inside) if inside != "." => {
                let denied = rules.find("read", Subject::Path(&inside)).is_some_and(|(_, rule)| {
                    rule.action == Action::Deny && !pattern::is_everything(&rule.pattern)
                });
                let secret = defaults::is_secret(&inside) && file_name(&inside) == file_name(part);
                let reason = format!("names {inside}, which is not to be read");
                (denied || secret).then(|| Finding::doubt(&reason))
            }
            _ => None,
        })
    })
}

/// What of a word may be a path: the word itself, and what follows a `=`, `:` or `@`.
fn values(text: &str) -> Vec<&str> {
    let known = text.split(HOLE).next().unwrap_or_default();
    let value = known.rsplit(['=', ':', '@']).next().unwrap_or_default();
    let mut values = vec![known, value];
    values.dedup();
    values.retain(|it| !it.is_empty());
    values
}

fn targets<'a>(cwds: &'a Cwds, part: &'a str) -> impl Iterator<Item = String> + 'a {
    let folders: &[String] = match cwds {
        Cwds::Known(all) if !part.starts_with('/') => all,
        _ => &[],
    };
    let absolute = part.starts_with('/').then(|| join("/", part));
    absolute.into_iter().chain(folders.iter().map(move |it| join(it, part)))
}
