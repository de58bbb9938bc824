use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn patch(body: &str) -> Patch {
    parse(&format!("*** Begin Patch\n{body}*** End Patch\n")).unwrap()
}

fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// Applies the chunks to a file.
fn applied(content: &[u8], chunks: &str) -> Result<Updated, Vec<ChunkError>> {
    let patch = patch(&format!("*** Update File: f\n{chunks}"));
    let [FilePatch { what: What::Update { chunks, .. }, .. }] = &patch.files[..] else { panic!() };
    update(content, chunks)
}

#[track_caller]
fn patched(content: &str, chunks: &str) -> String {
    let updated = applied(content.as_bytes(), chunks).unwrap();
    assert_eq!(updated.inexact, [0; 0]);
    String::from_utf8(updated.content).unwrap()
}

#[track_caller]
fn why(content: &str, chunks: &str) -> String {
    applied(content.as_bytes(), chunks).unwrap_err().remove(0).why
}

#[test]
fn every_kind_of_section_is_read() {
    let read = patch(
        "*** Add File: a b.txt\n+one\n+\n+two\n\n*** Update File: c\n*** Move to: d\n@@ fn x() {\n \
         keep\n-old\n+new\n*** End of File\n*** Delete File: e\n",
    );
    assert_eq!(read.paths().collect::<Vec<_>>(), ["a b.txt", "c", "d", "e"]);
    assert_eq!(read.files[0].what, What::Add("one\n\ntwo\n".to_owned()));
    let What::Update { to, chunks } = &read.files[1].what else { panic!() };
    assert_eq!((to.as_deref(), chunks.len()), (Some("d"), 1));
    assert_eq!(
        (chunks[0].below.as_slice(), chunks[0].at_end),
        (&["fn x() {".to_owned()][..], true)
    );
    assert_eq!(chunks[0].old_lines().collect::<Vec<_>>(), ["keep", "old"]);
    assert_eq!(read.files[2].what, What::Delete);
}

#[test]
fn how_it_was_pasted_makes_no_difference() {
    let plain = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    let read = parse(plain).unwrap();
    for (before, after) in [
        ("<<'EOF'\n", "\nEOF\n"),
        ("apply_patch <<\"PATCH\"\n", "\nPATCH"),
        ("<<EOF\n", "\nEOF"),
        ("```diff\n", "\n```\n"),
        ("\n\n", "\n\n"),
        ("\u{FEFF}", "\n"),
    ] {
        assert_eq!(parse(&format!("{before}{plain}{after}")), Ok(read.clone()), "{before:?}");
    }
    assert_eq!(parse(&plain.replace('\n', "\r\n")), Ok(read));
    assert!(refused(&format!("cd src && apply_patch <<EOF\n{plain}\nEOF")).contains("must start"));
    assert!(refused(&format!("{plain}\nrm -rf x")).contains("text after"));
}

#[test]
fn a_missing_space_after_the_stars_is_no_other_file() {
    let read = patch("***Update File: a\n***Move to: ../b\n@@\n-x\n+y\n***Delete File:c\n");
    assert_eq!(read.paths().collect::<Vec<_>>(), ["a", "../b", "c"]);
}

#[test]
fn what_is_no_patch_is_told() {
    let with = |body: &str| refused(&format!("*** Begin Patch\n{body}*** End Patch"));
    assert!(refused("").contains("must start"));
    assert!(refused("*** Begin Patch\n*** Add File: a\n+x\n").contains("cut off"));
    assert!(with("").contains("changes no file"));
    assert!(with("+x\n").contains("Line 2 of the patch: a file has to be named"));
    assert!(with("*** Update File: a\n").contains("nothing is said of what to change in a"));
    assert!(with("*** Update File: a\n@@ x\n").contains("no lines follow this @@"));
    assert!(with("*** Update File:\n@@\n-x\n").contains("the path is missing"));
    assert!(with("*** Update File: a\n@@\n-x\n*** Move to: b\n").contains("right below"));
    assert!(with("*** Add File: a\nx\n").contains("needs a + in front"));
    assert!(with("*** Update File: a\n@@\nx\n").contains("needs a space"));
    assert!(with("*** Update File: a\n@@\n*** x\n").contains("no line that a patch can have"));
    assert!(with("*** Delete File: a\n-x\n").contains("nothing can follow"));
    assert!(with("*** Begin Patch\n").contains("one patch at a time"));
    assert!(with(&"*** Delete File: a\n".repeat(101)).contains("more than 100 files"));
}

#[test]
fn the_head_of_a_unified_diff_is_passed_over_and_a_line_like_it_is_not() {
    assert_eq!(patched("x\ny\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ fn a\n x\n-y\n+z\n"), "x\nz\n");
    assert_eq!(patched("-- note\nx\n", "--- note\n x\n"), "x\n");
}

#[test]
fn a_place_is_looked_for_from_the_last_one_on() {
    let content = "a\nx\nb\nx\nc\nx\n";
    assert_eq!(patched(content, "@@\n b\n-x\n+y\n@@\n c\n-x\n+z\n"), "a\nx\nb\ny\nc\nz\n");
    assert_eq!(patched(content, "@@ c\n-x\n+z\n"), "a\nx\nb\nx\nc\nz\n");
    assert!(why(content, "@@\n-x\n+y\n").contains("matches 3 places (at lines 2, 4, 6)"));
    let order = applied(content.as_bytes(), "@@\n c\n-x\n+z\n@@\n a\n-x\n+y\n").unwrap_err();
    assert_eq!((order.len(), order[0].chunk, order[0].at), (1, 2, 7));
    assert!(order[0].why.contains("only at line 1"), "{}", order[0].why);
    // Lines that one chunk keeps at its end may be the first of the next.
    assert_eq!(patched("1\n2\n3\n", "@@\n-1\n+one\n 2\n@@\n 2\n-3\n+three\n"), "one\n2\nthree\n");
}

#[test]
fn headings_lead_from_the_outer_to_the_inner() {
    let content = "class A\n  def f\n    x\nclass B\n  def f\n    x\n";
    let inner = "@@ class B\n@@   def f\n-    x\n+    y\n";
    assert_eq!(patched(content, inner), "class A\n  def f\n    x\nclass B\n  def f\n    y\n");
    assert!(why(content, "@@   def f\n-    x\n+    y\n").contains("2 places"));
    assert!(why(content, "@@ class C\n-    x\n+    y\n").contains("`class C`"));
    // The heading may be repeated as the first line.
    assert_eq!(patched("f\nx\nf\ny\n", "@@ f\n f\n-y\n+z\n"), "f\nx\nf\nz\n");
}

#[test]
fn white_space_and_typography_are_looked_past_in_this_order() {
    let loose = |content: &str, chunks: &str| {
        let updated = applied(content.as_bytes(), chunks).unwrap();
        assert_eq!(updated.inexact, [1], "{content}");
        String::from_utf8(updated.content).unwrap()
    };
    assert_eq!(loose("a  \nb\t\n", "@@\n a\n-b\n+c\n"), "a  \nc\n");
    assert_eq!(loose("\tif x:\n\t\ty\n", "@@\n if x:\n-    y\n+    z\n"), "\tif x:\n\t\tz\n");
    assert_eq!(
        loose("say \u{201C}hi\u{201D}\u{A0}\u{2013} ok\nx\n", "@@\n say \"hi\" - ok\n-x\n+y\n"),
        "say \u{201C}hi\u{201D}\u{A0}\u{2013} ok\ny\n"
    );
    // What stands there exactly is meant, and not what is only like it.
    assert_eq!(patched("x\n x\n", "@@\n-x\n+y\n"), "y\n x\n");
}

#[test]
fn bytes_beside_the_change_stay() {
    assert_eq!(patched("foo\r\nbar\r\n", "@@\n foo\n-bar\n+baz\n"), "foo\r\nbaz\r\n");
    assert_eq!(patched("a\r\nb\nc\r\n", "@@\n a\n-b\n+x\n+y\n c\n"), "a\r\nx\ny\nc\r\n");
    assert_eq!(patched("a\nb", "@@\n a\n-b\n+c\n"), "a\nc");
    assert_eq!(patched("a\nb", "@@\n b\n+c\n"), "a\nb\nc");
    assert_eq!(patched("a\r\nb", "@@\n b\n+c\n"), "a\r\nb\r\nc");
    assert_eq!(patched("a\nb", "@@\n a\n-b\n"), "a\n");
    assert_eq!(patched("\u{FEFF}a\nb\n", "@@\n-a\n+c\n"), "\u{FEFF}c\nb\n");
    let latin = applied(b"caf\xE9\nx=1\n", "@@\n-x=1\n+x=2\n").unwrap();
    assert_eq!(latin.content, b"caf\xE9\nx=2\n");
    let mixed = applied(b"caf\xE9\nx=1\n", "@@\n-x=1\n+x=\u{e9}\n").unwrap_err();
    assert!(mixed[0].why.contains("not UTF-8"));
    // As read shows it, with the byte that is none, it is found, and stays.
    let shown = applied(b"caf\xE9\nx=1\n", "@@\n caf\u{FFFD}\n-x=1\n+x=2\n").unwrap();
    assert_eq!(shown.content, b"caf\xE9\nx=2\n");
}

#[test]
fn lines_are_put_in_at_the_end_or_below_a_heading() {
    assert_eq!(patched("a\n", "@@\n+b\n"), "a\nb\n");
    assert_eq!(patched("a", "@@\n+b\n"), "a\nb");
    assert_eq!(patched("", "@@\n+b\n"), "b\n");
    assert_eq!(patched("a\nb\n", "@@ a\n+x\n"), "a\nx\nb\n");
    assert_eq!(patched("a\nb\n", "@@\n+x\n*** End of File\n@@\n-a\n+y\n"), "y\nb\nx\n");
    assert!(why("a\na\n", "@@ a\n+x\n").contains("2 places"));
}

#[test]
fn the_end_of_the_file_is_tried_first_where_it_is_meant() {
    let content = "x\ny\nx\n";
    assert_eq!(patched(content, "@@\n-x\n+z\n*** End of File\n"), "x\ny\nz\n");
    assert_eq!(patched("y\nx\nz\n", "@@\n-x\n+w\n*** End of File\n"), "y\nw\nz\n");
    assert!(why("x\nx\nz\n", "@@\n-x\n+w\n*** End of File\n").contains("2 places"));
}

#[test]
fn more_lines_than_the_file_has_are_an_error() {
    let told = why("a\n", "@@\n-a\n-b\n-c\n-d\n-e\n+x\n");
    assert!(told.contains("more than the file has (1 line)"), "{told}");
}

#[test]
fn what_does_not_fit_is_shown_as_it_reads() {
    let told =
        why("fn a() {\n    one();\n    two();\n}\n", "@@\n fn a() {\n-    uno();\n     two();\n");
    assert!(
        told.contains("closest is at lines 1-3") && told.contains(">    2|····one();"),
        "{told}"
    );
    let told = why("a = 1\nbeta = 2\n", "@@\n-beta = 1\n+beta = 2\n");
    assert!(told.contains("already there, at line 2"), "{told}");
    let both = applied(b"a\nb\n", "@@\n-x\n+y\n@@\n-a\n+c\n@@\n-z\n").unwrap_err();
    assert_eq!(both.iter().map(|it| it.chunk).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_blank_line_that_the_file_does_not_have_is_looked_past() {
    assert_eq!(patched("a\nb\n", "@@\n-a\n+c\n b\n \n"), "c\nb\n");
    assert_eq!(patched("a\n\nb\n", "@@\n-a\n\n-b\n+c\n"), "\nc\n");
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_read(text in "(\\*\\*\\* ?(Begin Patch|End Patch|Add File: a|Update File: b|Delete File: c|Move to: d|End of File)\n|[-+ @*a\r\n✓]{0,4}\n){0,12}") {
        let _ = parse(&text);
        let _ = parse(&format!("*** Begin Patch\n{text}*** End Patch"));
    }

    /// A patch made of any two files leads from the one to the other, byte for byte.
    #[test]
    fn a_patch_of_whole_lines_leads_to_what_it_says(
        old in prop::collection::vec("[abc]{0,2}", 0..8),
        new in prop::collection::vec("[abcé]{0,2}", 0..8),
        crlf in any::<bool>(),
    ) {
        let end = if crlf && !old.is_empty() { "\r\n" } else { "\n" };
        let file = |lines: &[String]| lines.iter().map(|line| format!("{line}{end}")).collect::<String>();
        let signed = |sign: char, lines: &[String]| {
            lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>()
        };
        prop_assume!(!(old.is_empty() && new.is_empty()));
        let chunks = format!("@@\n{}{}*** End of File\n", signed('-', &old), signed('+', &new));
        prop_assert_eq!(patched(&file(&old), &chunks), file(&new));
    }

    #[test]
    fn whatever_the_file_and_the_chunk_nothing_panics(
        file in prop::collection::vec(any::<u8>(), 0..60),
        lines in prop::collection::vec("[-+ ][abc ✓]{0,3}", 1..6),
        at_end in any::<bool>(),
    ) {
        let end = if at_end { "*** End of File\n" } else { "" };
        let _ = applied(&file, &format!("@@\n{}\n{end}", lines.join("\n")));
    }
}
