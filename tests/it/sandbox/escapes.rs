//! Attempts to get out, each with a control that shows that it would work without the walls.

use std::{
    fs,
    os::{linux::net::SocketAddrExt, unix::net::SocketAddr},
    process::{Child, Stdio},
};

use forge::adapters::{git::protected_paths, sandbox::Mode};

use super::support::{Place, mark, place, place_in, processes_with, show, until};

/// In every mode that confines the attempt must not print LEAK; unconfined it must.
async fn assert_contained(place: &Place, name: &str, script: &str) {
    let control = place.run(Mode::Off, script).await;
    assert!(control.text.contains("LEAK"), "the control of {name} shows nothing: {control:?}");
    for mode in place.modes() {
        let said = place.run(mode, script).await;
        assert!(!said.text.contains("LEAK"), "{name} got out in mode {mode:?}: {said:?}");
    }
}

#[tokio::test]
async fn files_outside_cannot_be_read() {
    let place = place().await;
    let key = show(&place.secret.join("key"));
    for (name, script) in [
        ("reading", format!("grep -q secret {key} && echo LEAK")),
        ("listing", format!("ls {} && echo LEAK", show(&place.secret))),
        ("a symbolic link", format!("ln -sf {key} link; grep -q secret link && echo LEAK")),
        ("a hard link", format!("rm -f hard; ln {key} hard && grep -q secret hard && echo LEAK")),
        (
            "going up",
            format!("cd {}; grep -q secret ../data/key && echo LEAK", show(&place.project)),
        ),
        ("the root of a process", format!("grep -q secret /proc/self/root{key} && echo LEAK")),
        ("its own working folder", "grep -q secret /proc/self/cwd/../data/key && echo LEAK".into()),
    ] {
        assert_contained(&place, name, &script).await;
    }
}

#[tokio::test]
async fn files_outside_cannot_be_written() {
    let place = place().await;
    let outside = show(&place.secret.join("new"));
    for (name, script) in [
        ("writing", format!("echo x > {outside} && echo LEAK")),
        ("moving out", format!("echo x > here; mv here {outside} && echo LEAK")),
        (
            "cutting",
            format!("echo x > {0}/cut; truncate -s 0 {0}/cut && echo LEAK", show(&place.secret)),
        ),
        ("a new folder", format!("mkdir {outside} && echo LEAK; rmdir {outside}")),
        ("removing", format!("touch {0}/gone; rm {0}/gone && echo LEAK", show(&place.secret))),
    ] {
        assert_contained(&place, name, &script).await;
        let _ = fs::remove_file(place.secret.join("new"));
    }
    assert_eq!(fs::read_to_string(place.secret.join("key")).unwrap(), "the-secret-key");
}

#[tokio::test]
async fn the_system_cannot_be_changed_and_its_secrets_not_read() {
    // Attempts that must not be made for real on this machine, so without a control.
    let place = place().await;
    for mode in place.modes() {
        for script in [
            "touch /usr/forge-test && echo LEAK",
            "touch /etc/forge-test && echo LEAK",
            "cat /etc/shadow && echo LEAK",
            "mount -t tmpfs none . && echo LEAK",
            "unshare -Ur true && echo LEAK",
            "mknod disk b 254 0 && echo LEAK",
            "chroot / true && echo LEAK",
            "f=/proc/sys/kernel/randomize_va_space; v=$(cat $f); echo $v > $f && echo LEAK",
        ] {
            let said = place.run(mode, script).await;
            assert!(!said.text.contains("LEAK"), "{script} in mode {mode:?}: {said:?}");
        }
    }
}

/// A process of the server's user, with something in its environment.
struct Victim(Child);

impl Victim {
    fn start() -> Self {
        let mut command = std::process::Command::new("sleep");
        command.arg("60").env("CANARY", "canary-in-the-environment").stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn other_processes_can_be_neither_read_nor_signalled() {
    let place = place().await;
    let victim = Victim::start();
    let pid = victim.0.id();
    for (name, script) in [
        (
            "every environment",
            "for p in /proc/[0-9]*; do grep -qa canary-in-the $p/environ && echo LEAK; done",
        ),
        ("its environment", &format!("grep -qa canary /proc/{pid}/environ && echo LEAK")),
        ("its files", &format!("readlink /proc/{pid}/fd/0 && echo LEAK")),
        ("its root", &format!("ls /proc/{pid}/root/ && echo LEAK")),
        ("a signal", &format!("kill -CONT {pid} && echo LEAK")),
    ] {
        assert_contained(&place, name, script).await;
    }
    for mode in place.modes() {
        place.run(mode, &format!("kill -KILL {pid}; kill -KILL $PPID")).await;
    }
    assert!(!processes_with("60").is_empty(), "the victim was killed");
}

#[tokio::test]
async fn case_46_nothing_of_the_servers_environment_arrives() {
    let place = place().await;
    // Cargo and the shell have set these for the test itself.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    for mode in place.modes() {
        let said = place.run(mode, "env; cat /proc/1/environ | tr '\\0' '\\n'").await;
        assert!(!said.text.contains("CARGO"), "{mode:?}: {said:?}");
        for expected in ["GIT_TERMINAL_PROMPT=0", "PAGER=cat", "CI=1", "HOME=", "EDITOR=true"] {
            assert!(said.text.contains(expected), "{expected} in {said:?}");
        }
        assert!(!said.text.contains("NO_COLOR"));
    }
}

#[tokio::test]
async fn the_network_of_the_host_is_out_of_reach() {
    let place = place().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo LEAK");
    assert_contained(&place, "a connection", &script).await;
    let script = "exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3 && echo LEAK";
    let control = place.run(Mode::Off, script).await;
    assert!(control.text.contains("LEAK"));
    let said = place.run(Mode::Landlock, script).await;
    assert!(!said.text.contains("LEAK"), "{said:?}");
}

#[tokio::test]
async fn sockets_of_the_host_are_out_of_reach() {
    let place = place().await;
    let path = place.secret.join("socket");
    let _in_a_file = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let name = format!("forge-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    for (name, target) in
        [("a socket file", show(&path)), ("an abstract socket", format!("\\0{name}"))]
    {
        let script = format!(
            "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) && \
             connect(S,pack_sockaddr_un(\"{target}\")) && print \"LEAK\"'"
        );
        assert_contained(&place, name, &script).await;
    }
}

#[tokio::test]
async fn a_private_loopback_works_with_namespaces() {
    let place = place().await;
    if !place.modes().contains(&Mode::Namespaces) {
        return;
    }
    let script = "perl -MIO::Socket::INET -e '\
        my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die $!;\
        IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die $!;\
        print \"connected\"'";
    let said = place.run(Mode::Namespaces, script).await;
    assert_eq!(said.text, "connected", "{said:?}");
}

fn repository(place: &Place) {
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        assert!(command.args(arguments).current_dir(&place.project).status().unwrap().success());
    };
    git(&["init", "-q"]);
    fs::write(place.project.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
}

#[tokio::test]
async fn hooks_and_configuration_of_the_repository_stay_as_they_are() {
    let place = place().await;
    repository(&place);
    let git = place.project.join(".git");
    let before = fs::read_to_string(git.join("config")).unwrap();
    for script in [
        "echo x >> .git/config",
        "echo x > .git/hooks/post-commit",
        "rm .git/hooks/pre-push",
        "chmod 777 .git/hooks/pre-push",
        "mv .git/hooks .git/old; mkdir .git/hooks; echo x > .git/hooks/post-commit",
        "mv .git aside; mkdir .git; cp -r aside/. .git; echo x >> .git/config",
        "mv .git $TMPDIR/aside && ln -s $TMPDIR/aside .git; echo x >> .git/config",
        "rm .git/config; ln -s /etc/passwd .git/config",
        "ln .git/config alias && echo x >> alias; git --git-dir=.git config core.fsmonitor x",
        "echo ../evil > .git/commondir",
        "rm -rf .git",
    ] {
        let before_all = [Mode::Off].into_iter().chain(place.modes());
        for mode in before_all {
            let mut command = place.command(script);
            command.protected = protected_paths(&place.project);
            let said = place.run_command(mode, command).await;
            let restored = &said.captured.exit.protected_restored;
            // Without mounts the change happens and is undone, which also shows that it was one.
            let happens = mode != Mode::Namespaces || script.contains("commondir");
            assert_eq!(!restored.is_empty(), happens, "{script} in mode {mode:?}: {said:?}");
            assert!(said.captured.exit.protected_lost.is_empty(), "{script}: {said:?}");
            assert_eq!(fs::read_to_string(git.join("config")).unwrap(), before, "{script}");
            assert!(fs::symlink_metadata(&git).unwrap().is_dir(), "{script}");
            assert!(!git.join("hooks/post-commit").exists(), "{script} in {mode:?}");
            assert!(git.join("hooks/pre-push").exists(), "{script} in {mode:?}");
            assert!(!git.join("commondir").exists(), "{script} in {mode:?}");
            let _ = fs::remove_file(place.project.join("alias"));
            if script.contains("rm -rf") {
                // What is not protected may go.
                fs::remove_dir_all(&git).unwrap();
                repository(&place);
            }
            let left = fs::read_dir(place.secret.join("tmp")).unwrap().count();
            assert_eq!(left, 0, "private folders are left by {script} in {mode:?}");
        }
    }
}

#[tokio::test]
async fn ordinary_work_with_the_repository_goes_on_under_protection() {
    let place = place().await;
    repository(&place);
    for mode in place.modes() {
        let mut command = place.command(
            "echo a >> a && git add a && git -c user.name=a -c user.email=a@b commit -qm x \
             && git log --oneline | wc -l",
        );
        command.protected = protected_paths(&place.project);
        let said = place.run_command(mode, command).await;
        assert!(said.is_good(), "{mode:?}: {said:?}");
        assert!(said.captured.exit.protected_restored.is_empty(), "{said:?}");
    }
}

#[tokio::test]
async fn ordinary_programs_work() {
    let place = place().await;
    for mode in place.modes() {
        for script in [
            "echo x > file && cat file && rm file",
            "echo x > $TMPDIR/file && cat $TMPDIR/file",
            "echo x > $HOME/file && cat $HOME/file",
            "seq 3 | sort -r | head -1 | grep -q 3",
            "cat <(echo x) && echo y > /dev/null && echo z > /dev/stderr",
            "git init -q sub && cd sub && git -c user.name=a -c user.email=a@b commit -q \
             --allow-empty -m x && git log --oneline && rm -rf ../sub",
            "printf 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a",
            "node -e 'require(\"child_process\").execSync(\"true\")'",
            "perl -e 'exit 0'",
        ] {
            let said = place.run(mode, script).await;
            assert!(said.is_good(), "{script} in mode {mode:?}: {said:?}");
        }
    }
}

#[tokio::test]
async fn a_project_below_tmp_is_seen_and_its_neighbours_are_not() {
    let place = place_in(&std::env::temp_dir()).await;
    let key = show(&place.secret.join("key"));
    for mode in place.modes() {
        let said = place.run(mode, &format!("echo x > file && cat file {key}")).await;
        assert!(said.text.starts_with("x\n"), "{mode:?}: {said:?}");
        assert!(!said.text.contains("the-secret"), "{mode:?}: {said:?}");
        assert!(place.project.join("file").exists());
    }
}

#[tokio::test]
async fn nothing_survives_a_command_that_has_ended() {
    let place = place().await;
    for mode in place.modes().into_iter().chain([Mode::Off]) {
        let mark = mark();
        let script = format!(
            "(setsid bash -c 'trap \"\" TERM HUP; sleep {mark}' >/dev/null 2>&1 &) ; \
             (setsid setsid nohup sleep {mark} &) ; \
             while [ $(grep -lza '^{mark}$' /proc/[0-9]*/cmdline | wc -l) -lt 2 ]; do :; done; \
             echo both are there"
        );
        let said = place.run(mode, &script).await;
        assert!(said.text.contains("both are there"), "{mode:?}: {said:?}");
        assert_eq!(processes_with(&mark), [""; 0], "{mode:?}");
    }
}

#[tokio::test]
async fn the_folder_of_the_server_cannot_be_given_away() {
    let place = place().await;
    for path in [place.secret.clone(), place.secret.parent().unwrap().to_owned()] {
        for field in ["writable", "readable"] {
            let mut command = place.command("true");
            match field {
                "writable" => command.writable.push(path.clone()),
                _ => command.readable.push(path.clone()),
            }
            let error = place.sandbox.spawn(command).await.unwrap_err();
            assert!(error.to_string().contains("Forge's own data"), "{error}");
        }
    }
    // A part of it may be: work trees of sessions lie there.
    let tree = place.secret.join("tree");
    fs::create_dir(&tree).unwrap();
    for mode in place.modes() {
        let mut command = place.command(&format!("echo x > {}/file", show(&tree)));
        command.writable.push(tree.clone());
        let said = place.run_command(mode, command).await;
        assert!(said.is_good(), "{mode:?}: {said:?}");
    }
}

#[tokio::test]
async fn a_host_that_cannot_confine_runs_nothing() {
    let place = place().await;
    let broken = forge::adapters::sandbox::Sandbox::probe(
        "/bin/false".into(),
        place.secret.join("tmp"),
        forge::adapters::sandbox::ConfiguredMode::Required,
    )
    .await;
    assert_eq!(broken.report().mode, None);
    let error = broken.spawn(place.command("true")).await.unwrap_err().to_string();
    assert!(error.contains("cannot confine commands"), "{error}");
    assert!(error.contains("Landlock"), "{error}");
    until("the probe has left nothing", || {
        fs::read_dir(place.secret.join("tmp")).unwrap().next().is_none()
    })
    .await;
}
