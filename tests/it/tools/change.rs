//! Changing files: who may, what is kept, and what is told.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use forge::domain::diff::Diff;
use serde_json::json;

use super::{Project, session};

/// Milliseconds that the thread of a test was away at most.
static LONGEST: AtomicU64 = AtomicU64::new(0);

fn edit(path: &str, old: &str, new: &str) -> serde_json::Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_changed() {
    let project = Project::new();
    project.put("a", "1\n");
    assert!(project.fails("edit", edit("a", "1", "2")).await.contains("not read in this session"));
    assert!(
        project.fails("write", json!({"path": "a", "content": "2"})).await.contains("not read")
    );
    project.must("read", json!({"path": "a"})).await;
    let other = project.call_in(session('B'), "edit", edit("a", "1", "2")).await;
    assert!(other.error.unwrap().contains("not read"));
    project.must("edit", edit("a", "1", "2")).await;
    assert_eq!(project.bytes("a"), b"2\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let project = Project::new();
    project.put("a", "1\nx\n");
    project.must("read", json!({"path": "a"})).await;
    project.put("a", "1\ny\n");
    assert!(project.fails("edit", edit("a", "1", "2")).await.contains("changed since it was read"));
    assert_eq!(project.bytes("a"), b"1\ny\n");
    project.must("read", json!({"path": "a"})).await;
    project.must("edit", edit("a", "1", "2")).await;
    // Another session's change counts too.
    project.call_in(session('B'), "read", json!({"path": "a"})).await;
    assert_eq!(project.call_in(session('B'), "edit", edit("a", "y", "z")).await.error, None);
    assert!(project.fails("edit", edit("a", "2", "3")).await.contains("changed since"));
    project.files.forget(session('B'));
    assert!(
        project
            .call_in(session('B'), "edit", edit("a", "z", "w"))
            .await
            .error
            .unwrap()
            .contains("not read")
    );
}

#[tokio::test]
async fn case_12_the_session_knows_what_it_wrote_itself() {
    let project = Project::new();
    project.must("write", json!({"path": "a", "content": "1\n2\n"})).await;
    project.must("edit", edit("a", "1", "one")).await;
    project.must("edit", edit("a", "2", "two")).await;
    assert_eq!(project.bytes("a"), b"one\ntwo\n");
}

#[tokio::test]
async fn case_11_parallel_edits_of_one_file_are_all_applied() {
    let project = Project::new();
    let lines: String = (0..20).map(|it| format!("line {it};\n")).collect();
    project.put("a", &lines);
    project.put("dir/b", "");
    symlink("../a", project.root.join("dir/link")).unwrap();
    project.must("read", json!({"path": "a"})).await;
    let calls = (0..20).map(|it| {
        let path = if it % 2 == 0 { "a" } else { "dir/link" };
        project.call("edit", edit(path, &format!("line {it};"), &format!("LINE {it};")))
    });
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.error, None);
    }
    assert_eq!(String::from_utf8(project.bytes("a")).unwrap(), lines.replace("line", "LINE"));
}

#[tokio::test]
async fn parallel_writes_of_a_new_file_leave_one_whole_content() {
    let project = Project::new();
    let calls = (0..8).map(|it| {
        let content = it.to_string().repeat(100_000);
        project.call_in(
            session(char::from(b'A' + it)),
            "write",
            json!({"path": "deep/new/a", "content": content}),
        )
    });
    let outcomes = futures_util::future::join_all(calls).await;
    assert_eq!(outcomes.iter().filter(|it| it.error.is_none()).count(), 1);
    let bytes = project.bytes("deep/new/a");
    assert!(bytes.len() == 100_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(fs::read_dir(project.root.join("deep/new")).unwrap().count(), 1);
}

#[tokio::test]
async fn mode_and_links_stay() {
    let project = Project::new();
    project.put("bin/run.sh", "#!/bin/sh\necho 1\n");
    fs::set_permissions(project.root.join("bin/run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("bin/run.sh", project.root.join("run")).unwrap();
    project.must("read", json!({"path": "run"})).await;
    let output = project.must("edit", edit("run", "1", "2")).await;
    assert!(output.starts_with("Edited bin/run.sh"), "{output}");
    assert_eq!(fs::read_link(project.root.join("run")).unwrap().to_str(), Some("bin/run.sh"));
    assert_eq!(project.bytes("bin/run.sh"), b"#!/bin/sh\necho 2\n");
    assert_eq!(fs::metadata(project.root.join("bin/run.sh")).unwrap().mode() & 0o7777, 0o755);
    project.must("write", json!({"path": "bin/run.sh", "content": "#!/bin/sh\n"})).await;
    assert_eq!(fs::metadata(project.root.join("bin/run.sh")).unwrap().mode() & 0o7777, 0o755);
}

#[tokio::test]
async fn a_read_only_file_is_left_alone() {
    let project = Project::new();
    project.put("a", "1");
    fs::set_permissions(project.root.join("a"), PermissionsExt::from_mode(0o444)).unwrap();
    project.must("read", json!({"path": "a"})).await;
    assert!(project.fails("edit", edit("a", "1", "2")).await.contains("read-only"));
    assert_eq!(project.bytes("a"), b"1");
    assert_eq!(fs::read_dir(&project.root).unwrap().count(), 1, "no other file is left behind");
}

#[tokio::test]
async fn what_was_before_is_recorded_just_before_the_change() {
    let project = Project::new();
    project.put("a", "1");
    project.must("read", json!({"path": "a"})).await;
    project.fails("edit", edit("a", "9", "2")).await;
    project.must("edit", edit("a", "1", "2")).await;
    project.must("write", json!({"path": "b/c", "content": "new"})).await;
    // Nothing changes, so there is nothing to record.
    project.must("write", json!({"path": "b/c", "content": "new"})).await;
    let before = project.log.before.lock().unwrap();
    assert_eq!(*before, [("a".to_owned(), Some(b"1".to_vec())), ("b/c".to_owned(), None)]);
}

#[tokio::test]
async fn a_change_that_cannot_be_recorded_is_not_made() {
    let mut project = Project::new();
    project.log.refuses = Some("The data folder is full.".to_owned());
    assert_eq!(
        project.fails("write", json!({"path": "a", "content": "x"})).await,
        "The data folder is full."
    );
    assert!(!project.root.join("a").exists());
}

#[tokio::test]
async fn the_page_gets_a_diff_and_the_model_a_short_answer() {
    let project = Project::new();
    let outcome = project
        .call("write", json!({"path": "src/a.rs", "content": "fn a() {\n    one();\n}\n"}))
        .await;
    assert_eq!(outcome.output, "Created src/a.rs (3 lines).");
    assert_eq!((outcome.title.as_str(), &outcome.metadata["created"]), ("src/a.rs", &json!(true)));
    let outcome = project.call("edit", edit("src/a.rs", "one", "two")).await;
    assert_eq!(outcome.output, "Edited src/a.rs (+1 -1).");
    let diff: Diff = serde_json::from_value(outcome.metadata["diff"].clone()).unwrap();
    assert_eq!((diff.additions, diff.deletions, diff.hunks[0].lines.len()), (1, 1, 4));
    let output = project.must("write", json!({"path": "src/a.rs", "content": "// none\n"})).await;
    assert_eq!(output, "Overwrote src/a.rs (+1 -3).");
}

#[tokio::test]
async fn case_14_a_full_rewrite_of_a_large_file_has_a_bounded_diff() {
    let project = Project::new();
    let json = |seed: usize| -> String {
        (0..12_500)
            .map(|it| format!("  {{\n    \"id\": {},\n    \"name\": \"entry {}\",\n    \"on\": {seed}\n  }},\n", it * seed, it + seed))
            .map(|object| format!("{object}{}\n", "x".repeat(80)))
            .collect()
    };
    project.put("big.json", json(1));
    project.must("read", json!({"path": "big.json"})).await;
    let content = json(7);
    assert!(content.len() > 1_800_000, "{}", content.len());
    // This thread serves everybody else meanwhile: it is never away for long.
    let ticking = tokio::spawn(async {
        let mut longest = Duration::ZERO;
        loop {
            let before = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            longest = longest.max(before.elapsed());
            LONGEST.fetch_max(longest.as_millis() as u64, Ordering::Relaxed);
        }
    });
    let started = Instant::now();
    let outcome = project.call("write", json!({"path": "big.json", "content": content})).await;
    ticking.abort();
    assert_eq!(outcome.error, None);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let longest = LONGEST.load(Ordering::Relaxed);
    assert!(longest < 400, "this thread was away for {longest} ms");
    assert!(outcome.metadata["diff"]["omitted"]["count"].as_u64().unwrap() > 10_000);
    assert!(outcome.metadata.to_string().len() < 100_000);
}

#[tokio::test]
async fn names_may_hold_anything() {
    let project = Project::new();
    for name in ["公共.cpp", "a\"b.txt", "sp ace", "new\nline\n", "-rf", "dir/é/ü"] {
        project.must("write", json!({"path": name, "content": "1\n"})).await;
        project.must("read", json!({"path": name})).await;
        project.must("edit", edit(name, "1", "2")).await;
        assert_eq!(project.bytes(name), b"2\n", "{name}");
    }
    let listed = project.must("list", json!({})).await;
    assert!(listed.contains("公共.cpp\n") && listed.contains("\"new\\nline\\n\"\n"), "{listed}");
    assert_eq!(project.must("glob", json!({"pattern": "*"})).await.lines().count(), 6);
}

#[tokio::test]
async fn what_cannot_be_written_is_said() {
    let project = Project::new();
    project.put("dir/file", "x");
    let write = |path: &str| json!({"path": path, "content": "x"});
    assert!(project.fails("write", write("dir")).await.contains("is a folder"));
    assert!(project.fails("write", write("new/")).await.contains("names a folder"));
    assert!(project.fails("write", write("dir/file/below")).await.contains("not a folder"));
    assert!(
        project.fails("write", write(".git/hooks/pre-commit")).await.contains("belongs to Git")
    );
    assert!(project.fails("write", write("")).await.contains("path is empty"));
    let huge = json!({"path": "huge", "content": "x".repeat(2_000_001)});
    assert!(project.fails("write", huge).await.contains("too long"));
    assert!(!project.root.join("huge").exists());
}
