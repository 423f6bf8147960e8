//! Trace capsules: everything that is needed to run any transaction of a block again.

use crate::{Account, BlockHashes, BlockOutput, Changeset, Height, StateError, StateReader};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a block looked at, with the values at its start, and what its steps wrote.
///
/// Transaction `i` runs on the start values under the write sets of the steps before it: step 0 is what comes before the
/// transactions, step `i + 1` is transaction `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceCapsule {
    /// Accounts that the block looked at, in ascending order of address.
    pub accounts: Vec<CapsuleAccount>,
    /// Block hashes that it asked for (`BLOCKHASH`), in ascending order of height.
    pub block_hashes: Vec<(Height, B256)>,
    /// Write sets: before the transactions, each transaction, after them. Accounts in ascending order within each.
    pub writes: Vec<Vec<CapsuleWrite>>,
    /// Number of logs of each transaction.
    pub logs: Vec<u64>,
}

/// An account at the start of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapsuleAccount {
    /// Its address.
    pub address: Address,
    /// What was there; `None` where the account did not exist.
    pub start: Option<Account>,
    /// Whether `slots` has every slot that was not zero: the storage was destroyed, or asked for as a whole.
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
    /// The capsule of a block that was executed with all of its reads kept. `None` where the output does not hold
    /// together: a write without a read, or write sets for another number of transactions.
    pub fn of(output: &BlockOutput) -> Option<Self> {
        if output.writes.len() != output.receipts.len() + 2 {
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
        Some(Self { accounts, block_hashes, writes, logs })
    }

    /// Number of transactions.
    pub fn transactions(&self) -> usize {
        self.logs.len()
    }

    /// The write set of a step: 0 before the transactions, `i + 1` transaction `i`. Empty beyond the last.
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
    }

    fn account(&self, address: &Address) -> Option<&CapsuleAccount> {
        let at = self.accounts.binary_search_by_key(address, |account| account.address).ok()?;
        Some(&self.accounts[at])
    }
}

/// The state at the start of a block as its capsule has it. What the capsule does not have is asked of the state
/// beneath, and counted.
pub struct CapsuleState<'a> {
    capsule: &'a TraceCapsule,
    /// Code by its hash, whatever the height.
    codes: &'a dyn StateReader,
    beneath: &'a dyn StateReader,
    hashes: &'a dyn BlockHashes,
    outside: &'a AtomicU64,
}

impl<'a> CapsuleState<'a> {
    /// The state of a capsule. `codes` gives code by hash alone; `beneath` and `hashes` are asked for what lies outside
    /// of the capsule, each time adding one to `outside`.
    pub fn new(
        capsule: &'a TraceCapsule,
        codes: &'a dyn StateReader,
        beneath: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        outside: &'a AtomicU64,
    ) -> Self {
        Self { capsule, codes, beneath, hashes, outside }
    }

    fn count(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }
}

impl StateReader for CapsuleState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(account) = self.capsule.account(address) {
            return Ok(account.start);
        }
        self.count();
        self.beneath.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        if let Some(account) = self.capsule.account(address) {
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
        if let Some(account) = self.capsule.account(address)
            && (account.whole_storage || account.start.is_none())
        {
            return Ok(account.slots.iter().filter(|(_, value)| !value.is_zero()).copied().collect());
        }
        self.count();
        self.beneath.storage_of(address)
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
