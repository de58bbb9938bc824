//! The walk over a parsed script, in the order in which it would run.

use std::ops::Range;

use tree_sitter::Node;

use super::{Cwds, Known, MAX_NESTING, MAX_STEPS, Step, What, cwd::Flow, parse, word::text_of};

mod command;
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
