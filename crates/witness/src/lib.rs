//! Execution witnesses: what a client without the state needs to execute a block.
//!
//! [`Witness::parse`] reads the answer of `debug_executionWitness` in the form of any client,
//! [`Supplement`] what was fetched because a witness lacked it, [`received_block`] the block.
//! [`Material`] joins them; [`WitnessState`] is the state of the parent as they prove it, and
//! [`PrestateState`] the one that an upstream claims. Both log what they lack in a [`Wanted`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block;
mod error;
mod hashes;
mod hex_list;
mod material;
mod prestate;
mod state;
mod supplement;
#[cfg(test)]
mod tests;
mod wanted;
mod witness;

pub use block::{BlockForm, MAX_BLOCK_BYTES, Received, received_block};
pub use error::WitnessError;
pub use hashes::VerifiedHashes;
pub use material::{CodeByHash, CodeSource, Material};
pub use prestate::PrestateState;
pub use state::{ParentState, WitnessState};
pub use supplement::Supplement;
pub use wanted::{Wanted, WantedAccount, WantedCode, WantedHeader};
pub use witness::{MAX_WITNESS_BYTES, Witness};
