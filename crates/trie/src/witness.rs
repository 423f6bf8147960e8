//! A partial state trie out of recorded nodes.

use crate::{state::StateTrie, tree::NodeSource};
use alloy_primitives::{B256, Bytes, keccak256};
use hearth_primitives::{Changeset, RootTracker, StateError};
use std::{collections::HashMap, sync::Arc};

/// A partial state trie whose nodes come from a recorded witness.
///
/// Subtries that no change touches may be missing. A removal that leaves a branch with one child
/// needs that child; without it the answer is [`StateError::MissingNode`], from then on.
pub struct WitnessTrie(StateTrie<'static>);

impl WitnessTrie {
    /// The trie with this root over RLP nodes in any order. Nothing is checked before it is used;
    /// nodes are found by their Keccak-256 hash, so a wrong node is a missing one.
    pub fn new(root: B256, nodes: impl Iterator<Item = Bytes>) -> Self {
        let nodes: HashMap<_, _> = nodes.map(|rlp| (keccak256(&rlp), rlp)).collect();
        Self(StateTrie::new(Arc::new(RecordedNodes(nodes)), root))
    }
}

impl RootTracker for WitnessTrie {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        self.0.apply(changes)
    }

    fn root(&mut self) -> Result<B256, StateError> {
        self.0.root()
    }
}

struct RecordedNodes(HashMap<B256, Bytes>);

impl NodeSource for RecordedNodes {
    fn node(&self, _: Option<&B256>, _: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        self.0.get(hash).map(|rlp| rlp.to_vec()).ok_or(StateError::MissingNode { hash: *hash })
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        Ok(Vec::new())
    }
}
