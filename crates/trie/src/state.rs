//! The two-level state trie: accounts by the hash of their address, each with a storage trie of its
//! own.

use crate::{
    NodeWrite, TrieUpdate, damaged,
    former::Former,
    many::Entry,
    node::{Link, nibbles},
    tree::{NodeSource, Tree},
};
use alloy_primitives::{
    Address, B256, U256, keccak256,
    map::{AddressMap, AddressSet},
};
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use hearth_keccak::keccak256_each;
use hearth_primitives::{Account, AccountChange, Changeset, RootTracker, SlotChange, StateError};
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Changed slots of a write set from which on accounts are worked on in parallel.
const PARALLEL_SLOTS: usize = 128;
/// Changed accounts from which on roots are computed in parallel.
const PARALLEL_ACCOUNTS: usize = 64;
/// Accounts whose storage tries one thread hashes together.
const STORAGES_AT_ONCE: usize = 32;

/// Slots whose hashes need no allocation.
const FEW_SLOTS: usize = 8;
/// The same of accounts.
const FEW_ACCOUNTS: usize = 8;
/// Bytes of the RLP of a slot's value: a byte that says its length, and a word.
const SLOT_BYTES: usize = 33;
/// Bytes of the RLP of an account, at most: two bytes before the list; nonce, balance, two hashes.
const ACCOUNT_BYTES: usize = 2 + 9 + 33 + 33 + 33;

/// Levels of nodes that stay in memory at first when a trie is made smaller: with a million leaves
/// all but the lowest.
const TRIM_LEVELS: usize = 5;
/// Bytes of nodes of an account's storage from which on it stays open when a trie is made smaller.
const OPEN_BYTES: usize = 64 << 10;
/// What an open account takes in memory without its storage, about, in bytes.
const ACCOUNT_MEMORY_BYTES: usize = size_of::<OpenAccount>() + 64;

/// A state trie and the changes made on top of it.
///
/// After an error in the middle of a change every further use repeats that error.
pub struct StateTrie<'a> {
    pub(crate) source: Arc<dyn NodeSource + 'a>,
    base: B256,
    pub(crate) accounts: Tree,
    pub(crate) open: AddressMap<Box<OpenAccount>>,
    /// Accounts whose leaf is behind.
    behind: Vec<Address>,
    /// Accounts that the session changed, for collecting their nodes.
    touched: AddressSet,
    /// What nodes and accounts in memory take, over all sessions that this trie was handed through;
    /// about, in bytes.
    kept: usize,
    /// A failure in the middle of a change leaves nodes half-changed; it is the answer from then
    /// on.
    failed: Option<StateError>,
}

/// An account that something was applied to.
pub(crate) struct OpenAccount {
    key: [u8; 64],
    pub(crate) account: Option<Account>,
    pub(crate) storage: Tree,
    behind: bool,
    /// Slots that changed since the storage was hashed.
    changed_slots: usize,
}

impl<'a> StateTrie<'a> {
    /// The trie with this root; nothing is loaded yet.
    pub fn new(source: Arc<dyn NodeSource + 'a>, root: B256) -> Self {
        let accounts = Tree::new(None, root);
        Self {
            source,
            base: root,
            accounts,
            open: AddressMap::default(),
            behind: Vec::new(),
            touched: AddressSet::default(),
            kept: 0,
            failed: None,
        }
    }

    /// Root that the session started from.
    pub fn base(&self) -> B256 {
        self.base
    }

    pub(crate) fn guard<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        run(self).inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// The account with what its leaf says of its storage; `None` where the nodes prove that there
    /// is none. A node that is missing leaves the trie as fit for use as before.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn account(&mut self, address: &Address) -> Result<Option<Account>, StateError> {
        self.opened(address).map(|open| open.account)
    }

    /// The value of a slot; zero where the nodes prove that none is set.
    ///
    /// # Errors
    /// Those of [`Self::account`].
    pub fn slot(&mut self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let source = self.source.clone();
        let key = nibbles(&keccak256(slot.to_be_bytes::<32>()));
        match self.opened(address)?.storage.get(&*source, &key)? {
            Some(mut leaf) => U256::decode(&mut leaf).map_err(|_| damaged()),
            None => Ok(U256::ZERO),
        }
    }

    /// Root of an account's storage; the empty trie's where there is no account.
    ///
    /// # Errors
    /// Those of [`Self::account`].
    pub fn storage_root(&mut self, address: &Address) -> Result<B256, StateError> {
        Ok(self.opened(address)?.storage.root(false))
    }

    fn opened(&mut self, address: &Address) -> Result<&mut OpenAccount, StateError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        if !self.open.contains_key(address) {
            let open = self.open_account(keccak256(address))?;
            self.open.insert(*address, open);
        }
        self.open.get_mut(address).map(Box::as_mut).ok_or_else(damaged)
    }

    /// The nodes that changed since the trie was made, by their keys; `None` for one that left.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn changed_nodes(&mut self) -> Result<Vec<NodeWrite>, StateError> {
        self.root()?;
        let source = self.source.clone();
        let mut nodes = Vec::new();
        self.kept += self.accounts.collect(&*source, &mut nodes)?;
        for address in self.touched.drain() {
            if let Some(open) = self.open.get_mut(&address) {
                self.kept += open.storage.collect(&*source, &mut nodes)?;
            }
        }
        Ok(nodes)
    }

    fn apply_all(&mut self, changes: &Changeset) -> Result<(), StateError> {
        let closed = changes.accounts.iter().filter(|change| !self.open.contains_key(&change.address));
        let closed: SmallVec<[&AccountChange; FEW_ACCOUNTS]> = closed.collect();
        let mut hashes: SmallVec<[B256; FEW_ACCOUNTS]> = smallvec![B256::ZERO; closed.len()];
        let addresses: SmallVec<[Address; FEW_ACCOUNTS]> =
            closed.iter().map(|change| change.address).collect();
        keccak256_each(&addresses, &mut hashes);
        let keys = closed.iter().zip(&hashes).map(|(change, hash)| {
            let former = Former::of_account(&*self.source, change);
            Entry { key: nibbles(hash), former, value: () }
        });
        let keys = keys.collect();
        self.accounts.load(&*self.source, keys)?;
        let mut hashes = hashes.iter();
        let mut work = Vec::with_capacity(changes.accounts.len());
        for change in &changes.accounts {
            let open = match self.open.remove(&change.address) {
                Some(open) => open,
                None => self.open_account(*hashes.next().ok_or_else(damaged)?)?,
            };
            work.push((open, change));
        }
        let source = &*self.source;
        let slots: usize = changes.accounts.iter().map(|change| change.storage.len()).sum();
        if slots >= PARALLEL_SLOTS && work.len() > 1 {
            work.par_iter_mut().try_for_each(|(open, change)| {
                open.apply(source, change, &slot_hashes(change.storage.iter()))
            })?;
        } else {
            // Few slots of many accounts are hashed together.
            let hashes = slot_hashes(changes.accounts.iter().flat_map(|change| &change.storage));
            let mut hashes = hashes.as_slice();
            for (open, change) in &mut work {
                let (own, behind) = hashes.split_at(change.storage.len());
                open.apply(source, change, own)?;
                hashes = behind;
            }
        }
        for (mut open, change) in work {
            self.touched.insert(change.address);
            if !std::mem::replace(&mut open.behind, true) {
                self.behind.push(change.address);
            }
            self.open.insert(change.address, open);
        }
        Ok(())
    }

    /// Opens the account with this hash of its address.
    pub(crate) fn open_account(&mut self, hash: B256) -> Result<Box<OpenAccount>, StateError> {
        self.kept += ACCOUNT_MEMORY_BYTES;
        let key = nibbles(&hash);
        let (account, root) = match self.accounts.get(&*self.source, &key)? {
            None => (None, EMPTY_ROOT_HASH),
            Some(mut leaf) => {
                let leaf = TrieAccount::decode(&mut leaf).map_err(|_| damaged())?;
                let TrieAccount { nonce, balance, storage_root, code_hash } = leaf;
                (Some(Account { nonce, balance, code_hash }), storage_root)
            }
        };
        let storage = Tree::new(Some(hash), root);
        Ok(Box::new(OpenAccount { key, account, storage, behind: false, changed_slots: 0 }))
    }

    /// Brings the leaves of all changed accounts up to date and hashes.
    fn catch_up(&mut self) -> Result<B256, StateError> {
        let addresses = std::mem::take(&mut self.behind);
        let parallel = addresses.len() >= PARALLEL_ACCOUNTS;
        let mut work = Vec::with_capacity(addresses.len());
        for address in addresses {
            let open = self.open.remove(&address).ok_or_else(damaged)?;
            work.push((address, open, EMPTY_ROOT_HASH));
        }
        if parallel {
            work.par_chunks_mut(STORAGES_AT_ONCE).for_each(hash_storages);
        } else {
            hash_storages(&mut work);
        }
        // A removal may fold a branch and then needs the node that is left over. Removals come
        // last, so that only those nodes are needed that the final trie folds: a witness holds no
        // others.
        let mut rlp = Vec::new();
        let leaves = work.iter().filter_map(|(_, open, storage_root)| {
            let Account { nonce, balance, code_hash } = open.account?;
            let leaf = TrieAccount { nonce, balance, storage_root: *storage_root, code_hash };
            // Opening the account loaded its leaf; one that was trimmed since is read.
            let (former, value) = (Former::Unknown, encode::<ACCOUNT_BYTES>(&leaf, &mut rlp));
            Some(Entry { key: open.key, former, value })
        });
        self.accounts.insert_many(&*self.source, leaves.collect())?;
        for (address, mut open, _) in work {
            if open.account.is_none() {
                self.accounts.remove(&*self.source, &open.key, Former::Unknown)?;
            }
            open.behind = false;
            self.open.insert(address, open);
        }
        Ok(self.accounts.root(parallel))
    }
}

/// Computes the storage roots of accounts: small tries together, large ones on all cores.
fn hash_storages(work: &mut [(Address, Box<OpenAccount>, B256)]) {
    let small = work.iter_mut().filter(|(_, open, _)| open.changed_slots < PARALLEL_SLOTS);
    Link::hash_all(small.map(|(_, open, _)| &mut open.storage.root));
    for (_, open, root) in work {
        *root = open.storage_root();
    }
}

impl RootTracker for StateTrie<'_> {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        self.guard(|trie| trie.apply_all(changes))
    }

    fn root(&mut self) -> Result<B256, StateError> {
        self.guard(Self::catch_up)
    }
}

impl StateTrie<'static> {
    /// What the store has to change, and the trie in memory for the next session on the new root.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn into_update(mut self) -> Result<TrieUpdate, StateError> {
        let update = self.take_update()?;
        Ok(TrieUpdate { trie: Some(Box::new(self)), ..update })
    }

    /// What the store has to change since the last update. The nodes count as stored from then on:
    /// this trie continues with them in memory while the update is committed, and is of no use
    /// where that fails.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn take_update(&mut self) -> Result<TrieUpdate, StateError> {
        let nodes = self.changed_nodes()?;
        let root = self.root()?;
        let base = std::mem::replace(&mut self.base, root);
        Ok(TrieUpdate { base, root, nodes, without_nodes: false, trie: None })
    }

    /// As [`Self::take_update`], without the nodes: those that changed come with the next update
    /// that has nodes.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn take_root_update(&mut self) -> Result<TrieUpdate, StateError> {
        let root = self.root()?;
        let base = std::mem::replace(&mut self.base, root);
        Ok(TrieUpdate { base, root, nodes: Vec::new(), without_nodes: true, trie: None })
    }

    /// What nodes and accounts in memory take, about, in bytes.
    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.kept
    }

    /// Makes the trie smaller where it takes more than so many bytes: its upper levels stay, which
    /// every path needs, and what changes often. Everything must be stored.
    pub fn trim(&mut self, limit: usize) {
        if self.kept <= limit {
            return;
        }
        // By a quarter, so that not every block trims.
        let goal = limit / 4 * 3;
        self.open.retain(|_, open| open.storage.is_larger_than(OPEN_BYTES));
        let passes = [true, false].into_iter().flat_map(|spares_hot| {
            let from = usize::from(spares_hot);
            (from..=TRIM_LEVELS).rev().map(move |levels| (levels, spares_hot))
        });
        for (levels, spares_hot) in passes {
            self.kept = self.trim_below(levels, spares_hot);
            if self.kept <= goal {
                break;
            }
        }
        if self.kept > goal {
            self.open.clear();
            self.kept = self.accounts.memory_bytes();
        }
        self.accounts.cool();
        self.open.values_mut().for_each(|open| open.storage.cool());
    }

    /// Forgets nodes as [`Tree::trim`]; gives the bytes that are left.
    fn trim_below(&mut self, levels: usize, spares_hot: bool) -> usize {
        let storages = self.open.values_mut();
        let storages: usize =
            storages.map(|open| ACCOUNT_MEMORY_BYTES + open.storage.trim(levels, spares_hot)).sum();
        self.accounts.trim(levels, spares_hot) + storages
    }
}

impl OpenAccount {
    fn storage_root(&mut self) -> B256 {
        self.storage.root(std::mem::take(&mut self.changed_slots) >= PARALLEL_SLOTS)
    }

    /// `hashes` are those of the changed slots.
    fn apply(
        &mut self,
        source: &dyn NodeSource,
        change: &AccountChange,
        hashes: &[B256],
    ) -> Result<(), StateError> {
        self.account = change.new;
        if change.wiped || change.new.is_none() {
            self.storage.clear();
        }
        if change.new.is_none() {
            return Ok(());
        }
        self.changed_slots = self.changed_slots.saturating_add(change.storage.len());
        // Removals last, as for accounts.
        let slots = || change.storage.iter().zip(hashes);
        let mut rlp = Vec::new();
        let set = slots().filter(|(slot, _)| !slot.new.is_zero());
        let set = set.map(|(slot, hash)| {
            let value = encode::<SLOT_BYTES>(&slot.new, &mut rlp);
            Entry { key: nibbles(hash), former: Former::of_slot(source, slot), value }
        });
        self.storage.insert_many(source, set.collect())?;
        for (slot, hash) in slots().filter(|(slot, _)| slot.new.is_zero()) {
            self.storage.remove(source, &nibbles(hash), Former::of_slot(source, slot))?;
        }
        Ok(())
    }
}

/// Hashes of the keys of slots.
fn slot_hashes<'a>(slots: impl Iterator<Item = &'a SlotChange>) -> SmallVec<[B256; FEW_SLOTS]> {
    let keys: SmallVec<[[u8; 32]; FEW_SLOTS]> = slots.map(|slot| slot.slot.to_be_bytes()).collect();
    let mut hashes = smallvec![B256::ZERO; keys.len()];
    keccak256_each(&keys, &mut hashes);
    hashes
}

/// RLP of a value, which is short: of so many bytes at most it needs no allocation. `scratch` is
/// memory for it.
fn encode<const BYTES: usize>(value: &dyn Encodable, scratch: &mut Vec<u8>) -> SmallVec<[u8; BYTES]>
where
    [u8; BYTES]: smallvec::Array<Item = u8>,
{
    scratch.clear();
    value.encode(scratch);
    SmallVec::from_slice(scratch)
}
