//! The tool that searches file contents, with the engines of ripgrep.

mod render;
mod sink;

use std::{
    path::Path,
    sync::{Mutex, PoisonError, atomic::AtomicUsize},
};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::WalkState;
use serde_json::Value;

use self::sink::{FileHits, Gather};
use super::{
    FileContext, Outcome, blocking,
    disk::Trouble,
    folder,
    glob::Pattern,
    input::{self, GrepOutput, parse},
    walk::{Place, Stop},
};
use crate::domain::text;

/// Memory for lines that are kept until all files were searched; after it matches are only
/// counted.
const KEPT: usize = 4 << 20;
/// A file with a longer line cannot be searched.
const LONGEST_LINE: usize = 16 << 20;
/// Processors that one search may use.
const THREADS: usize = 4;

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Grep = match parse("grep", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let title = text::printable(input.pattern.as_bytes()).into_owned();
    let (stop, _guard) = Stop::new();
    let search = context
        .target(folder(input.path.as_deref()))
        .and_then(|target| Place::open(context, &target, stop))
        .and_then(|place| Search::new(place, input));
    let search = match search {
        Ok(search) => search,
        Err(error) => return Outcome::failed(title, error),
    };
    let found = blocking(move || {
        let found = search.run()?;
        Ok(render::rendered(&found, search.output))
    });
    Outcome::of(title, found.await)
}

struct Search {
    place: Place,
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    glob: Option<Pattern>,
    output: GrepOutput,
}

/// All that was found, in order of the paths.
#[derive(Default)]
struct Found {
    files: Vec<FileHits>,
    warnings: Vec<String>,
    /// The search was stopped before it had seen all.
    cut_short: bool,
}

impl Search {
    fn new(place: Place, input: input::Grep) -> Result<Self, String> {
        if input.pattern.is_empty() {
            return Err("pattern is empty.".to_owned());
        }
        let multi_line = input.pattern.contains('\n') || input.pattern.contains("\\n");
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(input.ignore_case).multi_line(true);
        let mut line_end = LineTerminator::byte(b'\n');
        if !multi_line {
            line_end = LineTerminator::crlf();
            builder.line_terminator(Some(b'\n')).crlf(true);
        }
        let matcher = builder.build(&input.pattern).map_err(|err| {
            format!("pattern is not a valid regular expression: {err}\nTo search for it literally, escape it with \\.")
        })?;
        let context = if input.output == GrepOutput::Lines { input.context } else { 0 };
        let mut searcher = SearcherBuilder::new();
        searcher
            .multi_line(multi_line)
            .line_terminator(line_end)
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_LINE))
            .binary_detection(BinaryDetection::quit(0));
        let glob = input.glob.map(|glob| Pattern::new(&glob, &place)).transpose()?;
        Ok(Self { place, matcher, searcher, glob, output: input.output })
    }

    fn run(&self) -> Result<Found, String> {
        match self.place.base.open(&self.place.way) {
            Err(Trouble::Folder) => Ok(self.folder()),
            Err(trouble) => Err(trouble.about(&self.place.target)),
            Ok(_)
                if self
                    .place
                    .veil
                    .hides(&self.place.name(&self.place.path()).to_string_lossy()) =>
            {
                Err(format!("{} must not be read.", self.place.target.shown()))
            }
            Ok(_) => {
                let room = AtomicUsize::new(KEPT);
                let hits = self.file(
                    &mut self.searcher.build(),
                    &self.place.path(),
                    &self.place.way,
                    &room,
                )?;
                Ok(Found {
                    files: hits.into_iter().collect(),
                    warnings: Vec::new(),
                    cut_short: false,
                })
            }
        }
    }

    fn folder(&self) -> Found {
        let room = AtomicUsize::new(KEPT);
        let found = Mutex::new(Found::default());
        let root = self.place.path();
        let threads = std::thread::available_parallelism().map_or(1, |it| it.get().min(THREADS));
        self.place.walker().threads(threads).build_parallel().run(|| {
            let mut searcher = self.searcher.build();
            let (found, root, room) = (&found, &root, &room);
            Box::new(move |entry| {
                let found = || found.lock().unwrap_or_else(PoisonError::into_inner);
                if self.place.is_over() {
                    found().cut_short = true;
                    return WalkState::Quit;
                }
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(err) => {
                        found().warnings.push(self.place.warning(&err));
                        return WalkState::Continue;
                    }
                };
                let path = entry.path();
                let wanted = entry.file_type().is_some_and(|kind| kind.is_file())
                    && path.strip_prefix(root).is_ok_and(|below| self.covers(below));
                let Some(way) = path.strip_prefix(self.place.base.path()).ok().filter(|_| wanted)
                else {
                    return WalkState::Continue;
                };
                match self.file(&mut searcher, path, way, room) {
                    Ok(None) => {}
                    Ok(Some(hits)) => found().files.push(hits),
                    Err(warning) => found().warnings.push(warning),
                }
                WalkState::Continue
            })
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found.warnings.sort_unstable();
        found
    }

    fn covers(&self, below: &Path) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.covers(below))
    }

    /// Searches one file. A file that has gone since it was seen has no matches.
    fn file(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        way: &Path,
        room: &AtomicUsize,
    ) -> Result<Option<FileHits>, String> {
        let name = self.place.name(path);
        let shown = || text::printable(name.as_os_str().as_encoded_bytes()).into_owned();
        let (file, _) = match self.place.base.open(way) {
            Ok(opened) => opened,
            Err(Trouble::Missing | Trouble::Moved | Trouble::Special(_) | Trouble::Folder) => {
                return Ok(None);
            }
            Err(Trouble::Denied) => return Err(format!("{}: permission denied", shown())),
            Err(_) => return Err(format!("{}: cannot be read", shown())),
        };
        let mut gather = Gather::new(&self.matcher, room);
        match searcher.search_file(&self.matcher, &file, &mut gather) {
            Ok(()) => Ok(gather.hits(shown())),
            Err(err) => Err(format!("{}: {err}", shown())),
        }
    }
}
