//! Forge's own git, on real repositories.

use std::{fs, path::Path, process::Command, time::Duration};

use forge::adapters::git::{self, Git, GitError};

use super::support::{Place, place, show, until};

fn git_for(place: &Place, mode: forge::adapters::sandbox::Mode) -> Git {
    Git::new(place.in_mode(mode), &place.secret.join("git")).unwrap()
}

fn commit(root: &Path, file: &str) {
    fs::write(root.join(file), file).unwrap();
    for arguments in [
        ["add", "--all"].as_slice(),
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ] {
        assert!(Command::new("git").args(arguments).current_dir(root).status().unwrap().success());
    }
}

fn clone<'a>(url: &'a str, to: &'a Path, roots: &'a [std::path::PathBuf]) -> git::Clone<'a> {
    git::Clone { url, to, roots, timeout: Duration::from_secs(30) }
}

#[tokio::test]
async fn a_new_repository_is_made_and_looked_at() {
    let place = place().await;
    for mode in place.modes() {
        let git = git_for(&place, mode);
        let root = place.project.join(format!("{mode:?}"));
        git.init(&root).await.unwrap();
        assert!(git::is_repository(&root));
        assert_eq!(git.default_branch(&root).await.unwrap().as_deref(), Some("main"));
        let status = git.status(&root).await.unwrap().unwrap();
        assert_eq!((status.branch.as_deref(), status.head), (Some("main"), None));

        commit(&root, "公共.cpp");
        fs::write(root.join("公共.cpp"), "changed").unwrap();
        fs::write(root.join("new \"file\""), "").unwrap();
        let status = git.status(&root).await.unwrap().unwrap();
        assert!(status.head.is_some());
        let entries: Vec<_> =
            status.entries.iter().map(|it| (it.path.as_str(), it.index, it.worktree)).collect();
        assert_eq!(entries, [("公共.cpp", '.', 'M'), ("new \"file\"", '?', '?')], "{mode:?}");
    }
}

#[tokio::test]
async fn a_folder_without_a_repository_has_no_status() {
    let place = place().await;
    let git = git_for(&place, place.modes()[0]);
    assert_eq!(git.status(&place.project).await.unwrap(), None);
    assert!(!git::is_repository(&place.project));
    assert!(git::protected_paths(&place.project).is_empty());
}

#[tokio::test]
async fn a_repository_is_cloned_from_an_allowed_folder() {
    let place = place().await;
    let source = place.project.join("source");
    for mode in place.modes() {
        let git = git_for(&place, mode);
        if !source.exists() {
            git.init(&source).await.unwrap();
            commit(&source, "file");
        }
        let to = place.project.join(format!("{mode:?}"));
        let mut lines = Vec::new();
        let roots = [place.project.clone()];
        let url = show(&source);
        git.clone(clone(&url, &to, &roots), |line| lines.push(line.to_owned())).await.unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "file", "{mode:?}");
        assert!(!lines.is_empty());
        assert_eq!(git.default_branch(&to).await.unwrap().as_deref(), Some("main"));
        let status = git.status(&to).await.unwrap().unwrap();
        assert_eq!((status.ahead, status.behind), (Some(0), Some(0)));

        let error = git.clone(clone(&url, &to, &roots), |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
    }
}

/// Git's own server for the folder of the project, gone when dropped.
struct Daemon(std::process::Child);

impl Daemon {
    fn serve(folder: &Path, port: u16) -> Self {
        let mut command = Command::new("git");
        command.args(["daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1"]);
        command.arg(format!("--port={port}")).arg(format!("--base-path={}", show(folder)));
        Self(command.arg(folder).spawn().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It ends its child, which does the serving, when it is asked to end.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::TERM,
        );
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_repository_is_cloned_over_the_network() {
    let place = place().await;
    let source = place.project.join("source");
    git_for(&place, place.modes()[0]).init(&source).await.unwrap();
    commit(&source, "file");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _daemon = Daemon::serve(&place.project, port);
    until("the daemon listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    for mode in place.modes() {
        let to = place.project.join(format!("{mode:?}"));
        let url = format!("git://127.0.0.1:{port}/source");
        git_for(&place, mode).clone(clone(&url, &to, &[]), |_| {}).await.unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "file", "{mode:?}");
    }
}

#[tokio::test]
async fn a_clone_that_fails_says_why_and_leaves_nothing() {
    let place = place().await;
    let git = git_for(&place, place.modes()[0]);
    let to = place.project.join("to");
    // Nothing listens on the port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://name:word@127.0.0.1:{port}/a.git");
    let error = git.clone(clone(&url, &to, &[]), |_| {}).await.unwrap_err();
    assert!(matches!(error, GitError::Failed(_)), "{error}");
    assert!(!error.to_string().contains("word"), "{error}");
    assert!(!to.exists());
}

#[tokio::test]
async fn dangerous_addresses_are_refused_before_git_sees_them() {
    let place = place().await;
    let git = git_for(&place, place.modes()[0]);
    let to = place.project.join("to");
    let mark = place.project.join("ran");
    let outside = show(&place.secret);
    let ext = format!("ext::touch {}", show(&mark));
    let option = format!("--upload-pack=touch {}", show(&mark));
    for url in [ext.as_str(), &option, &outside, "ssh://-oProxyCommand=x/y"] {
        let roots = [place.project.clone()];
        let error = git.clone(clone(url, &to, &roots), |_| {}).await.unwrap_err();
        assert!(matches!(error, GitError::Refused(_)), "{url}: {error}");
    }
    assert!(!mark.exists() && !to.exists());
}

#[tokio::test]
async fn case_47_programs_that_a_repository_names_reach_nothing() {
    let place = place().await;
    let root = place.project.join("evil");
    let git = git_for(&place, place.modes()[0]);
    git.init(&root).await.unwrap();
    let mark = place.secret.join("ran");
    let script = place.project.join("evil/script");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {0} {1}\ncat\n", show(&mark), show(&root.join("ran"))),
    )
    .unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(root.join("data"), "x").unwrap();
    commit(&root, "data");
    fs::write(root.join(".gitattributes"), "data filter=evil\n").unwrap();
    fs::write(root.join("data"), "yy").unwrap();
    let config = root.join(".git/config");
    let mut text = fs::read_to_string(&config).unwrap();
    let script = show(&script);
    text += &format!("[core]\n\tfsmonitor = {script}\n[filter \"evil\"]\n\tclean = {script}\n");
    fs::write(&config, text).unwrap();

    // The control: in the hands of somebody outside it does run.
    let status = Command::new("git").arg("status").current_dir(&root).output().unwrap();
    assert!(status.status.success());
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    fs::remove_file(root.join("ran")).unwrap();

    for mode in place.modes() {
        git_for(&place, mode).status(&root).await.unwrap().unwrap();
        assert!(!mark.exists() && !root.join("ran").exists(), "{mode:?}");
    }
}

#[tokio::test]
async fn programs_that_a_submodule_names_are_not_run_by_a_look() {
    let place = place().await;
    let git = git_for(&place, place.modes()[0]);
    let (source, root) = (place.project.join("source"), place.project.join("root"));
    git.init(&source).await.unwrap();
    commit(&source, "file");
    git.init(&root).await.unwrap();
    commit(&root, "own");
    let run = |folder: &Path, arguments: &[&str]| {
        assert!(
            Command::new("git").args(arguments).current_dir(folder).status().unwrap().success()
        );
    };
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../source", "sub"];
    run(&root, &add);
    commit(&root, "more");
    git.init(&root.join("nested")).await.unwrap();
    // What runs in the sandbox cannot leave a mark, but it takes its time.
    let slow = root.join("slow");
    fs::write(&slow, "#!/bin/sh\nsleep 20\n").unwrap();
    fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (folder, repository) in [("sub", ".git/modules/sub"), ("nested", "nested/.git")] {
        run(&root.join(folder), &["config", "core.fsmonitor", &show(&slow)]);
        run(&root.join(folder), &["config", "filter.slow.clean", &show(&slow)]);
        fs::create_dir_all(root.join(repository).join("info")).unwrap();
        fs::write(root.join(repository).join("info/attributes"), "* filter=slow\n").unwrap();
    }
    // As long as it was, so that Git has to look into it.
    fs::write(root.join("sub/file"), "elif").unwrap();
    for mode in place.modes() {
        let before = std::time::Instant::now();
        let status = git_for(&place, mode).status(&root).await.unwrap().unwrap();
        assert!(before.elapsed() < Duration::from_secs(10), "{mode:?}: {:?}", before.elapsed());
        let entries: Vec<_> = status.entries.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(entries, ["nested/", "slow"], "{mode:?}");
    }
    // Another commit in it is a change, and shows.
    for setting in ["core.fsmonitor", "filter.slow.clean"] {
        run(&root.join("sub"), &["config", "--unset", setting]);
    }
    commit(&root.join("sub"), "another");
    let status = git.status(&root).await.unwrap().unwrap();
    assert!(status.entries.iter().any(|it| it.path == "sub"), "{status:?}");
}
