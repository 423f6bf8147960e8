//! Nodes of the state trie on their way into RocksDB, where the store goes with its process.
//!
//! Each block writes the upper nodes of its tries again. A store that is never synced needs none of
//! them on disk: they gather in memory, each in the place of the one before it, and go into RocksDB
//! together: once they are many, before the family is read as a whole, before a snapshot, and at
//! the end. Until then RocksDB has a head without its trie, which only the death of the process
//! would show.

use alloy_primitives::map::DefaultHashBuilder;
use hashbrown::{HashTable, hash_table::Entry};
use std::hash::BuildHasher;

/// Most memory of nodes that wait, in bytes: enough for the rings of block hashes (EIP-2935) and of
/// beacon roots (EIP-4788), which every block writes to.
pub(crate) const GATHERED_BYTES_MAX: usize = 8 << 20;
/// Bytes of a chunk of memory, into which keys and nodes are copied. Each in memory of its own,
/// they would lie between what goes with a block, and keep several times their memory from the
/// system.
const CHUNK_BYTES: usize = 256 << 10;

/// A key of the trie family and the node there; `None` where it goes.
pub type NodeRow = (Vec<u8>, Option<Vec<u8>>);

/// Where a key and its node stand.
#[derive(Clone, Copy, Debug)]
struct Row {
    chunk: u32,
    /// Place in the chunk: the key, behind it the node.
    at: u32,
    key: u32,
    /// Bytes behind the key that the node may take.
    room: u32,
    /// Bytes of the node; `None` where it goes.
    node: Option<u32>,
}

impl Row {
    fn key(self, chunks: &[Vec<u8>]) -> &[u8] {
        let at = self.at as usize;
        &chunks[self.chunk as usize][at..at + self.key as usize]
    }

    fn node(self, chunks: &[Vec<u8>]) -> Option<&[u8]> {
        let at = (self.at + self.key) as usize;
        self.node.map(|len| &chunks[self.chunk as usize][at..at + len as usize])
    }
}

/// Nodes that RocksDB does not have yet, by their keys.
#[derive(Default)]
pub(crate) struct GatheredNodes {
    rows: HashTable<Row>,
    hasher: DefaultHashBuilder,
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

impl GatheredNodes {
    /// Sets the node at a key; `None` deletes the node.
    pub fn put(&mut self, key: &[u8], node: Option<&[u8]>) {
        let Self { rows, hasher, chunks, bytes } = self;
        let len = node.map_or(0, <[u8]>::len);
        let hash = hasher.hash_one(key);
        let entry = rows.entry(hash, |row| row.key(chunks) == key, |row| hasher.hash_one(row.key(chunks)));
        match entry {
            Entry::Occupied(mut place) if place.get().room as usize >= len => {
                let row = place.get_mut();
                let at = (row.at + row.key) as usize;
                chunks[row.chunk as usize][at..at + len].copy_from_slice(node.unwrap_or_default());
                row.node = node.map(|_| len as u32);
            }
            Entry::Occupied(mut place) => *place.get_mut() = append(chunks, bytes, key, node),
            Entry::Vacant(place) => {
                *bytes += size_of::<Row>();
                place.insert(append(chunks, bytes, key, node));
            }
        }
    }

    /// The node at a key; `None` where RocksDB has it, or none.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let row = self.rows.find(self.hasher.hash_one(key), |row| row.key(&self.chunks) == key)?;
        Some(row.node(&self.chunks))
    }

    /// About how much memory they take, in bytes: with former places of nodes that grew.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|row| (row.key(&self.chunks), row.node(&self.chunks)))
    }

    /// Forgets them: RocksDB has them.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Copies a key and its node behind the others.
fn append(chunks: &mut Vec<Vec<u8>>, bytes: &mut usize, key: &[u8], node: Option<&[u8]>) -> Row {
    let room = node.map_or(0, <[u8]>::len);
    let needed = key.len() + room;
    if chunks.last().is_none_or(|last| last.capacity() - last.len() < needed) {
        chunks.push(Vec::with_capacity(CHUNK_BYTES.max(needed)));
    }
    let chunk = chunks.len() - 1;
    let last = &mut chunks[chunk];
    let at = last.len();
    last.extend_from_slice(key);
    last.extend_from_slice(node.unwrap_or_default());
    *bytes += needed;
    let [chunk, at, key, room] = [chunk, at, key.len(), room].map(|number| number as u32);
    Row { chunk, at, key, room, node: node.map(|_| room) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_node_takes_the_place_of_the_one_before_it() {
        let mut nodes = GatheredNodes::default();
        nodes.put(&[1; 30], Some(&[2; 100]));
        nodes.put(&[3; 30], Some(&[4; 50]));
        let bytes = 2 * (size_of::<Row>() + 30) + 150;
        assert_eq!(nodes.bytes(), bytes);
        nodes.put(&[1; 30], None);
        assert_eq!((nodes.get(&[1; 30]), nodes.get(&[9])), (Some(None), None));
        nodes.put(&[1; 30], Some(&[5; 99]));
        assert_eq!(nodes.get(&[1; 30]), Some(Some(&[5; 99][..])));
        assert_eq!(nodes.get(&[3; 30]), Some(Some(&[4; 50][..])));
        assert_eq!(nodes.bytes(), bytes, "no node was longer than the first one there");
        nodes.put(&[1; 30], Some(&[6; 101]));
        assert_eq!(nodes.get(&[1; 30]), Some(Some(&[6; 101][..])));
        assert_eq!(nodes.bytes(), bytes + 30 + 101);
        assert_eq!(nodes.rows().count(), 2);
        nodes.clear();
        assert!(nodes.is_empty() && nodes.bytes() == 0 && nodes.get(&[3; 30]).is_none());
    }

    #[test]
    fn many_nodes_of_all_lengths_are_those_of_a_map() {
        let mut nodes = GatheredNodes::default();
        let mut map = std::collections::BTreeMap::new();
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [key, len, kind, byte, ..] = random.to_be_bytes();
            let key = vec![key; 1 + usize::from(key % 70)];
            let node = (kind % 8 > 0).then(|| vec![byte; usize::from(len) * 3]);
            nodes.put(&key, node.as_deref());
            map.insert(key, node);
        }
        let mut rows: Vec<_> =
            nodes.rows().map(|(key, node)| (key.to_vec(), node.map(<[u8]>::to_vec))).collect();
        rows.sort();
        assert_eq!(rows, map.into_iter().collect::<Vec<_>>());
        // Larger than a chunk.
        let large = vec![7; CHUNK_BYTES + 1];
        nodes.put(b"large", Some(&large));
        assert_eq!(nodes.get(b"large"), Some(Some(&large[..])));
    }
}
