//! The system calls of a child that is loaded.
//!
//! What is not listed fails as if the kernel did not have it, which the C library and V8 know how
//! to take. What only an attacker would try kills the process. The list is that of a program that
//! computes and speaks over a descriptor that is open: memory, threads, signals of its own, clocks.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
};
use std::collections::BTreeMap;

/// Calls that are allowed whatever their arguments are.
const ALLOWED: &[libc::c_long] = &[
    // The channel, and descriptors that are open.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    // Threads.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Signals that come.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Clocks and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
];

/// The same, as x86 alone has them beside newer ones.
#[cfg(target_arch = "x86_64")]
const ALLOWED_OLD: &[libc::c_long] = &[libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_OLD: &[libc::c_long] = &[];

/// Calls that kill the process.
pub const DEADLY: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_init_module,
    libc::SYS_finit_module,
];

#[cfg(target_arch = "x86_64")]
pub const DEADLY_OLD: &[libc::c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
pub const DEADLY_OLD: &[libc::c_long] = &[];

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// Installs the filters on all threads; whether they are.
pub fn install() -> bool {
    // Programs whose actions the kernel takes the strictest of. The one that ends the process comes
    // first: under the other one no filter can be installed any more.
    let programs = || {
        let deadly = DEADLY.iter().chain(DEADLY_OLD).map(|call| (*call, vec![])).collect();
        let killing = program(deadly, SeccompAction::Allow, SeccompAction::KillProcess)?;
        let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
        Ok::<_, seccompiler::BackendError>([killing, program(allowed()?, unknown, SeccompAction::Allow)?])
    };
    let Ok(programs) = programs() else { return false };
    programs.iter().all(|program| apply_filter_all_threads(program).is_ok())
}

/// The program of a filter whose listed calls end in one way and all others in the other.
pub fn program(
    rules: Rules,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, listed, arch)?.try_into()
}

/// What is allowed.
fn allowed() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = ALLOWED.iter().chain(ALLOWED_OLD).map(|call| (*call, vec![])).collect();
    let flag = |flag: libc::c_int| u64::from(flag.unsigned_abs());
    // A thread, never a process. The flags of clone3 lie in memory, where no filter can look: the C
    // library takes clone then.
    rules.insert(
        libc::SYS_clone,
        vec![rule(0, SeccompCmpOp::MaskedEq(flag(libc::CLONE_THREAD)), flag(libc::CLONE_THREAD))?],
    );
    // Signals to itself, which is how it aborts.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, own)?]);
    // Node looks at the standard streams when it ends, and puts their flags back.
    let of_flags = [libc::F_GETFD, libc::F_GETFL, libc::F_SETFL];
    rules.insert(libc::SYS_fcntl, any(1, &of_flags.map(flag))?);
    // Names of threads and of memory, and what a child says of itself.
    let of_itself = [libc::PR_SET_NAME, libc::PR_SET_VMA, libc::PR_GET_NO_NEW_PRIVS, libc::PR_GET_SECCOMP];
    rules.insert(libc::SYS_prctl, any(0, &of_itself.map(flag))?);
    Ok(rules)
}

fn any(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    values.iter().map(|value| rule(argument, SeccompCmpOp::Eq, *value)).collect()
}

/// An argument of 32 bits that compares so.
fn rule(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)?])
}
