//! Operations of a developer on a development chain between its blocks: time, snapshots, edits,
//! reorganisations.

use super::{
    clock::{Clock, TimeError},
    next_block::NextBlock,
    producer::{DevChain, Mining, edits_of},
    snapshots::{Snapshot, Snapshots},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use hearth_chain::{AccountEdit, ChainError, TransactionSource};
use hearth_evm::TxError;
use hearth_primitives::{Header, Height, Transaction};
use std::{collections::VecDeque, sync::Arc};

/// Highest chain id: that of a signature follows from it and takes 64 bits (EIP-2294).
const CHAIN_ID_MAX: u64 = u64::MAX / 2 - 36;

/// A request to a development chain that cannot be fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A time that no block can have.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// More blocks than there are.
    #[error("{what} depth must not exceed current chain height: current height {height}, depth {depth}")]
    TooDeep {
        /// `Rollback` or `Reorg`.
        what: &'static str,
        /// Height of the head, above the first block.
        height: Height,
        /// The requested number of blocks.
        depth: u64,
    },
    /// A chain id that the chain cannot have.
    #[error("the chain id cannot be {id}: {why}")]
    ChainId {
        /// The id.
        id: u64,
        /// What speaks against it.
        why: &'static str,
    },
    /// A transaction of another chain.
    #[error("invalid chain id for signer: have {have} want {want}")]
    WrongChain {
        /// The id that it names.
        have: u64,
        /// The chain's.
        want: u64,
    },
    /// A transaction for a block that the new branch does not have.
    #[error(
        "Block number for reorg tx will exceed the reorged chain height. Block number {block} must not exceed (depth-1) {last}"
    )]
    BeyondBranch {
        /// Its place, from 0.
        block: u64,
        /// The last place.
        last: u64,
    },
    /// The chain failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// A transaction for a block of a new branch, with its sender.
#[derive(Clone, Debug)]
pub struct BranchTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// Its sender.
    pub sender: Address,
    /// Which block of the branch it belongs into, from 0.
    pub block: u64,
}

impl DevChain {
    /// When blocks are made.
    pub fn mining(&self) -> Mining {
        *self.mining.lock()
    }

    /// Says when blocks are made from now on.
    pub fn set_mining(&self, mining: Mining) {
        *self.mining.lock() = mining;
        self.mining_changed.notify_all();
    }

    /// Changes when blocks are made; the new rules.
    pub fn change_mining(&self, change: impl FnOnce(Mining) -> Mining) -> Mining {
        let mut mining = self.mining.lock();
        *mining = change(*mining);
        self.mining_changed.notify_all();
        *mining
    }

    /// What the next block is to be like.
    pub fn next_block(&self) -> NextBlock {
        self.next.lock().clone()
    }

    /// Changes what the next block is to be like.
    pub fn set_next(&self, set: impl FnOnce(&mut NextBlock)) {
        set(&mut self.next.lock());
        self.changed();
    }

    /// Changes the clock; `change` gets the time of the head.
    ///
    /// # Errors
    /// Those of the change, after which the clock is unchanged.
    pub fn set_clock<T>(
        &self,
        set: impl FnOnce(&mut Clock, u64) -> Result<T, TimeError>,
    ) -> Result<T, ControlError> {
        let _no_block_comes_between = self.building.lock();
        let head = self.parent()?;
        let next = &mut *self.next.lock();
        let mut clock = next.clock;
        let done = set(&mut clock, head.timestamp)?;
        next.clock = clock;
        self.changed();
        Ok(done)
    }

    /// Edits the state after the head: all of these accounts, or none.
    ///
    /// # Errors
    /// As [`hearth_chain::Chain::edit`].
    pub fn edit(&self, edits: &[(Address, AccountEdit)]) -> Result<(), ChainError> {
        let _no_block_comes_between = self.building.lock();
        self.chain.edit(edits)?;
        self.after_edit()
    }

    /// Edits one account; `edit` gets its current fields.
    ///
    /// # Errors
    /// Those of [`Self::edit`].
    pub fn edit_with(
        &self,
        address: Address,
        edit: impl FnOnce(hearth_primitives::Account) -> AccountEdit,
    ) -> Result<(), ChainError> {
        use hearth_primitives::StateReader as _;
        let _no_block_comes_between = self.building.lock();
        let state = self.chain.state_at(self.chain.head().height)?;
        let there = state.account(&address)?.unwrap_or_default();
        drop(state);
        self.chain.edit(&[(address, edit(there))])?;
        self.after_edit()
    }

    fn after_edit(&self) -> Result<(), ChainError> {
        if self.pool.is_empty() { Ok(()) } else { self.revalidate() }
    }

    /// Keeps the chain as it is now, to go back to; the number to name it by.
    ///
    /// # Errors
    /// The stores'.
    pub fn snapshot(&self) -> u64 {
        let mut snapshots = self.building.lock();
        let (head, next) = (self.chain.head(), self.next.lock().clone());
        snapshots.keep(Snapshot {
            height: head.height,
            hash: head.hash,
            edits: self.chain.pending_edits(),
            then: next.clock.now(),
            next,
            pool: self.pool.entries(),
        })
    }

    /// Reverts to a snapshot: blocks, state, time and pending transactions. The snapshot and later
    /// ones are removed. `false`, with no change, if there is no such snapshot or its block is no
    /// longer on the chain.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn revert(&self, number: u64) -> Result<bool, ChainError> {
        let mut snapshots = self.building.lock();
        let Some(snapshot) = snapshots.get(number).cloned() else { return Ok(false) };
        if self.chain.ledger().canonical_hash(snapshot.height)? != Some(snapshot.hash) {
            return Ok(false);
        }
        self.chain.rewind(snapshot.height, snapshot.edits)?;
        snapshots.drop_from(number);
        let clock = snapshot.next.clock.back_to(snapshot.then);
        *self.next.lock() = NextBlock { clock, ..snapshot.next };
        self.changed();
        let head = self.for_pool(self.parent()?);
        self.pool.restore(&snapshot.pool, &head, &self.chain.state_at(head.number)?)?;
        self.drop_of_other_chains();
        Ok(true)
    }

    /// Sets the chain id of future blocks. Pending transactions with another one are dropped.
    ///
    /// # Errors
    /// [`ControlError::ChainId`]; nothing has changed then.
    pub fn set_chain_id(&self, id: u64) -> Result<(), ControlError> {
        let _no_block_comes_between = self.building.lock();
        if !(1..=CHAIN_ID_MAX).contains(&id) {
            return Err(ControlError::ChainId {
                id,
                why: "it must be from 1 to 9223372036854775771 (EIP-2294)",
            });
        }
        if !self.chain.next_chain_id().set(id) {
            let why = "the chain was made by an older version, whose rules keep the first chain id";
            return Err(ControlError::ChainId { id, why });
        }
        self.drop_of_other_chains();
        self.changed();
        Ok(())
    }

    fn drop_of_other_chains(&self) {
        let here = self.chain.next_chain_id().get();
        self.pool.remove_where(|entry| entry.transaction.chain_id().is_some_and(|id| id != here));
    }

    /// Number, height and hash of each snapshot.
    pub fn snapshots(&self) -> Vec<(u64, Height, B256)> {
        self.building.lock().list().collect()
    }

    /// Removes the last blocks with their transactions; the clock continues from the new head.
    ///
    /// # Errors
    /// [`ControlError::TooDeep`]; those of the stores.
    pub fn rollback(&self, depth: u64) -> Result<(), ControlError> {
        let _no_block_comes_between = self.building.lock();
        self.take_back("Rollback", depth).map(drop)
    }

    /// Returns to the first block and an empty pool, with the settings of future blocks as they
    /// were at the start.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn reset(&self, clock_offset: i64, gas_limit: Option<u64>) -> Result<(), ChainError> {
        let mut snapshots = self.building.lock();
        self.chain.rewind(self.chain.base(), Arc::default())?;
        *snapshots = Snapshots::default();
        self.pool.remove_where(|_| true);
        *self.next.lock() = NextBlock { clock: Clock::new(clock_offset), gas_limit, ..NextBlock::default() };
        self.changed();
        Ok(())
    }

    /// Replaces the last blocks by as many others with these transactions. The transactions of the
    /// removed blocks return to the pool if they are still valid. A transaction that is invalid in
    /// its block is left out.
    ///
    /// # Errors
    /// [`ControlError::TooDeep`], [`ControlError::BeyondBranch`]; those of the stores.
    pub fn reorg(&self, depth: u64, transactions: Vec<BranchTransaction>) -> Result<(), ControlError> {
        let _no_block_comes_between = self.building.lock();
        if let Some(beyond) = transactions.iter().find(|given| given.block >= depth) {
            return Err(ControlError::BeyondBranch { block: beyond.block, last: depth.saturating_sub(1) });
        }
        let want = self.chain.next_chain_id().get();
        let named = transactions.iter().filter_map(|given| given.transaction.chain_id());
        if let Some(have) = named.into_iter().find(|have| *have != want) {
            return Err(ControlError::WrongChain { have, want });
        }
        let removed = self.take_back("Reorg", depth)?;
        let mut parent = self.parent()?;
        for block in 0..depth {
            let own = transactions.iter().filter(|given| given.block == block);
            let mut source =
                FixedTransactions(own.map(|given| (given.transaction.clone(), given.sender)).collect());
            let state = self.chain.state_at(parent.number).map_err(ChainError::from)?;
            let header =
                self.next.lock().header(&self.chain, (&parent, parent.hash_slow()), &edits_of(&state));
            parent = self.build_sure(header, &state, &mut source)?.1.header;
        }
        self.revalidate()?;
        self.put_back(removed, &self.for_pool(parent))?;
        Ok(())
    }

    /// Takes the last blocks back; their transactions with their senders, oldest first.
    fn take_back(&self, what: &'static str, depth: u64) -> Result<Vec<(Transaction, Address)>, ControlError> {
        let head = self.chain.head().height;
        let height = head - self.chain.base();
        if depth > height {
            return Err(ControlError::TooDeep { what, height, depth });
        }
        let to = head - depth;
        let removed = self.chain.transactions_above(to)?;
        let edits = self.chain.edits_after(to).map_err(ChainError::from)?.unwrap_or_default();
        if depth > 0 {
            self.chain.rewind(to, edits)?;
        }
        let head = self.parent()?;
        self.next.lock().clock.rewind_to(head.timestamp);
        self.changed();
        self.revalidate()?;
        Ok(removed)
    }

    fn put_back(&self, removed: Vec<(Transaction, Address)>, head: &Header) -> Result<(), ChainError> {
        hearth_pool::put_back(&self.pool, removed, head, &self.chain.state_at(head.number)?);
        Ok(())
    }
}

/// A given list of transactions for one block. Transactions that the block cannot include are
/// skipped.
struct FixedTransactions(VecDeque<(Transaction, Address)>);

impl TransactionSource for FixedTransactions {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        self.0.pop_front()
    }

    fn refused(&mut self, _: &TxError) -> bool {
        true
    }
}
