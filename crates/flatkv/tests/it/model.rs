//! A chain of random blocks with the whole state after each, and a store that is compared with it.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::TrieAccount;
use hearth_flatkv::{
    Commit, CommitmentKind, FlatKv, FlatKvError, Fsync, IndexWrite, JoinedTables, Options, RowWrite,
    StateSettings, StateView,
};
use hearth_primitives::{
    Account, AccountChange, Changeset, Height, RootTracker, SlotChange, StateError, StateReader,
};
use std::num::NonZeroU64;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

pub const ACCOUNTS: u64 = 12;
pub const SLOTS: u64 = 16;
pub const LEGACY_KEYS: u64 = 8;
/// Height of the first block of every model chain; not zero, as for a recorded block.
pub const BASE: Height = 7;

/// A small generator of random numbers (splitmix64).
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

#[derive(Clone, Default, PartialEq, Debug)]
pub struct World {
    pub accounts: BTreeMap<Address, (Account, BTreeMap<U256, U256>)>,
    pub index: BTreeMap<Vec<u8>, Vec<u8>>,
    pub legacy: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Clone)]
pub struct Block {
    pub height: Height,
    pub hash: B256,
    pub parent: B256,
    pub changes: Changeset,
    pub index: Vec<IndexWrite>,
    /// Rows of the data DB `legacy`; only in the parts of a block that is applied.
    pub legacy: Vec<RowWrite>,
    pub world: World,
}

pub fn address(n: u64) -> Address {
    Address::from_word(keccak256(n.to_be_bytes()))
}

pub fn slot(n: u64) -> U256 {
    // Slots at both ends of the key space.
    if n.is_multiple_of(2) { U256::from(n) } else { U256::MAX - U256::from(n) }
}

/// Keys that are prefixes of each other, so that what separates them is the store's doing.
pub fn legacy_key(n: u64) -> Vec<u8> {
    vec![0xff; n as usize + 1]
}

impl Block {
    /// The first block; its world comes from the seed.
    pub fn base(seed: u64) -> Self {
        Self::on(&World::default(), BASE, B256::repeat_byte(0xba), seed)
    }

    /// A block on top of another.
    pub fn next(&self, seed: u64) -> Self {
        Self::on(&self.world, self.height + 1, self.hash, seed)
    }

    /// A block on top of another in several parts, each on top of the one before, to be applied one
    /// by one. The last one has the block's hash and world.
    pub fn parts(top: Option<&Self>, seeds: &[u64]) -> Vec<Self> {
        let (mut world, height, parent) = match top {
            Some(top) => (top.world.clone(), top.height + 1, top.hash),
            None => (World::default(), BASE, B256::repeat_byte(0xba)),
        };
        let (mut parts, mut index) = (Vec::new(), Vec::new());
        for seed in seeds {
            let mut part = Self::on(&world, height, parent, *seed);
            part.write_legacy(*seed);
            index.append(&mut part.index);
            part.index = index.clone();
            world = part.world.clone();
            parts.push(part);
        }
        parts
    }

    fn write_legacy(&mut self, seed: u64) {
        let mut random = Random(seed ^ 0x1e9a_c100);
        for _ in 0..random.below(5) {
            let n = random.below(LEGACY_KEYS);
            // Of several writes to one key in one part the last one counts.
            let value = (random.below(3) > 0).then(|| random.next().to_be_bytes()[..5].to_vec());
            match &value {
                Some(value) => drop(self.world.legacy.insert(legacy_key(n), value.clone())),
                None => drop(self.world.legacy.remove(&legacy_key(n))),
            }
            self.legacy.push(RowWrite { key: legacy_key(n), value });
        }
    }

    fn on(world: &World, height: Height, parent: B256, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut after = world.clone();
        let mut changes = Changeset::default();
        let touched: BTreeSet<_> =
            (0..random.below(5)).map(|_| random.below(ACCOUNTS)).map(address).collect();
        for address in touched {
            changes.accounts.extend(change(&mut after, address, &mut random, &mut changes.codes));
        }
        changes.codes.sort();
        changes.codes.dedup();
        let mut index = vec![put(format!("n{height}").as_bytes(), &seed.to_be_bytes())];
        for _ in 0..random.below(4) {
            let key = format!("k{}", random.below(6)).into_bytes();
            let value = (random.below(3) > 0).then(|| random.next().to_be_bytes().to_vec());
            index.push(IndexWrite { key, value });
        }
        for write in &index {
            match &write.value {
                Some(value) => drop(after.index.insert(write.key.clone(), value.clone())),
                None => drop(after.index.remove(&write.key)),
            }
        }
        let hash = keccak256([parent.as_slice(), &height.to_be_bytes(), &seed.to_be_bytes()].concat());
        Self { height, hash, parent, changes, index, legacy: Vec::new(), world: after }
    }

    /// Commits the block; `session`: through a trie session of the caller's.
    pub fn commit(&self, kv: &Arc<FlatKv>, tables: &Tables, session: bool) -> Result<(), FlatKvError> {
        let mut commit = self.as_commit(tables);
        if session {
            let mut trie = kv.trie()?;
            trie.apply(&self.changes)?;
            commit.trie = Some(trie.into_update()?);
            commit.state_root = Some(self.world.root());
        }
        if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }
    }

    /// Commits the block as one that was prepared.
    pub fn commit_prepared(&self, kv: &Arc<FlatKv>, tables: &Tables) -> Result<bool, FlatKvError> {
        let mut commit = self.as_commit(tables);
        let positions = std::mem::take(&mut commit.positions);
        kv.commit_prepared(kv.prepare(commit)?, positions)
    }

    /// The block as a commit; its rows are in the tables.
    pub fn as_commit(&self, tables: &Tables) -> Commit<'_> {
        Commit {
            height: self.height,
            hash: self.hash,
            parent: self.parent,
            changes: &self.changes,
            trie: None,
            state_root: None,
            index: self.index.clone(),
            positions: tables.append(100 + self.height),
        }
    }
}

fn put(key: &[u8], value: &[u8]) -> IndexWrite {
    IndexWrite { key: key.to_vec(), value: Some(value.to_vec()) }
}

fn change(
    world: &mut World,
    address: Address,
    random: &mut Random,
    codes: &mut Vec<(B256, Bytes)>,
) -> Option<AccountChange> {
    let before = world.accounts.get(&address).cloned();
    let (mut account, mut storage) = before.clone().unwrap_or_default();
    let what = random.below(10);
    let wiped = what < 3;
    if wiped {
        storage.clear();
    }
    if what != 9 {
        account.balance = U256::from(random.next()) << (random.below(3) * 64);
    }
    if what == 4 {
        let code = Bytes::from(random.next().to_be_bytes().to_vec());
        account.code_hash = keccak256(&code);
        codes.push((account.code_hash, code));
    }
    for _ in 0..random.below(6) {
        storage.insert(slot(random.below(SLOTS)), U256::from(random.below(3)) << (random.below(2) * 200));
    }
    storage.retain(|_, value| !value.is_zero());
    let after = (what != 0).then_some((account, storage));
    match after.clone() {
        Some(after) => drop(world.accounts.insert(address, after)),
        None => drop(world.accounts.remove(&address)),
    }
    if before == after {
        return None;
    }
    let empty = BTreeMap::new();
    let old = before.as_ref().map_or(&empty, |(_, storage)| storage);
    let new = after.as_ref().map_or(&empty, |(_, storage)| storage);
    let value = |map: &BTreeMap<U256, U256>, slot: &U256| map.get(slot).copied().unwrap_or_default();
    let slots: BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    let storage = slots
        .into_iter()
        .map(|slot| SlotChange { slot, old: value(old, &slot), new: value(new, &slot) })
        .filter(|slot| wiped || slot.old != slot.new)
        .collect();
    Some(AccountChange {
        address,
        old: before.as_ref().map(|(account, _)| *account),
        new: after.as_ref().map(|(account, _)| *account),
        wiped,
        storage,
    })
}

impl World {
    /// Compares everything that a view says in batches of reads.
    pub fn check_many(&self, view: &StateView, height: Height) {
        // Not in order, and some twice.
        let addresses: Vec<_> = (0..ACCOUNTS).rev().chain([3, 3]).map(address).collect();
        let accounts =
            addresses.iter().map(|address| self.accounts.get(address).map(|(account, _)| *account));
        assert_eq!(view.accounts(&addresses).unwrap(), accounts.collect::<Vec<_>>(), "at {height}");
        let slots = |address: &Address| (0..SLOTS).map(|n| (*address, slot(n))).collect::<Vec<_>>();
        let slots: Vec<_> = addresses.iter().flat_map(slots).collect();
        let value = |(address, slot): &(Address, U256)| {
            let storage = self.accounts.get(address).map(|(_, storage)| storage);
            storage.and_then(|storage| storage.get(slot)).copied().unwrap_or_default()
        };
        assert_eq!(view.slots(&slots).unwrap(), slots.iter().map(value).collect::<Vec<_>>(), "at {height}");
        let keys: Vec<_> = (0..LEGACY_KEYS).rev().map(legacy_key).collect();
        let rows = keys.iter().map(|key| self.legacy.get(key).cloned()).collect::<Vec<_>>();
        assert_eq!(view.legacy_rows(&keys).unwrap(), rows, "at {height}");
    }

    /// The state root from scratch, by alloy.
    pub fn root(&self) -> B256 {
        alloy_trie::root::state_root_unhashed(self.accounts.iter().map(|(address, (account, storage))| {
            let slots = storage.iter().map(|(slot, value)| (B256::from(*slot), *value));
            let storage_root = alloy_trie::root::storage_root_unhashed(slots);
            let Account { nonce, balance, code_hash } = *account;
            (*address, TrieAccount { nonce, balance, storage_root, code_hash })
        }))
    }

    /// Compares every read of a view with this world.
    pub fn check(&self, view: &dyn StateReader, height: Height) -> Result<(), StateError> {
        for address in (0..ACCOUNTS).map(address) {
            let expected = self.accounts.get(&address);
            let account = view.account(&address)?;
            assert_eq!(account, expected.map(|(account, _)| *account), "{address} at {height}");
            let empty = BTreeMap::new();
            let storage = expected.map_or(&empty, |(_, storage)| storage);
            for slot in (0..SLOTS).map(slot) {
                let value = view.storage(&address, &slot)?;
                let expected = storage.get(&slot).copied().unwrap_or_default();
                assert_eq!(value, expected, "slot {slot} of {address} at {height}");
            }
            let mut slots = view.storage_of(&address)?;
            slots.sort();
            let expected: Vec<_> = storage.iter().map(|(slot, value)| (*slot, *value)).collect();
            assert_eq!(slots, expected, "storage of {address} at {height}");
            if let Some(account) = account.filter(Account::has_code) {
                assert_eq!(keccak256(view.code(&account.code_hash)?), account.code_hash);
            }
        }
        Ok(())
    }
}

/// Joined tables that are only positions; shared with the store.
#[derive(Default)]
pub struct Tables {
    ends: Mutex<Vec<u64>>,
}

impl Tables {
    pub fn append(&self, bytes: u64) -> Vec<u64> {
        let mut ends = self.ends.lock().unwrap();
        let end = ends.last().copied().unwrap_or(0) + bytes;
        ends.push(end);
        vec![end]
    }

    /// Loses the last record, as a power cut would.
    pub fn lose_last(&self) {
        self.ends.lock().unwrap().pop();
    }

    pub fn copy(&self) -> Arc<Self> {
        Arc::new(Self { ends: Mutex::new(self.ends.lock().unwrap().clone()) })
    }
}

impl JoinedTables for Tables {
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError> {
        let ends = self.ends.lock().unwrap();
        Ok(positions.iter().all(|position| *position == 0 || ends.contains(position)))
    }

    fn truncate(&self, positions: &[u64]) -> Result<(), StateError> {
        let keep = positions.first().copied().unwrap_or(0);
        self.ends.lock().unwrap().retain(|end| *end <= keep);
        Ok(())
    }

    fn sync(&self) -> Result<(), StateError> {
        Ok(())
    }

    fn positions(&self) -> Vec<u64> {
        vec![self.ends.lock().unwrap().last().copied().unwrap_or(0)]
    }
}

/// A home in a folder of its own.
pub struct Home {
    pub dir: tempfile::TempDir,
    /// As [`StateSettings::state_history_blocks`]; 0 for all.
    pub history_blocks: u64,
    pub kind: CommitmentKind,
    pub tables: Arc<Tables>,
}

impl Home {
    pub fn new(kind: CommitmentKind) -> Self {
        Self { dir: temp_dir(), history_blocks: 0, kind, tables: Arc::default() }
    }

    pub fn options(&self) -> Options {
        self.options_with(|_| ())
    }

    /// The same with other settings.
    pub fn options_with(&self, change: impl FnOnce(&mut StateSettings)) -> Options {
        let mut options = options(self.dir.path(), self.kind);
        options.settings.state_history_blocks = NonZeroU64::new(self.history_blocks);
        change(&mut options.settings);
        options
    }

    pub fn open(&self) -> Result<Arc<FlatKv>, FlatKvError> {
        FlatKv::open(self.options(), self.tables.clone())
    }

    /// The home as a kill would leave it now: what RocksDB has in memory is not in the copy.
    pub fn killed(&self) -> Self {
        let copy =
            Self { tables: self.tables.copy(), history_blocks: self.history_blocks, ..Self::new(self.kind) };
        copy_dir(self.dir.path(), copy.dir.path());
        copy
    }

    /// WAL segments in order.
    pub fn segments(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            fs::read_dir(self.options().wal_dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

/// A folder in memory where the system has one: nothing here cuts the power, so syncing would only
/// cost time.
pub fn temp_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn options(dir: &Path, kind: CommitmentKind) -> Options {
    let mut options = Options::new(dir.join("state"), dir.join("wal"), kind, Fsync::None);
    options.settings.memory_budget_bytes = 64 << 20;
    options.segment_bytes = 2 << 10;
    options
}

/// Copies a folder as it stands at one moment. RocksDB deletes and makes files in the background,
/// so a copy during which the names changed is none, and is made again.
fn copy_dir(from: &Path, to: &Path) {
    loop {
        let before = names(from);
        if copy_entries(from, to).is_ok() && names(from) == before {
            return;
        }
        fs::remove_dir_all(to).unwrap();
    }
}

fn copy_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn names(dir: &Path) -> BTreeSet<std::ffi::OsString> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Compares the whole store with a chain, at every height.
pub fn check(kv: &Arc<FlatKv>, chain: &[Block], kind: CommitmentKind) {
    let Some(top) = chain.last() else {
        assert_eq!(kv.head(), None);
        return;
    };
    let head = kv.head().expect("the model has a head");
    assert_eq!((head.height, head.hash), (top.height, top.hash));
    if kind == CommitmentKind::Mpt {
        assert_eq!(head.commitment, top.world.root());
    }
    assert_eq!(kv.oldest(), Some(BASE));
    check_from(kv, chain, BASE);
}

/// Compares the store with a chain at every height from the oldest one on; below it says so.
pub fn check_from(kv: &Arc<FlatKv>, chain: &[Block], oldest: Height) {
    let top = &chain[chain.len() - 1];
    assert_eq!(kv.oldest(), Some(oldest));
    let kept = &chain[(oldest - BASE) as usize..];
    for block in kept {
        let view = kv.at(block.height).unwrap();
        block.world.check_many(&view, block.height);
        block.world.check(&view, block.height).unwrap();
        // One that looks into history first after some reads.
        let reads = view.for_execution().unwrap();
        block.world.check(&*reads, block.height).unwrap();
        for key in (0..LEGACY_KEYS).map(legacy_key) {
            assert_eq!(
                view.legacy(&key).unwrap().as_ref(),
                block.world.legacy.get(&key),
                "at {}",
                block.height
            );
        }
    }
    for pair in kept.windows(2) {
        pair[0].world.check(&kv.before(pair[1].height).unwrap(), pair[0].height).unwrap();
    }
    assert!(kv.before(oldest).is_err() && kv.before(top.height + 1).is_err());
    let index: BTreeMap<_, _> = kv.index_range(&[], &[0xff], usize::MAX).unwrap().into_iter().collect();
    assert_eq!(index, top.world.index);
    for height in [oldest - 1, top.height + 1] {
        let answer = kv.at(height).err().map(|error| error.to_string());
        let expected = StateError::NotRetained { height, oldest, newest: top.height };
        assert_eq!(answer, Some(expected.to_string()));
    }
}
