//! How long commands take, how much they say, and how they end.

use std::{
    fs,
    time::{Duration, Instant},
};

use forge::adapters::sandbox::{Ending, Mode, Spill, capture};

use super::support::{mark, place, processes_with, show, until};

#[tokio::test]
async fn case_29_an_abort_ends_a_tree_that_ignores_it_within_a_second() {
    let place = place().await;
    for mode in place.modes().into_iter().chain([Mode::Off]) {
        let mark = mark();
        let script = format!(
            "trap '' TERM INT HUP; (setsid sleep {mark} &); bash -c \"trap '' TERM; sleep {mark}\""
        );
        let mut running = place.in_mode(mode).spawn(place.command(&script)).await.unwrap();
        until("the tree is there", || processes_with(&mark).len() >= 2).await;
        let start = Instant::now();
        running.kill();
        let exit = running.wait().await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(1), "{mode:?}: {:?}", start.elapsed());
        assert_eq!(exit.ending, Ending::Killed, "{mode:?}");
        assert_eq!(processes_with(&mark), [""; 0], "{mode:?}");
    }
}

#[tokio::test]
async fn dropping_a_command_ends_its_tree() {
    let place = place().await;
    for mode in place.modes().into_iter().chain([Mode::Off]) {
        let mark = mark();
        let script = format!("trap '' TERM; (setsid sleep {mark} &); sleep {mark}");
        let running = place.in_mode(mode).spawn(place.command(&script)).await.unwrap();
        let keeps_nothing_alive = running.stopper();
        until("the tree is there", || processes_with(&mark).len() >= 2).await;
        drop(running);
        until("the tree is gone", || processes_with(&mark).is_empty()).await;
        drop(keeps_nothing_alive);
    }
}

#[tokio::test]
async fn a_command_that_asked_to_clean_up_gets_to() {
    let place = place().await;
    for mode in place.modes() {
        let mark = mark();
        let script = format!("trap 'echo tidy > left; exit 3' TERM; sleep {mark} & wait");
        let mut running = place.in_mode(mode).spawn(place.command(&script)).await.unwrap();
        until("it sleeps", || !processes_with(&mark).is_empty()).await;
        running.kill();
        running.wait().await.unwrap();
        assert_eq!(fs::read_to_string(place.project.join("left")).unwrap(), "tidy\n", "{mode:?}");
        fs::remove_file(place.project.join("left")).unwrap();
    }
}

#[tokio::test]
async fn time_runs_out() {
    let place = place().await;
    for mode in place.modes() {
        let mark = mark();
        let mut command = place.command(&format!("echo before; sleep {mark}"));
        command.timeout = Some(Duration::from_millis(300));
        let said = place.run_command(mode, command).await;
        assert_eq!(said.captured.exit.ending, Ending::TimedOut, "{mode:?}");
        assert_eq!(said.text, "before");
        assert_eq!(processes_with(&mark), [""; 0]);
    }
}

#[tokio::test]
async fn case_27_a_background_process_does_not_hold_the_call() {
    let place = place().await;
    for mode in place.modes() {
        let mark = mark();
        let start = Instant::now();
        let said = place.run(mode, &format!("sleep {mark} & echo started")).await;
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert_eq!((said.text.as_str(), said.is_good()), ("started", true), "{mode:?}");
        assert_eq!(processes_with(&mark), [""; 0]);
    }
}

#[tokio::test]
async fn what_reads_the_output_may_finish() {
    let place = place().await;
    for mode in place.modes() {
        let said = place.run(mode, "echo through > >(sleep 0.05; cat)").await;
        assert_eq!(said.text, "through", "{mode:?}");
    }
}

#[tokio::test]
async fn how_a_command_ended_is_told() {
    let place = place().await;
    for mode in place.modes().into_iter().chain([Mode::Off]) {
        for (script, ending) in [
            ("exit 0", Ending::Code(0)),
            ("exit 3", Ending::Code(3)),
            ("exit 125", Ending::Code(125)),
            ("kill -SEGV $$", Ending::Signal(11)),
        ] {
            let said = place.run(mode, script).await;
            assert_eq!(said.captured.exit.ending, ending, "{script} in mode {mode:?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = place().await;
    for mode in place.modes() {
        let sandbox = place.in_mode(mode);
        let mut command = place.command("true");
        command.argv = vec!["no-such-program".into()];
        let error = sandbox.spawn(command).await.unwrap_err().to_string();
        assert_eq!(error, "The program no-such-program was not found.", "{mode:?}");

        let mut command = place.command("true");
        command.cwd = place.secret.join("nowhere");
        let error = sandbox.spawn(command).await.unwrap_err().to_string();
        assert!(error.contains("cannot start in"), "{mode:?}: {error}");
    }
}

#[tokio::test]
async fn case_28_nobody_waits_for_input_that_never_comes() {
    let place = place().await;
    for mode in place.modes() {
        let script = "cat; read x; echo $?; tty; (echo x > /dev/tty) 2>/dev/null || echo no tty";
        let said = place.run(mode, script).await;
        assert_eq!(said.text, "1\nnot a tty\nno tty", "{mode:?}: {said:?}");
    }
}

#[tokio::test]
async fn both_outputs_come_in_the_order_they_were_written() {
    let place = place().await;
    for mode in place.modes() {
        let said = place.run(mode, "for i in 1 2 3; do echo out $i; echo err $i >&2; done").await;
        assert_eq!(said.text, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3", "{mode:?}");
    }
}

#[tokio::test]
async fn case_23_a_character_that_comes_in_two_pieces_is_one() {
    let place = place().await;
    for mode in place.modes() {
        let said = place.run(mode, r"printf '\xf0\x9f'; sleep 0.1; printf '\x98\x80\n'").await;
        assert_eq!(said.text, "😀", "{mode:?}");
    }
}

#[tokio::test]
async fn case_25_progress_is_shown_as_it_stood_at_last() {
    let place = place().await;
    for mode in place.modes() {
        let said = place.run(mode, r"printf '10%%\r20%%\r100%%\n'; printf 'a\0b\xff\n'").await;
        assert_eq!(said.text, "100%\nab\u{fffd}", "{mode:?}");
        let said = place.run(mode, r"printf 'one\x1b[31m red\x1b[0m\nx\x1b[1D\x1b[Ky\n'").await;
        assert_eq!(said.text, "one red\ny", "{mode:?}");
    }
}

#[tokio::test]
async fn case_26_half_a_gigabyte_is_read_in_bounded_memory_and_the_start_of_it_kept() {
    let place = place().await;
    let mode = place.modes()[0];
    let mut running =
        place.in_mode(mode).spawn(place.command("yes | head -c 500M; echo end")).await.unwrap();
    let mut spill = Spill::to(place.secret.join("output"));
    let before = resident();
    let mut most = 0;
    let mut pieces = 0_u32;
    let captured = capture(&mut running, Some(&mut spill), |_| {
        pieces += 1;
        if pieces.is_multiple_of(64) {
            most = most.max(resident());
        }
    })
    .await
    .unwrap();
    assert!(captured.exit.is_success());
    assert!(captured.spill_error.is_none());
    assert_eq!(captured.transcript.bytes(), (500 << 20) + 4);
    assert!(most.saturating_sub(before) < 32 << 20, "from {before} to {most} bytes");
    let text = captured.transcript.text(Some("output"));
    assert!(text.starts_with("y\n") && text.ends_with("y\nend"));
    assert!(text.len() < 51 << 10);
    assert!(text.contains("lines left out, the whole output is in output …"));
    assert_eq!(fs::metadata(spill.path()).unwrap().len(), Spill::MOST);
}

/// Bytes of memory that this process has in use.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn limits_hold() {
    let place = place().await;
    for mode in place.modes() {
        let mut command =
            place.command("head -c 3M /dev/zero > big; ls -l big; ulimit -n; ulimit -c");
        command.limits.file = 1 << 20;
        command.limits.open_files = 100;
        let said = place.run_command(mode, command).await;
        assert!(said.text.contains("1048576"), "{mode:?}: {said:?}");
        assert!(said.text.ends_with("100\n0"), "{mode:?}: {said:?}");

        let mut command = place.command("perl -e '$x = \"a\" x (1 << 30); print length $x'");
        command.limits.memory = 256 << 20;
        let said = place.run_command(mode, command).await;
        assert!(!said.is_good(), "{mode:?}: {said:?}");
    }
}

#[tokio::test]
async fn a_fork_bomb_is_contained_and_ends() {
    let place = place().await;
    if !place.modes().contains(&Mode::Namespaces) {
        return;
    }
    let mark = mark();
    let mut command =
        place.command(&format!("for i in $(seq 2000); do sleep {mark} & done 2>/dev/null; wait"));
    command.limits.processes = 512;
    command.timeout = Some(Duration::from_secs(2));
    let said = place.run_command(Mode::Namespaces, command).await;
    assert_ne!(said.captured.exit.ending, Ending::Code(0), "{said:?}");
    assert_eq!(processes_with(&mark), [""; 0]);
}

#[tokio::test]
async fn the_kernel_bounds_the_processes_of_root_in_a_group_of_their_own() {
    let place = place().await;
    if !place.sandbox.report().groups {
        // The server is not root here, or may make no groups: then it says so on its page.
        return;
    }
    let mark = mark();
    let script = format!("cat /proc/self/cgroup; for i in $(seq 60); do sleep {mark} & done; wait");
    let mut command = place.command(&script);
    command.limits.processes = 40;
    command.timeout = Some(Duration::from_secs(3));
    let said = place.run_command(Mode::Landlock, command).await;
    // The watch, which would have ended it, has never seen too many.
    assert_eq!(said.captured.exit.ending, Ending::TimedOut, "{said:?}");
    assert!(said.text.contains("Resource temporarily unavailable"), "{said:?}");
    assert_eq!(processes_with(&mark), [""; 0]);
    let group = said.text.split_once("/forge-command-").map(|(_, rest)| rest.lines().next());
    let name = format!("forge-command-{}", group.flatten().expect("a group of its own"));
    let own = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let places = own.lines().filter(|line| line.contains(" - cgroup"));
    for place in places.filter_map(|line| line.split(' ').nth(4)) {
        let left = std::path::Path::new(place).join(&name);
        assert!(!left.exists(), "{} is left", left.display());
    }
}

#[tokio::test]
async fn a_kept_folder_is_there_in_the_next_call() {
    let place = place().await;
    let tmp = place.secret.join("session");
    fs::create_dir(&tmp).unwrap();
    for mode in place.modes() {
        for script in ["echo kept > $TMPDIR/note", "cat $TMPDIR/note"] {
            let mut command = place.command(script);
            command.tmp = Some(tmp.clone());
            let said = place.run_command(mode, command).await;
            assert!(said.is_good(), "{mode:?}: {said:?}");
        }
    }
    // Without one it is gone.
    for mode in place.modes() {
        place.run(mode, "echo x > $TMPDIR/note").await;
        assert!(!place.run(mode, "cat $TMPDIR/note").await.is_good());
    }
    let left = fs::read_dir(place.secret.join("tmp")).unwrap().count();
    assert_eq!(left, 0, "private folders are left in {}", show(&place.secret));
}

#[tokio::test]
async fn confinement_costs_milliseconds() {
    let place = place().await;
    let start = Instant::now();
    place.probe_again().await;
    println!("probe: {:?}, {:?}", start.elapsed(), place.sandbox.report());
    assert!(start.elapsed() < Duration::from_millis(300), "probe: {:?}", start.elapsed());
    for mode in place.modes().into_iter().chain([Mode::Off]) {
        let sandbox = place.in_mode(mode);
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let mut command = place.command("");
            command.argv = vec!["true".into()];
            let start = Instant::now();
            sandbox.spawn(command).await.unwrap().wait().await.unwrap();
            best = best.min(start.elapsed());
        }
        println!("{mode:?}: {best:?}");
        // Generous, because this is an unoptimised build on a busy machine.
        assert!(best < Duration::from_millis(100), "{mode:?}: {best:?}");
    }
}
