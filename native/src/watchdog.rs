//! The watchdog of the process.

use napi::Result;
use napi::bindgen_prelude::Uint32Array;
use napi_derive::napi;

/// Starts the watchdog of this process, described in JSON. Returns the numbers that the main thread
/// writes to: beats of its event loop, what it began since the last beat, what it began before
/// that, the phase (0 opening, 1 serving, 2 closing, 3 closed). Throws if there can be no watchdog:
/// the process has one, or SIGTERM and SIGINT have no handlers yet.
#[napi(catch_unwind)]
pub fn start_watchdog(json: String) -> Result<Uint32Array> {
    let cells =
        hearth_node::start_watchdog(&json).map_err(|error| napi::Error::from_reason(error.to_string()))?;
    // SAFETY: the numbers are in static memory of this library, which is never unloaded. Threads of
    // the library read them as atomics, and never through a reference that excludes writers.
    Ok(unsafe { Uint32Array::with_external_data(cells.address(), hearth_node::WATCHDOG_CELLS, |_, _| {}) })
}
