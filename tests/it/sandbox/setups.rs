//! The same attempts in other set-ups: as an ordinary user, and in a container that lets nobody
//! open namespaces, where Landlock stands alone; and where there is not even that.
//!
//! A test starts this program once more, from a thread that has given up what a container has not.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::{Command, Output},
};

use forge::adapters::sandbox::Mode;
use rustix::thread::{
    CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::support::{EXPECTED, FOLDER, place};
use crate::support::TestApp;

/// A user without any rights.
const NOBODY: u32 = 65_534;
/// What is tried in every set-up.
const SUITE: [&str; 3] = ["sandbox::escapes::", "sandbox::harm::", "sandbox::network::"];
/// Tests in there, at least.
const MOST_OF_IT: usize = 25;

/// Where the program is started.
#[derive(Clone, Copy)]
struct Setup {
    nobody: bool,
    walls: Around,
}

/// What is around it already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    /// What Docker takes from a container unless told otherwise.
    Container,
    /// The same on a kernel without Landlock.
    OldContainer,
}

impl Setup {
    /// Runs tests in it. None where this process may not make it.
    fn run(self, tests: &[&str], expected: Option<&str>) -> Option<Output> {
        let root = rustix::process::geteuid().is_root();
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(tests).args(["--test-threads", "2"]).env(FOLDER, folder.path());
        if let Some(expected) = expected {
            command.env(EXPECTED, expected);
        }
        if self.nobody && root {
            if !is_reached_by_nobody(Path::new(env!("CARGO_BIN_EXE_forge"))) {
                println!("skipped: other users may not look into the folder of this checkout");
                return None;
            }
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY).current_dir(folder.path());
        }
        let walls = self.walls;
        // What a thread gives up its children have not, and the rest of this process keeps.
        let output = std::thread::spawn(move || {
            if walls != Around::Nothing {
                give_up_capabilities();
                for filter in filters(walls) {
                    apply_filter(&filter).unwrap();
                }
            }
            command.output().unwrap()
        });
        Some(output.join().unwrap())
    }
}

fn is_reached_by_nobody(path: &Path) -> bool {
    let mut command = Command::new("/usr/bin/test");
    command.arg("-x").arg(path).uid(NOBODY).gid(NOBODY);
    command.status().is_ok_and(|status| status.success())
}

/// The capabilities of a container of Docker's.
fn give_up_capabilities() {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        | CapabilitySet::SETGID
        | CapabilitySet::SETUID
        | CapabilitySet::SETPCAP
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::NET_RAW
        | CapabilitySet::SYS_CHROOT
        | CapabilitySet::MKNOD
        | CapabilitySet::AUDIT_WRITE
        | CapabilitySet::SETFCAP;
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        let held = capability_is_in_bounding_set(one).unwrap_or(false);
        if held && !kept.contains(one) {
            let _ = remove_capability_from_bounding_set(one);
        }
    }
}

/// The part of Docker's filter that matters here: no namespaces and no mounts.
fn filters(walls: Around) -> Vec<BpfProgram> {
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let compile = |calls: Vec<(i64, Vec<SeccompRule>)>, errno: i32| -> BpfProgram {
        let calls: BTreeMap<_, _> = calls.into_iter().collect();
        let refuse = SeccompAction::Errno(errno.cast_unsigned());
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, architecture);
        filter.unwrap().try_into().unwrap()
    };
    let namespace = |flag: i32| {
        let flag = flag as u64;
        let how = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, how, flag).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let refused = [
        libc::SYS_unshare,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_setns,
        libc::SYS_pivot_root,
        libc::SYS_mount_setattr,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fsmount,
        libc::SYS_bpf,
        libc::SYS_keyctl,
    ];
    let mut refused: Vec<_> = refused.into_iter().map(|call| (call, Vec::new())).collect();
    refused.push((libc::SYS_clone, flags.into_iter().map(namespace).collect()));
    let mut unknown = vec![(libc::SYS_clone3, Vec::new())];
    if walls == Around::OldContainer {
        unknown.push((libc::SYS_landlock_create_ruleset, Vec::new()));
    }
    vec![compile(unknown, libc::ENOSYS), compile(refused, libc::EPERM)]
}

/// All of the suite passes there, and it is all of it.
fn assert_holds(setup: Setup, expected: Option<&str>) {
    let Some(output) = setup.run(&SUITE, expected) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let passed = text.split("test result: ok. ").nth(1).and_then(|it| it.split(' ').next());
    let passed: usize = passed.unwrap().parse().unwrap();
    assert!(passed >= MOST_OF_IT, "only {passed} tests ran:\n{text}");
}

/// Whether Landlock is there to stand alone.
async fn has_landlock() -> bool {
    let there = place().await.sandbox.report().offers(Mode::Landlock);
    if !there {
        println!("skipped: this kernel has no Landlock");
    }
    there
}

#[tokio::test]
async fn the_walls_hold_for_an_ordinary_user() {
    assert_holds(Setup { nobody: true, walls: Around::Nothing }, None);
}

#[tokio::test]
async fn the_walls_hold_in_a_container() {
    if has_landlock().await {
        assert_holds(Setup { nobody: false, walls: Around::Container }, Some("[Landlock]"));
    }
}

#[tokio::test]
async fn the_walls_hold_for_an_ordinary_user_in_a_container() {
    if has_landlock().await {
        assert_holds(Setup { nobody: true, walls: Around::Container }, Some("[Landlock]"));
    }
}

#[test]
fn where_nothing_confines_commands_are_refused() {
    for nobody in [false, true] {
        let setup = Setup { nobody, walls: Around::OldContainer };
        let only = ["--ignored", "--exact", "sandbox::setups::nothing_confines_here"];
        let Some(output) = setup.run(&only, None) else { continue };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[actix_web::test]
#[ignore = "runs in a set-up in which nothing confines, as a part of the test before"]
async fn nothing_confines_here() {
    let place = place().await;
    let report = place.sandbox.report();
    assert_eq!((report.mode, report.landlock_version), (None, 0), "{report:?}");
    let error = place.sandbox.spawn(place.command("true")).await.unwrap_err().to_string();
    assert!(error.contains("cannot confine commands"), "{error}");

    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let page = root.get("/admin/sandbox").await.assert_ok().body;
    assert!(page.contains("Commands are refused") && page.contains("How to get more"));
    assert!(page.contains("docker run"), "it says what to change");
    for path in ["/admin/users", "/providers", "/rules"] {
        let page = root.get(path).await.assert_ok().body;
        assert!(page.contains("cannot confine commands"), "{path} says nothing");
    }
    // Only the operator lowers it, and then that is said.
    let app = TestApp::start_with(|config| {
        config.sandbox.mode = forge::config::SandboxMode::Off;
    })
    .await;
    assert_eq!(app.app.engine.sandbox.report().mode, Some(Mode::Off));
    let _ = fs::metadata(app.folder.path()).unwrap();
}
