//! What was found, for the model and for the page.

use serde_json::{Value, json};

use super::{
    Found,
    sink::{FileHits, Hit, HitKind},
};
use crate::{
    domain::text,
    engine::tools::{
        input::GrepOutput,
        walk::{WARNINGS, warnings},
    },
};

/// How many lines of output.
const LINES: usize = 1_000;
/// How many bytes.
const BYTES: usize = 50 << 10;
/// How many matches the page gets.
const DRAWN: usize = 100;

pub(super) fn rendered(found: &Found, output: GrepOutput) -> (String, Value) {
    let count: usize = found.files.iter().map(|file| file.count).sum();
    let mut page = Page::default();
    match output {
        GrepOutput::Lines => found.files.iter().all(|file| lines(&mut page, file)),
        GrepOutput::Files => found.files.iter().all(|file| page.push(&file.path)),
        GrepOutput::Count => {
            found.files.iter().all(|file| page.push(&format!("{}: {}", file.path, file.count)))
        }
    };
    let mut text = page.text;
    let total = format!(
        "{} in {}",
        text::counted(count, "matching line"),
        text::counted(found.files.len(), "file")
    );
    match output {
        _ if count == 0 => text.push_str("No matches.\n"),
        GrepOutput::Lines if page.matches < count => text.push_str(&format!(
            "({total}; {} not shown. Narrow the pattern, path or glob, or use output files or count.)\n",
            count - page.matches
        )),
        GrepOutput::Files | GrepOutput::Count if page.lines < found.files.len() => {
            text.push_str(&format!("({total}; {} not shown.)\n", text::counted(found.files.len() - page.lines, "file")));
        }
        _ => text.push_str(&format!("({total}.)\n")),
    }
    warnings(&mut text, &found.warnings, "searched");
    if found.cut_short {
        text.push_str("Warning: the search took too long and was stopped; there may be more.\n");
    }
    let matches: Vec<Value> = found
        .files
        .iter()
        .flat_map(|file| file.lines.iter().map(move |hit| (file, hit)))
        .filter(|(_, hit)| hit.kind == HitKind::Match)
        .take(DRAWN)
        .map(|(file, hit)| json!({"path": file.path, "line": hit.number, "text": hit.text, "ranges": hit.ranges}))
        .collect();
    let told: Vec<&String> = found.warnings.iter().take(WARNINGS).collect();
    (
        text,
        json!({"matches": matches, "count": count, "files": found.files.len(), "warnings": told}),
    )
}

/// Output in the making.
#[derive(Default)]
struct Page {
    text: String,
    lines: usize,
    matches: usize,
}

impl Page {
    /// Whether there was room for the line.
    fn push(&mut self, line: &str) -> bool {
        if self.lines == LINES || self.text.len() + line.len() >= BYTES {
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
        true
    }
}

/// A file's path, then its lines: `12: text` matches, `13- text` stands beside a match.
fn lines(page: &mut Page, file: &FileHits) -> bool {
    if !page.push(&file.path) {
        return false;
    }
    for Hit { kind, number, text, .. } in &file.lines {
        let fits = match kind {
            HitKind::Match => page.push(&format!("{number}: {text}")),
            HitKind::Context => page.push(&format!("{number}- {text}")),
            HitKind::Gap => page.push("--"),
        };
        if !fits {
            return false;
        }
        page.matches += usize::from(*kind == HitKind::Match);
    }
    let kept = file.lines.iter().filter(|hit| hit.kind == HitKind::Match).count();
    kept == file.count || page.push(&format!("({} in this file not shown)", file.count - kept))
}
