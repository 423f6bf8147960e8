//! The store against a model: history, unwind, crashes, concurrency, refusals.

#![allow(clippy::unwrap_used)]

mod budget;
mod concurrent;
mod crash;
mod history;
mod kill;
mod large_blocks;
mod metrics;
mod metrics_operations;
mod model;
mod prepared;
mod proofs;
mod pruning;
mod refusals;
mod repairs;
mod rollbacks;
mod snapshots;
mod staged;
mod steps;
mod transfers;
mod verifies;
