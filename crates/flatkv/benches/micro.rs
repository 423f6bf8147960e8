//! Commits and reads of the store, in numbers: blocks of 1,024 token transfers, small blocks, point reads, reopening.
//!
//! `cargo bench -p hearth-flatkv`; one line a row. The shapes are those of a chain with 100,000 accounts.

use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, NoTables, Options};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateError, StateReader};
use std::{
    collections::BTreeMap,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const ACCOUNTS: u64 = 100_000;
const TRANSFERS: u64 = 1_024;
const LARGE_BLOCKS: usize = 60;
const SMALL_BLOCKS: usize = 10_000;
const READS: usize = 200_000;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Accounts and the slots of one token, and what a block makes of them.
struct Chain {
    nonces: Vec<u64>,
    balances: Vec<u64>,
    random: u64,
}

impl Chain {
    fn new() -> Self {
        let full = |value| vec![value; ACCOUNTS as usize];
        Self { nonces: full(1), balances: full(1_000_000), random: 1 }
    }

    fn pick(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % ACCOUNTS) as usize
    }

    fn account(&self, n: usize) -> Account {
        Account { nonce: self.nonces[n], balance: U256::from(1u64 << 60), ..Account::default() }
    }

    fn genesis(&self) -> Changeset {
        let mut changes = BTreeMap::new();
        for n in 0..ACCOUNTS as usize {
            let new = Some(self.account(n));
            changes.insert(
                address(n),
                AccountChange { address: address(n), old: None, new, wiped: false, storage: vec![] },
            );
        }
        let slot =
            |n: usize| SlotChange { slot: slot(n), old: U256::ZERO, new: U256::from(self.balances[n]) };
        let mut storage: Vec<_> = (0..ACCOUNTS as usize).map(slot).collect();
        storage.sort_unstable_by_key(|slot| slot.slot);
        changes.insert(
            TOKEN,
            AccountChange { address: TOKEN, old: None, new: Some(Account::default()), wiped: false, storage },
        );
        Changeset { accounts: changes.into_values().collect(), codes: vec![] }
    }

    /// Transfers of the token: two slots and the sender's account each.
    fn block(&mut self, transfers: u64) -> Changeset {
        let mut accounts: BTreeMap<Address, AccountChange> = BTreeMap::new();
        let mut slots: BTreeMap<U256, SlotChange> = BTreeMap::new();
        for _ in 0..transfers {
            let (from, to) = (self.pick(), self.pick());
            let old = self.account(from);
            self.nonces[from] += 1;
            let change = AccountChange {
                address: address(from),
                old: Some(old),
                new: None,
                wiped: false,
                storage: vec![],
            };
            accounts.entry(address(from)).or_insert(change).new = Some(self.account(from));
            for (n, amount) in [(from, u64::MAX), (to, 1)] {
                let old = U256::from(self.balances[n]);
                self.balances[n] = self.balances[n].wrapping_add(amount);
                let change = SlotChange { slot: slot(n), old, new: old };
                slots.entry(slot(n)).or_insert(change).new = U256::from(self.balances[n]);
            }
        }
        let token = Some(Account::default());
        let storage = slots.into_values().filter(|slot| slot.old != slot.new).collect();
        accounts
            .insert(TOKEN, AccountChange { address: TOKEN, old: token, new: token, wiped: false, storage });
        Changeset { accounts: accounts.into_values().collect(), codes: vec![] }
    }
}

const TOKEN: Address = Address::repeat_byte(0xcc);

fn address(n: usize) -> Address {
    Address::from_word(keccak256(n.to_be_bytes()))
}

fn slot(n: usize) -> U256 {
    U256::from_be_bytes(keccak256((n as u128).to_be_bytes()).0)
}

fn commit(kv: &FlatKv, changes: &Changeset) -> Fallible<()> {
    let head = kv.head();
    let height = head.map_or(0, |head| head.height + 1);
    let (hash, parent) = (keccak256(height.to_be_bytes()), head.map_or(B256::ZERO, |head| head.hash));
    let block = Commit {
        height,
        hash,
        parent,
        changes,
        trie: None,
        state_root: None,
        index: vec![],
        positions: vec![],
    };
    let done = if head.is_some() { kv.commit(block) } else { kv.init(block) };
    Ok(done?)
}

fn open(dir: &Path, kind: CommitmentKind) -> Fallible<Arc<FlatKv>> {
    let options =
        Options::new(dir.join("state"), dir.join("wal"), kind, Fsync::Interval(Duration::from_secs(1)));
    Ok(FlatKv::open(options, Arc::new(NoTables))?)
}

fn commits(kv: &FlatKv, chain: &mut Chain, name: &str, blocks: usize, transfers: u64) -> Fallible<()> {
    let (mut times, mut pairs) = (Vec::with_capacity(blocks), 0);
    for _ in 0..blocks {
        let changes = chain.block(transfers);
        pairs += changes.accounts.iter().map(|change| 1 + change.storage.len()).sum::<usize>();
        let start = Instant::now();
        commit(kv, &changes)?;
        times.push(start.elapsed());
    }
    let total: Duration = times.iter().sum();
    times.sort_unstable();
    let rate = |count: usize| count as f64 / total.as_secs_f64();
    let at = |part: usize| times[(blocks - 1) * part / 100];
    println!(
        "{name}: {:.0} commits/s, {:.0} pairs/s, p50 {:?}, p99 {:?}",
        rate(blocks),
        rate(pairs),
        at(50),
        at(99)
    );
    Ok(())
}

fn reads<T>(name: &str, mut read: impl FnMut() -> Result<T, StateError>) -> Fallible<()> {
    let start = Instant::now();
    for _ in 0..READS {
        black_box(read()?);
    }
    println!("{name}: {:.0} reads/s", READS as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

fn run(kind: CommitmentKind) -> Fallible<()> {
    let dir = tempfile::tempdir()?;
    let mut chain = Chain::new();
    let kv = open(dir.path(), kind)?;
    let start = Instant::now();
    commit(&kv, &chain.genesis())?;
    println!("{kind}: genesis of {ACCOUNTS} accounts and as many slots in {:?}", start.elapsed());
    commits(&kv, &mut chain, &format!("{kind}: 1,024 transfers"), LARGE_BLOCKS, TRANSFERS)?;
    commits(&kv, &mut chain, &format!("{kind}: 2 transfers"), SMALL_BLOCKS, 2)?;
    if kind == CommitmentKind::None {
        let (latest, past) = (kv.latest().ok_or("no head")?, kv.at(1)?);
        let mut pick = || chain.pick();
        reads("account, latest", || latest.account(&address(pick())))?;
        reads("slot, latest", || latest.storage(&TOKEN, &slot(pick())))?;
        reads("absent slot, latest", || latest.storage(&TOKEN, &U256::from(pick())))?;
        reads("slot, 10,000 heights back", || past.storage(&TOKEN, &slot(pick())))?;
        reads("absent slot, 10,000 heights back", || past.storage(&TOKEN, &U256::from(pick())))?;
        kv.flush()?;
        reads("slot, latest, flushed", || latest.storage(&TOKEN, &slot(pick())))?;
        reads("slot, 10,000 heights back, flushed", || past.storage(&TOKEN, &slot(pick())))?;
    }
    let start = Instant::now();
    let to = kv.head().map_or(0, |head| head.height - 1_000);
    kv.unwind(to)?;
    println!("{kind}: unwind of 1,000 small blocks in {:?}", start.elapsed());
    Ok(())
}

fn main() -> Fallible<()> {
    [CommitmentKind::None, CommitmentKind::LtHash, CommitmentKind::Mpt].into_iter().try_for_each(run)
}
