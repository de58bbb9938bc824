//! The helper: this program, started a second time for every command.
//!
//! ```text
//! server ── launcher ── [first process of the namespaces] ── command
//! ```
//!
//! Everything that has to happen between the server and a command happens here, in a process with
//! one thread and nothing in its memory, instead of between fork and exec in the server. The
//! launcher outlives the command by a moment: it ends what is left of the tree, puts protected
//! files back and reports.

use std::{
    fs::File,
    io::{self, PipeWriter},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::ExitCode,
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, waitpid,
};

use super::{
    Mode,
    command::Network,
    confine::{Private, TemporaryFolder, become_command},
    door,
    group::Group,
    guard::{Guard, Restored},
    landlock::Rules,
    policy::{Action, Ending, Notice, Policy, Setup, Walls, read_line, write_line},
    supervise::{end_descendants, supervise},
    sys::{self, Fork, SingleThread},
    view,
    watch::Tree,
};

type Error = Box<dyn std::error::Error>;

/// Runs the helper: reads a policy from standard input, and carries it out.
pub fn helper_main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(125),
    }
}

fn run() -> Result<(), Error> {
    let proof = SingleThread::prove()?;
    let control = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let policy = Policy::read_frame(&control)?;
    let notice = launch(&proof, &policy, &control)
        .unwrap_or_else(|error| Notice::Refused(error.to_string()));
    write_line(&control, &notice)?;
    Ok(())
}

/// Starts the command, and sees it to its end.
fn launch(proof: &SingleThread, policy: &Policy, control: &UnixStream) -> Result<Notice, Error> {
    // Whoever is forked has it too, and only the command itself, when it starts, lets go of it. It
    // can do nothing that the first process, which has it, would not see to the end.
    let _held = policy.held.as_ref().map(hold).transpose()?;
    rustix::process::chdir("/")?;
    set_child_subreaper(Some(getpid()))?;
    let namespaces = policy.mode == Mode::Namespaces;
    if namespaces {
        view::enter_namespaces(proof, policy.network)?;
        if policy.network == Network::Door {
            door::hand_over(control)?;
        }
    } else {
        // What is not dumpable can be neither traced nor looked into through /proc.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    let group = group(policy);
    let guard = Guard::capture(policy)?;
    let mut temporary = None;
    let tmp = match (&policy.tmp, namespaces) {
        (_, true) => PathBuf::from("/tmp"),
        (Some(tmp), false) => tmp.clone(),
        (None, false) => {
            let folder = TemporaryFolder::create(&policy.tmp_root)?;
            temporary.insert(folder).0.clone()
        }
    };

    let (from_setup, setup) = io::pipe()?;
    let (from_first, ending) = io::pipe()?;
    let child = match sys::fork(proof)? {
        Fork::Child if namespaces => {
            drop((from_setup, from_first));
            be_first(proof, policy, Inner { control, setup, ending })
        }
        Fork::Child => match Private::below(tmp.clone()) {
            Ok(private) => become_command(policy, &private, setup),
            Err(error) => refuse(setup, &error.into()),
        },
        Fork::Parent(child) => child,
    };
    drop((setup, ending));
    if let Err(error) = await_start(from_setup, control, group.is_some()) {
        let _ = kill_process(child, Signal::KILL);
        let _ = waitpid(Some(child), WaitOptions::empty());
        return Err(error);
    }
    silence()?;
    let ending = if namespaces {
        let _ = waitpid(Some(child), WaitOptions::empty());
        read_line(from_first)?.unwrap_or(Ending::Signal(Signal::KILL.as_raw()))
    } else {
        // Not with namespaces: the numbers in their /proc are not those of our processes.
        let ending = supervise(child, control, policy, Tree::Descendants);
        end_descendants();
        ending
    };
    drop(group);
    let Restored { restored, lost } = put_back(proof, policy, &guard, &tmp)?;
    drop(temporary);
    Ok(Notice::Finished { ending, restored, lost })
}

/// Puts this process, and what it starts, into a group of its own, where nothing else bounds how
/// many processes there are before the watch notices.
fn group(policy: &Policy) -> Option<Group> {
    if policy.mode != Mode::Landlock || !rustix::process::geteuid().is_root() {
        return None;
    }
    let group = Group::enter(policy.limits.processes)?;
    if matches!(policy.action, Action::Probe { .. }) {
        group.sweep();
    }
    Some(group)
}

/// Locks a file until this process, and those forked from it, have ended.
fn hold(path: &PathBuf) -> io::Result<File> {
    let file = File::open(path)?;
    file.lock_shared()?;
    Ok(file)
}

/// Restores protected paths. What the command left behind may lead anywhere, so without a view of
/// its own this happens in a child inside the command's walls, which cannot be led out of them.
fn put_back(
    proof: &SingleThread,
    policy: &Policy,
    guard: &Guard,
    tmp: &Path,
) -> Result<Restored, Error> {
    if policy.mode != Mode::Landlock || guard.is_unchanged() {
        return Ok(guard.restore());
    }
    let (from_child, to_us) = io::pipe()?;
    match sys::fork(proof)? {
        Fork::Child => {
            if Rules::new(policy, tmp).and_then(Rules::enter).is_ok() {
                let _ = write_line(to_us, &guard.restore());
            }
            sys::exit_now(0)
        }
        Fork::Parent(child) => {
            drop(to_us);
            let restored = read_line(from_child);
            let _ = waitpid(Some(child), WaitOptions::empty());
            restored?.ok_or_else(|| "Protected files could not be put back.".into())
        }
    }
}

/// Hears from the new process whether it has become the command, and tells the server.
fn await_start(
    from_setup: io::PipeReader,
    control: &UnixStream,
    grouped: bool,
) -> Result<(), Error> {
    let text = io::read_to_string(from_setup)?;
    let mut walls = None;
    for line in text.lines() {
        match serde_json::from_str(line)? {
            Setup::Ready(ready) => walls = Some(Walls { grouped, ..ready }),
            Setup::Failed(reason) => return Err(reason.into()),
        }
    }
    let walls = walls.ok_or("The helper ended before the command started.")?;
    Ok(write_line(control, &Notice::Started(walls))?)
}

/// What the first process of the namespaces speaks through.
struct Inner<'a> {
    control: &'a UnixStream,
    setup: PipeWriter,
    ending: PipeWriter,
}

/// Is the first process of the namespaces: builds the view, starts the command in it, and clears
/// away what ends. When it exits the kernel ends everything else in there at once.
fn be_first(proof: &SingleThread, policy: &Policy, inner: Inner<'_>) -> ! {
    let Inner { control, setup, ending } = inner;
    let command = match start_inside(proof, policy, &setup) {
        Ok(command) => command,
        Err(error) => refuse(setup, &error),
    };
    drop(setup);
    let _ = silence();
    let how = supervise(command, control, policy, Tree::Namespace);
    let _ = write_line(ending, &how);
    sys::exit_now(0)
}

fn start_inside(proof: &SingleThread, policy: &Policy, setup: &PipeWriter) -> Result<Pid, Error> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    view::build(policy)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let private = Private::below("/tmp".into())?;
    match sys::fork(proof)? {
        Fork::Child => become_command(policy, &private, setup.try_clone()?),
        Fork::Parent(command) => Ok(command),
    }
}

fn refuse(setup: PipeWriter, error: &Error) -> ! {
    let _ = write_line(setup, &Setup::Failed(error.to_string()));
    sys::exit_now(125)
}

/// Lets go of the outputs, so that whoever reads them sees the end when the command's are closed.
fn silence() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}
