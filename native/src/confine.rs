//! The confinement that a child process of JavaScript tracers puts on itself.

use hearth_node::{Layers, confine};
use napi_derive::napi;

/// Gives up files, sockets and most system calls for the rest of this process. Returns the bits of
/// the layers that are in force then.
#[napi(catch_unwind)]
pub fn confine_process() -> u32 {
    confine(Layers::ALL).bits()
}
