//! The system calls that a confined command does not get.
//!
//! A list of what is denied, so that programs nobody thought of keep working: what opens
//! namespaces and mounts, looks into other processes, talks to the kernel's deeper parts, or
//! makes sockets that the mode cannot contain.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{Mode, command::Network};

type Error = Box<dyn std::error::Error>;
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

const DENIED: &[i64] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Files by their number, past every path.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Parts of the kernel that a build or a test has no use for.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Answered as if the kernel did not know them, so that programs use the older way: `clone3`
/// hides its flags in memory, and `io_uring` opens sockets without a system call.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests of `ioctl` that type into a terminal, read its screen or change its discipline.
const TERMINAL_TRICKS: [u64; 3] = [0x5412, 0x541c, 0x5423];

/// The filters for one mode. All are installed; the strictest answer holds.
pub(super) fn filters(mode: Mode, network: Network) -> Result<Vec<BpfProgram>, Error> {
    let mut denied: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    denied.insert(
        libc::SYS_clone,
        NAMESPACES
            .into_iter()
            .map(|flag| flag as u64)
            .map(|flag| rule([masked(0, flag, flag)?]))
            .collect::<Result<_, _>>()?,
    );
    denied.insert(
        libc::SYS_ioctl,
        TERMINAL_TRICKS
            .into_iter()
            .map(|request| rule([compare(1, SeccompCmpOp::Eq, request)?]))
            .collect::<Result<_, _>>()?,
    );
    denied.insert(libc::SYS_socket, denied_sockets(mode, network)?);
    if mode != Mode::Namespaces && network == Network::Door {
        keep_to_the_door(&mut denied)?;
    }
    let unknown: Rules = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();

    let mut programs = vec![compile(denied, libc::EPERM)?, compile(unknown, libc::ENOSYS)?];
    for program in &mut programs {
        refuse_x32(program);
    }
    Ok(programs)
}

/// The sockets that are refused. No rule at all refuses every socket.
///
/// With namespaces a command has a network of its own and a view without the host's sockets, so
/// the ordinary families are safe to have. Without them a connection to a socket in the file
/// system cannot be told from a harmless one, and Landlock does not stop it.
fn denied_sockets(mode: Mode, network: Network) -> Result<Vec<SeccompRule>, Error> {
    let allowed: &[i32] = match (mode, network) {
        (Mode::Namespaces, _) => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        (Mode::Landlock | Mode::Off, Network::On | Network::Door) => {
            &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
        (Mode::Landlock | Mode::Off, Network::Off) => return Ok(Vec::new()),
    };
    let other_families = allowed
        .iter()
        .map(|family| compare(0, SeccompCmpOp::Ne, *family as u64))
        .collect::<Result<Vec<_>, _>>()?;
    let netlink = libc::AF_NETLINK as u64;
    Ok(vec![
        SeccompRule::new(other_families)?,
        rule([masked(1, 0xf, libc::SOCK_RAW as u64)?, compare(0, SeccompCmpOp::Ne, netlink)?])?,
        // Of netlink only what lists addresses and routes.
        rule([
            compare(0, SeccompCmpOp::Eq, netlink)?,
            compare(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?,
        ])?,
    ])
}

/// Leaves nothing but connections over TCP, which Landlock keeps to one port: it knows nothing of
/// other protocols, of connections that are made by sending, or of who listens unbound.
fn keep_to_the_door(denied: &mut Rules) -> Result<(), Error> {
    let no_netlink = || compare(0, SeccompCmpOp::Ne, libc::AF_NETLINK as u64);
    let sockets = denied.entry(libc::SYS_socket).or_default();
    // Datagrams, raw ones, the reliable ones, sequences, DCCP, and packets of old.
    for kind in [2, 3, 4, 5, 6, 10] {
        sockets.push(rule([masked(1, 0xf, kind)?, no_netlink()?])?);
    }
    sockets.push(rule([
        no_netlink()?,
        compare(2, SeccompCmpOp::Ne, 0)?,
        compare(2, SeccompCmpOp::Ne, libc::IPPROTO_TCP as u64)?,
    ])?);
    let fast_open = libc::MSG_FASTOPEN as u64;
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        denied.insert(call, vec![rule([masked(flags, fast_open, fast_open)?])?]);
    }
    denied.insert(libc::SYS_listen, Vec::new());
    Ok(())
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, Error> {
    Ok(SeccompRule::new(conditions.into())?)
}

fn compare(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)?)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, Error> {
    compare(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, Error> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?.try_into()?)
}

/// Answers the x32 numbers of x86-64, under which every call exists a second time.
fn refuse_x32(program: &mut BpfProgram) {
    #[cfg(target_arch = "x86_64")]
    {
        use seccompiler::sock_filter;
        const LOAD_NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
        const IF_X32: sock_filter = sock_filter { code: 0x35, jt: 0, jf: 1, k: 0x4000_0000 };
        const REFUSE: sock_filter =
            sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0005_0000 | libc::ENOSYS as u32 };
        program.splice(0..0, [LOAD_NUMBER, IF_X32, REFUSE]);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = program;
}
