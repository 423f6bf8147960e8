//! Incremental Merkle Patricia trie over the state: only the nodes on changed paths are loaded and
//! hashed.
//!
//! - [`StateTrie`] is the two-level trie (accounts, and a storage trie for each account). It loads
//!   nodes from a [`NodeSource`] as it needs them, and names the nodes to write and to delete in a
//!   [`TrieUpdate`].
//! - [`WitnessTrie`] is the same trie over the nodes of a recorded witness ([`WitnessNodes`]), and
//!   [`RecordingNodes`] makes such a witness: it keeps what is read of another source.
//! - [`check_nodes`] compares every stored node with the hash under which its parent names it.
//!
//! A node is stored by its owner (the accounts' trie, or the hash of an account's address) and its
//! path, so a trie depends on its content alone: applying reversed changes restores the same rows.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod collect;
mod former;
mod many;
mod node;
mod proof;
mod recording;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod update;
mod witness;

pub use check::{NodeFault, check_nodes};
pub use proof::{AccountProof, SlotProof};
pub use recording::RecordingNodes;
pub use state::StateTrie;
pub use tree::{NodeSource, node_key, node_prefix};
pub use update::{NodeWrite, TrieUpdate};
pub use witness::{WitnessNodes, WitnessTrie};

use hearth_primitives::StateError;

/// The error of bytes that are no node, or a node where the trie has none.
fn damaged() -> StateError {
    StateError::Damaged { what: "trie" }
}
