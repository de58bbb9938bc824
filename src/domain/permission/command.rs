//! The judgement of a shell command: of each thing that it does, and the strictest holds.

use super::{
    defaults,
    files::Verdict,
    fixed,
    judge::{PartJudgement, ProposedRule},
    paths::{Place, Where},
    pattern,
    programs::{self, Access, Effect, Folder, Nature},
    rule::{Action, RuleSet, Subject},
    shell::{self, Direction, Role, Step, What, Word},
    suggest,
    touch::{self, Finding},
};

/// What was made of a command.
#[derive(Debug)]
pub(super) struct Outcome {
    pub verdict: Verdict,
    pub parts: Vec<PartJudgement>,
    pub reasons: Vec<String>,
    /// Rules that would settle what is asked, where there are such.
    pub proposals: Option<Vec<ProposedRule>>,
}

struct Court<'a> {
    rules: &'a RuleSet,
    tool: &'a str,
    place: &'a Place<'a>,
}

/// The words of Bash that are no programs. One in a program's place was not understood.
const KEYWORDS: &[&str] = &[
    "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "in", "function", "select", "[[", "]]", "!", "((", "))", "time", "coproc",
];

/// A command taken apart, so that it is judged by several rule sets and taken apart once.
pub(super) struct Apart(Vec<Step>);

/// Takes a command apart. `cwd` is the absolute path of the folder in which it is started.
pub(super) fn take_apart(text: &str, place: &Place<'_>, cwd: &str) -> Apart {
    Apart(shell::read(text, place, cwd))
}

pub(super) fn judge(
    rules: &RuleSet,
    tool: &str,
    place: &Place<'_>,
    text: &str,
    Apart(steps): &Apart,
) -> Outcome {
    let court = Court { rules, tool, place };
    let mut parts = Vec::new();
    let mut all = court.whole(text, steps);
    for step in steps {
        let findings = court.step(step);
        if let Some(strictest) = strictest(&findings) {
            parts.push(PartJudgement {
                text: cut(&step.raw),
                action: strictest.action,
                because: strictest.because.clone(),
            });
        }
        all.extend(findings);
    }
    let verdict = strictest(&all).cloned().unwrap_or_else(|| match text.trim() {
        "" => Verdict::built_in(Action::Ask, "built-in: asked because there is no command"),
        _ => Verdict::built_in(Action::Allow, "built-in: it runs no command"),
    });
    let mut reasons: Vec<String> = Vec::new();
    let asking = || all.iter().filter(|it| it.verdict.action == Action::Ask);
    for reason in asking().filter_map(|it| it.reason.as_ref()) {
        if !reasons.contains(reason) && reasons.len() < 12 {
            reasons.push(cut(reason));
        }
    }
    let proposals: Option<Vec<ProposedRule>> = match verdict.action {
        Action::Ask => asking().map(|it| it.proposal.clone()).collect(),
        Action::Allow | Action::Deny => None,
    };
    let proposals = proposals.map(|all| {
        let mut once: Vec<ProposedRule> = Vec::new();
        for it in all {
            if !once.contains(&it) {
                once.push(it);
            }
        }
        once
    });
    Outcome { verdict, parts, reasons, proposals }
}

/// The strictest of some findings, and the first of those.
fn strictest(findings: &[Finding]) -> Option<&Verdict> {
    let verdicts = findings.iter().map(|it| &it.verdict);
    verdicts.reduce(|most, it| if it.action > most.action { it } else { most })
}

/// A text as long as a page can show.
fn cut(text: &str) -> String {
    const MAX: usize = 400;
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl Court<'_> {
    /// What can be said of the text as a whole.
    fn whole(&self, text: &str, steps: &[Step]) -> Vec<Finding> {
        let mut findings = Vec::new();
        if fixed::mentions_data(self.place, text) {
            findings.push(Finding::of(Verdict::fixed(fixed::DATA_FOLDER)));
        }
        // A pattern that starts with a star means the words wherever they stand. Where the text was
        // not understood, every line and piece of it may be a command.
        let opaque = steps.iter().any(|it| matches!(it.what, What::Opaque));
        let mut texts = vec![text.to_owned()];
        if opaque {
            let joined = format!("{text}\n{}", text.replace("\\\n", ""));
            let pieces =
                joined.split([';', '|', '&', '\n', '(', ')', '`', '{', '}', '<', '>', '\r']);
            texts.extend(pieces.take(1000).map(|it| squeeze(&it.replace(['\'', '"', '\\'], ""))));
        }
        let denied = self.rules.find(self.tool, Subject::Command { exact: &[], loose: &texts });
        if let Some((origin, rule)) = denied
            && rule.action == Action::Deny
            && (opaque || rule.pattern.starts_with('*'))
        {
            findings.push(Finding::of(Verdict::rule(origin, rule)));
        }
        findings
    }

    fn step(&self, step: &Step) -> Vec<Finding> {
        let mut findings = match &step.what {
            What::Command { words, role } => self.command(step, words, *role),
            What::Redirect { target, direction } => {
                let access = match direction {
                    Direction::From => Access::Read,
                    Direction::To => Access::Write,
                };
                let effect = Effect { access, path: target.clone() };
                touch::touch(self.rules, self.place, &step.cwds, &effect)
            }
            What::Other | What::Opaque => Vec::new(),
        };
        findings.extend(step.doubts.iter().map(|it| Finding::doubt(it)));
        findings
    }

    fn command(&self, step: &Step, words: &[Word], role: Role) -> Vec<Finding> {
        let mut findings = vec![self.named(step, words, role)];
        if touch::reaches_data(self.place, &step.cwds, words) {
            findings.push(Finding::of(Verdict::fixed(fixed::DATA_FOLDER)));
        }
        if role == Role::Transparent {
            return findings;
        }
        let args = words.get(1..).unwrap_or_default();
        let program = programs::name(words).unwrap_or_default();
        let called = words.first().map_or("", |it| it.text.as_str());
        if KEYWORDS.contains(&called) || called.is_empty() || !called.is_ascii() {
            findings.push(Finding::doubt("runs a command whose name is not understood"));
        }
        // What is printed or only tested may be anything.
        let takes_anything = matches!(called, "echo" | "printf" | "true" | "false" | ":");
        let lists = matches!(called, "ls");
        for word in args.iter().filter(|_| !takes_anything) {
            if let Some(unknown) = word.unknown {
                findings.push(Finding::doubt(unknown.reason()));
            } else if word.glob && !lists {
                findings.push(Finding::doubt("names files by a pattern"));
            }
        }
        let effects = programs::effects(words);
        for effect in &effects {
            findings.extend(touch::touch(self.rules, self.place, &step.cwds, effect));
        }
        if effects.is_empty() && !takes_anything {
            let named = args.iter().filter(|it| !it.text.starts_with('-') || it.text.contains('='));
            let cwds = &step.cwds;
            findings.extend(
                named.filter_map(|it| touch::names_secret(self.rules, self.place, cwds, it)),
            );
        }
        findings.extend(programs::risks(words).iter().map(|it| Finding::doubt(it)));
        if role == Role::Program && programs::nature(words) == Nature::Runs && program != "find" {
            findings.extend(self.started(args));
        }
        findings
    }

    /// What the rules, or the defaults, say of a command by its text.
    fn named(&self, step: &Step, words: &[Word], role: Role) -> Finding {
        let (exact, loose) = readings(step, words);
        let found = self.rules.find(self.tool, Subject::Command { exact: &exact, loose: &loose });
        let verdict = match (found, role) {
            // That a wrapper may run says nothing of what it starts.
            (Some((_, rule)), Role::Transparent) if rule.action == Action::Allow => {
                Verdict::built_in(Action::Allow, JUDGED_INSIDE)
            }
            (Some((origin, rule)), _) => Verdict::rule(origin, rule),
            (None, Role::Transparent) => Verdict::built_in(Action::Allow, JUDGED_INSIDE),
            (None, Role::Elevating) => {
                Verdict::built_in(Action::Ask, "built-in: other powers are asked about")
            }
            (None, Role::Program) => {
                let folder = match step.cwds.single().map(|it| self.place.locate(it)) {
                    Some(Where::Inside(inside)) if inside == "." => Folder::Project,
                    _ => Folder::Elsewhere,
                };
                match programs::only_looks(words, folder) {
                    true => Verdict::built_in(Action::Allow, "built-in: the command only looks"),
                    false => {
                        let (action, because) = defaults::of_tool(self.tool);
                        Verdict::built_in(action, because)
                    }
                }
            }
        };
        let offers = verdict.action == Action::Ask && role == Role::Program;
        let proposal = if offers { suggest::command(self.tool, words) } else { None };
        Finding { verdict, reason: None, proposal }
    }

    /// A program that runs what it is given must not be given what a rule denies.
    fn started(&self, args: &[Word]) -> Option<Finding> {
        (0..args.len().min(24)).find_map(|at| {
            let rest = args.get(at..)?;
            let joined = rest.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
            let texts = [joined, rest.first()?.text.clone()];
            let (origin, rule) =
                self.rules.find(self.tool, Subject::Command { exact: &[], loose: &texts })?;
            let narrow = rule.action == Action::Deny && !pattern::is_everything(&rule.pattern);
            narrow.then(|| Finding::of(Verdict::rule(origin, rule)))
        })
    }
}

const JUDGED_INSIDE: &str = "built-in: judged by what it starts";

/// The forms of a command that a rule may cover: what it exactly is, and other readings.
fn readings(step: &Step, words: &[Word]) -> (Vec<String>, Vec<String>) {
    let quoted = words.iter().map(Word::quoted).collect::<Vec<_>>().join(" ");
    let plain = words.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
    let mut loose = vec![squeeze(&step.raw)];
    if let Some((name, args)) = plain.split_once(' ').or(Some((plain.as_str(), "")))
        && let Some((_, base)) = name.rsplit_once('/')
    {
        loose.push(if args.is_empty() { base.to_owned() } else { format!("{base} {args}") });
    }
    loose.push(plain);
    let mut exact = vec![quoted];
    if !step.raw.contains(['\n', '\t']) && step.doubts.is_empty() {
        exact.push(step.raw.trim().to_owned());
    }
    (exact, loose)
}

/// A text on one line with single spaces.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
