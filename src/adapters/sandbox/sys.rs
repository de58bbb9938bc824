//! The few system calls for which there is no safe wrapper, each behind a safe function.
#![expect(
    unsafe_code,
    reason = "fork, unshare, mount_setattr, close_range and SIOCSIFFLAGS have no safe wrapper"
)]

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

use rustix::{process::Pid, thread::UnshareFlags};

/// The proof that this process has one thread, which is what makes [`fork`] sound.
///
/// Nobody in the helper starts a thread, so what was true once stays true.
pub(super) struct SingleThread(());

impl SingleThread {
    pub(super) fn prove() -> io::Result<Self> {
        match fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(Self(())),
            more => Err(io::Error::other(format!("the helper has {more} threads"))),
        }
    }
}

/// On which side of a fork the caller is.
pub(super) enum Fork {
    Child,
    Parent(Pid),
}

pub(super) fn fork(_proof: &SingleThread) -> io::Result<Fork> {
    // SAFETY: there is no other thread whose locks or half-written state the child could inherit.
    match unsafe { libc::fork() } {
        0 => Ok(Fork::Child),
        pid if pid > 0 => Pid::from_raw(pid).map(Fork::Parent).ok_or_else(io::Error::last_os_error),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without running what was registered to run at its end.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Moves this process into new namespaces.
pub(super) fn unshare(_proof: &SingleThread, flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: descriptor tables are not among the flags, and no other thread could hold any.
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Adds `attributes` (`MOUNT_ATTR_*`) to a mount and to everything mounted below it.
pub(super) fn set_mount_attributes(mount: impl AsFd, attributes: u64) -> io::Result<()> {
    let change =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is an empty C string, and the size is that of the structure pointed at.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has every descriptor but the three standard ones closed when another program is executed.
pub(super) fn close_descriptors_on_exec() -> io::Result<()> {
    // SAFETY: marks descriptors, and closes none while this program runs.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Brings the loopback interface of this network namespace up.
pub(super) fn raise_loopback() -> io::Result<()> {
    // SAFETY: takes three numbers. The descriptor is new, so it is ours to close.
    let socket = unsafe {
        let raw = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(raw)
    };
    // SAFETY: all zeroes is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the request outlives the call, which reads a name and flags from it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
