//! Public test suites, run on the crate in memory. `HEARTH_FIXTURES` names the directory of the
//! fixtures, by default `../shared/fixtures` beside the checkout. Without them a test prints that
//! it was skipped.

mod blockchain;
mod empty_blocks;
mod fixtures;
mod headers;
mod mainnet;
mod memory;
mod replay;
mod rpc_chain;
mod simulate_blocks;
mod simulation;
mod state;
mod writes;
