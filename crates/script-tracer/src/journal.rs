//! Changes of the state while a transaction runs, as events of a chunk that carry the new values.

use crate::chunk::{Chunk, event};
use crate::message::put_account;
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256};
use hearth_primitives::{Account, Changeset};
use revm::context::JournalEntry;
use revm::primitives::hardfork::SpecId;
use revm::state::{Account as Loaded, EvmState};

/// The position in the journal up to which changes were recorded.
#[derive(Debug, Default)]
pub(crate) struct JournalCursor {
    seen: usize,
    /// Reused buffers for accounts and slots.
    accounts: Vec<Address>,
    slots: Vec<(Address, U256)>,
    codes: Vec<Address>,
    /// Accounts that exist although there is nothing in them.
    touched: Vec<Address>,
    buffer: Vec<u8>,
}

impl JournalCursor {
    /// Forgets the last transaction.
    pub fn begin(&mut self) {
        self.seen = 0;
        self.touched.clear();
    }

    /// Whether something is new.
    #[inline(always)]
    pub fn is_behind(&self, journal: &[JournalEntry]) -> bool {
        journal.len() != self.seen
    }

    /// Number of accounts that exist although there is nothing in them.
    pub fn touched(&self) -> usize {
        self.touched.len()
    }

    /// A frame was undone: what it did is gone from the journal. `touched` is what that was before.
    pub fn undo(&mut self, journal: &[JournalEntry], touched: usize) {
        self.seen = self.seen.min(journal.len());
        self.touched.truncate(touched);
    }

    /// Records that an account exists from here on, though there is nothing in it, until the
    /// transaction ends: go-ethereum makes one to add nothing to its balance
    /// (core/state/statedb.go: getOrNewStateObject).
    pub fn touch(&mut self, address: &Address, state: &EvmState, spec: SpecId, chunk: &mut Chunk) {
        if self.keep_missing(address, state, spec) {
            self.record_account(address, state, spec, chunk);
        }
    }

    /// Keeps in mind that an account that is missing exists; whether it was missing.
    fn keep_missing(&mut self, address: &Address, state: &EvmState, spec: SpecId) -> bool {
        let missing = state.get(address).is_some_and(|account| self.now(address, account, spec).is_none());
        if missing {
            self.touched.push(*address);
        }
        missing
    }

    /// The account at this moment; `None` where there is none.
    fn now(&self, address: &Address, account: &Loaded, spec: SpecId) -> Option<Account> {
        present(account, spec).or_else(|| self.touched.contains(address).then(Account::default))
    }

    /// Records the new entries.
    #[cold]
    #[inline(never)]
    pub fn record_new(
        &mut self,
        journal: &[JournalEntry],
        state: &EvmState,
        spec: SpecId,
        chunk: &mut Chunk,
    ) {
        let new = journal.get(self.seen..).unwrap_or_default();
        self.seen = journal.len();
        self.accounts.clear();
        self.slots.clear();
        self.codes.clear();
        for entry in new {
            match entry {
                JournalEntry::AccountDestroyed { address: from, target: to, .. }
                | JournalEntry::BalanceTransfer { from, to, .. } => {
                    // A self-destruct of a contract without ether adds nothing to a balance.
                    self.keep_missing(to, state, spec);
                    self.accounts.extend([*from, *to]);
                }
                JournalEntry::AccountTouched { address }
                | JournalEntry::BalanceChange { address, .. }
                | JournalEntry::NonceChange { address, .. }
                | JournalEntry::NonceBump { address }
                | JournalEntry::AccountCreated { address, .. } => self.accounts.push(*address),
                JournalEntry::CodeChange { address, .. } => {
                    self.accounts.push(*address);
                    self.codes.push(*address);
                }
                JournalEntry::StorageChanged { address, key, .. } => self.slots.push((*address, *key)),
                _ => {}
            }
        }
        for address in &self.codes {
            let code = state.get(address).and_then(|account| account.info.code.as_ref());
            let code = code.map(|code| code.original_bytes()).unwrap_or_default();
            chunk.event(event::CODE, &[address.as_slice(), &code]);
        }
        self.accounts.dedup();
        for address in &self.accounts {
            if let Some(account) = state.get(address) {
                let now = self.now(address, account, spec);
                account_event(chunk, &mut self.buffer, address, now.as_ref());
            }
        }
        for (address, key) in &self.slots {
            let slot = state.get(address).and_then(|account| account.storage.get(key));
            if let Some(slot) = slot {
                slot_event(chunk, address, key, &slot.present_value);
            }
        }
    }

    /// Records the current values of an account, independent of the journal.
    pub fn record_account(&mut self, address: &Address, state: &EvmState, spec: SpecId, chunk: &mut Chunk) {
        if let Some(account) = state.get(address) {
            let now = self.now(address, account, spec);
            account_event(chunk, &mut self.buffer, address, now.as_ref());
        }
    }

    /// Records the changes of the whole transaction at its end: fees are paid, and destroyed
    /// accounts are gone.
    pub fn record_end(&mut self, writes: &Changeset, chunk: &mut Chunk) {
        for address in &self.touched {
            account_event(chunk, &mut self.buffer, address, None);
        }
        for change in &writes.accounts {
            let address = &change.address;
            if change.wiped {
                chunk.event(event::WIPED, &[address.as_slice()]);
            }
            let hash =
                |account: &Option<Account>| account.map_or(KECCAK256_EMPTY, |account| account.code_hash);
            let (old, new) = (hash(&change.old), hash(&change.new));
            if old != new {
                let found = writes.codes.binary_search_by(|(known, _)| known.cmp(&new));
                let code = found.map(|at| writes.codes[at].1.clone());
                if let Some(code) = code.ok().or((new == KECCAK256_EMPTY).then(Bytes::new)) {
                    chunk.event(event::CODE, &[address.as_slice(), &code]);
                }
            }
            account_event(chunk, &mut self.buffer, address, change.new.as_ref());
            for slot in &change.storage {
                if !(change.wiped && slot.new.is_zero()) {
                    slot_event(chunk, address, &slot.slot, &slot.new);
                }
            }
        }
    }
}

/// The account as go-ethereum's state has it while the transaction runs (core/state/statedb.go:
/// getStateObject); `None` where it has none.
fn present(account: &Loaded, spec: SpecId) -> Option<Account> {
    let exists = !account.is_loaded_as_not_existing()
        || !account.info.is_empty()
        || (account.is_touched() && !spec.is_enabled_in(SpecId::SPURIOUS_DRAGON));
    let info = &account.info;
    let code_hash = if info.code_hash.is_zero() { KECCAK256_EMPTY } else { info.code_hash };
    exists.then_some(Account { nonce: info.nonce, balance: info.balance, code_hash })
}

fn account_event(chunk: &mut Chunk, buffer: &mut Vec<u8>, address: &Address, account: Option<&Account>) {
    buffer.clear();
    put_account(buffer, account, 3);
    chunk.event(event::ACCOUNT, &[address.as_slice(), buffer]);
}

fn slot_event(chunk: &mut Chunk, address: &Address, key: &U256, value: &U256) {
    let (key, value) = (key.to_be_bytes::<32>(), value.to_be_bytes::<32>());
    chunk.event(event::SLOT, &[address.as_slice(), &key, &value]);
}
