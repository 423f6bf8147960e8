//! Traces of real transactions against the answers of go-ethereum.
#![allow(clippy::unwrap_used)]

mod answers;
mod cases;
mod faults;
mod frames;
mod limits;
mod mainnet;
mod tracetest;
mod world;
