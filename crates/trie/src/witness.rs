//! A partial state trie out of recorded nodes.

use crate::{
    node::{Link, Node},
    state::StateTrie,
    tree::NodeSource,
};
use alloy_primitives::{B256, Bytes, map::B256Map};
use hearth_keccak::keccak256_many;
use hearth_primitives::{Changeset, RootTracker, StateError};
use rayon::prelude::*;
use std::{collections::HashSet, sync::Arc};

/// A partial state trie whose nodes come from a recorded witness.
///
/// Subtries that no change touches may be missing. A removal that leaves a branch with one child
/// needs that child; without it the answer is [`StateError::MissingNode`], from then on.
pub struct WitnessTrie(StateTrie<'static>);

impl WitnessTrie {
    /// The trie with this root over RLP nodes in any order. Nothing is checked before it is used;
    /// nodes are found by their Keccak-256 hash, so a wrong node is a missing one.
    pub fn new(root: B256, nodes: impl Iterator<Item = Bytes>) -> Self {
        let mut recorded = WitnessNodes::default();
        recorded.extend(nodes);
        Self(StateTrie::new(Arc::new(recorded), root))
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

/// Nodes of a witness that one thread hashes at once: many, as their sizes differ.
const HASHED_AT_ONCE: usize = 256;

/// Nodes of a witness by their Keccak-256 hash.
#[derive(Clone, Debug, Default)]
pub struct WitnessNodes {
    nodes: B256Map<Bytes>,
    /// Nodes that are not here, and are branches.
    branches: HashSet<B256>,
}

impl WitnessNodes {
    /// The nodes of a list, hashed in parallel.
    pub fn new(nodes: &[Bytes]) -> Self {
        let hashed = |nodes: &[Bytes]| {
            let hashes = keccak256_many(nodes);
            hashes.into_iter().zip(nodes.iter().cloned()).collect::<Vec<_>>()
        };
        let nodes = nodes.par_chunks(HASHED_AT_ONCE).flat_map_iter(hashed).collect();
        Self { nodes, branches: HashSet::new() }
    }

    /// Adds nodes.
    pub fn extend(&mut self, nodes: impl IntoIterator<Item = Bytes>) {
        let nodes: Vec<Bytes> = nodes.into_iter().collect();
        let hashes = keccak256_many(&nodes);
        self.nodes.extend(hashes.into_iter().zip(nodes));
    }

    /// Adds what a node that stands at the end of a proof of a removed key may have been before the
    /// removal folded it.
    ///
    /// A removal may leave a branch with one child, whose path the parent then takes in (yellow
    /// paper, appendix D). So the node before it is the leaf or extension with an end of its path;
    /// where nothing of the path of an extension is left, it was the branch below it. Of the nodes
    /// that are added those that never existed do no harm: nothing names them.
    pub fn extend_unfolded(&mut self, folded: &[u8]) {
        match Node::decode(folded) {
            Ok(Node::Leaf { path, value }) => {
                let before = |from| Node::Leaf { path: path[from..].to_vec(), value: value.clone() };
                self.extend((1..=path.len()).map(|from| before(from).encode().into()));
            }
            Ok(Node::Extension { path, child: Link::Hash(child) }) => {
                let before = |from| Node::Extension { path: path[from..].to_vec(), child: Link::Hash(child) };
                self.extend((1..path.len()).map(|from| before(from).encode().into()));
                self.branches.insert(child);
            }
            // Of other nodes nothing is known to be folded.
            Ok(Node::Extension { .. } | Node::Branch { .. }) | Err(_) => {}
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl NodeSource for WitnessNodes {
    fn node(&self, _: Option<&B256>, _: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        self.nodes.get(hash).map(|rlp| rlp.to_vec()).ok_or(StateError::MissingNode { hash: *hash })
    }

    fn is_branch(&self, hash: &B256) -> bool {
        self.branches.contains(hash) && !self.nodes.contains_key(hash)
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        Ok(Vec::new())
    }
}
