//! What confines a child from before its program begins: less than later, since the program has to
//! load.

use crate::confine::handled;
use crate::filter::{DEADLY, DEADLY_OLD, program};
use landlock::{AccessFs, PathBeneath, PathFd, RulesetCreatedAttr};
use seccompiler::{BpfProgram, SeccompAction};
use std::os::fd::OwnedFd;

/// What begins a program: allowed until a child is loaded.
const FOR_THE_START: &[libc::c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// The filter of a child from before its program begins: what kills later fails here as if the
/// kernel did not have it. So libuv makes no io_uring, through which calls would pass every filter.
/// `None` where no filter can be made for this machine.
pub fn filter() -> Option<BpfProgram> {
    let calls = DEADLY.iter().chain(DEADLY_OLD).filter(|call| !FOR_THE_START.contains(call));
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    program(calls.map(|call| (*call, vec![])).collect(), SeccompAction::Allow, unknown).ok()
}

/// Rules of Landlock for a child from before its program begins, on all of its threads: files may
/// be read and executed, nothing else. `None` where the kernel has no Landlock.
pub fn rules() -> Option<OwnedFd> {
    let everything = PathFd::new("/").ok()?;
    let rules = || {
        let created = handled()?.create()?;
        let may = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
        created.add_rule(PathBeneath::new(everything, may))
    };
    let created: Result<_, landlock::RulesetError> = rules();
    created.ok()?.into()
}
