//! The messages of ABCI 2.0, as CometBFT v0.38 has them (proto/tendermint/abci/types.proto there):
//! the names and the numbers are those of the specification.
//!
//! They are written here because the crate `tendermint-proto` has those of six versions, for JSON
//! too: to compile it and what only it needs takes 20 s, these a second.

mod parts;
mod requests;
mod responses;

pub use parts::*;
pub use requests::*;
pub use responses::*;
