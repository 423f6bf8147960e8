//! Low priority for the threads that bake.

/// The nice value of a thread that bakes: it gets what others leave, and a little where they leave nothing, so that it
/// never holds a lock for long without running.
const NICE: libc::c_int = 19;

/// Gives the calling thread low priority. Where the system refuses, it keeps its own.
pub(crate) fn lower() {
    // SAFETY: a plain system call on integers; on Linux 0 means the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
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
            lower();
            nice()
        });
        assert_eq!(lowered.join().ok(), Some(NICE));
        assert_eq!(nice(), before);
    }
}
