//! Watching a command from its parent process, and ending all that it started.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group,
        pidfd_open, wait,
    },
};

use super::{
    policy::{Ending, Policy},
    watch::{Tree, Watch},
};

/// How long the rest of a tree may go on when the command itself has ended, so that what it has
/// piped its output into can finish.
const LINGER: Duration = Duration::from_millis(200);
/// How long a tree gets to end by itself when it is asked to.
const GRACE: Duration = Duration::from_millis(300);
/// How often orphans that have ended are cleared away, and the tree is looked at.
const TICK: Duration = Duration::from_millis(200);

/// Waits until `command`, a child of this process, ends, its time is up, the whole of it uses too
/// much, or `control` ends or says something. What it started may still be there afterwards.
pub(super) fn supervise(command: Pid, control: impl AsFd, policy: &Policy, tree: Tree) -> Ending {
    let mut children = Children { command, status: None };
    let watch = Watch::over(tree, policy);
    let deadline = policy.timeout.map(|timeout| Instant::now() + timeout);
    let ending = children.watch(control, deadline, &watch);
    match ending {
        Ending::Code(_) | Ending::Signal(_) => children.wait_until_all_are_gone(LINGER),
        // It gets no time to use still more.
        Ending::TooMuch(_) => {}
        Ending::TimedOut | Ending::Killed => {
            let _ = kill_process_group(command, Signal::TERM);
            children.wait_until_all_are_gone(GRACE);
        }
    }
    ending
}

struct Children {
    command: Pid,
    status: Option<WaitStatus>,
}

impl Children {
    fn watch(&mut self, control: impl AsFd, deadline: Option<Instant>, watch: &Watch) -> Ending {
        let handle: Option<OwnedFd> = pidfd_open(self.command, PidfdFlags::empty()).ok();
        let mut looked = Instant::now();
        loop {
            self.reap();
            if let Some(status) = self.status {
                return ending(status);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ending::TimedOut;
            }
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                if let Some(bound) = watch.exceeded() {
                    return Ending::TooMuch(bound);
                }
            }
            // Without a handle on the process it is looked after often.
            let tick = if handle.is_some() { TICK } else { Duration::from_millis(5) };
            let mut watched = vec![PollFd::new(&control, PollFlags::IN)];
            watched.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
            let _ = poll(&mut watched, Some(&timespec(left.map_or(tick, |left| left.min(tick)))));
            if !watched[0].revents().is_empty() {
                self.reap();
                return self.status.map_or(Ending::Killed, ending);
            }
        }
    }

    /// Clears away every child that has ended. False when there is none left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => self.status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn wait_until_all_are_gone(&mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let mut pause = Duration::from_micros(200);
        while self.reap() && Instant::now() < deadline {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

fn ending(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Code(125),
    }
}

/// Ends everything below this process, which must be the reaper of its descendants.
///
/// All are stopped before the first is killed, so that none gets to start another meanwhile; what
/// was missed has become a child of ours by the next round.
pub(super) fn end_descendants() {
    let own = rustix::process::getpid();
    for round in 0..5_000 {
        let mut all = Vec::new();
        collect_descendants(own, &mut all);
        for pid in &all {
            let _ = kill_process(*pid, Signal::STOP);
        }
        for pid in &all {
            let _ = kill_process(*pid, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_micros(if round < 20 { 100 } else { 1_000 }));
    }
}

pub(super) fn collect_descendants(of: Pid, into: &mut Vec<Pid>) {
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return };
    for thread in threads.flatten() {
        let Ok(children) = fs::read_to_string(thread.path().join("children")) else { continue };
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            if let Some(child) = Pid::from_raw(child) {
                into.push(child);
                collect_descendants(child, into);
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
