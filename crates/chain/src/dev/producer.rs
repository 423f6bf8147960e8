//! Block production of the development chain: what is ready in the pool becomes blocks, one for each transaction.

use crate::{
    Chain, ChainError, fees,
    pool::{PoolEntry, PoolError, TransactionPool},
};
use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH,
    proofs::{calculate_receipt_root, calculate_transaction_root},
};
use alloy_primitives::{B256, keccak256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ExecuteError, TxError, next_excess_blob_gas};
use hearth_flatkv::TrieUpdate;
use hearth_primitives::{
    Block, BlockOutput, Header, PooledTransaction, RootTracker, StateError, Transaction,
};
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
            match self.build(header, std::slice::from_ref(entry))? {
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
        let spec = self.chain.spec();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // Blocks may come faster than seconds: their times still ascend strictly.
        let timestamp = now.max(parent.timestamp + 1);
        let number = parent.number + 1;
        let parent_hash = parent.hash_slow();
        Header {
            parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            number,
            timestamp,
            gas_limit: parent.gas_limit,
            // There is no beacon chain to draw lots: a value that differs from block to block has to do.
            mix_hash: keccak256([parent_hash.as_slice(), &number.to_be_bytes()].concat()),
            base_fee_per_gas: fees::next_base_fee(spec, parent),
            withdrawals_root: Some(EMPTY_ROOT_HASH),
            blob_gas_used: Some(0),
            excess_blob_gas: next_excess_blob_gas(spec, timestamp, parent),
            parent_beacon_block_root: Some(B256::ZERO),
            ..Header::default()
        }
    }

    /// Executes, completes and stores a block; the inner error is a transaction that cannot be in it.
    fn build(&self, header: Header, entries: &[Arc<PoolEntry>]) -> Result<Result<B256, TxError>, ChainError> {
        let output = match self.execute(&header, entries)? {
            Ok(output) => output,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let (trie, state_root) = self.state_root(&output)?;
        let transactions: Vec<Transaction> = entries.iter().map(|entry| entry.transaction.clone()).collect();
        let header = Header {
            state_root,
            transactions_root: calculate_transaction_root(&transactions),
            receipts_root: calculate_receipt_root(&output.receipts),
            logs_bloom: output.logs_bloom,
            gas_used: output.gas_used,
            blob_gas_used: Some(output.blob_gas_used),
            requests_hash: output.requests.as_ref().map(|requests| requests.requests_hash()),
            ..header
        };
        let body = alloy_consensus::BlockBody {
            transactions,
            ommers: Vec::new(),
            withdrawals: Some(Default::default()),
        };
        self.chain.commit_built(&Block::new(header, body), &output, Some(trie)).map(Ok)
    }

    fn execute(
        &self,
        header: &Header,
        entries: &[Arc<PoolEntry>],
    ) -> Result<Result<BlockOutput, TxError>, ChainError> {
        let refused = |source| ChainError::Refused { number: header.number, hash: B256::ZERO, source };
        let spec = self.chain.spec();
        let state = self.chain.kv().at(header.number - 1)?;
        let env = BlockEnvironment::from_header(spec, header);
        let mut executor = BlockExecutor::new(spec, env, &state, self.chain.ledger().as_ref()).capturing();
        executor.begin().map_err(refused)?;
        for entry in entries {
            match executor.transact(&entry.transaction, entry.sender) {
                Ok(_) => {}
                Err(ExecuteError::Invalid(error)) => return Ok(Err(error)),
                Err(ExecuteError::State(error)) => return Err(error.into()),
            }
        }
        executor.finish(&[], Some(&[])).map(Ok).map_err(refused)
    }

    fn state_root(&self, output: &BlockOutput) -> Result<(TrieUpdate, B256), StateError> {
        let mut trie = self.chain.kv().trie()?;
        trie.apply(&output.changes)?;
        let root = trie.root()?;
        Ok((trie.into_update()?, root))
    }
}
