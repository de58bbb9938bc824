//! list, glob and grep.

use std::fs;

use forge::engine::tools::Veil;
use pretty_assertions::assert_eq;
use rustix::fs::{Mode, OFlags};
use serde_json::json;

use super::Project;

fn project() -> Project {
    let project = Project::new();
    project.put(".gitignore", "target\n*.log\n");
    project.put(".git/config", "needle\n");
    project.put(".github/ci.yml", "needle: 1\n");
    project.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    project.put("src/deep/er/mod.rs", "// Needle\n// needle needle\n");
    project.put("target/out.rs", "needle\n");
    project.put("debug.log", "needle\n");
    project.put("blob.bin", b"needle\0needle\n");
    project
}

#[tokio::test]
async fn list_shows_a_tree_without_what_is_ignored() {
    let project = project();
    std::os::unix::fs::symlink("src/main.rs", project.root.join("link")).unwrap();
    let outcome = project.call("list", json!({})).await;
    insta::assert_snapshot!(outcome.output, @r"
    .github/
      ci.yml
    .gitignore
    blob.bin
    link -> src/main.rs
    src/
      deep/
        er/
          mod.rs
      main.rs
    ");
    assert_eq!(outcome.metadata["count"], 10);
    assert_eq!(project.must("list", json!({"path": "src/deep"})).await, "er/\n  mod.rs\n");
    assert!(project.fails("list", json!({"path": "src/main.rs"})).await.contains("not a folder"));
    assert!(project.fails("list", json!({"path": "nope"})).await.contains("does not exist"));
}

#[tokio::test]
async fn list_is_bounded_and_shows_the_upper_levels_first() {
    let project = Project::new();
    for folder in 0..30 {
        for file in 0..30 {
            project.put(&format!("d{folder:02}/f{file:02}"), "");
        }
    }
    let output = project.must("list", json!({})).await;
    assert_eq!(output.lines().filter(|line| line.ends_with('/')).count(), 30);
    assert!(output.contains("(Shown to a depth of 1"), "{output}");
    for file in 0..1_000 {
        project.put(&format!("many/{file:04}"), "");
    }
    let output = project.must("list", json!({"path": "many"})).await;
    assert!(
        output.ends_with("0399\n(The first 400 of 1000 entries. Use glob to find more.)\n"),
        "{output}"
    );
}

#[tokio::test]
async fn glob_finds_by_name_in_order() {
    let project = project();
    let found = |pattern: &'static str| project.must("glob", json!({"pattern": pattern}));
    assert_eq!(found("*.rs").await, "src/deep/er/mod.rs\nsrc/main.rs\n");
    assert_eq!(found("src/*.rs").await, "src/main.rs\n");
    assert_eq!(found("./src/**/{mod,lib}.rs").await, "src/deep/er/mod.rs\n");
    assert!(found("*.log").await.starts_with("No files found."));
    let below = project.must("glob", json!({"pattern": "er/*", "path": "src/deep"})).await;
    assert_eq!(below, "src/deep/er/mod.rs\n");
    let absolute = format!("{}/src/*.rs", project.root.display());
    assert_eq!(project.must("glob", json!({"pattern": absolute})).await, "src/main.rs\n");
    assert!(project.fails("glob", json!({"pattern": "../*"})).await.contains(".."));
    assert!(project.fails("glob", json!({"pattern": "/etc/*"})).await.contains("outside"));
    assert!(project.fails("glob", json!({"pattern": "a{b"})).await.contains("not a valid pattern"));
    // An ignored folder that is asked for by name is searched.
    let inside = project.must("glob", json!({"pattern": "*", "path": "target"})).await;
    assert_eq!(inside, "target/out.rs\n");
}

#[tokio::test]
async fn glob_says_how_many_it_left_out() {
    let project = Project::new();
    (0..1_200).for_each(|it| project.put(&format!("f{it:04}"), ""));
    let outcome = project.call("glob", json!({"pattern": "f*"})).await;
    assert!(outcome.output.starts_with("f0000\nf0001\n"));
    assert!(
        outcome.output.ends_with("(1000 of 1200 files. Narrow the pattern to see the others.)\n")
    );
    assert_eq!(outcome.metadata["count"], 1_200);
}

#[tokio::test]
async fn grep_groups_lines_by_file() {
    let project = project();
    let outcome = project.call("grep", json!({"pattern": "needle"})).await;
    insta::assert_snapshot!(outcome.output, @r"
    .github/ci.yml
    1: needle: 1
    src/deep/er/mod.rs
    2: // needle needle
    src/main.rs
    2:     needle();
    (3 matching lines in 3 files.)
    ");
    assert_eq!(
        outcome.metadata["matches"][1],
        json!({"path": "src/deep/er/mod.rs", "line": 2, "text": "// needle needle", "ranges": [[3, 9], [10, 16]]})
    );
    let with = |input: serde_json::Value| project.must("grep", input);
    assert!(
        with(json!({"pattern": "needle", "ignore_case": true, "glob": "*.rs"}))
            .await
            .contains("1: // Needle\n")
    );
    assert_eq!(
        with(json!({"pattern": "needle", "output": "files", "path": "src"})).await,
        "src/deep/er/mod.rs\nsrc/main.rs\n(2 matching lines in 2 files.)\n"
    );
    assert!(
        with(json!({"pattern": "needle", "output": "count"})).await.contains("src/main.rs: 1\n")
    );
    assert_eq!(
        with(json!({"pattern": "needle", "context": 1, "path": "src/main.rs"})).await,
        "src/main.rs\n1- fn main() {\n2:     needle();\n3- }\n(1 matching line in 1 file.)\n"
    );
    assert!(
        with(json!({"pattern": "main\\(\\) \\{\\n +needle"}))
            .await
            .contains("1: fn main() {\n2:     needle();\n")
    );
    assert_eq!(with(json!({"pattern": "nothing here"})).await, "No matches.\n");
}

#[tokio::test]
async fn grep_reads_every_line_end_and_encoding() {
    let project = Project::new();
    project.put("crlf", "one\r\ntwo\r\n");
    project.put("latin", b"caf\xE9 one\n");
    project.put("utf16", b"\xFF\xFEo\0n\0e\0\n\0");
    let output = project.must("grep", json!({"pattern": "one$"})).await;
    assert_eq!(
        output,
        "crlf\n1: one\nlatin\n1: caf\u{FFFD} one\nutf16\n1: one\n(3 matching lines in 3 files.)\n"
    );
}

#[tokio::test]
async fn case_30_a_bad_expression_is_an_error_and_an_unreadable_folder_is_a_warning() {
    let project = project();
    let error = project.fails("grep", json!({"pattern": "needle("})).await;
    assert!(error.contains("not a valid regular expression"), "{error}");
    // A folder whose path is longer than the system takes cannot be read, not even by root.
    let mut folder =
        rustix::fs::openat(rustix::fs::CWD, &project.root, OFlags::PATH, Mode::empty()).unwrap();
    let name = "n".repeat(250);
    for _ in 0..20 {
        rustix::fs::mkdirat(&folder, &name, 0o755.into()).unwrap();
        folder = rustix::fs::openat(&folder, &name, OFlags::PATH, Mode::empty()).unwrap();
    }
    let outcome = project.call("grep", json!({"pattern": "needle"})).await;
    assert_eq!(outcome.error, None);
    assert!(
        outcome.output.contains("(3 matching lines in 3 files.)\nWarning: not searched: nnn"),
        "{}",
        outcome.output
    );
    assert_eq!(outcome.metadata["warnings"].as_array().unwrap().len(), 1);
    let found = project.must("glob", json!({"pattern": "*.rs"})).await;
    assert!(
        found.starts_with("src/deep/er/mod.rs\nsrc/main.rs\nWarning: not searched: nnn"),
        "{found}"
    );
    let deep = [name.as_str(); 10].join("/");
    let listed = project.must("list", json!({"path": deep})).await;
    assert!(listed.contains("Warning: not looked into: nnn"), "{listed}");
    let none = project.must("grep", json!({"pattern": "nothing at all", "path": "src"})).await;
    assert_eq!(none, "No matches.\n");
    fs::remove_dir_all(project.root.join(&name)).unwrap();
}

#[tokio::test]
async fn grep_counts_everything_and_shows_what_fits() {
    let project = Project::new();
    for file in 0..20 {
        project.put(&format!("f{file:02}"), format!("needle {}\n", "✓".repeat(300)).repeat(500));
    }
    let outcome = project.call("grep", json!({"pattern": "needle"})).await;
    assert!(outcome.output.len() < 52 << 10 && !outcome.output.contains('\u{FFFD}'));
    assert!(outcome.output.contains("(10000 matching lines in 20 files; "), "{}", outcome.output);
    assert_eq!(outcome.metadata["count"], 10_000);
    assert_eq!(outcome.metadata["matches"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn case_33_what_must_not_be_read_is_in_no_search() {
    let mut project = project();
    project.put(".env", "needle=secret\n");
    project.put("keys/a.pem", "needle\n");
    project.veil = Veil::new(|path| path == ".env" || path.starts_with("keys/"));
    for (tool, input) in [
        ("grep", json!({"pattern": "needle"})),
        ("grep", json!({"pattern": "needle", "output": "files"})),
        ("grep", json!({"pattern": "needle", "path": "keys"})),
        ("glob", json!({"pattern": "**"})),
        ("list", json!({})),
    ] {
        let outcome = project.call(tool, input).await;
        assert!(
            !outcome.output.contains("secret") && !outcome.output.contains(".env"),
            "{}",
            outcome.output
        );
        assert!(
            !outcome.output.contains("a.pem") && !outcome.metadata.to_string().contains(".env")
        );
    }
    assert!(
        project
            .fails("grep", json!({"pattern": "needle", "path": ".env"}))
            .await
            .contains("must not be read")
    );
}
