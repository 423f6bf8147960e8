//! Memory that was needed for a moment, and goes back to the system.

#[cfg(target_env = "gnu")]
use std::{sync::Once, thread::available_parallelism};

/// Returns to the system the memory that allocations of this thread, of the threads of rayon's pool
/// and of RocksDB have left unused. Both allocators (mimalloc, and that of the C library) keep such
/// memory for a while, the latter for good, and what one thread allocates and another one frees
/// waits for the first: resident memory stays at the peak of the work that just ended. It takes a
/// few milliseconds, so it is for the end of work that took far longer.
pub fn return_unused_memory() {
    rayon::spawn_broadcast(|_| collect());
    collect();
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointer; locks the arenas one after the other.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets threads share the arenas of the C library's allocator: as many as there are processors, in
/// place of eight for each. RocksDB allocates in many threads, and an arena keeps what its thread
/// once needed. For a process whose data goes with it: there, memory counts more than the few
/// moments in which two threads want one arena.
pub fn share_arenas() {
    #[cfg(target_env = "gnu")]
    {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let arenas = available_parallelism().map_or(1, |processors| processors.get());
            // SAFETY: takes no pointer, and locks what it changes.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, i32::try_from(arenas).unwrap_or(i32::MAX)) };
        });
    }
}

/// Returns the pages of this thread's heap that hold nothing.
fn collect() {
    // SAFETY: takes no pointer; frees no memory that anything holds.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
