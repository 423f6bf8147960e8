//! The development chain on real homes: against a model, and runs of empty blocks against the same
//! blocks one by one.

#![allow(clippy::unwrap_used)]

mod empty_runs;
mod gas_limit;
mod imports;
mod model;
