//! The nodes of the state trie after an earlier block, for execution witnesses.
//!
//! A follower that catches up requests the witness of one block after the other. Taking back every
//! block above one costs as much as all of these changed; from kept nodes of the block before, it
//! costs as much as one block changed.

use crate::{FlatKv, past_trie::PinnedNodes};
use alloy_primitives::{B256, keccak256};
use hearth_primitives::{Height, RootTracker as _, StateError};
use hearth_trie::{NodeSource, StateTrie, node_key};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Tries whose nodes are kept: as many as a follower requests at once, and one more.
const KEPT_MAX: usize = 5;
/// Most nodes that they have together beside those of the head: about 50 MB.
const KEPT_NODES_MAX: usize = 100_000;
/// Most steps from a trie that was taken back from the head: a node is looked up in each.
const LAYERS_MAX: usize = 32;

/// Nodes that one step changed, by their keys; `None` for one that left.
type Layer = HashMap<Vec<u8>, Option<Vec<u8>>>;

/// What makes the head's nodes those of an earlier block: steps, the newest first.
#[derive(Clone)]
struct Past {
    /// Hash of the head, and so of all blocks below: branches may end in the same root.
    head: B256,
    height: Height,
    root: B256,
    layers: Vec<Arc<Layer>>,
}

/// Nodes of several tries; steps that they share count once.
fn nodes(pasts: &VecDeque<Past>) -> usize {
    let layers = pasts.iter().flat_map(|past| &past.layers);
    let distinct: HashMap<_, _> = layers.map(|layer| (Arc::as_ptr(layer), layer.len())).collect();
    distinct.values().sum()
}

/// The tries that were made last, the oldest first.
#[derive(Default)]
pub(crate) struct KeptPasts(Mutex<VecDeque<Past>>);

impl KeptPasts {
    /// The one from which the trie after a block is nearest, counted in blocks; `None` where that
    /// is the head's own. Those of other heads are dropped.
    fn nearest(&self, head: B256, head_height: Height, height: Height) -> Option<Past> {
        let mut kept = self.0.lock();
        kept.retain(|past| past.head == head);
        let best = kept.iter().filter(|past| past.height <= height).max_by_key(|past| past.height)?;
        let is_near = height - best.height < head_height.saturating_sub(height);
        let is_exact = best.height == height;
        (is_exact || (is_near && best.layers.len() < LAYERS_MAX)).then(|| best.clone())
    }

    fn keep(&self, past: Past) {
        let mut kept = self.0.lock();
        kept.retain(|other| other.height != past.height);
        kept.push_back(past);
        while kept.len() > KEPT_MAX || nodes(&kept) > KEPT_NODES_MAX {
            kept.pop_front();
        }
    }
}

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
