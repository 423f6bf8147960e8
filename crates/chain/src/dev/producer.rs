//! Block production of the development chain: what is ready in the pool becomes blocks, one for each transaction.

use crate::{
    AllOf, BlockAttributes, Chain, ChainError, fees,
    pool::{PoolEntry, PoolError, TransactionPool},
};
use alloy_primitives::{B256, keccak256};
use hearth_evm::TxError;
use hearth_flatkv::TrieUpdate;
use hearth_primitives::{BlockOutput, Header, PooledTransaction, RootTracker, StateError};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// What a round of block production did.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    /// Hashes of the new blocks, in order.
    pub blocks: Vec<B256>,
    /// Transactions that turned out to be invalid on execution, and why; they left the pool.
    pub dropped: Vec<(B256, TxError)>,
}

/// A development chain that makes its own blocks.
pub struct DevChain {
    chain: Arc<Chain>,
    pool: Arc<TransactionPool>,
    /// One block is built at a time.
    building: Mutex<()>,
}

impl DevChain {
    /// Block production over a chain and its pool.
    pub fn new(chain: Arc<Chain>, pool: Arc<TransactionPool>) -> Self {
        Self { chain, pool, building: Mutex::new(()) }
    }

    /// Takes a transaction into the pool and makes blocks of what can be executed now. Nothing comes between the
    /// check against the head and the block. The inner error is a transaction that is not accepted.
    ///
    /// # Errors
    /// The stores'.
    pub fn submit(
        &self,
        transaction: PooledTransaction,
    ) -> Result<Result<Arc<PoolEntry>, PoolError>, ChainError> {
        let _one_at_a_time = self.building.lock();
        let head = self.parent()?;
        let entry = match self.pool.add(transaction, &head, &self.chain.kv().at(head.number)?) {
            Ok(entry) => entry,
            Err(PoolError::State(error)) => return Err(error.into()),
            Err(refused) => return Ok(Err(refused)),
        };
        let mined = self.mine()?;
        let dropped = mined.dropped.into_iter().find(|(hash, _)| *hash == entry.hash);
        Ok(match dropped {
            Some((_, error)) => Err(PoolError::Invalid { reason: error.to_string() }),
            None => Ok(entry),
        })
    }

    /// Makes a block for every transaction that can be executed now, best tip first.
    ///
    /// # Errors
    /// The stores'. Transactions that fail are mined; those that are invalid are dropped and reported.
    pub fn mine_ready(&self) -> Result<Mined, ChainError> {
        let _one_at_a_time = self.building.lock();
        self.mine()
    }

    fn mine(&self) -> Result<Mined, ChainError> {
        let mut mined = Mined::default();
        loop {
            let parent = self.parent()?;
            let header = self.next_header(&parent);
            let blob_fee = fees::blob_base_fee(self.chain.spec(), &header).unwrap_or(0);
            let state = self.chain.kv().at(parent.number)?;
            let ready = self.pool.ready(&state, header.base_fee_per_gas.unwrap_or(0), blob_fee)?;
            let Some(entry) = ready.first() else { return Ok(mined) };
            match self.build(header, entry)? {
                Ok(hash) => mined.blocks.push(hash),
                Err(error) => mined.dropped.push((entry.hash, error)),
            }
            // Mined or invalid, it does not wait any longer: the loop ends when nothing is ready.
            self.pool.remove(&entry.hash);
            let head = self.parent()?;
            self.pool.revalidate(&head, &self.chain.kv().at(head.number)?)?;
        }
    }

    fn parent(&self) -> Result<Header, ChainError> {
        let head = self.chain.head_block()?.ok_or(ChainError::UnknownBlock(self.chain.head().hash))?;
        Ok(head.block.header.clone())
    }

    /// The header of the next block, without what execution gives.
    fn next_header(&self, parent: &Header) -> Header {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let draw = [parent.hash_slow().as_slice(), &(parent.number + 1).to_be_bytes()].concat();
        self.chain.header_after(
            parent,
            &BlockAttributes {
                // Blocks may come faster than seconds: their times still ascend strictly.
                timestamp: now.max(parent.timestamp + 1),
                gas_limit: parent.gas_limit,
                // There is no beacon chain to draw lots: a value that differs from block to block has to do.
                prev_randao: keccak256(draw),
                ..BlockAttributes::default()
            },
        )
    }

    /// Executes, completes and stores a block; the inner error is a transaction that cannot be in it.
    fn build(&self, header: Header, entry: &PoolEntry) -> Result<Result<B256, TxError>, ChainError> {
        let state = self.chain.kv().at(header.number - 1)?;
        let transactions = [(entry.transaction.clone(), entry.sender)];
        let draft = match self.chain.draft(header, &[], &state, &mut AllOf::new(&transactions))? {
            Ok(draft) => draft,
            Err((_, invalid)) => return Ok(Err(invalid)),
        };
        let (trie, state_root) = self.state_root(&draft.output)?;
        self.chain.commit_built(&draft.complete(state_root), &draft.output, Some(trie)).map(Ok)
    }

    fn state_root(&self, output: &BlockOutput) -> Result<(TrieUpdate, B256), StateError> {
        let mut trie = self.chain.kv().trie()?;
        trie.apply(&output.changes)?;
        let root = trie.root()?;
        Ok((trie.into_update()?, root))
    }
}
