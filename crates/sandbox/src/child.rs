//! Starting a child that can do no more than it must.

use crate::Ended;
use crate::channel::Channel;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child as Process, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The child's end of the channel is this file descriptor.
const CHANNEL_FD: libc::c_int = 3;

/// Files that a child may have open.
const OPEN_FILES: u64 = 128;

/// The lowest priority there is.
const NICE: libc::c_int = 19;

/// A program to start, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
}

/// A child that runs.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its number in the pool.
    pub id: u64,
    pub channel: Channel,
    pub process: Process,
    pub fate: Arc<Fate>,
}

/// What the keeper has done to a child.
#[derive(Debug, Default)]
pub(crate) struct Fate(AtomicU8);

impl Fate {
    const OVER_MEMORY: u8 = 1;

    pub fn set_over_memory(&self) {
        self.0.store(Self::OVER_MEMORY, Ordering::Release);
    }

    pub fn is_over_memory(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OVER_MEMORY
    }
}

impl Child {
    /// Starts a child. The thread that calls this must outlive it: its end is the child's.
    pub fn start(program: &Program, id: u64, output_bytes: u64) -> std::io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        let channel = Channel::new(near, output_bytes)?;
        let mut command = Command::new(&program.path);
        command.args(&program.args).env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (fd, parent) = (far.as_raw_fd(), std::process::id());
        // SAFETY: between fork and exec only system calls that may be made there, without allocation.
        unsafe { command.pre_exec(move || confine(fd, parent)) };
        let process = command.spawn()?;
        drop(far);
        Ok(Self { id, channel, process, fate: Arc::default() })
    }

    /// Why the child is gone, where the channel says only that it is.
    pub fn reason(&self, ended: Ended, memory_bytes: u64) -> Ended {
        match ended {
            Ended::Exited if self.fate.is_over_memory() => Ended::Memory { limit_bytes: memory_bytes },
            other => other,
        }
    }
}

fn check(result: libc::c_int) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Runs in the child before its program: what it may do from there on.
fn confine(channel: libc::c_int, parent: u32) -> std::io::Result<()> {
    // SAFETY: plain system calls on this process alone; the structures live through them.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() as u32 != parent {
            // The parent went before the line above: nobody would end this child.
            libc::_exit(1);
        }
        // A group of its own, so that the terminal's signals pass it by. Not a session: a session is scheduled as a whole
        // beside the node (sched(7), autogroups), and the lowest priority would count within it alone.
        check(libc::setpgid(0, 0))?;
        check(libc::setpriority(libc::PRIO_PROCESS, 0, NICE))?;
        if channel == CHANNEL_FD {
            check(libc::fcntl(channel, libc::F_SETFD, 0))?;
        } else {
            check(libc::dup2(channel, CHANNEL_FD))?;
        }
        close_from(CHANNEL_FD + 1)?;
        limit(libc::RLIMIT_CORE, 0)?;
        limit(libc::RLIMIT_FSIZE, 0)?;
        limit(libc::RLIMIT_NOFILE, OPEN_FILES)
    }
}

fn limit(what: libc::__rlimit_resource_t, value: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: the structure lives through the call.
    check(unsafe { libc::setrlimit(what, &raw const limit) })
}

/// Lets exec close every descriptor from this one on. The one that tells of a failed exec is among them, so they must stay
/// open until then.
fn close_from(first: libc::c_int) -> std::io::Result<()> {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: numbers alone.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, CLOEXEC) };
    if done == 0 {
        return Ok(());
    }
    // A kernel before 5.11.
    // SAFETY: numbers alone; descriptors that are not open only give an error.
    unsafe {
        let open = libc::sysconf(libc::_SC_OPEN_MAX).clamp(1024, 1 << 20) as libc::c_int;
        for fd in first..open {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    Ok(())
}
