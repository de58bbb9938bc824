//! A difference as patch text.

use std::fmt::Write;

use super::{Diff, LineKind};
use crate::domain::text;

/// The patch that the hunks make, in the unified format. Where the difference is not whole, its
/// last line says so, and it will not apply.
pub fn unified(diff: &Diff, path: &str) -> String {
    let (old, new) = (format!("a/{path}"), format!("b/{path}"));
    let (old, new) = (text::printable(old.as_bytes()), text::printable(new.as_bytes()));
    if diff.binary {
        return format!("Binary files {old} and {new} differ\n");
    }
    let mut patch = String::new();
    if diff.hunks.is_empty() {
        return patch;
    }
    // Writing to a string cannot fail.
    let _ = write!(patch, "--- {old}\n+++ {new}\n");
    for hunk in &diff.hunks {
        let count = |without| hunk.lines.iter().filter(|line| line.kind != without).count();
        let (olds, news) = (count(LineKind::Add), count(LineKind::Del));
        let _ = write!(patch, "@@ -{},{olds} +{},{news} @@", hunk.old_start, hunk.new_start);
        if !hunk.heading.is_empty() {
            let _ = write!(patch, " {}", hunk.heading);
        }
        patch.push('\n');
        for line in &hunk.lines {
            patch.push(match line.kind {
                LineKind::Context => ' ',
                LineKind::Add => '+',
                LineKind::Del => '-',
            });
            line.spans.iter().for_each(|(_, text)| patch.push_str(text));
            patch.push('\n');
            if line.unterminated {
                patch.push_str("\\ No newline at end of file\n");
            }
        }
    }
    if let Some(omitted) = diff.omitted {
        let _ = writeln!(patch, "# {omitted}.");
    }
    patch
}
