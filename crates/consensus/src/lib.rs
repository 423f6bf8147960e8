//! The application of CometBFT (ABCI 2.0) on one open home: CometBFT decides on blocks, and this
//! crate builds, verifies, executes and commits them.
//!
//! - The block of height H is the Ethereum block H. CometBFT's app hash after H is that block's
//!   hash, so a light client that verified header H + 1 has verified block H, the state root in it,
//!   and every proof under that root.
//! - A block is executed once: as a proposal, by its proposer when it builds it and by the others
//!   when they verify it. FinalizeBlock takes that result; Commit makes it durable with one record
//!   of the write-ahead log.
//! - Header fields that an Ethereum consensus layer would provide come from the request, see
//!   `header.rs`.
//!
//! Consensus never depends on a clock, on randomness or on the order of a hash map: all nodes must
//! produce the same bytes. Only PrepareProposal, whose result the other validators verify, uses the
//! pool and a clock.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![deny(clippy::disallowed_types, clippy::float_arithmetic)]

mod application;
mod clock;
mod exception;
mod finalize;
mod handshake;
mod header;
mod mempool;
mod misbehavior;
mod natives;
mod outbox;
mod proposal;
mod query;
mod results;
mod router;
mod service;
mod snapshots;
mod validators;

pub use service::{Consensus, ConsensusRequest, Listening};
