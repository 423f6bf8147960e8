//! The state trie as it was after an earlier block, in memory: the head's nodes, with everything
//! above the block taken back.

use crate::{
    CommitmentKind, FlatKv,
    db::{Family, Pinned},
    error::corrupt,
    rows::{meta, read_changed_accounts, read_head},
};
use alloy_primitives::{Address, B256, U256, keccak256};
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

    /// The nodes of the state trie after the block at a height, and its root. Made as
    /// [`Self::trie_at`] makes the trie.
    ///
    /// # Errors
    /// As [`Self::trie_at`].
    pub fn nodes_at(self: &Arc<Self>, height: Height) -> Result<(B256, PastNodes<'_>), StateError> {
        let (pinned, head, changes) = self.pinned_at(height)?;
        let pinned = Arc::new(pinned);
        let mut trie = StateTrie::new(Arc::new(PinnedNodes(pinned.clone())), head);
        trie.apply(&changes)?;
        let root = trie.root()?;
        let changed = trie.changed_nodes()?.into_iter();
        let changed = changed.filter_map(|(key, rlp)| Some((key, rlp?))).collect();
        Ok((root, PastNodes { stored: PinnedNodes(pinned), changed }))
    }

    /// The store as of now, the root of its head, and what takes the head's state back to that
    /// after the block at a height.
    fn pinned_at(self: &Arc<Self>, height: Height) -> Result<(Pinned<'_>, B256, Changeset), StateError> {
        if self.core.kind != CommitmentKind::Mpt {
            return Err(self.core.no_trie());
        }
        self.at(height)?;
        let pinned = self.core.db.pin()?;
        let head = read_head(&pinned.get(Family::Metadata, meta::HEAD)?.ok_or_else(|| corrupt("head"))?)?;
        // Pruned, or unwound, since it was looked at.
        let gone = || self.at(height).map_or_else(|gone| gone, |_| corrupt("changes"));
        let changes = taken_back(&pinned, height, head.height, TAKEN_BACK_MAX)?.ok_or_else(gone)?;
        Ok((pinned, head.commitment, changes))
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

/// An account at the target, and its slots that changed since.
struct Back {
    old: Option<Account>,
    new: Option<Account>,
    /// Of each slot the value at the target and that of the head.
    slots: HashMap<U256, (U256, U256)>,
}

/// What takes the head's state back to that after the block at `to`: of each account and slot the
/// value there, once. `None` where the changes of a block between are gone.
pub(crate) fn taken_back(
    pinned: &Pinned<'_>,
    to: Height,
    from: Height,
    limit: usize,
) -> Result<Option<Changeset>, StateError> {
    let mut back: BTreeMap<Address, Back> = BTreeMap::new();
    let mut count = 0;
    // Oldest first: the value before the first change is that of the target. A destroyed account
    // lists all its slots.
    for height in to + 1..=from {
        let Some(row) = pinned.get(Family::Changes, &height.to_be_bytes())? else { return Ok(None) };
        for AccountChange { address, old, new, storage, .. } in read_changed_accounts(&row)? {
            count += 1 + storage.len();
            let back = back.entry(address).or_insert_with(|| Back { old, new, slots: HashMap::new() });
            back.new = new;
            for slot in storage {
                back.slots.entry(slot.slot).or_insert((slot.old, slot.new)).1 = slot.new;
            }
        }
        if count > limit {
            // Some changed several times: what counts is what is in memory.
            count = back.values().map(|back| 1 + back.slots.len()).sum();
            if count > limit {
                return Err(StateError::TooFarBack { height: to, limit });
            }
        }
    }
    let accounts = back.into_iter().map(|(address, Back { old, new, slots })| {
        let storage = slots.into_iter().map(|(slot, (old, new))| SlotChange { slot, old: new, new: old });
        AccountChange { address, old: new, new: old, wiped: false, storage: storage.collect() }
    });
    Ok(Some(Changeset { accounts: accounts.collect(), codes: Vec::new() }))
}

/// The nodes of the state trie after a block: those of the head, and in their place those that
/// taking back the blocks above it made.
pub struct PastNodes<'a> {
    stored: PinnedNodes<'a>,
    changed: HashMap<Vec<u8>, Vec<u8>>,
}

impl NodeSource for PastNodes<'_> {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        match self.changed.get(&node_key(owner, path)) {
            // A node of the witness is what clients hash: a wrong one must not leave.
            Some(rlp) if keccak256(rlp) == *hash => Ok(rlp.clone()),
            Some(_) => Err(StateError::MissingNode { hash: *hash }),
            None => self.stored.node(owner, path, hash),
        }
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        Ok(Vec::new())
    }
}

/// The trie family as of one moment.
struct PinnedNodes<'a>(Arc<Pinned<'a>>);

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
