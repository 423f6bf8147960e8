//! Reads that do not wait for the device.

use std::cell::Cell;

thread_local! {
    static NO_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// Runs work whose reads of the real disk, on this thread, come out of the system's memory alone.
/// What is not there is refused as `WouldBlock`, as is all of a file system without support for it.
/// Only reads of open files are bound by it: opening, listing and writing are not.
pub fn without_waiting<T>(work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            NO_WAIT.set(self.0);
        }
    }
    let _restore = Restore(NO_WAIT.replace(true));
    work()
}

/// Whether a read of this thread may wait.
pub fn may_wait() -> bool {
    !NO_WAIT.get()
}
