//! Low priority for the threads that bake.

/// The nice value of a thread that bakes: it gets what others leave, and a little where they leave
/// nothing, so that it never holds a lock for long without running.
pub(crate) const NICE: i32 = 19;

/// Gives the calling thread, and those that it starts from now on, a nice value: 0 is usual, 19 the
/// lowest priority. Where the system refuses, it keeps its own.
pub fn lower_priority(nice: i32) {
    // SAFETY: a plain system call on integers; on Linux 0 means the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, nice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_lowers_itself_alone() {
        // SAFETY: as above.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        let lowered = std::thread::spawn(move || {
            lower_priority(NICE);
            nice()
        });
        assert_eq!(lowered.join().ok(), Some(NICE));
        assert_eq!(nice(), before);
    }
}
