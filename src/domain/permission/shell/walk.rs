//! The walk over a parsed script, in the order in which it would run.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Cwds, Direction, Known, MAX_NESTING, MAX_STEPS, Role, Step, What, Word,
    cwd::Flow,
    parse,
    word::text_of,
    wrap::{self, Inner, Outer, Process, Unwrapped},
};

mod doubt;

const TOO_DEEP: &str = "is nested too deeply to look into";
/// The deepest tree that is walked. A script in a script may be a third as deep.
const MAX_DEPTH: usize = 90;

pub(super) struct Walk<'a> {
    home: &'a str,
    steps: &'a mut Vec<Step>,
    /// Whether anything changes the folder.
    moved: bool,
    /// Whether a function does, so that any call may have moved.
    poisoned: bool,
    /// The steps in functions, which run wherever they are called.
    functions: Vec<Range<usize>>,
}

/// The script that is being walked.
#[derive(Clone, Copy)]
struct Source<'s> {
    text: &'s str,
    known: Known<'s>,
    /// How many more scripts may be nested in it.
    nesting: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(home: &'a str, steps: &'a mut Vec<Step>) -> Self {
        Self { home, steps, moved: false, poisoned: false, functions: Vec::new() }
    }

    /// Whether anything moved, whether anything may have moved anywhere, and the functions.
    pub(super) fn finish(self) -> (bool, bool, Vec<Range<usize>>) {
        (self.moved, self.poisoned, self.functions)
    }

    /// Walks a whole script, and says where it leaves a shell that ran it itself.
    pub(super) fn script(&mut self, text: &str, cwds: Cwds, nesting: usize) -> Flow {
        let depth = if nesting == MAX_NESTING { MAX_DEPTH } else { MAX_DEPTH / 3 };
        let parsed = if nesting == 0 { Err(TOO_DEEP) } else { parse(text, depth) };
        let tree = match parsed {
            Ok(tree) => tree,
            Err(reason) => {
                self.steps.push(Step::opaque(text, cwds, reason));
                self.moved = true;
                return Flow::still(&Cwds::Unknown);
            }
        };
        // `$HOME` is what it was unless the script sets it, in whatever disguise.
        let only_read = text.replace("${HOME}", "").replace("$HOME", "");
        let home = (!only_read.contains("HOME")).then_some(self.home);
        let source = Source { text, known: Known { home, pwd: None }, nesting };
        self.sequence(tree.root_node(), source, cwds)
    }

    fn full(&self) -> bool {
        self.steps.len() > MAX_STEPS
    }

    /// The statements of a node, one after the other.
    fn sequence(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let mut flow = Flow::still(&cwds);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            flow = self.statement(child, source, flow.both());
        }
        flow
    }

    fn statement(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        if self.full() {
            return Flow::still(&cwds);
        }
        match node.kind() {
            "list" => self.list(node, source, cwds),
            "command" => self.command(node, source, Vec::new(), cwds),
            "redirected_statement" => self.redirected(node, source, cwds),
            "negated_command" => {
                let flow = self.sequence(node, source, cwds);
                Flow { ok: flow.failed, failed: flow.ok }
            }
            // Each runs in a shell of its own.
            "pipeline" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.statement(child, source, cwds.clone());
                }
                Flow::still(&cwds)
            }
            "subshell" | "command_substitution" | "process_substitution" => {
                self.sequence(node, source, cwds.clone());
                Flow::still(&cwds)
            }
            "compound_statement" if text_of(node, source.text).starts_with("((") => {
                self.expression(node, source, &cwds)
            }
            "compound_statement" => self.sequence(node, source, cwds),
            "if_statement" | "case_statement" | "elif_clause" | "else_clause" | "case_item" => {
                self.branches(node, source, cwds)
            }
            "while_statement" | "for_statement" | "c_style_for_statement" | "do_group" => {
                self.repeated(node, source, cwds)
            }
            "function_definition" => self.function(node, source, cwds),
            "file_redirect" => {
                let mut doubts = Vec::new();
                self.file_redirect(node, source, &cwds, &mut doubts);
                self.other(node, source, &cwds, doubts);
                Flow::still(&cwds)
            }
            "comment" => Flow::still(&cwds),
            _ => self.expression(node, source, &cwds),
        }
    }

    fn list(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let mut cursor = node.walk();
        let mut flow = Flow::still(&cwds);
        let mut operator = "";
        for child in node.children(&mut cursor) {
            if !child.is_named() {
                operator = child.kind();
                continue;
            }
            flow = match operator {
                "&&" => {
                    let right = self.statement(child, source, flow.ok);
                    Flow { ok: right.ok, failed: flow.failed.or(&right.failed) }
                }
                "||" => {
                    let right = self.statement(child, source, flow.failed);
                    Flow { ok: flow.ok.or(&right.ok), failed: right.failed }
                }
                _ => self.statement(child, source, flow.both()),
            };
        }
        flow
    }

    /// A part of this may run or not.
    fn branches(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let mut seen = cwds;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let flow = self.statement(child, source, seen.clone());
            seen = seen.or(&flow.both());
        }
        Flow::still(&seen)
    }

    /// This may run any number of times. If it moves, it is walked again for anywhere.
    fn repeated(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let (before, functions) = (self.steps.len(), self.functions.len());
        let flow = self.branches(node, source, cwds.clone());
        if flow.ok == cwds {
            self.loop_variable(node, source, &cwds);
            return flow;
        }
        self.steps.truncate(before);
        self.functions.truncate(functions);
        self.loop_variable(node, source, &cwds);
        self.branches(node, source, Cwds::Unknown)
    }

    fn loop_variable(&mut self, node: Node<'_>, source: Source<'_>, cwds: &Cwds) {
        self.other(node, source, cwds, doubt::node(node, source).into_iter().collect());
        let name = node.child_by_field_name("variable").map(|it| text_of(it, source.text));
        if let Some(reason) = name.and_then(|it| doubt::assignment(it, None, doubt::Reach::Shell)) {
            self.other(node, source, cwds, vec![reason]);
        }
    }

    fn function(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let start = self.steps.len();
        let name = node.child_by_field_name("name").map(|it| text_of(it, source.text));
        if name.is_some_and(|it| matches!(it, "cd" | "pushd" | "popd")) {
            self.poisoned = true;
        }
        let moved = std::mem::replace(&mut self.moved, false);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|it| it.kind() != "word") {
            self.statement(child, source, cwds.clone());
        }
        self.poisoned |= self.moved;
        self.moved |= moved;
        self.functions.push(start..self.steps.len());
        Flow::still(&cwds)
    }

    fn redirected(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let mut cursor = node.walk();
        let mut body = None;
        let (mut extra, mut doubts, mut documents) = (Vec::new(), Vec::new(), Vec::new());
        let mut targets = Vec::new();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "file_redirect" => targets.push(child),
                "heredoc_redirect" => documents.push(child),
                "herestring_redirect" => self.inner(child, source, &cwds, &mut doubts),
                _ => body = Some(child),
            }
        }
        // The words after a redirect's target belong to the command.
        for target in &targets {
            extra.extend(Self::targets(*target).skip(1));
        }
        let flow = match body {
            Some(body) if body.kind() == "command" => self.command(body, source, extra, cwds.clone()),
            Some(body) => {
                if !extra.is_empty() {
                    doubts.push("has arguments after a redirect".into());
                }
                self.statement(body, source, cwds.clone())
            }
            None => self.words(node, source, extra, Vec::new(), &cwds, Vec::new()),
        };
        let anywhere = flow.clone().both().or(&cwds);
        for target in targets {
            self.file_redirect(target, source, &anywhere, &mut doubts);
        }
        let mut after = flow.clone().both();
        for document in documents {
            let mut cursor = document.walk();
            for child in document.named_children(&mut cursor) {
                match child.kind() {
                    "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                    "heredoc_body" => self.inner(child, source, &anywhere, &mut doubts),
                    _ => after = self.statement(child, source, after.clone()).both().or(&after),
                }
            }
        }
        self.other(node, source, &cwds, doubts);
        Flow { ok: flow.ok.or(&after), failed: flow.failed.or(&after) }
    }

    fn targets<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        let named = (0..node.named_child_count()).filter_map(move |at| {
            node.named_child(u32::try_from(at).unwrap_or(u32::MAX))
        });
        named.filter(|it| it.kind() != "file_descriptor")
    }

    fn file_redirect(
        &mut self,
        node: Node<'_>,
        source: Source<'_>,
        cwds: &Cwds,
        doubts: &mut Vec<String>,
    ) {
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|it| !it.is_named()).map(|it| it.kind());
        let Some(target) = Self::targets(node).next() else {
            if !matches!(operator, Some(">&-" | "<&-")) {
                doubts.push("redirects in a way that is not understood".into());
            }
            return;
        };
        self.inner(target, source, cwds, doubts);
        if target.kind() == "process_substitution" {
            return;
        }
        let word = Word::read(target, source.text, source.known);
        let is_descriptor = |it: &str| it == "-" || it.trim_end_matches('-').parse::<u16>().is_ok();
        let direction = match operator {
            Some(">&" | "<&") if word.literal().is_some_and(is_descriptor) => return,
            Some("<") => Direction::From,
            Some(">" | ">>" | ">|" | "&>" | "&>>" | ">&") => Direction::To,
            _ => {
                doubts.push("redirects in a way that is not understood".into());
                return;
            }
        };
        let raw = format!("{} {}", operator.unwrap_or_default(), word.raw);
        let what = What::Redirect { target: word, direction };
        self.steps.push(Step { raw, what, cwds: cwds.clone(), doubts: Vec::new() });
    }

    /// A simple command. `extra` are words of it that the grammar put elsewhere.
    fn command(&mut self, node: Node<'_>, source: Source<'_>, extra: Vec<Node<'_>>, cwds: Cwds) -> Flow {
        let mut doubts = Vec::new();
        let mut nodes = Vec::new();
        let mut end = node.start_byte();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let gap = source.text.get(end..child.start_byte()).unwrap_or_default();
            if gap.contains('\n') && gap.replace("\\\n", "").contains('\n') {
                doubts.push("uses syntax that is not understood".into());
            }
            end = child.end_byte();
            match child.kind() {
                "variable_assignment" => {
                    self.inner(child, source, &cwds, &mut doubts);
                    doubts.extend(doubt::assignment_node(child, source, doubt::Reach::Program));
                }
                "file_redirect" => {
                    nodes.extend(Self::targets(child).skip(1));
                    self.file_redirect(child, source, &cwds, &mut doubts);
                }
                "herestring_redirect" => self.inner(child, source, &cwds, &mut doubts),
                "subshell" => doubts.push("uses syntax that is not understood".into()),
                _ => nodes.push(child),
            }
        }
        nodes.extend(extra);
        self.words(node, source, nodes, doubts, &cwds, Vec::new())
    }

    /// A command given as the nodes of its words.
    fn words(
        &mut self,
        node: Node<'_>,
        source: Source<'_>,
        nodes: Vec<Node<'_>>,
        mut doubts: Vec<String>,
        cwds: &Cwds,
        mut words: Vec<Word>,
    ) -> Flow {
        for word in nodes {
            self.inner(word, source, cwds, &mut doubts);
            words.push(Word::read(word, source.text, source.known));
        }
        if words.is_empty() {
            self.other(node, source, cwds, doubts);
            return Flow::still(cwds);
        }
        let raw = text_of(node, source.text).to_owned();
        self.run(raw, words, doubts, cwds, source.nesting)
    }

    /// Records a command and what it starts in its turn.
    fn run(&mut self, raw: String, words: Vec<Word>, mut doubts: Vec<String>, cwds: &Cwds, nesting: usize) -> Flow {
        if self.full() {
            return Flow::still(cwds);
        }
        let step = |words: Vec<Word>, role, doubts| Step {
            raw: raw.clone(),
            what: What::Command { words, role },
            cwds: cwds.clone(),
            doubts,
        };
        match wrap::unwrap(&words) {
            Unwrapped::No => {
                let flow = self.moves(&words, cwds);
                self.steps.push(step(words, Role::Program, doubts));
                flow
            }
            Unwrapped::Unclear(reason) => {
                doubts.push(reason.into());
                self.steps.push(step(words, Role::Program, doubts));
                self.moved = true;
                Flow::still(&Cwds::Unknown)
            }
            Unwrapped::Commands { inner, outer, process } => {
                let role = match outer {
                    Outer::Judged => Role::Program,
                    Outer::Transparent => Role::Transparent,
                    Outer::Elevating => Role::Elevating,
                };
                self.steps.push(step(words, role, doubts));
                let mut flow = Flow::still(cwds);
                for Inner { words, doubts } in inner {
                    let raw = words.iter().map(Word::quoted).collect::<Vec<_>>().join(" ");
                    flow = if nesting == 0 {
                        self.steps.push(Step::opaque(&raw, Cwds::Unknown, TOO_DEEP));
                        Flow::still(&Cwds::Unknown)
                    } else {
                        self.run(raw, words, doubts, cwds, nesting - 1)
                    };
                }
                if process == Process::Same { flow } else { Flow::still(cwds) }
            }
            Unwrapped::Script { text, process } => {
                self.steps.push(step(words, Role::Transparent, doubts));
                let start = if process == Process::Later { Cwds::Unknown } else { cwds.clone() };
                let flow = self.script(&text, start, nesting.saturating_sub(1));
                if process == Process::Same { flow } else { Flow::still(cwds) }
            }
        }
    }

    /// Where a command leaves the shell.
    fn moves(&mut self, words: &[Word], cwds: &Cwds) -> Flow {
        let Some((name, args)) = words.split_first() else { return Flow::still(cwds) };
        let to = match name.literal() {
            Some("cd") => {
                let mut operands = args.iter().filter(|it| !matches!(it.text.as_str(), "-L" | "-P" | "--" | "-e"));
                match (operands.next().map(Word::literal), operands.next()) {
                    (None, _) => cwds.moved(self.home),
                    (Some(Some(path)), None) if !path.starts_with('-') => cwds.moved(path),
                    _ => Cwds::Unknown,
                }
            }
            Some("pushd" | "popd" | "." | "source") | None => Cwds::Unknown,
            Some(_) => return Flow::still(cwds),
        };
        self.moved = true;
        Flow { ok: to, failed: cwds.clone() }
    }

    /// An assignment, a test, a declaration: no command, but commands may be in it.
    fn expression(&mut self, node: Node<'_>, source: Source<'_>, cwds: &Cwds) -> Flow {
        let mut doubts = Vec::new();
        self.inner(node, source, cwds, &mut doubts);
        doubts.extend(doubt::statement(node, source));
        self.other(node, source, cwds, doubts);
        Flow::still(cwds)
    }

    /// Walks the commands inside something that is none, and takes note of what is in doubt.
    fn inner(&mut self, node: Node<'_>, source: Source<'_>, cwds: &Cwds, doubts: &mut Vec<String>) {
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            self.statement(node, source, cwds.clone());
            return;
        }
        doubts.extend(doubt::node(node, source));
        if node.named_child_count() > 0 {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                self.inner(child, source, cwds, doubts);
            }
        }
    }

    fn other(&mut self, node: Node<'_>, source: Source<'_>, cwds: &Cwds, doubts: Vec<String>) {
        if !doubts.is_empty() {
            let raw = text_of(node, source.text).to_owned();
            self.steps.push(Step { raw, what: What::Other, cwds: cwds.clone(), doubts });
        }
    }
}

/// Why an assignment that a program will see has to be looked at.
pub(super) fn program_assignment(name: &str, value: Option<&str>) -> Option<String> {
    doubt::assignment(name, value, doubt::Reach::Program)
}
