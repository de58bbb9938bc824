//! The gate: one question for every tool, and its answer.

use serde::{Deserialize, Serialize};

use super::{
    command::{self, Apart},
    defaults, files,
    files::Verdict,
    fixed,
    paths::{Place, Where},
    rule::{Action, Origin, Rule, RuleSet, Subject, Trust},
    suggest,
};

/// A tool call, reduced to what rules can talk about.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub about: About<'a>,
    pub place: Place<'a>,
}

/// What a call is about. Paths are where they really lead: links are resolved before.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// A path in the project, relative to it; `.` is the project's folder.
    Path {
        inside: &'a str,
    },
    /// A path outside the project, absolute.
    External {
        path: &'a str,
    },
    /// A shell command, and the folder that it starts in: relative to the project (`.` or empty
    /// for the project's own), or absolute.
    Command {
        text: &'a str,
        cwd: &'a str,
    },
    /// A host on the network.
    Host {
        host: &'a str,
    },
    /// Something with a name: an agent, a skill.
    Name {
        name: &'a str,
    },
    Plain,
}

/// The gate's answer, for the record and for the ask box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub action: Action,
    /// The list that decided.
    pub origin: Origin,
    /// The deciding rule in words: "project rule: bash `cargo test *` → allow".
    pub because: String,
    /// Each simple command and redirect of a script with its own verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartJudgement>,
    /// The rules that "always" would add, narrow and to be edited. Absent where a rule would not
    /// help or would allow more than anybody could oversee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<Vec<ProposedRule>>,
    /// What a person should know before answering, each a phrase such as "writes to /etc/hosts,
    /// outside the project".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The verdict on one piece of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartJudgement {
    pub text: String,
    pub action: Action,
    pub because: String,
}

/// A rule to allow that a person may save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedRule {
    pub tool: String,
    pub pattern: String,
}

/// Judges a call by a session's rules.
pub fn judge(rules: &RuleSet, call: &Call<'_>) -> Judgement {
    let apart = match call.about {
        About::Command { text, cwd } => {
            Some(command::take_apart(text, &call.place, &call.place.absolute(cwd)))
        }
        _ => None,
    };
    let mut judgement = judge_once(rules, call, apart.as_ref());
    // "Always" is only offered where it would be the last time.
    judgement.always = judgement.always.filter(|proposed| {
        let mut rules = rules.clone();
        for it in proposed {
            match Rule::parse(&it.tool, &it.pattern, Action::Allow) {
                Ok(rule) => rules.project.push(rule),
                Err(_) => return false,
            }
        }
        !proposed.is_empty() && judge_once(&rules, call, apart.as_ref()).action == Action::Allow
    });
    judgement
}

/// Judges a sub-agent's call: its own rules hold, and those of every session above it as a ceiling.
pub fn judge_below(ceilings: &[RuleSet], rules: &RuleSet, call: &Call<'_>) -> Judgement {
    ceilings.iter().map(|it| judge(it, call)).fold(judge(rules, call), |strictest, it| {
        if it.action > strictest.action { it } else { strictest }
    })
}

fn judge_once(rules: &RuleSet, call: &Call<'_>, apart: Option<&Apart>) -> Judgement {
    let mut judgement = match call.about {
        About::Command { text, .. } => match apart {
            Some(apart) => command(rules, call, text, apart),
            None => other(rules, call, Subject::Plain, None),
        },
        About::Path { inside } => path(rules, call, &call.place.absolute(inside)),
        About::External { path: outside } => path(rules, call, outside),
        About::Host { host } => named(rules, call, host),
        About::Name { name } => named(rules, call, name),
        About::Plain => other(rules, call, Subject::Plain, None),
    };
    if rules.trusted == Trust::Untrusted && !defaults::is_harmless_untrusted(call.tool) {
        distrust(&mut judgement);
    }
    judgement
}

/// Nothing runs or changes unasked in a project that its owner has not said to be trusted.
fn distrust(judgement: &mut Judgement) {
    const BECAUSE: &str =
        "built-in: the project is not trusted, so changes and commands are asked about";
    for part in &mut judgement.parts {
        if part.action == Action::Allow {
            (part.action, part.because) = (Action::Ask, BECAUSE.into());
        }
    }
    if judgement.action == Action::Allow {
        judgement.action = Action::Ask;
        judgement.origin = Origin::BuiltIn;
        judgement.because = BECAUSE.into();
        judgement.reasons.push("the project is not trusted yet".into());
    }
    judgement.always = None;
}

fn answer(verdict: Verdict, always: Option<Vec<ProposedRule>>, reasons: Vec<String>) -> Judgement {
    let Verdict { action, origin, because } = verdict;
    let always = always.filter(|_| action == Action::Ask);
    Judgement { action, origin, because, parts: Vec::new(), always, reasons }
}

fn command(rules: &RuleSet, call: &Call<'_>, text: &str, apart: &Apart) -> Judgement {
    let outcome = command::judge(rules, call.tool, &call.place, text, apart);
    let parts = outcome.parts;
    Judgement { parts, ..answer(outcome.verdict, outcome.proposals, outcome.reasons) }
}

fn path(rules: &RuleSet, call: &Call<'_>, path: &str) -> Judgement {
    match call.place.locate(path) {
        Where::Data => answer(Verdict::fixed(fixed::DATA_FOLDER), None, Vec::new()),
        Where::Inside(inside) => {
            let proposal = suggest::file(call.tool, &inside).map(|it| vec![it]);
            answer(files::inside(rules, call.tool, &inside), proposal, Vec::new())
        }
        Where::Outside(outside) => {
            let verdicts = files::outside(rules, call.tool, &outside);
            let mut proposals = Some(Vec::new());
            for (question, _) in verdicts.iter().filter(|it| it.1.action == Action::Ask) {
                let proposal = match *question {
                    "external_directory" => suggest::surroundings(&call.place, &outside),
                    _ => suggest::file(call.tool, &outside),
                };
                proposals = proposals.zip(proposal).map(|(mut all, it)| {
                    all.push(it);
                    all
                });
            }
            let strictest = verdicts
                .into_iter()
                .map(|it| it.1)
                .reduce(|most, it| if it.action > most.action { it } else { most });
            let verdict = strictest.unwrap_or_else(|| {
                Verdict::built_in(Action::Ask, defaults::of_tool("external_directory").1)
            });
            let reasons = match verdict.action {
                Action::Ask => vec![format!("{outside} is outside the project")],
                Action::Allow | Action::Deny => Vec::new(),
            };
            answer(verdict, proposals, reasons)
        }
    }
}

fn named(rules: &RuleSet, call: &Call<'_>, name: &str) -> Judgement {
    let proposal = suggest::name(call.tool, name);
    other(rules, call, Subject::Name(name), proposal)
}

fn other(
    rules: &RuleSet,
    call: &Call<'_>,
    subject: Subject<'_>,
    proposal: Option<super::ProposedRule>,
) -> Judgement {
    let verdict = match rules.find(call.tool, subject) {
        Some((origin, rule)) => Verdict::rule(origin, rule),
        None => {
            let (action, because) = defaults::of_tool(call.tool);
            Verdict::built_in(action, because)
        }
    };
    let proposal = proposal.or_else(|| suggest::tool(call.tool));
    answer(verdict, proposal.map(|it| vec![it]), Vec::new())
}
