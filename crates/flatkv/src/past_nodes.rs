//! The nodes of the state trie after an earlier block, for execution witnesses.
//!
//! A follower that catches up requests the witness of one block after the other. Taking back every
//! block above one costs as much as all of these changed; from kept nodes of the block before, it
//! costs as much as one block changed.

use crate::{
    FlatKv,
    kept_pasts::{Layer, Past},
    past_trie::PinnedNodes,
};
use alloy_primitives::{B256, keccak256};
use hearth_primitives::{Height, RootTracker as _, StateError};
use hearth_trie::{NodeSource, StateTrie, node_key};
use std::sync::Arc;

impl FlatKv {
    /// The nodes of the state trie after the block at a height, and its root.
    ///
    /// # Errors
    /// As [`Self::trie_at`].
    pub fn nodes_at(self: &Arc<Self>, height: Height) -> Result<(B256, PastNodes<'_>), StateError> {
        let (pinned, head) = self.pin_for(height)?;
        let near = self.core.pasts.nearest(head.hash, head.height, height);
        let changes = match &near {
            Some(near) => self.between(&pinned, near.height, height)?.forth(),
            None => self.between(&pinned, height, head.height)?.back(),
        };
        let (from, layers) = near.map_or((head.commitment, Vec::new()), |near| (near.root, near.layers));
        let mut nodes = PastNodes { stored: Arc::new(PinnedNodes(Arc::new(pinned))), layers };
        if changes.accounts.is_empty() {
            return Ok((from, nodes));
        }
        let mut trie = StateTrie::new(Arc::new(nodes.clone()), from);
        trie.apply(&changes)?;
        let root = trie.root()?;
        let changed: Layer = trie.changed_nodes()?.into_iter().collect();
        drop(trie);
        nodes.layers.insert(0, Arc::new(changed));
        self.core.pasts.keep(Past { head: head.hash, height, root, layers: nodes.layers.clone() });
        Ok((root, nodes))
    }
}

/// The nodes of the state trie after a block: those of the head, and in their place those that the
/// steps to it made.
#[derive(Clone)]
pub struct PastNodes<'a> {
    stored: Arc<PinnedNodes<'a>>,
    /// The newest first.
    layers: Vec<Arc<Layer>>,
}

impl NodeSource for PastNodes<'_> {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        let key = node_key(owner, path);
        match self.layers.iter().find_map(|layer| layer.get(&key)) {
            // A node of the witness is what clients hash: a wrong one must not leave.
            Some(Some(rlp)) if keccak256(rlp) == *hash => Ok(rlp.clone()),
            Some(_) => Err(StateError::MissingNode { hash: *hash }),
            None => self.stored.node(owner, path, hash),
        }
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        Ok(Vec::new())
    }
}
