//! Reading files, page by page.

use serde_json::json;

use super::Project;

#[tokio::test]
async fn lines_are_numbered_and_paged() {
    let project = Project::new();
    project.put("a", "one\r\ntwo\r\nthree");
    assert_eq!(project.must("read", json!({"path": "a"})).await, "1\tone\n2\ttwo\n3\tthree\n");
    let outcome = project.call("read", json!({"path": "a", "offset": 2, "limit": "1"})).await;
    assert_eq!(outcome.output, "2\ttwo\n(Lines 2-2 of 3. Go on with offset 3.)\n");
    assert_eq!(outcome.metadata, json!({"lines_from": 2, "lines_to": 2, "lines_total": 3}));
    let rest = project.must("read", json!({"path": "a", "offset": 3})).await;
    assert_eq!(rest, "3\tthree\n(Lines 3-3 of 3, to the end.)\n");
    assert!(
        project.fails("read", json!({"path": "a", "offset": 4})).await.contains("a has 3 lines")
    );
}

#[tokio::test]
async fn an_empty_file_and_a_folder_are_told_apart() {
    let project = Project::new();
    project.put("src/empty", "");
    assert_eq!(project.must("read", json!({"path": "src/empty"})).await, "The file is empty.");
    project.must("write", json!({"path": "src/empty", "content": "x"})).await;
    assert!(project.fails("read", json!({"path": "src"})).await.contains("Use list"));
}

#[tokio::test]
async fn a_long_file_ends_with_where_to_go_on() {
    let project = Project::new();
    let lines: String = (1..=5_000).map(|it| format!("{it}\n")).collect();
    project.put("long", &lines);
    let output = project.must("read", json!({"path": "long"})).await;
    assert!(output.ends_with("2000\t2000\n(Lines 1-2000 of 5000. Go on with offset 2001.)\n"));
    // A session that saw a part knows the file.
    project
        .must("edit", json!({"path": "long", "old_string": "4999\n", "new_string": "x\n"}))
        .await;

    let wide: String = (0..200).map(|it| format!("{it} {}\n", "y".repeat(1_000))).collect();
    project.put("wide", &wide);
    let outcome = project.call("read", json!({"path": "wide"})).await;
    assert!(outcome.output.len() < 51 << 10, "{}", outcome.output.len());
    let next = outcome.metadata["lines_to"].as_u64().unwrap() + 1;
    assert!(outcome.output.ends_with(&format!("of 200. Go on with offset {next}.)\n")));
    let rest = project.must("read", json!({"path": "wide", "offset": next})).await;
    assert!(rest.starts_with(&format!("{next}\t{} y", next - 1)));
}

#[tokio::test]
async fn case_22_a_cut_never_splits_a_character() {
    let project = Project::new();
    for shift in 0..4 {
        project.put("a", format!("{}{}\nnext\n", "x".repeat(shift), "✓".repeat(30_000)));
        let output = project.must("read", json!({"path": "a"})).await;
        assert!(!output.contains('\u{FFFD}') && !output.contains("Not valid"), "{shift}");
        let first = output.lines().next().unwrap();
        assert!(first.contains("✓… (line cut; it has 90.0 KB)"), "{first}");
        assert_eq!(first.chars().filter(|c| "x✓".contains(*c)).count(), 2_000);
        assert!(output.contains("2\tnext\n"));
    }
}

#[tokio::test]
async fn other_encodings_are_shown_as_far_as_they_can_be() {
    let project = Project::new();
    project.put("latin", b"caf\xE9\nx=1\n");
    let output = project.must("read", json!({"path": "latin"})).await;
    assert!(output.starts_with("1\tcaf\u{FFFD}\n2\tx=1\n(Not valid UTF-8"), "{output}");
    project.put("utf16", b"\xFF\xFEh\0i\0\n\0\x13\x27");
    assert!(project.must("read", json!({"path": "utf16"})).await.starts_with("1\thi\n2\t✓\n"));
    project.put("bom", b"\xEF\xBB\xBFa\n");
    assert_eq!(project.must("read", json!({"path": "bom"})).await, "1\ta\n");
    project.put("late_nul", format!("{}\0\n", "text\n".repeat(3_000)));
    let output = project.must("read", json!({"path": "late_nul", "offset": 3_001})).await;
    assert!(output.starts_with("3001\t\u{FFFD}\n"), "{output}");
}

#[tokio::test]
async fn binary_files_are_refused_by_what_they_are() {
    let project = Project::new();
    project.put("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    project.put("blob", b"ab\0cd");
    assert_eq!(
        project.fails("read", json!({"path": "logo.png"})).await,
        "logo.png is a PNG image (11 bytes), which cannot be shown as text."
    );
    assert!(project.fails("read", json!({"path": "blob"})).await.contains("a binary file"));
}

#[tokio::test]
async fn a_missing_file_is_answered_with_names_that_may_be_meant() {
    let mut project = Project::new();
    project.put("src/engine/runner.rs", "");
    project.put("src/main.rs", "");
    project.put(".env", "");
    assert_eq!(
        project.fails("read", json!({"path": "src/mian.rs"})).await,
        "src/mian.rs does not exist. Did you mean src/main.rs?"
    );
    assert!(
        project.fails("read", json!({"path": "runner.rs"})).await.contains("src/engine/runner.rs")
    );
    assert!(project.fails("read", json!({"path": ".emv"})).await.contains(".env"));
    project.veil = forge::engine::tools::Veil::new(|path| path == ".env");
    assert!(!project.fails("read", json!({"path": ".emv"})).await.contains(".env"));
}
