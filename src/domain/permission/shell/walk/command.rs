//! Simple commands, their redirects, and what they start in their turn.

use tree_sitter::Node;

use super::{
    super::{
        Cwds, Direction, Role, Step, What, Word,
        cwd::Flow,
        word::text_of,
        wrap::{self, Inner, Outer, Process, Unwrapped},
    },
    Source, TOO_DEEP, Walk, doubt,
};

impl Walk<'_> {
    pub(super) fn redirected(&mut self, node: Node<'_>, source: Source<'_>, cwds: Cwds) -> Flow {
        let start = self.steps.len();
        let mut input = Vec::new();
        let mut cursor = node.walk();
        let mut body = None;
        let (mut extra, mut doubts, mut documents) = (Vec::new(), Vec::new(), Vec::new());
        let mut targets = Vec::new();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "file_redirect" => targets.push(child),
                "heredoc_redirect" => documents.push(child),
                "herestring_redirect" => {
                    self.inner(child, source, &cwds, &mut doubts);
                    input.extend(here_string(child, source));
                }
                _ => body = Some(child),
            }
        }
        // The words after a redirect's target belong to the command.
        for target in &targets {
            extra.extend(Self::targets(*target).skip(1));
        }
        let flow = match body {
            Some(body) if body.kind() == "command" => {
                self.command(body, source, extra, cwds.clone())
            }
            Some(body) => {
                if !extra.is_empty() {
                    doubts.push("has arguments after a redirect".into());
                }
                self.statement(body, source, cwds.clone())
            }
            None => self.words(node, source, extra, Vec::new(), &cwds),
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
                    "heredoc_body" => {
                        self.inner(child, source, &anywhere, &mut doubts);
                        input.push(text_of(child, source.text).replace("\n\t", "\n"));
                    }
                    _ => after = self.statement(child, source, after.clone()).both().or(&after),
                }
            }
        }
        self.other(node, source, &cwds, doubts);
        self.feed(start, input, source);
        Flow { ok: flow.ok.or(&after), failed: flow.failed.or(&after) }
    }

    /// Walks the texts that a shell among the steps since `start` is given as its input.
    fn feed(&mut self, start: usize, input: Vec<String>, source: Source<'_>) {
        let reads = |it: &Step| it.doubts.iter().any(|it| it == wrap::INPUT);
        if self.steps.get(start..).unwrap_or_default().iter().any(reads) {
            for text in input {
                self.script(&text, Cwds::Unknown, source.nesting.saturating_sub(1));
            }
        }
    }

    fn targets<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        let named = (0..node.named_child_count())
            .filter_map(move |at| node.named_child(u32::try_from(at).unwrap_or(u32::MAX)));
        named.filter(|it| it.kind() != "file_descriptor")
    }

    pub(super) fn file_redirect(
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
        // Bash expands such a target once more, when its quotes are gone.
        if matches!(operator, Some(">&" | "<&")) && word.text.contains(['$', '`', '\\', '\'', '"'])
        {
            doubts.push("redirects in a way that is not understood".into());
            return;
        }
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
    pub(super) fn command(
        &mut self,
        node: Node<'_>,
        source: Source<'_>,
        extra: Vec<Node<'_>>,
        cwds: Cwds,
    ) -> Flow {
        let start = self.steps.len();
        let (mut doubts, mut input) = (Vec::new(), Vec::new());
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
                "herestring_redirect" => {
                    self.inner(child, source, &cwds, &mut doubts);
                    input.extend(here_string(child, source));
                }
                "subshell" => doubts.push("uses syntax that is not understood".into()),
                _ => nodes.push(child),
            }
        }
        nodes.extend(extra);
        let flow = self.words(node, source, nodes, doubts, &cwds);
        self.feed(start, input, source);
        flow
    }

    /// A command given as the nodes of its words.
    fn words(
        &mut self,
        node: Node<'_>,
        source: Source<'_>,
        nodes: Vec<Node<'_>>,
        mut doubts: Vec<String>,
        cwds: &Cwds,
    ) -> Flow {
        let mut words = Vec::with_capacity(nodes.len());
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
    fn run(
        &mut self,
        raw: String,
        words: Vec<Word>,
        mut doubts: Vec<String>,
        cwds: &Cwds,
        nesting: usize,
    ) -> Flow {
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
                let mut operands =
                    args.iter().filter(|it| !matches!(it.text.as_str(), "-L" | "-P" | "--" | "-e"));
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
}

/// The text of `<<< text`, where it is known.
fn here_string(node: Node<'_>, source: Source<'_>) -> Option<String> {
    let word = Word::read(node.named_child(0)?, source.text, source.known);
    word.literal().map(str::to_owned)
}
