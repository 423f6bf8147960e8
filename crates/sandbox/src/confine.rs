//! The last layers of a child's confinement, which it puts on itself when all that it needs is
//! loaded.

use crate::Layers;
use crate::filter;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictSelfAttr, Ruleset, RulesetAttr,
    RulesetStatus, Scope,
};

/// Address space that a child may take beyond what its program has mapped when it is loaded and its
/// writable memory, in bytes. V8 reserves hundreds of megabytes for each isolate without using
/// them.
pub const ADDRESS_SPACE_BYTES: u64 = 8 << 30;

/// Version of capget's structures.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Confines this process for good: Landlock without any path, a bound of its address space, a list
/// of system calls on all threads. Which layers it finds on itself then; of the namespaces it can
/// report nothing, the process that started it can. A layer that the system refuses is not among
/// them. Only those that are wanted are put on.
#[must_use]
pub fn confine(wanted: Layers) -> Layers {
    let mut own = Layers::NONE;
    // First: the size of this process is in a file.
    if wanted.contains(Layers::LIMITS) && bound_address_space() {
        own = own.and(Layers::LIMITS);
    }
    if wanted.contains(Layers::LANDLOCK) && landlock_holds() {
        own = own.and(Layers::LANDLOCK);
    }
    if no_new_privs() {
        own = own.and(Layers::NO_NEW_PRIVS);
    }
    if has_no_capabilities() {
        own = own.and(Layers::CAPABILITIES);
    }
    if wanted.contains(Layers::SECCOMP) && filter::install() && is_filtered() {
        own = own.and(Layers::SECCOMP);
    }
    own
}

/// What Landlock takes away where no rule gives it back.
pub(crate) fn handled() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
}

/// Whether this thread may use no path, no TCP port, and no process or abstract socket outside.
fn landlock_holds() -> bool {
    let restrict = || handled()?.create()?.all_threads(true)?.restrict_self();
    let status: Result<_, landlock::RulesetError> = restrict();
    let enforced = status.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced);
    // What counts is what the kernel does.
    let refused = std::fs::File::open("/").err().and_then(|error| error.raw_os_error());
    enforced && refused == Some(libc::EACCES)
}

/// Bounds the address space by the present size plus a margin.
fn bound_address_space() -> bool {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return false };
    let Some(pages) = text.split(' ').next().and_then(|pages| pages.trim().parse::<u64>().ok()) else {
        return false;
    };
    // SAFETY: no argument but a constant.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let bytes = pages.saturating_mul(u64::try_from(page).unwrap_or(4096)).saturating_add(ADDRESS_SPACE_BYTES);
    // SAFETY: the structures live through the calls.
    unsafe {
        let mut data = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let is_bounded =
            libc::getrlimit(libc::RLIMIT_DATA, &raw mut data) == 0 && data.rlim_max != libc::RLIM_INFINITY;
        let bytes = bytes.saturating_add(data.rlim_max);
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        is_bounded && libc::setrlimit(libc::RLIMIT_AS, &raw const limit) == 0
    }
}

fn no_new_privs() -> bool {
    // SAFETY: numbers alone.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 }
}

fn is_filtered() -> bool {
    const FILTER: libc::c_int = 2;
    // SAFETY: numbers alone.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) == FILTER }
}

fn has_no_capabilities() -> bool {
    // Effective, permitted and inheritable sets, of the lower and the upper capabilities.
    let mut sets = [u32::MAX; 6];
    let mut header = [CAPABILITY_VERSION, 0];
    // SAFETY: both arrays are as long as the version says and live through the call.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    got == 0 && sets == [0; 6]
}
