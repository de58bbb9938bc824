//! The tool that shows a folder as a tree.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    FileContext, Outcome, blocking, folder,
    input::{self, parse},
    walk::{Place, Stop, warnings},
};
use crate::domain::text;

/// How many entries are shown.
const ENTRIES: usize = 400;
/// How deep the tree is at most.
const DEPTH: usize = 12;
/// How many entries of a single folder are looked at.
const SCANNED: usize = 50_000;

pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::List = match parse("list", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let given = folder(input.path.as_deref());
    let target = match context.target(given) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(given.to_owned(), error),
    };
    let (stop, _guard) = Stop::new();
    let place = match Place::open(context, &target, stop) {
        Ok(place) => place,
        Err(error) => return Outcome::failed(target.shown(), error),
    };
    Outcome::of(target.shown(), blocking(move || tree(&place)).await)
}

/// An entry of the tree, and how deep it lies.
struct Entry {
    path: PathBuf,
    depth: usize,
    is_folder: bool,
    link: Option<PathBuf>,
}

fn tree(place: &Place) -> Result<(String, Value), String> {
    place.must_be_folder()?;
    // Level by level, so that a deep folder does not push out its neighbours.
    let Level { mut entries, mut more, mut unread } = level(place, 1, SCANNED);
    let all = entries.len();
    let mut depth = 1;
    while !more && entries.len() <= ENTRIES && depth < DEPTH {
        let deeper = level(place, depth + 1, ENTRIES);
        if deeper.more || deeper.entries.len() == entries.len() {
            more |= deeper.more;
            unread = deeper.unread;
            break;
        }
        (entries, unread) = (deeper.entries, deeper.unread);
        depth += 1;
    }
    let mut output = String::new();
    for entry in entries.iter().take(ENTRIES) {
        let name = entry.path.file_name().unwrap_or_default();
        output.push_str(&"  ".repeat(entry.depth - 1));
        output.push_str(&text::printable(name.as_encoded_bytes()));
        output.push_str(if entry.is_folder { "/" } else { "" });
        if let Some(link) = &entry.link {
            output
                .push_str(&format!(" -> {}", text::printable(link.as_os_str().as_encoded_bytes())));
        }
        output.push('\n');
    }
    match () {
        () if entries.is_empty() => output.push_str("The folder is empty, or all that is in it is ignored.\n"),
        () if all > ENTRIES => {
            output.push_str(&format!("(The first {ENTRIES} of {} entries. Use glob to find more.)\n", all));
        }
        () if more => output.push_str(&format!(
            "(Shown to a depth of {depth}; deeper there are too many entries. List a folder to see more.)\n"
        )),
        () => {}
    }
    warnings(&mut output, &unread, "looked into");
    let shown: Vec<String> = entries
        .iter()
        .take(ENTRIES)
        .map(|entry| {
            let slash = if entry.is_folder { "/" } else { "" };
            format!("{}{slash}", place.name(&entry.path).to_string_lossy())
        })
        .collect();
    Ok((output, json!({"count": entries.len(), "entries": shown, "more": more || all > ENTRIES})))
}

/// All entries down to a depth, in order.
struct Level {
    entries: Vec<Entry>,
    /// There are more than so many.
    more: bool,
    /// What could not be looked into.
    unread: Vec<String>,
}

fn level(place: &Place, depth: usize, most: usize) -> Level {
    let mut level = Level { entries: Vec::new(), more: false, unread: Vec::new() };
    let walk = place.walker().max_depth(Some(depth)).sort_by_file_name(|a, b| a.cmp(b)).build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) if entry.depth() == 0 => continue,
            Ok(entry) => entry,
            Err(err) => {
                level.unread.push(place.warning(&err));
                continue;
            }
        };
        if level.entries.len() == most || place.is_over() {
            level.more = true;
            break;
        }
        level.entries.push(Entry {
            depth: entry.depth(),
            is_folder: entry.file_type().is_some_and(|kind| kind.is_dir()),
            link: entry
                .path_is_symlink()
                .then(|| std::fs::read_link(entry.path()).unwrap_or_default()),
            path: entry.into_path(),
        });
    }
    level
}
