//! Many empty blocks at once, with which tests let time pass. Each is a real block with a header, a
//! state root and its rows in the ledger, because the system calls at its start change the state
//! (EIP-2935, EIP-4788). They share work that single blocks repeat: one open trie, state that is
//! read once and then kept in memory, one commit.

use super::{
    NextBlock,
    producer::{DevChain, Steps, edits_of},
};
use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use alloy_rlp::Encodable as _;
use hearth_chain::{Built, BuiltOutput, ChainError, INDEX_PAGE_HEIGHTS, StateAt};
use hearth_evm::{RING_SLOTS, SystemAccounts, ring_slot};
use hearth_flatkv::{TrieSession, TrieUpdate};
use hearth_keccak::keccak256_one;
use hearth_primitives::{Account, Header, Height, RootTracker as _, StateError, StateReader};
use parking_lot::Mutex;
use std::{
    panic::resume_unwind,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

/// Empty blocks of the first commit and of the last: no commit runs while the first run is made,
/// and no block is made while the last run is committed.
const RUN_BLOCKS_MIN: u64 = 512;

/// Most empty blocks of one commit: with about 8 KiB of blocks, rows and records each, 8 MiB of
/// memory, which the caches of the processor hold. Upper nodes of the trie are written once per
/// commit.
const RUN_BLOCKS_MAX: u64 = 1024;

/// Blocks from which on the slots that they write are kept by their places, which takes a megabyte.
const RINGS_FROM_BLOCKS: u64 = 512;

/// Runs between two collections of the trie's nodes, where the store takes these late: each of the
/// rings of EIP-2935 and EIP-4788 is written four times over by so many of the largest.
const RUNS_WITHOUT_NODES_MAX: usize = 32;

/// Runs that may wait for their commit, while one is committed and one is made.
const RUNS_WAITING_MAX: usize = 1;

/// Blocks that are committed in one step.
struct Run {
    blocks: Vec<Built>,
    /// The trie after the last of them, where the home keeps one.
    trie: Option<TrieUpdate>,
    /// What the next block was to be like before the first of them.
    before: NextBlock,
}

/// A run that could not be committed.
struct Uncommitted {
    failed: ChainError,
    /// What the next block is to be like again.
    before: NextBlock,
}

/// What blocks are made on.
struct Making<'a> {
    state: &'a StateAt,
    reads: RunState<'a>,
    trie: Option<TrieSession>,
    /// Whether runs may be committed without the nodes of the trie.
    takes_late_nodes: bool,
    /// Runs since the nodes were collected.
    without_nodes: usize,
    system: SystemAccounts,
    /// The newest block that was made.
    parent: Header,
    parent_hash: B256,
    /// Memory for the RLP of a header.
    rlp: Vec<u8>,
}

impl Making<'_> {
    /// The trie after the newest block, for the commit of a run; none where the home keeps none.
    fn take_update(&mut self, is_last: bool) -> Result<Option<TrieUpdate>, StateError> {
        let Some(trie) = &mut self.trie else { return Ok(None) };
        if self.takes_late_nodes && !is_last && self.without_nodes < RUNS_WITHOUT_NODES_MAX {
            self.without_nodes += 1;
            return trie.take_root_update().map(Some);
        }
        self.without_nodes = 0;
        trie.take_update().map(Some)
    }
}

/// Both ends of what runs go through.
struct Runs {
    made: SyncSender<Run>,
    /// Memory of committed runs, for the next ones: the allocator would return it to the system,
    /// because another thread frees it.
    used: Receiver<Vec<Built>>,
}

impl DevChain {
    /// Makes `count` empty blocks on `parent`, or fewer if `should_stop` returns true; returns the
    /// header of the last one. While a run is committed, the next one is made. `None` if this is
    /// not possible: a transaction is pending, the state was edited since the last block,
    /// or the chain has no state trie.
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
        let kv = self.chain.kv();
        if kv.has_roots() && !kv.has_trie() {
            return Ok(None);
        }
        let trie = if kv.has_trie() { Some(kv.trie()?) } else { None };
        let (reads, parent_hash) = (RunState::new(&state, count), parent.hash_slow());
        let (system, parent) = (SystemAccounts::default(), parent.clone());
        let mut making = Making {
            state: &state,
            reads,
            trie,
            takes_late_nodes: kv.takes_late_nodes(),
            without_nodes: 0,
            system,
            parent,
            parent_hash,
            rlp: Vec::new(),
        };
        let (sender, receiver) = sync_channel(RUNS_WAITING_MAX);
        let (used, freed) = channel();
        let runs = Runs { made: sender, used: freed };
        let (made, committed) = thread::scope(|scope| {
            let commits = thread::Builder::new().name("hearth-dev-commit".into());
            let commits = commits.spawn_scoped(scope, move || self.commit_runs(&receiver, &used));
            let commits = match commits {
                Ok(commits) => commits,
                Err(error) => {
                    return (Err(StateError::failed("thread of the commits", error).into()), Ok(None));
                }
            };
            let made = self.make_runs(&mut making, &runs, count, steps, is_first, should_stop);
            // Ends the other thread once everything is committed.
            drop(runs);
            (made, commits.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let last = committed.map_err(|uncommitted| {
            let Uncommitted { failed, before } = *uncommitted;
            self.set_next(|next| *next = before);
            failed
        })?;
        made?;
        last.map(Some).ok_or(ChainError::Cancelled)
    }

    /// Commits runs until no more come; the header of the last block.
    fn commit_runs(
        &self,
        runs: &Receiver<Run>,
        used: &Sender<Vec<Built>>,
    ) -> Result<Option<Header>, Box<Uncommitted>> {
        let mut last = None;
        for Run { mut blocks, trie, before } in runs {
            if let Err(failed) = self.chain.commit_run(&blocks, trie) {
                return Err(Box::new(Uncommitted { failed, before }));
            }
            last = blocks.pop().map(|built| built.block.header);
            blocks.clear();
            // After the last run the receiver is gone.
            let _ = used.send(blocks);
        }
        Ok(last)
    }

    /// Makes blocks run by run. Ends early if the receiver is gone, because the commit failed and
    /// reports why.
    fn make_runs(
        &self,
        making: &mut Making<'_>,
        runs: &Runs,
        count: u64,
        steps: Steps,
        is_first: bool,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ChainError> {
        let mut left = count;
        while left > 0 {
            let before = self.next_block();
            let size = run_blocks(making.parent.number, count - left, left);
            let mut blocks = runs.used.try_recv().unwrap_or_default();
            blocks.reserve(size as usize);
            for _ in 0..size {
                if should_stop() {
                    left = 0;
                    break;
                }
                let step = steps.interval.filter(|_| left < count || !is_first || steps.first);
                match self.make_empty(making, step) {
                    Ok(built) => blocks.push(built),
                    Err(failed) => {
                        self.set_next(|next| *next = before);
                        return Err(failed);
                    }
                }
                left -= 1;
            }
            if blocks.is_empty() {
                break;
            }
            let trie = making.take_update(left == 0)?;
            if runs.made.send(Run { blocks, trie, before }).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Makes one block on the newest one.
    fn make_empty(&self, making: &mut Making<'_>, step: Option<u64>) -> Result<Built, ChainError> {
        let parent = (&making.parent, making.parent_hash);
        let header = self.header_after_step(parent, step, &edits_of(making.state));
        let draft = self.chain.draft_next_empty(header, &making.reads, &mut making.system)?;
        let root = match &mut making.trie {
            Some(trie) => {
                trie.apply(&draft.changes())?;
                trie.root()?
            }
            None => B256::ZERO,
        };
        let (block, output) = draft.complete(root);
        self.next.lock().made(&block.header);
        making.reads.apply(&output);
        making.rlp.clear();
        block.header.encode(&mut making.rlp);
        let hash = keccak256_one(&making.rlp);
        (making.parent, making.parent_hash) = (block.header.clone(), hash);
        Ok(Built { hash, block, output })
    }
}

/// Number of blocks of the next commit on `parent`, after `made` and with `left` to be made: as
/// many as were made before, and at most half of those left, so that both threads begin early and
/// end about together. Long runs end with a page of the indexes, which their commit merges as a
/// whole.
fn run_blocks(parent: Height, made: u64, left: u64) -> u64 {
    let size = made.min(left / 2).clamp(RUN_BLOCKS_MIN, RUN_BLOCKS_MAX).min(left);
    let behind = (parent + 1 + size) % INDEX_PAGE_HEIGHTS;
    if INDEX_PAGE_HEIGHTS < size && size < left { size - behind } else { size }
}

/// The state after blocks that are not committed yet, over that of a committed one.
struct RunState<'a> {
    below: &'a StateAt,
    seen: Mutex<Seen>,
}

/// The rows that were read or changed.
#[derive(Default)]
struct Seen {
    accounts: HashMap<Address, Option<Account>>,
    slots: HashMap<(Address, U256), U256>,
    /// Slots that empty blocks write, by their places; empty where few blocks are made.
    rings: Vec<Option<U256>>,
    codes: HashMap<B256, Bytes>,
}

impl Seen {
    /// The place for a slot among those of the rings.
    fn ring(&mut self, address: &Address, slot: &U256) -> Option<&mut Option<U256>> {
        match self.rings.is_empty() {
            true => None,
            false => self.rings.get_mut(ring_slot(address, slot)?),
        }
    }

    fn slot(&mut self, address: &Address, slot: &U256) -> Option<U256> {
        match self.ring(address, slot) {
            Some(place) => *place,
            None => self.slots.get(&(*address, *slot)).copied(),
        }
    }

    fn set_slot(&mut self, address: &Address, slot: &U256, value: U256) {
        match self.ring(address, slot) {
            Some(place) => *place = Some(value),
            None => drop(self.slots.insert((*address, *slot), value)),
        }
    }
}

impl<'a> RunState<'a> {
    /// The state before the first of so many blocks.
    fn new(below: &'a StateAt, blocks: u64) -> Self {
        let rings = if blocks < RINGS_FROM_BLOCKS { Vec::new() } else { vec![None; RING_SLOTS] };
        Self { below, seen: Mutex::new(Seen { rings, ..Seen::default() }) }
    }

    fn apply(&self, output: &BuiltOutput) {
        let seen = &mut *self.seen.lock();
        let changes = match output {
            BuiltOutput::Empty(empty) => {
                empty.written().for_each(|(address, slot)| seen.set_slot(&address, &slot.slot, slot.new));
                return;
            }
            BuiltOutput::Executed(output) => &output.changes,
        };
        for change in &changes.accounts {
            seen.accounts.insert(change.address, change.new);
            for slot in &change.storage {
                seen.set_slot(&change.address, &slot.slot, slot.new);
            }
        }
        seen.codes.extend(changes.codes.iter().cloned());
    }
}

impl StateReader for RunState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(account) = self.seen.lock().accounts.get(address) {
            return Ok(*account);
        }
        let account = self.below.account(address)?;
        self.seen.lock().accounts.insert(*address, account);
        Ok(account)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        if let Some(value) = self.seen.lock().slot(address, slot) {
            return Ok(value);
        }
        let value = self.below.storage(address, slot)?;
        self.seen.lock().set_slot(address, slot, value);
        Ok(value)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if let Some(code) = self.seen.lock().codes.get(hash) {
            return Ok(code.clone());
        }
        let code = self.below.code(hash)?;
        self.seen.lock().codes.insert(*hash, code.clone());
        Ok(code)
    }

    /// Only called for an account that is destroyed, which does not happen in a block without
    /// transactions.
    fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Err(StateError::Store("an empty block destroys an account".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(parent: Height, count: u64) -> Vec<u64> {
        let (mut made, mut runs) = (0, Vec::new());
        while made < count {
            runs.push(run_blocks(parent + made, made, count - made));
            made += runs[runs.len() - 1];
        }
        assert_eq!(made, count);
        runs
    }

    #[test]
    fn runs_grow_to_the_most_of_a_commit_and_shrink_towards_the_end() {
        assert_eq!(runs(0, 2), [2]);
        assert_eq!(runs(0, 512), [512]);
        assert_eq!(runs(0, 1_500), [511, 512, 477]);
        assert_eq!(runs(0, 1_000_000)[..4], [511, 512, 768, 1024]);
        assert!(runs(0, 1_000_000).iter().all(|run| *run <= RUN_BLOCKS_MAX));
    }

    #[test]
    fn runs_end_with_pages_of_the_indexes_except_the_last_one() {
        for parent in [0, 1, 254, 255, 256, 300] {
            let mut head = parent;
            let sizes = runs(parent, 20_000);
            for size in &sizes[..sizes.len() - 1] {
                head += size;
                assert_eq!((head + 1) % INDEX_PAGE_HEIGHTS, 0, "{size} blocks on {parent}");
            }
        }
    }
}
