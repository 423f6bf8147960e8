//! The N-API boundary: the only crate that names napi.
//!
//! Everything crosses as JSON text and bytes. An answer is one buffer: its first byte says whether
//! the rest is a result (0) or an error value (1), `{"kind":…,"message":…,"data":…}`. No export
//! blocks the event loop, and none uses libuv's thread pool: work runs on the node's threads, which
//! settle the promise themselves. Only the text of a request is parsed on the caller's thread, in
//! one pass over bytes that the limit of request bodies bounds; the caller has parsed and written
//! the same bytes before.
//!
//! Every export catches panics (`catch_unwind`); a unit test reads these files and fails if one
//! does not.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "Hearth runs on Linux only: it reads with preadv2, starts sandboxed processes with clone and prctl, and \
     locks homes as Linux does"
);

mod answer;
mod confine;
mod follow;
mod hooks;
mod jobs;
mod littable;
mod node;
mod origin;
mod ready;
mod socket;
mod text;
mod watchdog;

pub use confine::confine_process;
pub use follow::init_follower;
pub use hooks::NativeHooks;
pub use jobs::{NativeJob, start_job};
pub use littable::{
    NativeLittGroup, NativeLittIter, NativeLittSecondary, NativeLittTable, NativeLittable, open_littable,
};
pub use node::{
    NativeEnvelope, NativeNode, NativeStream, dev_accounts, metrics_catalog, open_node, staking_account,
    start_replay, tracer_table,
};
pub use origin::{NativeOrigin, proves_account};
pub use ready::{NativeReadyWord, NativeTraceOf, READY_STRUCT_BYTES};
pub use socket::limit_unsent;
pub use watchdog::start_watchdog;

/// Node dlopens this library after its start, when no more static TLS is available:
/// `local_dynamic_tls` needs none. `no_thp`: the system would merge freed pages into huge ones
/// again, so that a node under load would take some 80 MiB more, and keep growing; traces and
/// imports take the same time without huge pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
