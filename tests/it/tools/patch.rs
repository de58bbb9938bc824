//! Changing several files at once: what is judged, kept, locked, and put back.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    time::Duration,
};

use forge::{
    domain::diff::Diff,
    engine::tools::{self, Subject},
};
use serde_json::{Value, json};

use super::{Project, session};

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

/// What is judged: inside paths as they are, outside ones whole.
fn judged(project: &Project, body: &str) -> Vec<String> {
    let subjects = tools::subject(&project.root, "apply_patch", &patch(body)).unwrap();
    subjects
        .into_iter()
        .map(|subject| match subject {
            Subject::Path(target) => {
                target.inside.unwrap_or_else(|| target.real.to_str().unwrap().to_owned())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn case_15_every_path_of_a_patch_is_judged_also_where_it_moves_to() {
    let project = Project::new();
    project.put("a", "1\n");
    symlink(project.outside(), project.root.join("up")).unwrap();
    let away = |name: &str| project.outside().join(name).to_str().unwrap().to_owned();
    for marker in ["*** ", "***"] {
        let body = format!(
            "{marker}Add File: new/x\n+x\n{marker}Update File: a\n{marker}Move to: ../x\n@@\n-1\n+2\n\
             {marker}Delete File: up/y\n{marker}Update File: ./a\n@@\n-1\n+2\n"
        );
        assert_eq!(judged(&project, &body), ["new/x".into(), "a".into(), away("x"), away("y")]);
    }
    // What was not judged is not touched, even if all else was.
    project.must("read", json!({"path": "a"})).await;
    let body = "*** Update File: a\n*** Move to: ../x\n@@\n-1\n+2\n";
    let some =
        tools::subject(&project.root, "apply_patch", &patch("*** Delete File: a\n")).unwrap();
    let outcome = project.call_with(session('A'), "apply_patch", patch(body), &some).await;
    assert!(outcome.error.unwrap().contains("led somewhere else"));
    assert_eq!(project.bytes("a"), b"1\n");
    // Where it was, it is done, and only files of the project are recorded.
    project.must("apply_patch", patch(body)).await;
    assert_eq!(fs::read(project.outside().join("x")).unwrap(), b"2\n");
    assert!(!project.root.join("a").exists());
    let before = project.log.before.lock().unwrap();
    assert_eq!(*before, [("a".to_owned(), Some(b"1\n".to_vec()))]);
}

#[tokio::test]
async fn all_files_are_recorded_before_the_first_is_written() {
    let mut project = Project::new();
    project.put("a", "1\n");
    project.put("b", "2\n");
    for path in ["a", "b"] {
        project.must("read", json!({"path": path})).await;
    }
    let body = "*** Update File: a\n*** Move to: c\n*** Delete File: b\n*** Add File: d/e\n+x\n";
    project.log.refuses = Some("The data folder is full.".to_owned());
    assert_eq!(project.fails("apply_patch", patch(body)).await, "The data folder is full.");
    assert_eq!((project.bytes("a"), project.bytes("b")), (b"1\n".to_vec(), b"2\n".to_vec()));
    assert!(!project.root.join("d").exists());
    project.log.refuses = None;
    project.log.before.lock().unwrap().clear();
    project.must("apply_patch", patch(body)).await;
    let before = project.log.before.lock().unwrap();
    let before: Vec<_> = before.iter().map(|(path, was)| (path.as_str(), was.is_some())).collect();
    assert_eq!(before, [("a", true), ("c", false), ("b", true), ("d/e", false)]);
}

#[tokio::test]
async fn where_one_file_cannot_be_written_the_others_are_put_back() {
    let project = Project::new();
    project.put("a.sh", "1\n");
    project.put("b", "2\n");
    project.put("fixed", "3\n");
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(project.root.join(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("a.sh", 0o755);
    mode("fixed", 0o444);
    for path in ["a.sh", "b", "fixed"] {
        project.must("read", json!({"path": path})).await;
    }
    let body = "*** Add File: new/er/x\n+x\n*** Update File: a.sh\n@@\n-1\n+one\n\
                *** Update File: b\n*** Move to: moved/b\n*** Update File: fixed\n@@\n-3\n+three\n";
    let told = project.fails("apply_patch", patch(body)).await;
    assert!(
        told.starts_with(
            "Nothing was changed, because one file could not be written. fixed is read-only"
        ),
        "{told}"
    );
    assert_eq!(project.bytes("a.sh"), b"1\n");
    assert_eq!(fs::metadata(project.root.join("a.sh")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(project.bytes("b"), b"2\n");
    let mut left: Vec<_> = fs::read_dir(&project.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["a.sh", "b", "fixed"], "no folder and no temporary file is left");
    // And the session still knows them as they are.
    mode("fixed", 0o644);
    project.must("apply_patch", patch(body)).await;
    assert_eq!(
        (project.bytes("moved/b"), project.bytes("fixed")),
        (b"2\n".to_vec(), b"three\n".to_vec())
    );
}

#[tokio::test]
async fn patches_of_the_same_files_at_the_same_time_wait_for_each_other() {
    let project = Project::new();
    let lines: String = (0..40).map(|it| format!("line {it};\n")).collect();
    for path in ["a", "b", "c"] {
        project.put(path, &lines);
        project.must("read", json!({"path": path})).await;
    }
    // Each names the files in another order, and some edits come in between.
    let calls = (0..40).map(|it| {
        let mut paths = ["a", "b", "c"];
        paths.rotate_left(it % 3);
        let change =
            |path: &&str| format!("*** Update File: {path}\n@@\n-line {it};\n+LINE {it};\n");
        let body: String = paths.iter().map(change).collect();
        let (old, new) = (format!("line {it};"), format!("LINE {it};"));
        let edits = json!([{"old_string": old, "new_string": new}]);
        let project = &project;
        async move {
            if it % 4 != 0 {
                return vec![project.call("apply_patch", patch(&body)).await];
            }
            let mut done = Vec::new();
            for path in paths {
                let input = json!({"path": path, "edits": edits});
                done.push(project.call("multi_edit", input).await);
            }
            done
        }
    });
    let all = futures_util::future::join_all(calls);
    let outcomes = tokio::time::timeout(Duration::from_secs(60), all).await.expect("no deadlock");
    for outcome in outcomes.into_iter().flatten() {
        assert_eq!(outcome.error, None);
    }
    for path in ["a", "b", "c"] {
        assert_eq!(String::from_utf8(project.bytes(path)).unwrap(), lines.replace("line", "LINE"));
    }
}

#[tokio::test]
async fn a_session_knows_what_its_patch_wrote_and_nobody_elses() {
    let project = Project::new();
    project.must("apply_patch", patch("*** Add File: a\n+1\n")).await;
    project.must("apply_patch", patch("*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n")).await;
    project.must("edit", json!({"path": "b", "old_string": "2", "new_string": "3"})).await;
    let delete = patch("*** Delete File: b\n");
    let other = project.call_in(session('B'), "apply_patch", delete.clone()).await;
    assert!(other.error.unwrap().contains("was not read in this session"));
    project.put("b", "4\n");
    assert!(project.fails("apply_patch", delete).await.contains("changed since it was read"));
    project.put("logo", b"\x89PNG\r\n\x1a\n\0");
    let told = project.fails("apply_patch", patch("*** Delete File: logo\n")).await;
    assert!(told.contains("is a PNG image") && told.contains("Use a command"), "{told}");
}

#[tokio::test]
async fn a_moved_file_keeps_its_mode_and_the_page_gets_a_diff_of_each() {
    let project = Project::new();
    project.put("run.sh", "#!/bin/sh\necho 1\n");
    project.put("old", "x\ny\n");
    fs::set_permissions(project.root.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    for path in ["run.sh", "old"] {
        project.must("read", json!({"path": path})).await;
    }
    let body = "*** Update File: run.sh\n*** Move to: bin/run\n@@\n-echo 1\n+echo 2\n\
                *** Delete File: old\n*** Add File: new\n+a\n+b\n";
    let outcome = project.call("apply_patch", patch(body)).await;
    assert_eq!(
        outcome.output,
        "Moved run.sh to bin/run (+1 -1).\nDeleted old.\nCreated new (2 lines)."
    );
    assert_eq!(outcome.title, "run.sh and 3 more");
    assert_eq!(fs::metadata(project.root.join("bin/run")).unwrap().mode() & 0o7777, 0o755);
    let files = outcome.metadata["files"].as_array().unwrap();
    let of = |at: usize, name: &str| files[at][name].as_str().unwrap_or("-").to_owned();
    let told: Vec<_> =
        (0..3).map(|at| (of(at, "change"), of(at, "path"), of(at, "from"))).collect();
    let told: Vec<_> = told.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(
        told,
        [("moved", "bin/run", "run.sh"), ("deleted", "old", "-"), ("created", "new", "-")]
    );
    let diff: Diff = serde_json::from_value(files[1]["diff"].clone()).unwrap();
    assert_eq!((diff.additions, diff.deletions), (0, 2));
}

#[tokio::test]
async fn the_differences_of_many_large_files_are_bounded_together() {
    let project = Project::new();
    let body: String = (0..60)
        .map(|file| {
            let lines: String = (0..300).map(|line| format!("+line {line} of {file}\n")).collect();
            format!("*** Add File: f{file}\n{lines}")
        })
        .collect();
    let outcome = project.call("apply_patch", patch(&body)).await;
    assert_eq!(outcome.error, None);
    let size = outcome.metadata.to_string().len();
    assert!(size < 120_000, "{size} bytes");
    assert_eq!(outcome.metadata["files"].as_array().unwrap().len(), 60);
    assert_eq!(outcome.metadata["files"][59]["diff"]["additions"], 300);
    let big = (0..101).map(|it| format!("*** Add File: g{it}\n+x\n")).collect::<String>();
    assert!(project.fails("apply_patch", patch(&big)).await.contains("more than 100 files"));
}

#[tokio::test]
async fn an_input_is_bounded_in_all_its_parts() {
    let project = Project::new();
    project.put("a", "x\n");
    let edit = json!({"old_string": "x", "new_string": "y"});
    let many = json!({"path": "a", "edits": vec![edit; 201]});
    assert!(project.fails("multi_edit", many).await.contains("edits is too long: 201 entries"));
    let long =
        json!({"path": "a", "edits": [{"old_string": "x", "new_string": "y".repeat(300_000)}]});
    assert!(project.fails("multi_edit", long).await.contains("new_string is too long"));
    let part = json!({"old_string": "x", "new_string": "y".repeat(250_000)});
    let all = json!({"path": "a", "edits": vec![part; 20]});
    assert!(project.fails("multi_edit", all).await.contains("The input is too long"));
    let huge = json!({"patch": "x".repeat(2_000_001)});
    assert!(project.fails("apply_patch", huge).await.contains("patch is too long"));
}
