//! The Engine API: a consensus client sends payloads, chooses the head among them, and requests new
//! ones (execution-apis, src/engine).
//!
//! - [`Engine`] answers [`EngineRequest`]s on one open home. `engine_newPayload` executes a block
//!   without moving the head; `engine_forkchoiceUpdated` commits executed blocks.
//! - [`build_payload`] makes a block from attributes, also for `testing_buildBlockV1`.
//!
//! Payloads that are not chosen are only kept in memory: after a restart the consensus client sends
//! them again.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod blobs;
mod bodies;
mod bounded;
mod build;
mod engine;
mod envelope;
mod forkchoice;
mod jobs;
mod new_payload;
mod payload;
mod ready;
mod request;
mod status;
mod versions;

pub use build::{BuiltPayload, Contents, Sidecars, build_payload, sidecar_of};
pub use engine::Engine;
pub use envelope::write_envelope;
pub use payload::ExecutionPayload;
pub use request::{Attributes, EngineRequest, ForkchoiceState};
