//! Options of sockets.

use napi_derive::napi;

/// Lets a TCP socket take at most about so many bytes that its client has no room for. False where
/// the system has no such option for it.
#[napi(catch_unwind)]
pub fn limit_unsent(socket: i32, bytes: u32) -> bool {
    hearth_node::limit_unsent(socket, bytes).is_ok()
}
