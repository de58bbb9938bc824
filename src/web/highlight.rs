//! Code with colours: lines of HTML with the six classes that the style sheet knows.
//!
//! `hl-k` keyword, `hl-s` string, `hl-n` number or constant, `hl-f` function, `hl-t` type,
//! `hl-c` comment. What is large, or takes long, is shown plainly.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use askama::filters::{Escaper as _, Html};
use sha2::{Digest as _, Sha256};
use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxReference, SyntaxSet};

/// The longest text that is coloured, in bytes.
const TEXT_MAX: usize = 200 << 10;
/// The longest line of a text that is coloured, in characters.
const LINE_MAX: usize = 5_000;
/// After this long the rest of a text stays plain.
const PATIENCE: Duration = Duration::from_secs(2);
/// Texts that are remembered, and how many bytes of HTML they may have together.
const REMEMBERED: usize = 64;
const REMEMBERED_BYTES: usize = 4 << 20;

/// What says which language a text is in.
#[derive(Clone, Copy, Debug)]
pub enum Language<'a> {
    /// The path of the file that it is from.
    Of(&'a str),
    /// Its name or usual ending, as people write it on a block of code.
    Named(&'a str),
}

/// A text as lines of HTML, without their ends.
pub type Lines = Arc<Vec<String>>;

/// Colours a text, away from the threads that answer requests.
pub async fn lines(text: &str, language: Language<'_>) -> Lines {
    let wanted = match language {
        Language::Of(path) => Wanted::from_path(path),
        Language::Named(name) => Wanted { names: vec![known(name).to_owned()] },
    };
    if text.len() > TEXT_MAX || text.lines().any(|line| line.chars().nth(LINE_MAX).is_some()) {
        return Arc::new(plain(text));
    }
    let key = wanted.key(text);
    if let Some(lines) = CACHE.with(|cache| cache.get(&key)) {
        return lines;
    }
    let owned = text.to_owned();
    let done = tokio::task::spawn_blocking(move || {
        let syntaxes = &*SYNTAXES;
        let Some(syntax) = wanted.find(syntaxes, &owned) else { return (plain(&owned), true) };
        colour(&owned, syntax, syntaxes)
    });
    match done.await {
        Ok((lines, complete)) => {
            let lines = Arc::new(lines);
            if complete {
                CACHE.with(|cache| cache.put(key, lines.clone()));
            }
            lines
        }
        Err(err) => {
            tracing::warn!("colouring code: {err}");
            Arc::new(plain(text))
        }
    }
}

/// A text as lines of HTML, without colours.
fn plain(text: &str) -> Vec<String> {
    text.lines().map(escaped).collect()
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    // Writing to a string does not fail.
    let _ = Html.write_escaped_str(&mut html, text);
    html
}

/// Read when they are used first: a Forge that nobody looks at code with stays small.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// By which names a language is looked for, the best one first.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    names: Vec<String>,
}

impl Wanted {
    fn from_path(path: &str) -> Self {
        let path = Path::new(path);
        let text = |it: Option<&std::ffi::OsStr>| it.and_then(|it| it.to_str()).map(str::to_owned);
        let name = text(path.file_name()).map(|name| known(&name).to_owned());
        let ending = text(path.extension()).map(|ending| known(&ending).to_owned());
        Self { names: name.into_iter().chain(ending).collect() }
    }

    fn find<'a>(&self, syntaxes: &'a SyntaxSet, text: &str) -> Option<&'a SyntaxReference> {
        let named = self.names.iter().find_map(|name| syntaxes.find_syntax_by_token(name));
        let found = named.or_else(|| syntaxes.find_syntax_by_first_line(text.lines().next()?));
        found.filter(|syntax| syntax.name != "Plain Text")
    }

    fn key(&self, text: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        for name in &self.names {
            hash.update(name.as_bytes());
            hash.update([0]);
        }
        hash.update([0]);
        hash.update(text.as_bytes());
        hash.finalize().into()
    }
}

/// Names for which there is no grammar of their own, and one that comes close.
fn known(name: &str) -> &str {
    match name {
        "ts" | "tsx" | "mts" | "cts" | "jsx" | "mjs" | "cjs" | "typescript" | "vue" | "svelte" => {
            "js"
        }
        "toml" | "ini" | "cfg" | "conf" | "env" | ".env" | ".gitconfig" | ".editorconfig"
        | "Cargo.lock" => "properties",
        "kt" | "kts" | "kotlin" => "scala",
        "jsonc" | "json5" | "webmanifest" => "json",
        "zsh" | "fish" | "console" | "shell" | "dockerfile" | "Dockerfile" => "sh",
        "svg" | "xhtml" => "xml",
        "scss" | "less" => "css",
        other => other,
    }
}

/// The lines, and whether there was time for all of them.
fn colour(text: &str, syntax: &SyntaxReference, syntaxes: &SyntaxSet) -> (Vec<String>, bool) {
    let until = Instant::now() + PATIENCE;
    let mut state = ParseState::new(syntax);
    let mut scopes = ScopeStack::new();
    let mut lines = Vec::new();
    let mut with_end = String::new();
    for (index, line) in text.lines().enumerate() {
        // The grammars expect each line with its end.
        with_end.clear();
        with_end.push_str(line);
        with_end.push('\n');
        let ops = match state.parse_line(&with_end, syntaxes) {
            Ok(ops) if Instant::now() < until => ops,
            _ => {
                lines.extend(text.lines().skip(index).map(escaped));
                return (lines, false);
            }
        };
        lines.push(one_line(line, &ops, &mut scopes));
    }
    (lines, true)
}

fn one_line(line: &str, ops: &[(usize, ScopeStackOp)], scopes: &mut ScopeStack) -> String {
    let mut html = Spans::default();
    let mut from = 0;
    for (at, op) in ops {
        let at = (*at).min(line.len());
        html.push(&line[from..at], class(scopes));
        from = at;
        // A stack that does not fit the grammar leaves the rest of the line as it was.
        let _ = scopes.apply(op);
    }
    html.push(&line[from..], class(scopes));
    html.finish()
}

/// Spans of classes; neighbours of the same class become one.
#[derive(Default)]
struct Spans {
    text: String,
    class: Option<char>,
}

impl Spans {
    fn push(&mut self, text: &str, class: Option<char>) {
        if text.is_empty() {
            return;
        }
        let class = if text.trim().is_empty() && self.class.is_none() { None } else { class };
        if class != self.class {
            self.close();
            if let Some(class) = class {
                self.text.push_str("<span class=\"hl-");
                self.text.push(class);
                self.text.push_str("\">");
            }
            self.class = class;
        }
        let _ = Html.write_escaped_str(&mut self.text, text);
    }

    fn close(&mut self) {
        if self.class.take().is_some() {
            self.text.push_str("</span>");
        }
    }

    fn finish(mut self) -> String {
        self.close();
        self.text
    }
}

/// What the innermost scope that means something to us is shown as.
fn class(scopes: &ScopeStack) -> Option<char> {
    for scope in scopes.as_slice().iter().rev() {
        if let Some((_, class)) = CLASSES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)) {
            return *class;
        }
    }
    None
}

/// Scopes as Sublime's grammars name them; a longer name stands before its beginning.
static CLASSES: LazyLock<Vec<(Scope, Option<char>)>> = LazyLock::new(|| {
    let names = [
        ("comment", Some('c')),
        // Code inside a string is code again.
        ("meta.interpolation", None),
        ("meta.template.expression", None),
        ("punctuation.section.interpolation", Some('k')),
        ("constant.character.escape", Some('n')),
        ("string", Some('s')),
        ("constant", Some('n')),
        ("entity.name.function", Some('f')),
        ("entity.name.macro", Some('f')),
        ("support.function", Some('f')),
        ("support.macro", Some('f')),
        ("variable.function", Some('f')),
        ("entity.other.attribute-name", Some('f')),
        ("entity.name.tag", Some('k')),
        ("entity.name.section", Some('k')),
        ("entity.name", Some('t')),
        ("entity.other.inherited-class", Some('t')),
        ("support.type", Some('t')),
        ("support.class", Some('t')),
        ("storage.type.numeric", Some('n')),
        ("storage", Some('k')),
        ("keyword.operator.word", Some('k')),
        ("keyword.operator", None),
        ("keyword", Some('k')),
        ("variable.language", Some('k')),
        ("markup.heading", Some('k')),
        ("markup.raw", Some('s')),
        ("markup.inserted", Some('s')),
        ("markup.deleted", Some('n')),
    ];
    let scopes = names.iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, *class)));
    scopes.collect()
});

/// The texts that were coloured last.
static CACHE: LazyLock<Shared> = LazyLock::new(Shared::default);

#[derive(Default)]
struct Shared(Mutex<Cache>);

impl Shared {
    fn with<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// By the hash of language and text, the one used last in front.
#[derive(Default)]
struct Cache {
    entries: VecDeque<([u8; 32], Lines, usize)>,
    bytes: usize,
}

impl Cache {
    fn get(&mut self, key: &[u8; 32]) -> Option<Lines> {
        let at = self.entries.iter().position(|(other, ..)| other == key)?;
        let entry = self.entries.remove(at)?;
        let lines = entry.1.clone();
        self.entries.push_front(entry);
        Some(lines)
    }

    fn put(&mut self, key: [u8; 32], lines: Lines) {
        if self.get(&key).is_some() {
            return;
        }
        let size = lines.iter().map(|line| line.len() + size_of::<String>()).sum();
        self.bytes += size;
        self.entries.push_front((key, lines, size));
        while self.entries.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES {
            let Some((.., size)) = self.entries.pop_back() else { break };
            self.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn coloured(text: &str, path: &str) -> Vec<String> {
        lines(text, Language::Of(path)).await.to_vec()
    }

    #[tokio::test]
    async fn rust_gets_all_six_colours() {
        let text = "//! Words.\npub fn take(level: u64) -> Taken {\n    go(\"a<b\", 20)\n}\r\nstruct Taken;\n";
        assert_eq!(
            coloured(text, "src/a.rs").await,
            [
                r#"<span class="hl-c">//! Words.</span>"#,
                r#"<span class="hl-k">pub</span> <span class="hl-k">fn</span> <span class="hl-f">take</span>(level: <span class="hl-k">u64</span>) -&#62; Taken {"#,
                r#"    <span class="hl-f">go</span>(<span class="hl-s">&#34;a&#60;b&#34;</span>, <span class="hl-n">20</span>)"#,
                "}",
                r#"<span class="hl-k">struct</span> <span class="hl-t">Taken</span>;"#,
            ]
        );
    }

    #[tokio::test]
    async fn markup_in_code_stays_text() {
        for path in ["x.html", "x.js", "x.md", "x.unknown", "x.rs"] {
            let lines = coloured("<script>alert('1')</script>\n\"<img src=x>\"", path).await;
            let html = lines.concat().replace("<span class=\"hl-", "").replace("</span>", "");
            assert!(!html.contains('<'), "{path}: {html}");
        }
    }

    #[tokio::test]
    async fn a_language_is_known_by_name_ending_or_first_line() {
        for (text, path) in [
            ("let x = 1", "a.ts"),
            ("# words", "Makefile"),
            ("[x]\n# words", "Cargo.toml"),
            ("#!/bin/bash\nif true; then", "script"),
            ("def f(): pass", "a.py"),
        ] {
            assert!(coloured(text, path).await.concat().contains("hl-"), "{path}");
        }
        let lines = lines("fn x() {}", Language::Named("rust")).await;
        assert!(lines[0].contains("hl-k"));
        assert_eq!(coloured("fn x() {}", "notes.txt").await, ["fn x() {}"]);
    }

    #[tokio::test]
    async fn what_is_large_stays_plain() {
        let long = format!("// {}", "x".repeat(LINE_MAX));
        assert!(!coloured(&long, "a.rs").await[0].contains("span"));
        let large = "// x\n".repeat(TEXT_MAX / 5 + 1);
        assert!(!coloured(&large, "a.rs").await[0].contains("span"));
    }

    #[test]
    fn the_cache_forgets_what_was_used_longest_ago() {
        let mut cache = Cache::default();
        let key = |number: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            key
        };
        let lines = Arc::new(vec![String::from("x")]);
        (0..REMEMBERED).for_each(|number| cache.put(key(number), lines.clone()));
        assert!(cache.get(&key(0)).is_some());
        cache.put(key(REMEMBERED), lines.clone());
        assert!(cache.get(&key(0)).is_some() && cache.get(&key(1)).is_none());
        cache.put(key(1000), Arc::new(vec!["x".repeat(REMEMBERED_BYTES + 1)]));
        assert!(cache.entries.is_empty() && cache.bytes == 0);
    }
}
