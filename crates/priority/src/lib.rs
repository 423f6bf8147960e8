//! Priority of threads: a nice value and short turns for those that leave the processors to others,
//! short turns alone for those that are to run as soon as they wake up.
//!
//! A nice value alone decides how much of a processor a thread gets, not when it stops: Linux lets
//! a thread run for its time slice, 1.4 to 2.8 ms, before one that wakes up takes over, and looks
//! at its timer every 1 to 10 ms. A thread with the shortest slice is replaced at once
//! (Documentation/scheduler/sched-eevdf.rst; the slice of a thread is `sched_runtime` of
//! sched_setattr(2) since Linux 6.12, which earlier versions ignore).

use libc::c_int;

/// The shortest time slice that Linux gives, in nanoseconds.
const SHORTEST_SLICE_NS: u64 = 100_000;

/// Gives the calling thread, and those that it starts from now on, a nice value (1 to 19, which is
/// the lowest priority) and the shortest time slice. Nothing changes with 0, the usual nice value,
/// or where the system refuses.
///
/// Makes system calls only, so that it may be called between fork and exec.
pub fn lower_priority(nice: i32) {
    if nice != 0 && !set_nice_and_slice(nice) {
        // SAFETY: a plain system call on integers; on Linux 0 means the calling thread.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, nice);
        }
    }
}

/// Gives the calling thread, and those that it starts from now on, the shortest time slice, and
/// leaves its nice value: a thread that sleeps most of the time runs as soon as it wakes up.
/// Nothing changes where the system refuses.
pub fn shorten_turns() {
    // SAFETY: a plain system call on integers; on Linux 0 means the calling thread. The call fails
    // for no thread that exists, so that -1 is a nice value.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    set_nice_and_slice(nice);
}

/// Returns `false` where the system refuses, or has no sched_setattr.
fn set_nice_and_slice(nice: c_int) -> bool {
    let attr = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        // What an operator chose, as by chrt(1), remains.
        sched_flags: libc::SCHED_FLAG_KEEP_POLICY as u64,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SHORTEST_SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the structure lives through the call and has the size that it says; 0 means the
    // calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{mem, thread};

    const NICE: i32 = 19;

    /// Policy, nice value and time slice of the calling thread.
    fn own() -> (u32, i32, u64) {
        // SAFETY: all fields are integers.
        let mut attr: libc::sched_attr = unsafe { mem::zeroed() };
        let size = size_of::<libc::sched_attr>();
        // SAFETY: the structure lives through the call and is as large as it says.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) };
        assert_eq!(result, 0);
        (attr.sched_policy, attr.sched_nice, attr.sched_runtime)
    }

    #[test]
    fn a_thread_lowers_itself_and_those_it_starts() {
        let before = own();
        let lowered = thread::spawn(move || {
            lower_priority(0);
            assert_eq!(own(), before);
            lower_priority(NICE);
            (own(), thread::spawn(own).join().ok(), set_nice_and_slice(NICE))
        });
        let (lowered, started, has_slices) = lowered.join().unwrap();
        assert_eq!((lowered.0, lowered.1), (before.0, NICE));
        assert_eq!(started, Some(lowered));
        assert_eq!(own(), before);
        // Linux before 6.12 reports no slice of such threads.
        assert!(!has_slices || [0, SHORTEST_SLICE_NS].contains(&lowered.2), "{lowered:?}");
    }

    #[test]
    fn shorter_turns_leave_the_nice_value() {
        let before = own();
        let of_thread = |work: fn()| {
            let worker = thread::spawn(move || {
                work();
                own()
            });
            worker.join().unwrap()
        };
        let (short, lowered) = (of_thread(shorten_turns), of_thread(|| lower_priority(NICE)));
        assert_eq!(short, (before.0, before.1, lowered.2));
        assert_eq!(own(), before);
    }

    #[test]
    fn a_policy_that_an_operator_chose_remains() {
        let batch = thread::spawn(|| {
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: the structure lives through the call; 0 means the calling thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &none) }, 0);
            lower_priority(NICE);
            own()
        });
        let (policy, nice, _) = batch.join().unwrap();
        assert_eq!((policy, nice), (libc::SCHED_BATCH as u32, NICE));
    }
}
