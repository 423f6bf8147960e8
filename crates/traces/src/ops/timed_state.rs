//! A store that counts what is read from it and how long that takes.

use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, StateError, StateReader};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// Reads of one kind.
#[derive(Debug, Default)]
pub(super) struct Reads {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Reads {
    /// Number of reads.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Time that they took, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        self.nanos.load(Relaxed)
    }

    fn time<T>(&self, read: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let value = read();
        self.nanos.fetch_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
        self.count.fetch_add(1, Relaxed);
        value
    }
}

/// A store whose reads are counted and timed. Codes that are in the process's cache of analysed
/// code are not read from it.
pub(super) struct TimedState<'a> {
    state: &'a dyn StateReader,
    /// Accounts.
    pub account: Reads,
    /// Storage slots, and whole storages.
    pub storage: Reads,
    /// Codes.
    pub code: Reads,
}

impl<'a> TimedState<'a> {
    /// Watches a store.
    pub fn new(state: &'a dyn StateReader) -> Self {
        Self { state, account: Reads::default(), storage: Reads::default(), code: Reads::default() }
    }

    /// Time that all reads took, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        self.account.nanos() + self.storage.nanos() + self.code.nanos()
    }
}

impl StateReader for TimedState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.account.time(|| self.state.account(address))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.storage.time(|| self.state.storage(address, slot))
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.code.time(|| self.state.code(hash))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.storage.time(|| self.state.storage_of(address))
    }
}
