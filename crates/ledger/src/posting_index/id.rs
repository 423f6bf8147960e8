//! What blocks are found by.

use alloy_primitives::{Address, B256, Log};
use hearth_primitives::Receipt;
use std::collections::BTreeSet;

/// Most ids of a block that are kept; a block with more counts as holding every one. Bounds the row
/// of a commit (128 KiB) and the memory of a merge.
pub(super) const MAX_BLOCK_IDS: usize = 16_384;

/// Position that stands for an address in the hash of an id; topics have 1 to 4.
const ADDRESS: u8 = 0;

/// An address, or a topic at a position, as 64 bits of a hash. Two that fall together make a search
/// look at blocks in vain; they never hide one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct IndexId(pub u64);

impl IndexId {
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
    /// Ascending; [`IndexId::ANY`] alone where there are too many.
    pub ids: Vec<IndexId>,
}

impl BlockIds {
    pub fn any() -> Self {
        Self { ids: vec![IndexId::ANY] }
    }

    /// The ids of accounts, in any order and with repetitions.
    pub fn of_accounts(accounts: impl Iterator<Item = Address>) -> Self {
        let mut ids: Vec<_> = accounts.map(|account| IndexId::address(&account)).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > MAX_BLOCK_IDS { Self::any() } else { Self { ids } }
    }

    /// The ids of the logs in receipts.
    pub fn of_receipts(receipts: &[Receipt]) -> Self {
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
    ids: BTreeSet<IndexId>,
    /// The address and first topic of the log before: logs of one contract come in rows, and
    /// hashing costs most.
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
            self.ids.insert(IndexId::address(address));
        }
        for (position, topic) in topics.iter().enumerate() {
            if position > 0 || !same_first {
                self.ids.insert(IndexId::topic(position, topic));
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

/// What a search looks for: blocks with logs of any of some addresses and any of some topics at
/// each position, or blocks with any of some accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexQuery {
    /// A block may match where each clause has an id of it.
    pub(super) clauses: Vec<BTreeSet<IndexId>>,
}

impl IndexQuery {
    /// Logs of any of some addresses, with any of some topics at each position. An empty list
    /// matches anything.
    pub fn logs(addresses: &[Address], topics: &[Vec<B256>]) -> Self {
        let addresses: BTreeSet<_> = addresses.iter().map(IndexId::address).collect();
        let topics = topics.iter().enumerate().map(|(position, alternatives)| {
            alternatives.iter().map(|topic| IndexId::topic(position, topic)).collect()
        });
        Self::of(std::iter::once(addresses).chain(topics))
    }

    /// Blocks with at least one account of each list. An empty list matches anything.
    pub fn accounts(lists: &[&[Address]]) -> Self {
        Self::of(lists.iter().map(|accounts| accounts.iter().map(IndexId::address).collect()))
    }

    /// An empty set matches everything, so it adds no clause.
    fn of(clauses: impl Iterator<Item = BTreeSet<IndexId>>) -> Self {
        Self { clauses: clauses.filter(|clause| !clause.is_empty()).collect() }
    }

    /// Whether every block may match.
    pub fn matches_all(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Whether a block with these ids may match.
    pub(super) fn may_match(&self, block: &BlockIds) -> bool {
        block.ids.first() == Some(&IndexId::ANY)
            || self.clauses.iter().all(|clause| clause.iter().any(|id| block.ids.binary_search(id).is_ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_tell_ids_apart() {
        let value = B256::repeat_byte(7);
        let ids: BTreeSet<_> = (0..4).map(|position| IndexId::topic(position, &value)).collect();
        assert_eq!(ids.len(), 4);
        assert!(!ids.contains(&IndexId::address(&Address::repeat_byte(7))));
    }

    #[test]
    fn accounts_of_a_block_are_listed_once_and_bounded() {
        let account = |n: u64| Address::left_padding_from(&n.to_be_bytes());
        let block = BlockIds::of_accounts([3, 1, 3, 2].into_iter().map(account));
        assert_eq!(block.ids.len(), 3);
        assert!(block.ids.is_sorted());
        assert!(IndexQuery::accounts(&[&[account(9), account(2)], &[account(1)]]).may_match(&block));
        assert!(!IndexQuery::accounts(&[&[account(2)], &[account(9)]]).may_match(&block));
        assert!(IndexQuery::accounts(&[&[], &[account(1)]]).may_match(&block));
        assert!(IndexQuery::accounts(&[&[], &[]]).matches_all());
        let full = BlockIds::of_accounts((0..MAX_BLOCK_IDS as u64).map(account));
        assert_eq!(full.ids.len(), MAX_BLOCK_IDS);
        assert_eq!(BlockIds::of_accounts((0..=MAX_BLOCK_IDS as u64).map(account)), BlockIds::any());
    }

    #[test]
    fn a_block_with_too_many_ids_matches_everything() {
        let topics: Vec<[B256; 1]> =
            (0..=MAX_BLOCK_IDS as u64).map(|n| [B256::left_padding_from(&n.to_be_bytes())]).collect();
        let logs = |n: usize| topics[..n].iter().map(|topics| (Address::ZERO, topics.as_slice()));
        let full = BlockIds::collect(logs(MAX_BLOCK_IDS - 1));
        assert_eq!(full.ids.len(), MAX_BLOCK_IDS);
        let absent = IndexQuery::logs(&[Address::repeat_byte(1)], &[]);
        assert!(!absent.may_match(&full));
        assert!(IndexQuery::logs(&[Address::ZERO], &[vec![topics[5][0]]]).may_match(&full));
        assert_eq!(BlockIds::collect(logs(MAX_BLOCK_IDS)), BlockIds::any());
        assert!(absent.may_match(&BlockIds::any()));
    }
}
