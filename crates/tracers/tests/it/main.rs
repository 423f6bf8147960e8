//! Traces of real transactions against the answers of go-ethereum.
#![allow(clippy::unwrap_used)]

mod answers;
mod capsules;
mod cases;
mod deadlines;
mod elements;
mod fake_script;
mod faults;
mod frames;
mod limits;
mod mainnet;
mod native;
mod parallel;
mod parity;
mod scripts;
mod several;
mod step_pages;
mod steps;
mod tracetest;
mod world;
