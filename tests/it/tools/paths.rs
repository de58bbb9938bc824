//! Where paths lead, and what is refused although it was allowed under its name.

use std::{fs, os::unix::fs::symlink, time::Duration};

use forge::engine::tools::{self, Subject};
use serde_json::json;

use super::{Project, session};

fn target(project: &Project, tool: &str, path: &str) -> tools::Target {
    let mut input = json!({"path": path});
    if tool == "write" {
        input["content"] = json!("x");
    }
    match tools::subject(&project.root, tool, &input).unwrap().remove(0) {
        Subject::Path(target) => target,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn case_43_links_and_dots_are_judged_by_where_they_lead() {
    let project = Project::new();
    project.put("src/a", "x");
    fs::write(project.outside().join("secret"), "s").unwrap();
    symlink(project.outside().join("secret"), project.root.join("link")).unwrap();
    symlink(project.outside(), project.root.join("src/up")).unwrap();
    symlink("/nowhere/at/all", project.root.join("dangling")).unwrap();
    for path in [
        "link",
        "src/up/secret",
        "../secret",
        "src/up/new",
        "dangling",
        "/etc/passwd",
        "src/../../secret",
    ] {
        assert_eq!(target(&project, "write", path).inside, None, "{path}");
    }
    assert_eq!(target(&project, "read", "link").real, project.outside().join("secret"));
    assert_eq!(target(&project, "write", "dangling").real.to_str(), Some("/nowhere/at/all"));
    assert_eq!(target(&project, "read", "src/up/project/src/a").inside.as_deref(), Some("src/a"));
}

#[tokio::test]
async fn case_43_a_link_put_in_place_after_the_check_is_not_followed() {
    let project = Project::new();
    fs::write(project.outside().join("secret"), "secret\n").unwrap();
    project.put("dir/file", "mine\n");
    let allowed = [Subject::Path(target(&project, "write", "dir/file"))];
    project.must("read", json!({"path": "dir/file"})).await;
    // The file, then its folder, turn into links that lead out of the project.
    fs::remove_file(project.root.join("dir/file")).unwrap();
    symlink(project.outside().join("secret"), project.root.join("dir/file")).unwrap();
    let write = json!({"path": "dir/file", "content": "x"});
    let outcome = project.call_with(session('A'), "write", write.clone(), &allowed).await;
    assert!(outcome.error.unwrap().contains("led somewhere else"));
    let outcome =
        project.call_with(session('A'), "read", json!({"path": "dir/file"}), &allowed).await;
    assert!(outcome.error.unwrap().contains("led somewhere else"));
    fs::remove_dir_all(project.root.join("dir")).unwrap();
    symlink(project.outside(), project.root.join("dir")).unwrap();
    let outcome = project.call_with(session('A'), "write", write, &allowed).await;
    assert!(outcome.error.unwrap().contains("led somewhere else"));
    assert_eq!(fs::read(project.outside().join("secret")).unwrap(), b"secret\n");
}

#[test]
fn opening_refuses_links_even_where_the_path_was_not_looked_at_again() {
    let project = Project::new();
    project.put("dir/file", "mine");
    fs::create_dir(project.outside().join("other")).unwrap();
    fs::write(project.outside().join("other/file"), "secret").unwrap();
    let judged = target(&project, "read", "dir/file");
    let (base, way) = tools::disk::Base::of(&project.root, &judged).unwrap();
    let before = base.load(&way, 100).unwrap();
    fs::rename(project.root.join("dir"), project.root.join("moved")).unwrap();
    symlink("../other", project.root.join("dir")).unwrap();
    assert!(base.load(&way, 100).is_err());
    assert!(base.replace(&way, b"x", Some(&before)).is_err());
    assert!(base.replace(&way, b"x", None).is_err());
    assert_eq!(fs::read(project.outside().join("other/file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(project.outside().join("other")).unwrap().count(), 1);
}

#[tokio::test]
async fn outside_files_can_be_used_where_that_was_allowed() {
    let project = Project::new();
    let path = project.outside().join("notes/a.txt");
    let path = path.to_str().unwrap();
    project.must("write", json!({"path": path, "content": "1\n"})).await;
    project.must("edit", json!({"path": path, "old_string": "1", "new_string": "2"})).await;
    assert_eq!(fs::read(path).unwrap(), b"2\n");
    let outcome = project
        .call("grep", json!({"pattern": "2", "path": project.outside().join("notes")}))
        .await;
    assert!(outcome.output.contains(&format!("{path}\n1: 2\n")), "{}", outcome.output);
    assert!(project.log.before.lock().unwrap().is_empty());
    let outcome = project.call_with(session('A'), "read", json!({"path": path}), &[]).await;
    assert!(outcome.error.is_some());
}

#[tokio::test]
async fn spilled_output_can_be_read_without_being_asked_about() {
    let mut project = Project::new();
    let spilled = project.outside().join("spilled");
    fs::create_dir(&spilled).unwrap();
    fs::write(spilled.join("1.txt"), "line\n").unwrap();
    project.readable = vec![spilled.clone()];
    let input = json!({"path": spilled.join("1.txt")});
    let outcome = project.call_with(session('A'), "read", input.clone(), &[]).await;
    assert_eq!(outcome.output, "1\tline\n");
    let input = json!({"path": spilled.join("1.txt"), "content": "x"});
    assert!(project.call_with(session('A'), "write", input, &[]).await.error.is_some());
    // A link in there that leads elsewhere is judged by where it leads.
    symlink("/etc/passwd", spilled.join("2.txt")).unwrap();
    let outcome =
        project.call_with(session('A'), "read", json!({"path": spilled.join("2.txt")}), &[]).await;
    assert!(outcome.error.is_some());
}

#[tokio::test]
async fn case_20_only_regular_files_are_read() {
    let project = Project::new();
    let fifo = project.root.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(project.root.join("socket")).unwrap();
    let all = async {
        assert!(project.fails("read", json!({"path": "/dev/zero"})).await.contains("is a device"));
        assert!(project.fails("read", json!({"path": "fifo"})).await.contains("is a named pipe"));
        assert!(project.fails("read", json!({"path": "socket"})).await.contains("is a socket"));
        assert!(
            project
                .fails("write", json!({"path": "fifo", "content": "x"}))
                .await
                .contains("named pipe")
        );
        assert!(
            project
                .fails("grep", json!({"pattern": "x", "path": "/dev/zero"}))
                .await
                .contains("is a device")
        );
        assert!(project.must("grep", json!({"pattern": "x"})).await.starts_with("No matches."));
        assert!(project.must("list", json!({})).await.contains("fifo"));
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.unwrap();
}
