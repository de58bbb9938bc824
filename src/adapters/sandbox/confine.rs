//! The last steps of the process that becomes the command.

use std::{
    fs::{self, File},
    io::{self, PipeWriter},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process,
};

use rustix::{
    fs::Mode as FileMode,
    process::{
        DumpableBehavior, Resource, Rlimit, Signal, geteuid, set_dumpable_behavior,
        set_parent_process_death_signal, setrlimit, setsid, umask,
    },
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capability_is_in_bounding_set,
        clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
        set_capabilities_secure_bits, set_no_new_privs,
    },
};

use super::{
    Mode,
    command::Limits,
    landlock::Rules,
    policy::{Action, Policy, Setup, Walls, write_line},
    seccomp, sys,
};

type Error = Box<dyn std::error::Error>;

/// The folder that a command has to itself.
pub(super) struct Private {
    pub tmp: PathBuf,
    pub home: PathBuf,
}

impl Private {
    pub(super) fn below(tmp: PathBuf) -> io::Result<Self> {
        let home = tmp.join("home");
        fs::create_dir_all(&home)?;
        Ok(Self { tmp, home })
    }
}

/// Becomes the command, or says through `setup` why that was not possible. Does not return.
pub(super) fn become_command(policy: &Policy, private: &Private, mut setup: PipeWriter) -> ! {
    let failure = match prepare(policy, private) {
        Ok(walls) => {
            let told = write_line(&mut setup, &Setup::Ready(walls));
            match (told, &policy.action) {
                (Err(error), _) => error.to_string(),
                (Ok(()), Action::Run { argv, env }) => execute(argv, env, private),
                (Ok(()), Action::Probe { forbidden }) => match File::open(forbidden) {
                    Err(_) => sys::exit_now(0),
                    Ok(_) => "a file outside could be read all the same".to_owned(),
                },
            }
        }
        Err(error) => error.to_string(),
    };
    let _ = write_line(&mut setup, &Setup::Failed(failure));
    sys::exit_now(125)
}

fn prepare(policy: &Policy, private: &Private) -> Result<Walls, Error> {
    // A session of its own: no terminal to read from or to type into, one group to signal.
    setsid()?;
    umask(FileMode::from_raw_mode(0o022));
    std::env::set_current_dir(&policy.cwd)
        .map_err(|error| format!("It cannot start in {}: {error}.", policy.cwd.display()))?;
    // Its own files in /proc belong to it again. There is nothing in its memory to hide.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    // When memory runs out it is the command that has to go, not the server.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    let confined = match policy.mode {
        Mode::Off => None,
        mode => Some((Rules::new(policy, &private.tmp)?, seccomp::filters(mode, policy.network)?)),
    };
    if policy.mode != Mode::Namespaces {
        // The helper going down must not leave the command behind.
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    sys::close_descriptors_on_exec()?;
    limit(&policy.limits)?;
    set_no_new_privs(true)?;
    let Some((rules, filters)) = confined else { return Ok(Walls::default()) };
    let landlock = rules.enter()?;
    drop_capabilities(policy.mode)?;
    for filter in &filters {
        seccompiler::apply_filter(filter)?;
    }
    Ok(Walls { landlock, ..Walls::default() })
}

fn limit(limits: &Limits) -> io::Result<()> {
    for (resource, most) in [
        (Resource::Cpu, limits.cpu.as_secs()),
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::Core, 0),
    ] {
        let own = rustix::process::getrlimit(resource).maximum;
        let most = Some(own.map_or(most, |own| most.min(own)));
        setrlimit(resource, Rlimit { current: most, maximum: most })?;
    }
    Ok(())
}

/// Gives up every capability, and every way to get one back.
fn drop_capabilities(mode: Mode) -> io::Result<()> {
    let privileged = mode == Mode::Namespaces || geteuid().is_root();
    for number in 0..CapabilitySet::all().bits().count_ones().max(41) {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // Beyond the last that the kernel knows it answers with an error.
        if capability_is_in_bounding_set(one).unwrap_or(false) {
            let removed = remove_capability_from_bounding_set(one);
            if privileged {
                removed?;
            }
        }
    }
    let _ = clear_ambient_capability_set();
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    let set = set_capabilities_secure_bits(locked);
    if privileged {
        set?;
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?)
}

/// Runs the program in place of this one. Comes back only with the reason why it could not.
fn execute(argv: &[String], env: &[(String, String)], private: &Private) -> String {
    let Some((program, arguments)) = argv.split_first() else {
        return "There is no command.".to_owned();
    };
    let error = process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", &private.home)
        .env("TMPDIR", &private.tmp)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .exec();
    match error.kind() {
        io::ErrorKind::NotFound => format!("The program {program} was not found."),
        io::ErrorKind::PermissionDenied => {
            format!("The program {program} may not be run from inside the sandbox.")
        }
        _ => format!("The program {program} did not start: {error}."),
    }
}

/// The private folder of a command without namespaces, gone when this is dropped.
pub(super) struct TemporaryFolder(pub PathBuf);

impl TemporaryFolder {
    /// Named after this process, of which there is one at a time.
    pub(super) fn create(root: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = root.join(format!("call-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(root)?;
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
