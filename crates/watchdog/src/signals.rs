//! Counts signals that request a stop, in front of the handlers that are there.
//!
//! A signal of the process reaches the handler on any thread, also while the main thread runs code
//! that never comes back to its event loop. libuv's handler only writes to a pipe, which that loop
//! reads.

use crate::WatchdogError;
use std::{
    io, mem, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// Signals that request a stop.
pub(crate) const SIGNALS: [libc::c_int; 2] = [libc::SIGTERM, libc::SIGINT];

static SEEN: AtomicU32 = AtomicU32::new(0);

/// The handlers that were there before, by position in [`SIGNALS`]. Set before ours is there, and
/// never again.
static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];

/// Signals that came until now.
pub(crate) fn seen() -> u32 {
    SEEN.load(Relaxed)
}

/// Does only what a signal handler may: atomics, and the handler that was there.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    SEEN.fetch_add(1, Relaxed);
    let before = SIGNALS.iter().position(|known| *known == signal).and_then(|at| BEFORE[at].get());
    let Some(before) = before else { return };
    if before.sa_flags & libc::SA_SIGINFO != 0 {
        type Long = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: with SA_SIGINFO the field holds a function of three parameters (sigaction(2)); it
        // is neither of the two constants, see `chain_one`.
        let handler = unsafe { mem::transmute::<libc::sighandler_t, Long>(before.sa_sigaction) };
        handler(signal, info, context);
    } else {
        // SAFETY: without SA_SIGINFO it holds one of one parameter.
        let handler =
            unsafe { mem::transmute::<libc::sighandler_t, extern "C" fn(libc::c_int)>(before.sa_sigaction) };
        handler(signal);
    }
}

/// What a signal does now.
fn current(signal: libc::c_int) -> Result<libc::sigaction, WatchdogError> {
    // SAFETY: zeroes are a valid value of this C structure.
    let mut now: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: the pointer is valid for writing, and nothing is set.
    let done = unsafe { libc::sigaction(signal, ptr::null(), &raw mut now) };
    if done == 0 { Ok(now) } else { Err(WatchdogError::Signal { signal, error: io::Error::last_os_error() }) }
}

/// Puts our handler in front of the one of a signal, with its mask and flags.
fn chain_one(at: usize) -> Result<(), WatchdogError> {
    let signal = SIGNALS[at];
    let before = current(signal)?;
    if before.sa_sigaction == libc::SIG_DFL || before.sa_sigaction == libc::SIG_IGN {
        return Err(WatchdogError::NoHandler { signal });
    }
    let mut ours = before;
    ours.sa_sigaction = on_signal as *const () as libc::sighandler_t;
    ours.sa_flags |= libc::SA_SIGINFO;
    BEFORE[at].set(before).map_err(|_| WatchdogError::Started)?;
    // SAFETY: `ours` is what the system gave, with a handler that keeps to what handlers may do.
    let done = unsafe { libc::sigaction(signal, &raw const ours, ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(WatchdogError::Signal { signal, error: io::Error::last_os_error() }) }
}

/// Counts every signal that requests a stop from now on. The handlers that are there are called as
/// before. To be called by the thread that sets handlers, once.
///
/// # Errors
/// A signal has no handler, and what the system reports. Signals that were dealt with before stay
/// counted.
pub(crate) fn chain() -> Result<(), WatchdogError> {
    (0..SIGNALS.len()).try_for_each(chain_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    static SHORT: AtomicU32 = AtomicU32::new(0);
    static LONG: AtomicU32 = AtomicU32::new(0);

    extern "C" fn short(_: libc::c_int) {
        SHORT.fetch_add(1, Relaxed);
    }

    extern "C" fn long(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system gives a valid structure to a handler with SA_SIGINFO.
        assert_eq!(unsafe { (*info).si_signo }, signal);
        LONG.fetch_add(1, Relaxed);
    }

    fn handle(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
        // SAFETY: as in `current`.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        (action.sa_sigaction, action.sa_flags) = (handler, flags | libc::SA_RESTART);
        // SAFETY: the structure is valid.
        assert_eq!(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) }, 0);
    }

    /// One test: signals belong to the whole process.
    #[test]
    fn counts_signals_and_calls_the_handlers_that_were_there() {
        handle(libc::SIGTERM, short as *const () as libc::sighandler_t, 0);
        assert!(matches!(chain(), Err(WatchdogError::NoHandler { signal: libc::SIGINT })));
        handle(libc::SIGINT, long as *const () as libc::sighandler_t, libc::SA_SIGINFO);
        chain_one(1).unwrap();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: both have handlers.
            assert_eq!(unsafe { libc::raise(signal) }, 0);
        }
        assert_eq!((seen(), SHORT.load(Relaxed), LONG.load(Relaxed)), (3, 2, 1));
        assert_eq!(current(libc::SIGTERM).unwrap().sa_flags & libc::SA_RESTART, libc::SA_RESTART);
        assert!(matches!(chain(), Err(WatchdogError::Started)), "a second time would call itself for ever");
    }
}
