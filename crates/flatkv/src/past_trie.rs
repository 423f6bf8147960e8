//! The state trie as it was after an earlier block, in memory: the head's nodes, with everything
//! above the block taken back.

use crate::{CommitmentKind, FlatKv, Head};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_flatkv_storage::{
    db::{Family, Pinned},
    error::corrupt,
    rows::{meta, read_changed_accounts, read_head},
};
use hearth_primitives::{
    Account, AccountChange, Changeset, Height, RootTracker, SlotChange, StateError, StateReader,
};
use hearth_trie::{AccountProof, NodeSource, StateTrie, node_key};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Most accounts and slots that are taken back to come to an earlier trie: about 1 GB in memory.
pub const TAKEN_BACK_MAX: usize = 4_000_000;

/// The state trie after a block. What is applied to it can be hashed and proved, and not committed.
///
/// It looks at the store as of the moment when it was made, so commits, unwinds and pruning do not
/// disturb it; but it keeps RocksDB from letting go of what they replace.
pub struct PastTrie<'a>(StateTrie<'a>);

impl FlatKv {
    /// The state trie after the block at a height, made by taking back every block above it: the
    /// cost grows with the accounts and slots that those changed.
    ///
    /// # Errors
    /// As [`Self::trie`] and [`Self::at`]; [`StateError::TooFarBack`] where more than
    /// [`TAKEN_BACK_MAX`] accounts and slots have changed since.
    pub fn trie_at(self: &Arc<Self>, height: Height) -> Result<PastTrie<'_>, StateError> {
        let (pinned, head, changes) = self.pinned_at(height)?;
        let mut trie = StateTrie::new(Arc::new(PinnedNodes(Arc::new(pinned))), head);
        trie.apply(&changes)?;
        Ok(PastTrie(trie))
    }

    /// The store as of now, the root of its head, and what takes the head's state back to that
    /// after the block at a height.
    fn pinned_at(self: &Arc<Self>, height: Height) -> Result<(Pinned<'_>, B256, Changeset), StateError> {
        let (pinned, head) = self.pin_for(height)?;
        let changes = self.between(&pinned, height, head.height)?.back();
        Ok((pinned, head.commitment, changes))
    }

    /// The store as of now, which has the state after the block at a height, and its head.
    pub(crate) fn pin_for(self: &Arc<Self>, height: Height) -> Result<(Pinned<'_>, Head), StateError> {
        if self.core.kind != CommitmentKind::Mpt {
            return Err(self.core.no_trie());
        }
        self.at(height)?;
        let pinned = self.core.pin_with_nodes()?;
        let head = read_head(&pinned.get(Family::Metadata, meta::HEAD)?.ok_or_else(|| corrupt("head"))?)?;
        Ok((pinned, head))
    }

    /// What changed between the states after two blocks.
    pub(crate) fn between(
        self: &Arc<Self>,
        pinned: &Pinned<'_>,
        low: Height,
        high: Height,
    ) -> Result<Between, StateError> {
        // Pruned, or unwound, since it was looked at.
        let gone = || self.at(low).map_or_else(|gone| gone, |_| corrupt("changes"));
        Between::read(pinned, low, high, TAKEN_BACK_MAX)?.ok_or_else(gone)
    }

    /// What the state root after the block at a height proves of an account and of some of its
    /// slots.
    ///
    /// # Errors
    /// As [`Self::trie_at`].
    pub fn prove(
        self: &Arc<Self>,
        height: Height,
        address: &Address,
        slots: &[U256],
    ) -> Result<AccountProof, StateError> {
        let view = self.at(height)?;
        let mut trie = self.trie_at(height)?;
        let proof = trie.prove(address, slots)?;
        // The trie has the values in its leaves; flat state has them too, and both must agree.
        if view.account(address)? != proof.account {
            return Err(corrupt("trie"));
        }
        Ok(proof)
    }
}

impl PastTrie<'_> {
    /// The account, and the nodes that prove it and its slots, against [`RootTracker::root`].
    ///
    /// # Errors
    /// [`StateError::Store`]; [`StateError::MissingNode`] for a damaged trie.
    pub fn prove(&mut self, address: &Address, slots: &[U256]) -> Result<AccountProof, StateError> {
        self.0.prove(address, slots)
    }
}

impl RootTracker for PastTrie<'_> {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        self.0.apply(changes)
    }

    fn root(&mut self) -> Result<B256, StateError> {
        self.0.root()
    }
}

/// What changed between the states after two blocks: of each account and slot both values, once.
pub(crate) struct Between(BTreeMap<Address, Both>);

/// An account in both states, and its slots that changed.
struct Both {
    low: Option<Account>,
    high: Option<Account>,
    /// Of each slot the value in the lower state and that in the higher one.
    slots: HashMap<U256, (U256, U256)>,
}

/// What takes the state after the block at `from` back to that after `to`; see [`Between::read`].
pub(crate) fn taken_back(
    pinned: &Pinned<'_>,
    to: Height,
    from: Height,
    limit: usize,
) -> Result<Option<Changeset>, StateError> {
    Ok(Between::read(pinned, to, from, limit)?.map(Between::back))
}

impl Between {
    /// Reads the changes of the blocks above `low` up to `high`. `None` where those of one are
    /// gone.
    pub(crate) fn read(
        pinned: &Pinned<'_>,
        low: Height,
        high: Height,
        limit: usize,
    ) -> Result<Option<Self>, StateError> {
        let mut all: BTreeMap<Address, Both> = BTreeMap::new();
        let mut count = 0;
        // Oldest first: the value before the first change is that of the lower state. A destroyed
        // account lists all its slots.
        for height in low + 1..=high {
            let Some(row) = pinned.get(Family::Changes, &height.to_be_bytes())? else { return Ok(None) };
            for AccountChange { address, old, new, storage, .. } in read_changed_accounts(&row)? {
                count += 1 + storage.len();
                let both = Both { low: old, high: new, slots: HashMap::new() };
                let both = all.entry(address).or_insert(both);
                both.high = new;
                for slot in storage {
                    both.slots.entry(slot.slot).or_insert((slot.old, slot.new)).1 = slot.new;
                }
            }
            if count > limit {
                // Some changed several times: what counts is what is in memory.
                count = all.values().map(|both| 1 + both.slots.len()).sum();
                if count > limit {
                    return Err(StateError::TooFarBack { height: low, limit });
                }
            }
        }
        Ok(Some(Self(all)))
    }

    /// The changes that take the higher state back to the lower one.
    pub(crate) fn back(self) -> Changeset {
        self.changes(|Both { low, high, slots }| {
            let slots = slots.into_iter().map(|(slot, (low, high))| SlotChange { slot, old: high, new: low });
            (high, low, slots.collect())
        })
    }

    /// The changes that take the lower state to the higher one.
    pub(crate) fn forth(self) -> Changeset {
        self.changes(|Both { low, high, slots }| {
            let slots = slots.into_iter().map(|(slot, (low, high))| SlotChange { slot, old: low, new: high });
            (low, high, slots.collect())
        })
    }

    fn changes(
        self,
        turn: impl Fn(Both) -> (Option<Account>, Option<Account>, Vec<SlotChange>),
    ) -> Changeset {
        let accounts = self.0.into_iter().map(|(address, both)| {
            let (old, new, storage) = turn(both);
            AccountChange { address, old, new, wiped: false, storage }
        });
        Changeset { accounts: accounts.collect(), codes: Vec::new() }
    }
}

/// The trie family as of one moment.
pub(crate) struct PinnedNodes<'a>(pub(crate) Arc<Pinned<'a>>);

impl NodeSource for PinnedNodes<'_> {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        let key = node_key(owner, path);
        match self.0.get(Family::Trie, &key)? {
            Some(rlp) if keccak256(&*rlp) == *hash => Ok(rlp.to_vec()),
            _ => Err(StateError::MissingNode { hash: *hash }),
        }
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        // Only what is written back to the store needs the paths that a dropped trie leaves.
        Ok(Vec::new())
    }
}
