//! The trie against alloy's root functions, over random write sets.

use crate::{
    NodeSource, StateTrie, TrieUpdate, WitnessTrie,
    tree::{node_key, node_prefix},
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use hearth_primitives::{Account, AccountChange, Changeset, RootTracker, SlotChange, StateError};
use parking_lot::RwLock;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Accounts = BTreeMap<Address, (Account, BTreeMap<U256, U256>)>;

/// The trie family as a map.
#[derive(Clone, Default)]
struct Memory(Arc<RwLock<BTreeMap<Vec<u8>, Vec<u8>>>>);

impl Memory {
    fn write(&self, update: &TrieUpdate) {
        let mut rows = self.0.write();
        for (key, node) in &update.nodes {
            match node {
                Some(node) => drop(rows.insert(key.clone(), node.clone())),
                None => drop(rows.remove(key)),
            }
        }
    }

    fn rows(&self) -> Rows {
        self.0.read().clone()
    }

    fn session(&self, root: B256) -> StateTrie<'static> {
        StateTrie::new(Arc::new(self.clone()), root)
    }

    /// Applies write sets in one session and stores the result; returns the new root.
    fn commit(&self, root: B256, changes: &[Changeset]) -> B256 {
        let mut session = self.session(root);
        changes.iter().for_each(|changes| session.apply(changes).unwrap());
        let update = session.into_update().unwrap();
        self.write(&update);
        update.root
    }
}

impl NodeSource for Memory {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        let key = node_key(owner, path);
        let node = self.0.read().get(&key).cloned().ok_or(StateError::MissingNode { hash: *hash })?;
        assert_eq!(keccak256(&node), *hash, "another node stands at {key:?}");
        Ok(node)
    }

    fn may_skip_leaves(&self) -> bool {
        true
    }

    fn paths(&self, owner: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        let prefix = node_prefix(Some(owner));
        let rows = self.0.read();
        Ok(rows.keys().filter_map(|key| Some(key.strip_prefix(prefix.as_slice())?.to_vec())).collect())
    }
}

/// [`Memory`] with the number of its reads, whose leaves are skipped or not.
struct Counting {
    memory: Memory,
    may_skip: bool,
    reads: AtomicUsize,
}

impl NodeSource for Counting {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        self.reads.fetch_add(1, Relaxed);
        self.memory.node(owner, path, hash)
    }

    fn may_skip_leaves(&self) -> bool {
        self.may_skip
    }

    fn paths(&self, owner: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        self.memory.paths(owner)
    }
}

impl Memory {
    /// Commits a write set where leaves are skipped or not. Gives the rows and how many nodes were
    /// read.
    fn commit_counted(&self, root: B256, changes: &Changeset, may_skip: bool) -> (Rows, usize) {
        let memory = self.clone_rows();
        let source = Arc::new(Counting { memory, may_skip, reads: AtomicUsize::default() });
        let mut session = StateTrie::new(source.clone() as Arc<dyn NodeSource>, root);
        session.apply(changes).unwrap();
        source.memory.write(&session.into_update().unwrap());
        (source.memory.rows(), source.reads.load(Relaxed))
    }
}

/// The root from scratch, by alloy.
fn expected_root(accounts: &Accounts) -> B256 {
    alloy_trie::root::state_root_unhashed(accounts.iter().map(|(address, (account, storage))| {
        let slots = storage.iter().map(|(slot, value)| (B256::from(*slot), *value));
        let storage_root = alloy_trie::root::storage_root_unhashed(slots);
        let Account { nonce, balance, code_hash } = *account;
        (*address, TrieAccount { nonce, balance, storage_root, code_hash })
    }))
}

/// What one operation of the tests does to an account.
#[derive(Clone, Debug)]
enum Op {
    Set { nonce: u64 },
    Slots(Vec<(u16, u8)>),
    Destroy,
    Recreate(Vec<(u16, u8)>),
}

fn op() -> impl Strategy<Value = Op> {
    let slots = || prop::collection::vec((0..400u16, 0..4u8), 1..40);
    prop_oneof![
        3 => (0..u64::MAX).prop_map(|nonce| Op::Set { nonce }),
        6 => slots().prop_map(Op::Slots),
        1 => Just(Op::Destroy),
        1 => slots().prop_map(Op::Recreate),
    ]
}

/// Blocks of operations on few enough accounts that they meet again, and enough that branches
/// collapse.
fn blocks() -> impl Strategy<Value = Vec<BTreeMap<u16, Op>>> {
    prop::collection::vec(prop::collection::btree_map(0..60u16, op(), 1..25), 1..12)
}

/// Turns a block of operations into a changeset and applies it to the model.
fn changeset(model: &mut Accounts, block: &BTreeMap<u16, Op>) -> Changeset {
    let mut changes = Changeset::default();
    for (number, op) in block {
        let address = Address::left_padding_from(&number.to_be_bytes());
        let before = model.get(&address).cloned();
        let (mut account, mut storage) = before.clone().unwrap_or_default();
        let mut wiped = false;
        let slots: &[(u16, u8)] = match op {
            Op::Set { nonce } => {
                account.nonce = *nonce;
                &[]
            }
            Op::Slots(slots) => slots,
            Op::Destroy => {
                wiped = true;
                &[]
            }
            Op::Recreate(slots) => {
                wiped = true;
                account.balance += U256::from(1);
                slots
            }
        };
        if wiped {
            storage.clear();
        }
        for (slot, value) in slots {
            storage.insert(U256::from(*slot), U256::from(*value) * U256::from(0x0101_0101_0101u64));
        }
        storage.retain(|_, value| !value.is_zero());
        let after = (!matches!(op, Op::Destroy)).then_some((account, storage));
        if before != after {
            let empty = BTreeMap::new();
            let old = before.as_ref().map_or(&empty, |(_, storage)| storage);
            let new = after.as_ref().map_or(&empty, |(_, storage)| storage);
            let value = |map: &BTreeMap<U256, U256>, slot: &U256| map.get(slot).copied().unwrap_or_default();
            let slots: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
            changes.accounts.push(AccountChange {
                address,
                old: before.as_ref().map(|(account, _)| *account),
                new: after.as_ref().map(|(account, _)| *account),
                wiped,
                storage: slots
                    .into_iter()
                    .map(|slot| SlotChange { slot, old: value(old, &slot), new: value(new, &slot) })
                    .filter(|slot| wiped || slot.old != slot.new)
                    .collect(),
            });
        }
        match after {
            Some(after) => drop(model.insert(address, after)),
            None => drop(model.remove(&address)),
        }
    }
    changes
}

#[test]
fn slots_removed_at_once_leave_the_trie_of_the_others() {
    const SLOTS: u16 = 300;
    let block = |slots: Vec<(u16, u8)>| BTreeMap::from([(7, Op::Slots(slots))]);
    for left in [0, 1, 2, 3, 17, SLOTS] {
        let memory = Memory::default();
        let mut model = Accounts::new();
        let filled = changeset(&mut model, &block((0..SLOTS).map(|slot| (slot, 1)).collect()));
        let root = memory.commit(EMPTY_ROOT_HASH, &[filled]);
        let removed = changeset(&mut model, &block((left..SLOTS).map(|slot| (slot, 0)).collect()));
        assert_eq!(memory.commit(root, &[removed]), expected_root(&model), "{left} are left");
        let (fresh, mut scratch) = (Memory::default(), Accounts::new());
        let few = changeset(&mut scratch, &block((0..left).map(|slot| (slot, 1)).collect()));
        assert_eq!(fresh.commit(EMPTY_ROOT_HASH, &[few]), expected_root(&model), "{left} are left");
        assert_eq!(memory.rows(), fresh.rows(), "{left} are left");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn roots_equal_alloys_and_unwinding_restores_every_byte(blocks in blocks()) {
        let memory = Memory::default();
        let mut model = Accounts::new();
        let mut root = EMPTY_ROOT_HASH;
        let mut past = Vec::new();
        for block in &blocks {
            let changes = changeset(&mut model, block);
            past.push((root, memory.rows(), changes.clone()));
            root = memory.commit(root, &[changes]);
            prop_assert_eq!(root, expected_root(&model));
        }
        // From scratch, in one session, the store holds the same bytes.
        let fresh = Memory::default();
        let all: Vec<_> = past.iter().map(|(_, _, changes)| changes.clone()).collect();
        prop_assert_eq!(fresh.commit(EMPTY_ROOT_HASH, &all), root);
        prop_assert_eq!(fresh.rows(), memory.rows());
        // All at once, and block by block.
        let back: Vec<_> = all.iter().rev().map(Changeset::reversed).collect();
        prop_assert_eq!(fresh.commit(root, &back), EMPTY_ROOT_HASH);
        prop_assert!(fresh.rows().is_empty(), "nodes are left of an empty trie");
        for (before, rows, changes) in past.iter().rev() {
            root = memory.commit(root, &[changes.reversed()]);
            prop_assert_eq!(root, *before);
            prop_assert_eq!(&memory.rows(), rows);
        }
    }

    #[test]
    fn skipped_leaves_change_no_row(blocks in blocks()) {
        let memory = Memory::default();
        let mut model = Accounts::new();
        let mut root = EMPTY_ROOT_HASH;
        for block in &blocks {
            let changes = changeset(&mut model, block);
            let [(read, all), (skipped, fewer)] =
                [false, true].map(|may_skip| memory.commit_counted(root, &changes, may_skip));
            prop_assert!(fewer <= all, "{fewer} reads instead of {all}");
            prop_assert_eq!(&read, &skipped);
            root = memory.commit(root, &[changes]);
            prop_assert_eq!(&memory.rows(), &read);
        }
    }

    #[test]
    fn roots_between_write_sets_are_those_of_single_blocks(blocks in blocks()) {
        let memory = Memory::default();
        let mut model = Accounts::new();
        let mut session = memory.session(EMPTY_ROOT_HASH);
        for block in &blocks {
            session.apply(&changeset(&mut model, block)).unwrap();
            prop_assert_eq!(session.root().unwrap(), expected_root(&model));
        }
        memory.write(&session.into_update().unwrap());
        let mut again = memory.session(expected_root(&model));
        prop_assert_eq!(again.root().unwrap(), expected_root(&model));
    }

    #[test]
    fn a_kept_trie_that_is_made_smaller_goes_on(blocks in blocks(), limit in 0..200_000usize) {
        let (memory, fresh) = (Memory::default(), Memory::default());
        let mut model = Accounts::new();
        let mut kept = Box::new(memory.session(EMPTY_ROOT_HASH));
        let mut root = EMPTY_ROOT_HASH;
        for block in &blocks {
            let changes = changeset(&mut model, block);
            kept.apply(&changes).unwrap();
            let mut update = kept.into_update().unwrap();
            memory.write(&update);
            prop_assert_eq!(update.root, expected_root(&model));
            root = fresh.commit(root, &[changes]);
            prop_assert_eq!(memory.rows(), fresh.rows());
            kept = update.take_trie().unwrap();
            kept.trim(limit);
            prop_assert!(kept.memory_bytes() <= limit, "{} of {limit}", kept.memory_bytes());
        }
    }

    #[test]
    fn a_witness_gives_the_root_or_names_a_missing_node(blocks in blocks(), holes in prop::collection::vec(any::<u16>(), 0..3)) {
        let memory = Memory::default();
        let mut model = Accounts::new();
        let (last, first) = blocks.split_last().unwrap();
        let changes: Vec<_> = first.iter().map(|block| changeset(&mut model, block)).collect();
        let root = memory.commit(EMPTY_ROOT_HASH, &changes);
        let mut nodes: Vec<_> = memory.rows().into_values().map(Bytes::from).collect();
        for hole in &holes {
            if !nodes.is_empty() {
                nodes.swap_remove(usize::from(*hole) % nodes.len());
            }
        }
        let mut witness = WitnessTrie::new(root, nodes.into_iter());
        let changes = changeset(&mut model, last);
        match witness.apply(&changes).and_then(|()| witness.root()) {
            Ok(root) => prop_assert_eq!(root, expected_root(&model)),
            Err(StateError::MissingNode { .. }) if !holes.is_empty() => {
                prop_assert!(witness.root().is_err(), "a failed trie must not answer later");
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn no_bytes_make_a_node_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let root = keccak256(&bytes);
        let mut witness = WitnessTrie::new(root, std::iter::once(Bytes::from(bytes)));
        let account = Some(Account::default());
        let accounts = (0..20u8)
            .map(|n| AccountChange { address: Address::repeat_byte(n), old: None, new: account, wiped: false, storage: vec![] })
            .collect();
        let _ = witness.apply(&Changeset { accounts, codes: vec![] }).and_then(|()| witness.root());
    }
}

#[test]
fn a_leaf_that_a_change_names_is_not_read() {
    const ACCOUNTS: u16 = 300;
    let address = |n: u16| Address::left_padding_from(&n.to_be_bytes());
    let account = |nonce| Account { nonce, ..Account::default() };
    // The first one has as many slots as there are accounts.
    let changes = |old: Option<u64>, new: Option<u64>| {
        let value = |of: Option<u64>| of.map_or(U256::ZERO, |n| U256::from(n) << 200);
        let slot = |n: u16| SlotChange { slot: U256::from(n), old: value(old), new: value(new) };
        let storage = |n| if n == 0 { (0..ACCOUNTS).map(slot).collect() } else { Vec::new() };
        let change = |n: u16| {
            let (old, new) = (old.map(account), Some(account(new.unwrap_or_default())));
            AccountChange { address: address(n), old, new, wiped: false, storage: storage(n) }
        };
        Changeset { accounts: (0..ACCOUNTS).map(change).collect(), codes: vec![] }
    };
    let memory = Memory::default();
    let root = memory.commit(EMPTY_ROOT_HASH, &[changes(None, Some(1))]);
    let leaves = usize::from(ACCOUNTS) - 1 + usize::from(ACCOUNTS);
    let reads = |changes: Changeset, may_skip| memory.commit_counted(root, &changes, may_skip);
    let replaced = |old| changes(Some(old), Some(2));
    let ((rows, all), (same, few)) = (reads(replaced(1), false), reads(replaced(1), true));
    assert_eq!((all - few, &same), (leaves, &rows), "of the account with slots the leaf is read");
    assert_eq!(reads(replaced(7), true), (rows, all), "it is not what stands there");
    // Where a branch folds, the leaf that is left over is read.
    let removed = || changes(Some(1), None);
    let ((rows, all), (same, few)) = (reads(removed(), false), reads(removed(), true));
    assert!(few < all - leaves / 2, "{few} of {all}");
    assert_eq!(rows, same);
}

#[test]
fn a_hundred_thousand_accounts_and_one_with_as_many_slots() {
    let account =
        |n: u64| Account { nonce: n, balance: U256::from(n) * U256::from(1u64 << 40), ..Account::default() };
    let address = |n: u64| Address::from_word(keccak256(n.to_be_bytes()));
    let mut model = Accounts::new();
    for n in 0..100_000 {
        model.insert(address(n), (account(n), BTreeMap::new()));
    }
    let slots: BTreeMap<_, _> = (1..=100_000u64).map(|n| (U256::from(n), U256::from(n))).collect();
    model.insert(address(0), (account(0), slots));
    let change = |address: &Address, (account, storage): &(Account, BTreeMap<U256, U256>)| AccountChange {
        address: *address,
        old: None,
        new: Some(*account),
        wiped: false,
        storage: storage
            .iter()
            .map(|(slot, new)| SlotChange { slot: *slot, old: U256::ZERO, new: *new })
            .collect(),
    };
    let mut accounts: Vec<_> = model.iter().map(|(address, value)| change(address, value)).collect();
    let memory = Memory::default();
    let genesis = Changeset { accounts: accounts.clone(), codes: vec![] };
    let root = memory.commit(EMPTY_ROOT_HASH, &[genesis]);
    assert_eq!(root, expected_root(&model));

    // Destroyed and created again with another slot, in one block and in two.
    let big = accounts.iter_mut().find(|change| change.address == address(0)).unwrap().clone();
    let wiped: Vec<_> =
        big.storage.iter().map(|s| SlotChange { slot: s.slot, old: s.new, new: U256::ZERO }).collect();
    let mut again = wiped.clone();
    again[6].new = U256::from(1);
    let destroy = AccountChange { old: big.new, new: None, wiped: true, storage: wiped, ..big.clone() };
    let created = SlotChange { slot: again[6].slot, old: U256::ZERO, new: U256::from(1) };
    let create =
        AccountChange { old: None, new: big.new, wiped: false, storage: vec![created], ..big.clone() };
    let both = AccountChange { old: big.new, new: big.new, wiped: true, storage: again, ..big.clone() };
    model.get_mut(&address(0)).unwrap().1 = BTreeMap::from([(created.slot, created.new)]);
    let one = |change| Changeset { accounts: vec![change], codes: vec![] };
    let rows = memory.rows();
    let (one_block, two_blocks) = (memory.clone_rows(), memory.clone_rows());
    assert_eq!(one_block.commit(root, &[one(both.clone())]), expected_root(&model));
    let between = two_blocks.commit(root, &[one(destroy)]);
    assert_eq!(two_blocks.commit(between, &[one(create)]), expected_root(&model));
    assert_eq!(one_block.rows(), two_blocks.rows());
    assert_eq!(one_block.commit(expected_root(&model), &[one(both).reversed()]), root);
    assert_eq!(one_block.rows(), rows);
}

impl Memory {
    fn clone_rows(&self) -> Self {
        Self(Arc::new(RwLock::new(self.rows())))
    }
}
