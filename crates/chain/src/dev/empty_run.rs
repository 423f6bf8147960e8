//! Many empty blocks at once, as tests ask for to let time pass. Each is a real block with a header, a state root and a place
//! in the ledger, for the system calls at its start change the state (EIP-2935, EIP-4788). What they share is work that a
//! single block does for itself: one open trie, state that is read once and then kept in memory, one commit.

use super::producer::{DevChain, Steps, edits_of};
use crate::{AllOf, ChainError, StateAt, insert::Built};
use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use hearth_primitives::{Account, Changeset, Header, RootTracker as _, StateError, StateReader};
use parking_lot::RwLock;

/// Most empty blocks of one commit: with about 2 KiB of rows and records each, a few MiB of memory.
const RUN_BLOCKS_MAX: u64 = 1024;

impl DevChain {
    /// Makes up to `count` empty blocks on `parent` in one commit; the header of the last one. `None` where that cannot be
    /// done: something waits in the pool, or the state was edited since the last block.
    pub(super) fn mine_empty(
        &self,
        parent: &Header,
        count: u64,
        steps: Steps,
        is_first: bool,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Header>, ChainError> {
        let state = self.chain.state_at(parent.number)?;
        if count < 2 || !self.pool.is_empty() || !edits_of(&state).is_empty() {
            return Ok(None);
        }
        let mut trie = match self.chain.kv().has_trie() {
            true => Some(self.chain.kv().trie()?),
            false => None,
        };
        let reads = RunState::new(&state);
        let before = self.next_block();
        let mut run: Vec<Built> = Vec::new();
        let mut parent = parent.clone();
        for index in 0..count.min(RUN_BLOCKS_MAX) {
            if should_stop() {
                break;
            }
            let step = steps.interval.filter(|_| index > 0 || !is_first || steps.first);
            let header = self.header_after_step(&parent, step, &edits_of(&state));
            let number = header.number;
            let draft = self.chain.draft(header, &[], &reads, &mut AllOf::new(&[]))?;
            let draft = draft.map_err(|(hash, error)| {
                StateError::Store(format!("block {number}: transaction {hash}: {error}"))
            })?;
            let root = match &mut trie {
                Some(trie) => {
                    trie.apply(&draft.output.changes)?;
                    trie.root()?
                }
                None => B256::ZERO,
            };
            let block = draft.complete(root);
            self.next.lock().made(&block.header);
            reads.apply(&draft.output.changes);
            parent = block.header.clone();
            run.push(Built { hash: block.header.hash_slow(), block, output: draft.output });
        }
        if run.is_empty() {
            return Err(ChainError::Cancelled);
        }
        let trie = trie.map(|trie| trie.into_update()).transpose()?;
        if let Err(failed) = self.chain.commit_run(&run, trie) {
            self.set_next(|next| *next = before);
            return Err(failed);
        }
        Ok(Some(parent))
    }
}

/// The state after blocks that are not committed yet, over that of a committed one.
struct RunState<'a> {
    below: &'a StateAt,
    seen: RwLock<Seen>,
}

/// What was read or changed.
#[derive(Default)]
struct Seen {
    accounts: HashMap<Address, Option<Account>>,
    slots: HashMap<(Address, U256), U256>,
    codes: HashMap<B256, Bytes>,
}

impl<'a> RunState<'a> {
    fn new(below: &'a StateAt) -> Self {
        Self { below, seen: RwLock::default() }
    }

    fn apply(&self, changes: &Changeset) {
        let seen = &mut *self.seen.write();
        for change in &changes.accounts {
            seen.accounts.insert(change.address, change.new);
            for slot in &change.storage {
                seen.slots.insert((change.address, slot.slot), slot.new);
            }
        }
        seen.codes.extend(changes.codes.iter().cloned());
    }
}

impl StateReader for RunState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(account) = self.seen.read().accounts.get(address) {
            return Ok(*account);
        }
        let account = self.below.account(address)?;
        self.seen.write().accounts.insert(*address, account);
        Ok(account)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        if let Some(value) = self.seen.read().slots.get(&(*address, *slot)) {
            return Ok(*value);
        }
        let value = self.below.storage(address, slot)?;
        self.seen.write().slots.insert((*address, *slot), value);
        Ok(value)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if let Some(code) = self.seen.read().codes.get(hash) {
            return Ok(code.clone());
        }
        let code = self.below.code(hash)?;
        self.seen.write().codes.insert(*hash, code.clone());
        Ok(code)
    }

    /// Only asked for an account that is destroyed, which no block without transactions does.
    fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Err(StateError::Store("an empty block destroys an account".to_owned()))
    }
}
