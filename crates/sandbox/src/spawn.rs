//! Starting a process without copying this one.
//!
//! fork copies the page tables of the whole process, write-protects its memory, and every thread
//! then pays for each page that it touches: milliseconds for a node with a large heap. The child
//! here shares the memory of this process until its program begins, and the thread that starts it
//! stands still for as long; nothing is copied and no other thread notices.

use crate::Layers;
use crate::child::Program;
use crate::early;
use hearth_priority::lower_priority;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::OpenOptions;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// The child's end of the channel is this file descriptor.
const CHANNEL_FD: c_int = 3;

/// Descriptors from here on are neither standard streams nor the channel.
const ABOVE_FDS: c_int = 10;

/// Files that a child may have open.
const OPEN_FILES: u64 = 64;

/// Threads that a child may have. Node and V8 make about twelve.
const THREADS: u64 = 64;

/// A low priority, so that scripts delay the node's other threads little. It is not the lowest:
/// with 19, a child gets 1.5 % of a processor that another program keeps busy, and scripts end with
/// their time limit; with 10 it gets 10 % (sched(7), weights of nice values).
const NICE: c_int = 10;

/// Stack of the child until its program begins, in words of 16 bytes.
const STACK_WORDS: usize = 8 * 1024;

/// Highest number of a signal.
const SIGNALS: c_int = 64;

/// What the child's status is where its program could not begin.
const NOT_BEGUN: c_int = 127;

/// A process that was started here.
#[derive(Debug)]
pub(crate) struct Process {
    id: libc::pid_t,
    /// What its start gave it: namespaces, and the bound of threads.
    layers: Layers,
    /// It was killed for a system call.
    forbidden: bool,
    /// It has ended, and its number may be another's.
    reaped: bool,
}

impl Process {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.id.unsigned_abs()
    }

    /// The layers of its confinement that its start gave it.
    pub fn layers(&self) -> Layers {
        self.layers
    }

    /// Whether it has ended by a system call that kills.
    pub fn was_forbidden(&self) -> bool {
        self.forbidden
    }

    /// Kills it, if it still runs.
    pub fn kill(&self) {
        if !self.reaped {
            // SAFETY: numbers alone; the process is not reaped, so the number is its own.
            unsafe { libc::kill(self.id, libc::SIGKILL) };
        }
    }

    /// Whether it has ended; nothing is left of it then.
    pub fn is_over(&mut self) -> bool {
        if !self.reaped {
            let mut status = 0;
            // SAFETY: a number, and a place for the status that lives through the call.
            let ended = unsafe { libc::waitpid(self.id, &raw mut status, libc::WNOHANG) };
            self.reaped = ended != 0;
            self.forbidden = ended > 0 && libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSYS;
        }
        self.reaped
    }
}

/// Kills a child that was not reaped yet, by its number.
pub(crate) fn kill(id: u32) {
    // SAFETY: a number; the child is not reaped, so the number is its own.
    unsafe { libc::kill(id as libc::pid_t, libc::SIGKILL) };
}

/// What the child needs, in memory that both processes see.
struct Plan {
    path: *const c_char,
    args: *const *const c_char,
    environment: *const *const c_char,
    channel: RawFd,
    null: RawFd,
    /// Ends when this process does; negative where the kernel has none.
    parent: RawFd,
    /// This process.
    parent_id: libc::pid_t,
    /// Writable memory of its own that the child may have, in bytes.
    data_bytes: u64,
    /// Layers to try for.
    layers: Layers,
    /// The filter of system calls until the child installs its own; null where there is none.
    filter: *const libc::sock_fprog,
    /// Rules of Landlock until then; negative where there are none.
    rules: RawFd,
    /// Namespaces that it begins in, as flags of clone.
    namespaces: c_int,
    /// The mask of signals that the child's program begins with.
    mask: libc::sigset_t,
    /// Why the program could not begin; 0 where it did.
    failure: c_int,
}

/// Starts a program with `channel` as its one descriptor beside the standard streams, which lead
/// nowhere; without environment, at a low priority and under tight limits. It dies with the
/// thread that calls this. The namespaces and limits are as far as `layers` names them and the
/// system allows.
pub(crate) fn spawn(program: &Program, channel: RawFd, layers: Layers, data_bytes: u64) -> Result<Process> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::from_raw_os_error(libc::EINVAL));
    let path = text(program.path.as_os_str().as_bytes())?;
    let args: Vec<CString> = std::iter::once(Ok(path.clone()))
        .chain(program.args.iter().map(|arg| text(arg.as_bytes())))
        .collect::<Result<_>>()?;
    let args: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).chain([ptr::null()]).collect();
    let environment = [ptr::null()];
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // SAFETY: a set of signals is plain data, which the call fills.
    let mask = unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        mask
    };
    let parent = open_self();
    let parent_fd = parent.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    let filter = if layers.contains(Layers::SECCOMP) { early::filter() } else { None };
    let filter = filter.as_ref().map(|program| libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or(0),
        // Both are the kernel's structure. The kernel only reads it.
        filter: program.as_ptr().cast_mut().cast(),
    });
    let rules = if layers.contains(Layers::LANDLOCK) { early::rules() } else { None };
    let mut plan = Plan {
        path: path.as_ptr(),
        args: args.as_ptr(),
        environment: environment.as_ptr(),
        channel,
        null: null.as_raw_fd(),
        parent: parent_fd,
        parent_id: std::process::id() as libc::pid_t,
        data_bytes,
        layers,
        filter: filter.as_ref().map_or(ptr::null(), ptr::from_ref),
        rules: rules.as_ref().map_or(-1, AsRawFd::as_raw_fd),
        namespaces: 0,
        mask,
        failure: 0,
    };
    // What a container forbids is forbidden as a whole: a user namespace where others need it, or
    // each for root alone.
    let all = flags_of(layers, parent_fd >= 0);
    let attempts = [all, all & !libc::CLONE_NEWUSER, all & libc::CLONE_NEWUSER];
    for namespaces in attempts.into_iter().filter(|flags| *flags != 0) {
        plan.namespaces = namespaces;
        if let Ok(process) = start(&mut plan) {
            return Ok(process);
        }
    }
    plan.namespaces = 0;
    start(&mut plan)
}

/// Namespaces by the layers that they are.
const NAMESPACES: [(Layers, c_int); 5] = [
    (Layers::USER, libc::CLONE_NEWUSER),
    (Layers::NETWORK, libc::CLONE_NEWNET),
    (Layers::PROCESSES, libc::CLONE_NEWPID),
    (Layers::MOUNTS, libc::CLONE_NEWNS),
    (Layers::IPC, libc::CLONE_NEWIPC),
];

/// Flags of clone for layers. Without a descriptor of this process the child sees by its parent's
/// number whether that is gone, which it has none of in another process namespace.
fn flags_of(layers: Layers, has_parent: bool) -> c_int {
    let known = if has_parent { layers } else { layers.without(Layers::PROCESSES) };
    NAMESPACES.iter().filter(|(layer, _)| known.contains(*layer)).fold(0, |all, (_, flag)| all | flag)
}

/// This process as a descriptor, where the kernel has such.
fn open_self() -> Option<OwnedFd> {
    // SAFETY: numbers alone; what is returned is a descriptor without another owner, or an error.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Makes the process, and waits until its program has begun.
fn start(plan: &mut Plan) -> Result<Process> {
    let mut stack = vec![0_u128; STACK_WORDS];
    let top: *mut c_void = stack.as_mut_ptr_range().end.cast();
    // A handler of this process must not run in the child, whose memory is that of this one.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | plan.namespaces;
    plan.failure = 0;
    // SAFETY: all structures live until the calls are over. The child runs on a stack of its own,
    // on which this thread does nothing, and this thread continues only when the child has its own
    // memory or has ended: so what both see is never used by both at once. Signals are blocked
    // before and come back after it.
    let id = unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let id = libc::clone(child, top, flags, ptr::from_mut(plan).cast());
        let error = Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        if id < 0 {
            return Err(error);
        }
        id
    };
    // SAFETY: the child has written it, or never will.
    let failure = unsafe { ptr::read_volatile(&raw const plan.failure) };
    if failure == 0 {
        let given = NAMESPACES.iter().filter(|(_, flag)| plan.namespaces & flag != 0);
        let mut layers = given.fold(Layers::NONE, |all, (layer, _)| all.and(*layer));
        // The kernel exempts root outside, whatever it is called inside.
        // SAFETY: no argument.
        if plan.bounds_threads() && unsafe { libc::getuid() } != 0 {
            layers = layers.and(Layers::THREADS);
        }
        return Ok(Process { id, layers, forbidden: false, reaped: false });
    }
    // SAFETY: a number, and no place for the status: the child ends at once.
    unsafe { libc::waitpid(id, ptr::null_mut(), 0) };
    Err(Error::from_raw_os_error(failure))
}

/// The child, in the memory of its parent: system calls alone, nothing is allocated.
extern "C" fn child(plan: *mut c_void) -> c_int {
    let plan: *mut Plan = plan.cast();
    // SAFETY: the parent stands still, so no other thread uses what it points to.
    unsafe {
        let error = match confine(&*plan) {
            Ok(()) => {
                libc::execve((*plan).path, (*plan).args, (*plan).environment);
                errno()
            }
            Err(error) => error,
        };
        ptr::write_volatile(&raw mut (*plan).failure, error);
        libc::_exit(NOT_BEGUN)
    }
}

fn errno() -> c_int {
    Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

fn check(result: c_int) -> std::result::Result<c_int, c_int> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

/// What the child may do from here on.
///
/// # Safety
/// Only in a process of its own.
unsafe fn confine(plan: &Plan) -> std::result::Result<(), c_int> {
    // SAFETY: plain system calls on this process alone; the structures live through them.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if plan.is_orphan() {
            // The parent went before the line above: no process would end this child.
            return Err(libc::ESRCH);
        }
        // A group of its own, so that the terminal's signals pass it by. Not a session: a session
        // is scheduled as a whole beside the node (sched(7), autogroups), and the low priority
        // would count within it alone.
        check(libc::setpgid(0, 0))?;
        lower_priority(NICE);
        check(libc::chdir(c"/".as_ptr()))?;
        let channel = check(libc::fcntl(plan.channel, libc::F_DUPFD_CLOEXEC, ABOVE_FDS))?;
        let null = check(libc::fcntl(plan.null, libc::F_DUPFD_CLOEXEC, ABOVE_FDS))?;
        for standard in 0..CHANNEL_FD {
            check(libc::dup2(null, standard))?;
        }
        check(libc::dup2(channel, CHANNEL_FD))?;
        close_from(CHANNEL_FD + 1);
        limit(libc::RLIMIT_CORE, 0)?;
        limit(libc::RLIMIT_FSIZE, 0)?;
        limit(libc::RLIMIT_NOFILE, OPEN_FILES)?;
        if plan.layers.contains(Layers::LIMITS) {
            limit(libc::RLIMIT_DATA, plan.data_bytes)?;
            limit(libc::RLIMIT_MEMLOCK, 0)?;
            limit(libc::RLIMIT_MSGQUEUE, 0)?;
        }
        if plan.bounds_threads() {
            limit(libc::RLIMIT_NPROC, THREADS)?;
        }
        default_signals();
        give_up_rights(plan);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, ptr::null_mut())).map(drop)
    }
}

impl Plan {
    /// Whether the bound of threads counts the child's alone: in a user namespace of its own.
    fn bounds_threads(&self) -> bool {
        self.layers.contains(Layers::THREADS) && self.namespaces & libc::CLONE_NEWUSER != 0
    }

    /// Whether the parent is gone.
    fn is_orphan(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.parent, events: libc::POLLIN, revents: 0 };
        // SAFETY: a structure that lives through the call; numbers alone.
        unsafe {
            if self.parent >= 0 {
                libc::poll(&raw mut poll, 1, 0) != 0
            } else {
                libc::getppid() != self.parent_id
            }
        }
    }
}

/// Gives up every right that can be given up. What the system refuses here the child finds on
/// itself later, and reports.
fn give_up_rights(plan: &Plan) {
    const LAST_CAPABILITY: libc::c_ulong = 63;
    const VERSION: u32 = 0x2008_0522;
    // SAFETY: numbers, and arrays as long as the version says, which live through the call.
    unsafe {
        if plan.layers.contains(Layers::CAPABILITIES) {
            let locked = libc::SECBIT_NOROOT | libc::SECBIT_NOROOT_LOCKED;
            libc::prctl(libc::PR_SET_SECUREBITS, locked, 0, 0, 0);
            for capability in 0..=LAST_CAPABILITY {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
            libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
            let (mut header, none) = ([VERSION, 0], [0_u32; 6]);
            libc::syscall(libc::SYS_capset, header.as_mut_ptr(), none.as_ptr());
        }
        if plan.layers.contains(Layers::NO_NEW_PRIVS) {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        }
        if plan.rules >= 0 {
            libc::syscall(libc::SYS_landlock_restrict_self, plan.rules, 0);
        }
        if !plan.filter.is_null() {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, plan.filter, 0, 0);
        }
    }
}

/// Signals do what they do unless set otherwise; those that this process ignores would stay
/// ignored.
fn default_signals() {
    for signal in 1..=SIGNALS {
        // SAFETY: plain data that means the default action. The two that cannot be set only give an
        // error.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

fn limit(what: libc::__rlimit_resource_t, value: u64) -> std::result::Result<(), c_int> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: the structure lives through the call.
    check(unsafe { libc::setrlimit(what, &raw const limit) }).map(drop)
}

/// Lets exec close every descriptor from this one on.
fn close_from(first: c_int) {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: numbers alone.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, CLOEXEC) };
    if done == 0 {
        return;
    }
    // A kernel before 5.11.
    // SAFETY: numbers alone; descriptors that are not open only give an error.
    unsafe {
        let open = libc::sysconf(libc::_SC_OPEN_MAX).clamp(1024, 1 << 20) as c_int;
        for fd in first..open {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}
