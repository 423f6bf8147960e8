//! Trace capsules: everything that is needed to run any transaction of a block again.

use crate::{Account, BlockHashes, BlockOutput, Changeset, Height, StateError, StateReader};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a block read, with the values at its start, and what its steps wrote.
///
/// Transaction `i` runs on the start values plus the write sets of the steps before it: step 0 is
/// what precedes the transactions, step `i + 1` is transaction `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceCapsule {
    /// Accounts that the block looked at, in ascending order of address.
    pub accounts: Vec<CapsuleAccount>,
    /// Block hashes that the block requested (`BLOCKHASH`), in ascending order of height.
    pub block_hashes: Vec<(Height, B256)>,
    /// Write sets: before the transactions, each transaction, after them. Accounts in ascending
    /// order within each.
    pub writes: Vec<Vec<CapsuleWrite>>,
    /// Number of logs of each transaction.
    pub logs: Vec<u64>,
    /// Computed on first use.
    #[doc(hidden)]
    pub index: OnceLock<CapsuleIndex>,
}

/// Which steps wrote an account.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapsuleIndex {
    /// Where the places of each account begin, and where all end.
    first: Vec<usize>,
    /// Step and place within its write set, in the order of steps.
    places: Vec<(u32, u32)>,
}

/// An account at the start of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapsuleAccount {
    /// Its address.
    pub address: Address,
    /// What was there; `None` where the account did not exist.
    pub start: Option<Account>,
    /// Whether `slots` contains every slot that was not zero: the storage was destroyed, or read as
    /// a whole.
    pub whole_storage: bool,
    /// Slots that were looked at, zeros among them, in ascending order.
    pub slots: Vec<(U256, U256)>,
}

/// What a step did to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapsuleWrite {
    /// Which account: its place in [`TraceCapsule::accounts`].
    pub account: u32,
    /// The account afterwards; `None` where it was destroyed or deleted as empty.
    pub new: Option<Account>,
    /// Whether its storage was wiped before `slots` were written.
    pub wiped: bool,
    /// Slots written, in ascending order, with their new values.
    pub slots: Vec<(U256, U256)>,
}

impl TraceCapsule {
    /// The capsule of a block whose execution captured its reads ([`crate::ReadSet::captured`]).
    /// `None` for any other output, and for an inconsistent one: a write without a read, or write
    /// sets for another number of transactions.
    pub fn of(output: &BlockOutput) -> Option<Self> {
        if !output.reads.captured || output.writes.len() != output.receipts.len() + 2 {
            return None;
        }
        let reads = &output.reads;
        let mut accounts: Vec<_> = reads
            .accounts
            .iter()
            .map(|(address, start)| CapsuleAccount { address: *address, start: *start, ..Default::default() })
            .collect();
        accounts.sort_unstable_by_key(|account| account.address);
        let place = |accounts: &[CapsuleAccount], address: &Address| {
            accounts.binary_search_by_key(address, |account| account.address).ok()
        };
        // Slots come in runs of one account.
        let mut last = None;
        for (address, slot, value) in &reads.slots {
            let at = match last {
                Some((known, at)) if known == address => at,
                _ => place(&accounts, address)?,
            };
            last = Some((address, at));
            accounts[at].slots.push((*slot, *value));
        }
        for account in &mut accounts {
            account.slots.sort_unstable_by_key(|(slot, _)| *slot);
        }
        for address in &reads.whole_storage {
            let at = place(&accounts, address)?;
            accounts[at].whole_storage = true;
        }
        let write_set = |changes: &Changeset| {
            let write = |change: &crate::AccountChange| {
                Some(CapsuleWrite {
                    account: u32::try_from(place(&accounts, &change.address)?).ok()?,
                    new: change.new,
                    wiped: change.wiped,
                    slots: change.storage.iter().map(|slot| (slot.slot, slot.new)).collect(),
                })
            };
            changes.accounts.iter().map(write).collect::<Option<Vec<_>>>()
        };
        let writes = output.writes.iter().map(write_set).collect::<Option<Vec<_>>>()?;
        let mut block_hashes = reads.block_hashes.clone();
        block_hashes.sort_unstable();
        let logs = output.receipts.iter().map(|receipt| receipt.logs().len() as u64).collect();
        Some(Self { accounts, block_hashes, writes, logs, index: OnceLock::new() })
    }

    /// Number of transactions.
    pub fn transactions(&self) -> usize {
        self.logs.len()
    }

    /// The write set of a step: 0 before the transactions, `i + 1` transaction `i`. Empty beyond
    /// the last.
    pub fn step(&self, step: usize) -> impl Iterator<Item = (&CapsuleAccount, &CapsuleWrite)> {
        let writes = self.writes.get(step).map_or(&[][..], Vec::as_slice);
        writes.iter().filter_map(|write| Some((self.accounts.get(write.account as usize)?, write)))
    }

    /// Memory that it takes, in bytes, without the allocator's own.
    pub fn size_bytes(&self) -> usize {
        let slot = size_of::<(U256, U256)>();
        let accounts: usize =
            self.accounts.iter().map(|a| size_of::<CapsuleAccount>() + a.slots.len() * slot).sum();
        let write = |write: &CapsuleWrite| size_of::<CapsuleWrite>() + write.slots.len() * slot;
        let writes: usize = self.writes.iter().flatten().map(write).sum();
        size_of::<Self>()
            + accounts
            + writes
            + self.writes.len() * size_of::<Vec<CapsuleWrite>>()
            + self.block_hashes.len() * size_of::<(Height, B256)>()
            + self.logs.len() * size_of::<u64>()
            + (self.accounts.len() + self.writes.iter().map(Vec::len).sum::<usize>()) * size_of::<usize>()
    }

    fn place(&self, address: &Address) -> Option<usize> {
        self.accounts.binary_search_by_key(address, |account| account.address).ok()
    }

    fn index(&self) -> &CapsuleIndex {
        self.index.get_or_init(|| {
            let mut first = vec![0; self.accounts.len() + 1];
            for write in self.writes.iter().flatten() {
                first[write.account as usize + 1] += 1;
            }
            for account in 1..first.len() {
                first[account] += first[account - 1];
            }
            let mut next = first.clone();
            let mut places = vec![(0, 0); first.last().copied().unwrap_or(0)];
            for (step, writes) in (0..).zip(&self.writes) {
                for (place, write) in (0..).zip(writes) {
                    let next = &mut next[write.account as usize];
                    places[*next] = (step, place);
                    *next += 1;
                }
            }
            CapsuleIndex { first, places }
        })
    }

    /// What the first steps did to an account, the last of them first.
    fn writes_of(&self, account: usize, steps: usize) -> impl DoubleEndedIterator<Item = &CapsuleWrite> {
        let index = self.index();
        let all =
            if steps == 0 { &[][..] } else { &index.places[index.first[account]..index.first[account + 1]] };
        let end = all.partition_point(|(step, _)| (*step as usize) < steps);
        all[..end].iter().rev().map(|(step, place)| &self.writes[*step as usize][*place as usize])
    }
}

/// The state at the start of a block, or before one of its transactions, read from its capsule.
/// Values outside of the capsule are read from the underlying state, and counted.
#[derive(Clone, Copy)]
pub struct CapsuleState<'a> {
    capsule: &'a TraceCapsule,
    /// Steps that have been taken.
    steps: usize,
    /// Code by its hash, whatever the height.
    codes: &'a dyn StateReader,
    beneath: &'a dyn StateReader,
    hashes: &'a dyn BlockHashes,
    outside: &'a AtomicU64,
}

impl<'a> CapsuleState<'a> {
    /// The state of a capsule. `codes` only serves code by hash. `beneath` and `hashes` serve reads
    /// outside of the capsule; each such read adds one to `outside`.
    pub fn new(
        capsule: &'a TraceCapsule,
        codes: &'a dyn StateReader,
        beneath: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        outside: &'a AtomicU64,
    ) -> Self {
        Self { capsule, steps: 0, codes, beneath, hashes, outside }
    }

    /// The state right before a transaction.
    pub fn before_transaction(self, index: usize) -> Self {
        Self { steps: index.saturating_add(1), ..self }
    }

    /// The capsule.
    pub fn capsule(&self) -> &'a TraceCapsule {
        self.capsule
    }

    fn count(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }
}

impl StateReader for CapsuleState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(at) = self.capsule.place(address) {
            let written = self.capsule.writes_of(at, self.steps).next();
            return Ok(written.map_or(self.capsule.accounts[at].start, |write| write.new));
        }
        self.count();
        self.beneath.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        if let Some(at) = self.capsule.place(address) {
            for write in self.capsule.writes_of(at, self.steps) {
                if let Ok(at) = write.slots.binary_search_by_key(slot, |(slot, _)| *slot) {
                    return Ok(write.slots[at].1);
                }
                if write.wiped {
                    return Ok(U256::ZERO);
                }
            }
            let account = &self.capsule.accounts[at];
            if let Ok(at) = account.slots.binary_search_by_key(slot, |(slot, _)| *slot) {
                return Ok(account.slots[at].1);
            }
            if account.whole_storage || account.start.is_none() {
                return Ok(U256::ZERO);
            }
        }
        self.count();
        self.beneath.storage(address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let known = self.capsule.place(address).map(|at| (at, &self.capsule.accounts[at]));
        let mut slots: BTreeMap<U256, U256> = match known {
            Some((_, account)) if account.whole_storage || account.start.is_none() => {
                account.slots.iter().copied().collect()
            }
            _ => {
                self.count();
                self.beneath.storage_of(address)?.into_iter().collect()
            }
        };
        for write in known.into_iter().flat_map(|(at, _)| self.capsule.writes_of(at, self.steps).rev()) {
            if write.wiped {
                slots.clear();
            }
            slots.extend(write.slots.iter().copied());
        }
        Ok(slots.into_iter().filter(|(_, value)| !value.is_zero()).collect())
    }
}

impl BlockHashes for CapsuleState<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        if let Ok(at) = self.capsule.block_hashes.binary_search_by_key(&number, |(number, _)| *number) {
            return Ok(self.capsule.block_hashes[at].1);
        }
        self.count();
        self.hashes.block_hash(number)
    }
}
