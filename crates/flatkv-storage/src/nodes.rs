//! Nodes of the state trie on their way into RocksDB, where the store goes with its process.
//!
//! Each block writes the upper nodes of its tries again. A store that is never synced needs none of
//! them on disk: they gather in memory, each in the place of the one before it, and go into RocksDB
//! together: once they are many, before the family is read as a whole, before a snapshot, and at
//! the end. Until then RocksDB has a head without its trie, which only the death of the process
//! would show.

use alloy_primitives::map::HashMap;

/// Most memory of nodes that wait, in bytes: enough for the rings of block hashes (EIP-2935) and of
/// beacon roots (EIP-4788), which every block writes to.
pub(crate) const GATHERED_BYTES_MAX: usize = 8 << 20;
/// What a node takes beside its key and its RLP, about, in bytes.
const NODE_BYTES: usize = 64;

/// A key of the trie family and the node there; `None` where it goes.
pub type NodeRow = (Vec<u8>, Option<Vec<u8>>);

/// Nodes that RocksDB does not have yet, by their keys.
#[derive(Debug, Default)]
pub(crate) struct GatheredNodes {
    rows: HashMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
}

impl GatheredNodes {
    pub fn put(&mut self, (key, node): NodeRow) {
        self.bytes += NODE_BYTES + key.len() + len(&node);
        let key_bytes = key.len();
        if let Some(before) = self.rows.insert(key, node) {
            self.bytes -= NODE_BYTES + key_bytes + len(&before);
        }
    }

    /// The node at a key; `None` where RocksDB has it, or none.
    pub fn get(&self, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.rows.get(key)
    }

    /// About how much memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|(key, node)| (key.as_slice(), node.as_deref()))
    }

    /// Forgets them: RocksDB has them.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.bytes = 0;
    }
}

fn len(node: &Option<Vec<u8>>) -> usize {
    node.as_ref().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_node_takes_the_place_of_the_one_before_it() {
        let mut nodes = GatheredNodes::default();
        nodes.put((vec![1; 30], Some(vec![2; 100])));
        nodes.put((vec![3; 30], Some(vec![4; 50])));
        assert_eq!(nodes.bytes(), 2 * (NODE_BYTES + 30) + 150);
        nodes.put((vec![1; 30], None));
        assert_eq!(nodes.bytes(), 2 * (NODE_BYTES + 30) + 50);
        assert_eq!((nodes.get(&[1; 30]), nodes.get(&[9])), (Some(&None), None));
        assert_eq!(nodes.rows().count(), 2);
        nodes.clear();
        assert!(nodes.is_empty() && nodes.bytes() == 0);
    }
}
