//! Traces of real transactions against the answers of go-ethereum.
#![allow(clippy::unwrap_used)]

mod answers;
mod cases;
mod limits;
mod mainnet;
mod tracetest;
