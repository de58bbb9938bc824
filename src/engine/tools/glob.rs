//! The tool that finds files by name.

use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::{
    FileContext, Outcome, blocking, folder,
    input::{self, parse},
    walk::{Place, Stop, warnings},
};
use crate::domain::text;

/// How many paths are returned.
const PATHS: usize = 1_000;
/// How many bytes of output.
const BYTES: usize = 50 << 10;
/// How many paths the page gets.
const DRAWN: usize = 200;

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Glob = match parse("glob", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let title = text::printable(input.pattern.as_bytes()).into_owned();
    let (stop, _guard) = Stop::new();
    let place = context
        .target(folder(input.path.as_deref()))
        .and_then(|target| Place::open(context, &target, stop));
    let place = match place {
        Ok(place) => place,
        Err(error) => return Outcome::failed(title, error),
    };
    let pattern = match Pattern::new(&input.pattern, &place) {
        Ok(pattern) => pattern,
        Err(error) => return Outcome::failed(title, error),
    };
    Outcome::of(title, blocking(move || found(&place, &pattern)).await)
}

/// A pattern for paths below a folder.
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    /// A pattern without a slash matches at any depth. One that starts at the root of the file
    /// system must start with the folder.
    pub fn new(pattern: &str, place: &Place) -> Result<Self, String> {
        let mut pattern = pattern.trim_start_matches("./");
        if pattern.starts_with('/') {
            let below = place.target.real.to_str().and_then(|folder| pattern.strip_prefix(folder));
            pattern = below.map(|rest| rest.trim_start_matches('/')).ok_or_else(|| {
                "pattern starts outside of the folder. Give the folder as path, and a pattern relative to it.".to_owned()
            })?;
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err("pattern must not contain `..`. Give the folder as path.".to_owned());
        }
        let anywhere = if pattern.contains('/') { String::new() } else { "**/".to_owned() };
        GlobBuilder::new(&(anywhere + pattern))
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map(|glob| Self(glob.compile_matcher()))
            .map_err(|err| {
                format!("{} is not a valid pattern: {}.", err.glob().unwrap_or(pattern), err.kind())
            })
    }

    /// `path` is relative to the folder.
    pub fn covers(&self, path: &std::path::Path) -> bool {
        self.0.is_match(path)
    }
}

fn found(place: &Place, pattern: &Pattern) -> Result<(String, Value), String> {
    place.must_be_folder()?;
    let root = place.path();
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut cut_short = false;
    let mut unread = Vec::new();
    for entry in place.walker().build() {
        if place.is_over() {
            cut_short = true;
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(err) => {
                unread.push(place.warning(&err));
                continue;
            }
        };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_folder && entry.path().strip_prefix(&root).is_ok_and(|path| pattern.covers(path)) {
            paths.push(place.name(entry.path()).to_owned());
        }
    }
    paths.sort_unstable();
    let mut output = String::new();
    let mut shown = 0;
    for path in paths.iter().take(PATHS) {
        let line = text::printable(path.as_os_str().as_encoded_bytes());
        if output.len() + line.len() >= BYTES {
            break;
        }
        output.push_str(&line);
        output.push('\n');
        shown += 1;
    }
    if paths.is_empty() {
        output.push_str("No files found. What .gitignore excludes is not searched.\n");
    } else if shown < paths.len() {
        output.push_str(&format!(
            "({shown} of {} files. Narrow the pattern to see the others.)\n",
            paths.len()
        ));
    }
    warnings(&mut output, &unread, "searched");
    if cut_short {
        output.push_str("(The search took too long and was stopped; there may be more.)\n");
    }
    let entries: Vec<_> = paths.iter().take(DRAWN).map(|path| path.to_string_lossy()).collect();
    let metadata = json!({"count": paths.len(), "entries": entries});
    Ok((output, metadata))
}
