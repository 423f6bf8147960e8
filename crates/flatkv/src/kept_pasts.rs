//! Nodes of the tries of earlier blocks that were made last.

use alloy_primitives::B256;
use hearth_primitives::Height;
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
pub(crate) const LAYERS_MAX: usize = 32;

/// Nodes that one step changed, by their keys; `None` for one that left.
pub(crate) type Layer = HashMap<Vec<u8>, Option<Vec<u8>>>;

/// What makes the head's nodes those of an earlier block: steps, the newest first.
#[derive(Clone)]
pub(crate) struct Past {
    /// Hash of the head, and so of all blocks below: branches may end in the same root.
    pub(crate) head: B256,
    pub(crate) height: Height,
    pub(crate) root: B256,
    pub(crate) layers: Vec<Arc<Layer>>,
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
    pub(crate) fn nearest(&self, head: B256, head_height: Height, height: Height) -> Option<Past> {
        let mut kept = self.0.lock();
        kept.retain(|past| past.head == head);
        let best = kept.iter().filter(|past| past.height <= height).max_by_key(|past| past.height)?;
        let is_near = height - best.height < head_height.saturating_sub(height);
        let is_exact = best.height == height;
        (is_exact || (is_near && best.layers.len() < LAYERS_MAX)).then(|| best.clone())
    }

    pub(crate) fn keep(&self, past: Past) {
        let mut kept = self.0.lock();
        kept.retain(|other| other.height != past.height);
        kept.push_back(past);
        while kept.len() > KEPT_MAX || nodes(&kept) > KEPT_NODES_MAX {
            kept.pop_front();
        }
    }
}
