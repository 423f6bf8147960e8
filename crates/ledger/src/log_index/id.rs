//! What logs are found by.

use alloy_primitives::{Address, B256, Log};
use hearth_primitives::Receipt;
use std::collections::BTreeSet;

/// Most ids of a block that are kept; a block with more counts as holding every one. Bounds the row of a commit (128 KiB)
/// and the memory of a merge.
pub(super) const MAX_BLOCK_IDS: usize = 16_384;

/// Position that stands for the address in the hash of an id; topics have 1 to 4.
const ADDRESS: u8 = 0;

/// An address, or a topic at a position, as 64 bits of a hash. Two that fall together make a search look at blocks in
/// vain; they never hide one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LogId(pub u64);

impl LogId {
    /// The id of blocks with too many ids.
    pub const ANY: Self = Self(u64::MAX);

    pub fn address(address: &Address) -> Self {
        Self::hash(ADDRESS, address.as_slice())
    }

    pub fn topic(position: usize, topic: &B256) -> Self {
        Self::hash(position as u8 + 1, topic.as_slice())
    }

    fn hash(kind: u8, value: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[kind]).update(value);
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(u64::from_be_bytes(first).min(u64::MAX - 1))
    }
}

/// The ids of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockIds {
    /// Ascending; [`LogId::ANY`] alone where there are too many.
    pub ids: Vec<LogId>,
}

impl BlockIds {
    pub fn any() -> Self {
        Self { ids: vec![LogId::ANY] }
    }

    pub fn of(receipts: &[Receipt]) -> Self {
        let logs = receipts.iter().flat_map(|receipt| receipt.logs());
        Self::collect(logs.map(|log: &Log| (log.address, log.topics())))
    }

    /// The ids of logs, each an address and its topics.
    pub fn collect<'a>(logs: impl Iterator<Item = (Address, &'a [B256])>) -> Self {
        let mut collector = IdCollector::default();
        for (address, topics) in logs {
            collector.add(&address, topics);
        }
        collector.finish()
    }
}

/// Gathers the ids of a block.
#[derive(Debug, Default)]
pub(super) struct IdCollector {
    ids: BTreeSet<LogId>,
    /// The address and first topic of the log before: logs of one contract come in rows, and hashing costs most.
    last: Option<(Address, Option<B256>)>,
}

impl IdCollector {
    pub fn add(&mut self, address: &Address, topics: &[B256]) {
        if self.ids.len() > MAX_BLOCK_IDS {
            return;
        }
        let first = topics.first().copied();
        let (same_address, same_first) = match &self.last {
            Some((last, topic)) => (last == address, *topic == first),
            None => (false, false),
        };
        if !same_address {
            self.ids.insert(LogId::address(address));
        }
        for (position, topic) in topics.iter().enumerate() {
            if position > 0 || !same_first {
                self.ids.insert(LogId::topic(position, topic));
            }
        }
        self.last = Some((*address, first));
    }

    pub fn finish(self) -> BlockIds {
        match self.ids.len() > MAX_BLOCK_IDS {
            true => BlockIds::any(),
            false => BlockIds { ids: self.ids.into_iter().collect() },
        }
    }
}

/// What a search looks for: logs of any of some addresses, with any of some topics at each position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// A block may match where each clause has an id of it.
    pub(super) clauses: Vec<BTreeSet<LogId>>,
}

impl LogQuery {
    /// An empty set matches anything; it is no clause.
    pub fn new(addresses: &[Address], topics: &[Vec<B256>]) -> Self {
        let addresses: BTreeSet<_> = addresses.iter().map(LogId::address).collect();
        let topics = topics.iter().enumerate().map(|(position, alternatives)| {
            alternatives.iter().map(|topic| LogId::topic(position, topic)).collect()
        });
        let clauses = std::iter::once(addresses).chain(topics).filter(|clause| !clause.is_empty());
        Self { clauses: clauses.collect() }
    }

    /// Whether a block with these ids may match.
    pub(super) fn may_match(&self, block: &BlockIds) -> bool {
        block.ids.first() == Some(&LogId::ANY)
            || self.clauses.iter().all(|clause| clause.iter().any(|id| block.ids.binary_search(id).is_ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_tell_ids_apart() {
        let value = B256::repeat_byte(7);
        let ids: BTreeSet<_> = (0..4).map(|position| LogId::topic(position, &value)).collect();
        assert_eq!(ids.len(), 4);
        assert!(!ids.contains(&LogId::address(&Address::repeat_byte(7))));
    }

    #[test]
    fn a_block_with_too_many_ids_matches_everything() {
        let topics: Vec<[B256; 1]> =
            (0..=MAX_BLOCK_IDS as u64).map(|n| [B256::left_padding_from(&n.to_be_bytes())]).collect();
        let logs = |n: usize| topics[..n].iter().map(|topics| (Address::ZERO, topics.as_slice()));
        let full = BlockIds::collect(logs(MAX_BLOCK_IDS - 1));
        assert_eq!(full.ids.len(), MAX_BLOCK_IDS);
        let absent = LogQuery::new(&[Address::repeat_byte(1)], &[]);
        assert!(!absent.may_match(&full));
        assert!(LogQuery::new(&[Address::ZERO], &[vec![topics[5][0]]]).may_match(&full));
        assert_eq!(BlockIds::collect(logs(MAX_BLOCK_IDS)), BlockIds::any());
        assert!(absent.may_match(&BlockIds::any()));
    }
}
