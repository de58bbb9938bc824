//! Forge's own git, on real repositories.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{IpAddr, TcpListener},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forge::adapters::{
    git::{self, Git, GitError},
    model::Names,
    reach::{Hosts, SystemNames},
    sandbox::Mode,
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::support::{Place, place, show, until};

fn git_for(place: &Place, mode: Mode) -> Git {
    Git::new(place.in_mode(mode), &place.secret.join("git")).unwrap()
}

/// The same, where the operator lets it clone from this machine.
fn git_from_here(place: &Place, mode: Mode) -> Git {
    git_for(place, mode).reaching(Hosts::new(["127.0.0.1"], Arc::new(SystemNames)))
}

/// Knows one address of every name.
#[derive(Debug)]
struct Everywhere(IpAddr);

impl Names for Everywhere {
    fn find(&self, _: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let address = self.0;
        async move { Ok(vec![address]) }.boxed()
    }
}

fn names(address: &str) -> Arc<Everywhere> {
    Arc::new(Everywhere(address.parse().unwrap()))
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
        git_from_here(&place, mode).clone(clone(&url, &to, &[]), |_| {}).await.unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "file", "{mode:?}");

        // A name leads to the address that it was looked at with, and stays what is written.
        let to = place.project.join(format!("{mode:?}-by-name"));
        let url = format!("git://code.test:{port}/source");
        let hosts = Hosts::new(["code.test"], names("127.0.0.1"));
        let git = git_for(&place, mode).reaching(hosts);
        git.clone(clone(&url, &to, &[]), |_| {}).await.unwrap();
        let config = fs::read_to_string(to.join(".git/config")).unwrap();
        assert!(config.contains(&url) && !config.contains("127.0.0.1"), "{config}");
    }
}

/// A server for what lies in a folder, as plain files. It counts who has come, and sends on whoever
/// asks for /away.
fn serve_files(folder: &Path) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (folder, count) = (folder.to_owned(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut bytes = [0; 4096];
            let length = connection.read(&mut bytes).unwrap_or(0);
            let head = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let path = head.split([' ', '?']).nth(1).unwrap_or_default().trim_start_matches('/');
            let answer = match fs::read(folder.join(path)) {
                _ if path.starts_with("away") => {
                    let place = "HTTP/1.1 302 Found\r\nLocation: http://inner.test/x/info/refs\r\n";
                    format!("{place}Content-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
                }
                Ok(content) => {
                    let length = content.len();
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                    [head.as_bytes(), &content].concat()
                }
                Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
            };
            let _ = connection.write_all(&answer);
        }
    });
    (port, count)
}

#[tokio::test]
async fn a_clone_over_http_goes_through_the_proxy() {
    let place = place().await;
    let source = place.project.join("source");
    git_for(&place, place.modes()[0]).init(&source).await.unwrap();
    commit(&source, "file");
    let info = ["update-server-info"];
    let done = Command::new("git").args(info).current_dir(&source).status().unwrap();
    assert!(done.success());
    let (port, _) = serve_files(&place.project);
    let mut modes = place.modes();
    modes.push(Mode::Off);
    for mode in modes {
        let Some(sandbox) = place.sandbox.clone().in_mode(mode) else { continue };
        let git = Git::new(sandbox, &place.secret.join("git")).unwrap();
        // Nobody but the proxy knows this name.
        let hosts = Hosts::new(["code.test"], names("127.0.0.1"));
        let to = place.project.join(format!("{mode:?}"));
        let url = format!("http://code.test:{port}/source/.git");
        git.reaching(hosts).clone(clone(&url, &to, &[]), |_| {}).await.unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "file", "{mode:?}");
    }
}

#[tokio::test]
async fn case_48_no_clone_reaches_the_servers_own_network() {
    let place = place().await;
    let (port, count) = serve_files(&place.project);
    for mode in place.modes() {
        let to = place.project.join(format!("{mode:?}"));
        let git = git_for(&place, mode);
        for url in [
            format!("http://127.0.0.1:{port}/x.git"),
            format!("http://localhost:{port}/x.git"),
            format!("http://2130706433:{port}/x.git"),
            format!("http://[::1]:{port}/x.git"),
            format!("git://127.0.0.1:{port}/x.git"),
            format!("git://127.1:{port}/x.git"),
            format!("ssh://git@127.0.0.1:{port}/x.git"),
            format!("ssh://git@localhost:{port}/x.git"),
            "git@localhost:x.git".to_owned(),
            "http://169.254.169.254/x.git".to_owned(),
        ] {
            let error = git.clone(clone(&url, &to, &[]), |_| {}).await.unwrap_err();
            assert!(matches!(error, GitError::Refused(_)), "{mode:?} {url}: {error}");
            let said = error.to_string();
            assert!(said.contains("own network") && said.contains("sandbox.private_hosts"));
            assert!(!to.exists(), "{url}");
        }
        // A name that leads there does not help, nor does a server that sends one on.
        let inner = git_for(&place, mode).reaching(Hosts::new([], names("10.0.0.7")));
        for url in
            ["https://inner.test/x", "ssh://inner.test/x", "git://inner.test/x", "a@b.test:x"]
        {
            let error = inner.clone(clone(url, &to, &[]), |_| {}).await.unwrap_err();
            assert!(error.to_string().contains("own network"), "{mode:?} {url}: {error}");
        }
        assert_eq!(count.load(Ordering::SeqCst), 0, "nobody came");
    }
    let git = git_for(&place, place.modes()[0]);
    let git = git.reaching(Hosts::new(["code.test"], names("127.0.0.1")));
    let (to, url) = (place.project.join("to"), format!("http://code.test:{port}/away"));
    let error = git.clone(clone(&url, &to, &[]), |_| {}).await.unwrap_err();
    assert!(error.to_string().starts_with("inner.test lies in"), "{error}");
    assert_eq!(count.load(Ordering::SeqCst), 1, "it was asked, and sent on");
}

#[tokio::test]
async fn a_clone_that_fails_says_why_and_leaves_nothing() {
    let place = place().await;
    let git = git_from_here(&place, place.modes()[0]);
    let to = place.project.join("to");
    // Nothing listens on the port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://name:word@127.0.0.1:{port}/a.git");
    let error = git.clone(clone(&url, &to, &[]), |_| {}).await.unwrap_err();
    assert!(matches!(error, GitError::Failed(_)), "{error}");
    assert!(!error.to_string().contains("word"), "{error}");
    assert!(error.to_string().contains("nobody answers at 127.0.0.1"), "{error}");
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
