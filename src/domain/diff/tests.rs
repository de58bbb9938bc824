use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn diff(before: &str, after: &str) -> Diff {
    lines(before.as_bytes(), after.as_bytes(), Bounds::default())
}

/// The new version, put together from the old one and a whole diff.
fn patched(before: &str, diff: &Diff) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut result = String::new();
    let mut at = 0;
    for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
        if let Some(no) = line.old_no {
            let no = no as usize - 1;
            result.extend(old[at..no].iter().copied());
            at = no + 1;
        }
        if line.kind != LineKind::Del {
            result.push_str(&line.text());
            result.push_str(if line.unterminated { "" } else { "\n" });
        }
    }
    result.extend(old[at..].iter().copied());
    result
}

#[test]
fn a_patch_reads_as_patches_do() {
    let before = "fn main() {\n    a();\n    b();\n    c();\n    d();\n    e();\n}\n";
    let after = "fn main() {\n    a();\n    b();\n    c();\n    d();\n    e(1);\n    f();\n}";
    insta::assert_snapshot!(unified(&diff(before, after), "src/main.rs"), @r"
    --- a/src/main.rs
    +++ b/src/main.rs
    @@ -3,5 +3,6 @@ fn main() {
         b();
         c();
         d();
    -    e();
    -}
    +    e(1);
    +    f();
    +}
    \ No newline at end of file
    ");
}

#[test]
fn new_and_emptied_files_start_at_line_0() {
    let made = diff("", "a\nb\n");
    assert_eq!((made.additions, made.deletions, made.hunks[0].old_start), (2, 0, 0));
    assert!(unified(&made, "x").contains("@@ -0,0 +1,2 @@"));
    assert!(unified(&diff("a\n", ""), "x").contains("@@ -1,1 +0,0 @@"));
    assert_eq!(diff("a\n", "a\n"), Diff::default());
}

#[test]
fn changed_words_are_marked_where_a_line_is_much_the_same() {
    let spans = |diff: &Diff| -> Vec<_> {
        diff.hunks[0].lines.iter().map(|line| line.spans.clone()).collect()
    };
    let piece = |changed, text: &str| (changed, text.to_owned());
    assert_eq!(
        spans(&diff("let x = one(2);\n", "let x = two(2);\n")),
        [
            vec![piece(false, "let x = "), piece(true, "one"), piece(false, "(2);")],
            vec![piece(false, "let x = "), piece(true, "two"), piece(false, "(2);")],
        ]
    );
    assert_eq!(
        spans(&diff("something\n", "quite else\n")),
        [vec![piece(false, "something")], vec![piece(false, "quite else")]]
    );
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let before: String = (0..1_000).map(|it| format!("a{it}\n")).collect();
    let after: String = (0..1_000).map(|it| format!("b{it}\n")).collect();
    let diff = diff(&before, &after);
    assert_eq!((diff.additions, diff.deletions), (1_000, 1_000));
    assert_eq!(diff.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>(), 400);
    assert_eq!(diff.omitted, Some(Omitted::Lines { count: 1_600 }));
    assert!(unified(&diff, "x").ends_with("# 1600 further changed lines not shown.\n"));
}

#[test]
fn long_lines_are_cut_between_characters_and_the_whole_stays_small() {
    let long = "✓".repeat(100_000);
    let cut = diff("", &long);
    assert_eq!(cut.omitted, Some(Omitted::LongLines));
    assert_eq!(cut.hunks[0].lines[0].text(), format!("{}…", "✓".repeat(200)));
    let wide: String = (0..300).map(|it| format!("{it}{}\n", "x".repeat(500))).collect();
    let many = diff("", &wide);
    assert!(serde_json::to_string(&many).unwrap().len() < 64 << 10);
    assert!(matches!(many.omitted, Some(Omitted::Lines { .. })));
}

#[test]
fn a_deadline_that_has_passed_gives_a_right_if_longer_diff() {
    let before: String = (0..5_000).map(|it| format!("{}\n", it * 7 % 1_000)).collect();
    let after: String = (0..5_000).map(|it| format!("{}\n", it * 11 % 1_000)).collect();
    let bounds = Bounds {
        deadline: Some(Instant::now()),
        lines: 50_000,
        bytes: 1 << 20,
        ..Bounds::default()
    };
    let diff = lines(before.as_bytes(), after.as_bytes(), bounds);
    assert_eq!(patched(&before, &diff), after);
}

#[test]
fn a_hard_case_ends_soon_after_its_deadline() {
    // The same lines in another order, which is the worst that can be asked.
    let line = |it: usize| format!("{it:x} some more text\n");
    let before: String = (0..60_000).map(line).collect();
    let after: String = (0..60_000).map(|it| line(it * 7_919 % 60_000)).collect();
    let started = Instant::now();
    let bounds = Bounds {
        deadline: Some(started + std::time::Duration::from_millis(100)),
        ..Bounds::default()
    };
    let diff = lines(before.as_bytes(), after.as_bytes(), bounds);
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    assert!(diff.additions > 0 && diff.additions == diff.deletions);
}

#[test]
fn files_that_are_no_text_have_no_hunks() {
    let diff = lines(b"a\0b", b"text\n", Bounds::default());
    assert!(diff.binary && diff.hunks.is_empty());
    assert!(unified(&diff, "x").starts_with("Binary files"));
    let latin = lines(b"caf\xE9\n", b"caf\xE8\n", Bounds::default());
    assert_eq!((latin.additions, latin.deletions), (1, 1));
}

#[test]
fn a_diff_is_read_back_as_it_was_stored() {
    let diff = diff("a\nb\nc\n", "a\nx\nc");
    let stored = serde_json::to_string(&diff).unwrap();
    assert_eq!(serde_json::from_str::<Diff>(&stored).unwrap(), diff);
}

proptest! {
    #[test]
    fn a_whole_diff_makes_the_new_version_of_the_old_one(before in "[ab\n]{0,40}", after in "[ab\n]{0,40}") {
        prop_assert_eq!(patched(&before, &diff(&before, &after)), after);
    }
}
