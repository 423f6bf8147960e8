//! The pending block: what the next block would be if it were made now of what waits in the pool.

use crate::{Home, NodeError, chain_error};
use alloy_primitives::{Address, B256};
use hearth_chain::{BlockAttributes, Chain, Draft, Edits, OverlaidState, StateAt, fees, gas_limit_after};
use hearth_dev_chain::DevChain;
use hearth_flatkv::StateRoots;
use hearth_ledger::{StoredBlock, StoredReceipts};
use hearth_pool::Order;
use hearth_primitives::{Header, RootTracker as _, StateReader};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Gas limit that blocks of this node move towards (miner/miner.go of go-ethereum: DefaultConfig).
pub const TARGET_GAS_LIMIT: u64 = 60_000_000;

/// A block that is not on the chain, with the state after it.
pub struct PendingBlock {
    /// The block without its state root, which calls do not need and which takes as long as all
    /// other fields.
    draft: Draft,
    parent: Arc<StoredBlock>,
    /// Edits of the parent's state that it was made on.
    edits: Option<Arc<Edits>>,
    /// The state after it.
    pub state: OverlaidState<StateAt>,
    /// The block with its state root, once it was requested.
    block: Mutex<Option<Arc<StoredBlock>>>,
}

impl PendingBlock {
    /// The header for calls on its state: without the fields that its execution gives.
    pub fn call_header(&self) -> &Header {
        self.draft.header()
    }

    /// Senders of its transactions.
    pub fn senders(&self) -> &[Address] {
        &self.draft.output.senders
    }

    /// Receipts and senders of its transactions.
    pub fn receipts(&self) -> StoredReceipts {
        let output = &self.draft.output;
        StoredReceipts { receipts: output.receipts.clone(), senders: output.senders.clone() }
    }

    /// The state trie after it.
    ///
    /// # Errors
    /// [`NodeError::StateNotCanonical`] where its parent left the chain since it was made.
    pub fn roots<'c>(&self, chain: &'c Chain) -> Result<StateRoots<'c>, NodeError> {
        let height = self.parent.number();
        let mut roots = chain.reader().roots_at(height)?;
        if roots.root()? != self.parent.block.header.state_root {
            return Err(NodeError::StateNotCanonical { height, hash: self.parent.hash });
        }
        // Those of the state that its transactions ran on, and no later ones.
        if let Some(edits) = &self.edits {
            roots.apply(&edits.changes())?;
        }
        roots.apply(&self.draft.output.changes)?;
        Ok(roots)
    }

    /// The whole block. Its hash is meaningless, since at least the time of the real next block
    /// will differ.
    pub fn block(&self, chain: &Chain) -> Result<Arc<StoredBlock>, NodeError> {
        // Under the lock, so that several requests at once compute one root.
        let mut made = self.block.lock();
        if let Some(block) = &*made {
            return Ok(block.clone());
        }
        let mut roots = self.roots(chain)?;
        let block = self.draft.complete(roots.root()?);
        let stored = Arc::new(StoredBlock {
            hash: block.header.hash_slow(),
            total_difficulty: self.parent.total_difficulty + block.header.difficulty,
            size: alloy_rlp::Encodable::length(&block),
            tx_hashes: block.body.transactions.iter().map(|tx| *tx.tx_hash()).collect(),
            ommer_hashes: Vec::new(),
            block,
        });
        *made = Some(stored.clone());
        Ok(stored)
    }
}

/// The last pending block, until the head or the pool changes.
#[derive(Default)]
pub struct Pending(Mutex<Option<CachedPending>>);

/// A pending block, with the head and the counts of changes that it was made on.
type CachedPending = (B256, (u64, u64), Arc<PendingBlock>);

impl Home {
    /// The pending block; `None` on a partial state, on which no block can be made.
    pub fn pending(&self) -> Result<Option<Arc<PendingBlock>>, NodeError> {
        if !self.chain().reader().has_roots() {
            return Ok(None);
        }
        // Under the lock, so that concurrent callers wait for one block instead of making one each.
        let mut last = self.pending_block().0.lock();
        let settings = self.dev().map_or(0, DevChain::version);
        let (head, version) = (self.head()?, (self.pool().version(), settings));
        if let Some((hash, of, block)) = &*last
            && (*hash, *of) == (head.hash, version)
        {
            return Ok(Some(block.clone()));
        }
        let block = Arc::new(self.build_pending(head.clone())?);
        *last = Some((head.hash, version, block.clone()));
        Ok(Some(block))
    }

    fn build_pending(&self, parent: Arc<StoredBlock>) -> Result<PendingBlock, NodeError> {
        let failed = |error| chain_error(&self.config().home, error);
        let header = &parent.block.header;
        let chain = self.chain();
        let header = match self.dev() {
            Some(dev) => dev.next_header(header),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                let attributes = BlockAttributes {
                    timestamp: now.max(header.timestamp + 1),
                    gas_limit: self.next_gas_limit(header),
                    misbehavior: alloy_primitives::Bytes::new(),
                    ..BlockAttributes::default()
                };
                chain.header_after(header, &attributes)
            }
        };
        let blob_fee = fees::blob_base_fee(chain.spec(), &header).unwrap_or(0);
        let state = self.state_after(parent.number(), &parent.hash)?;
        let order = self.dev().map_or(Order::Fees, DevChain::order);
        let base_fee = header.base_fee_per_gas.unwrap_or(0);
        let draft = if self.pool().is_empty() {
            chain.draft_empty(header, &state).map_err(failed)?
        } else {
            let mut source = self.pool().in_order(order, &state, base_fee, blob_fee)?;
            let draft = chain.draft(header, &[], &state, &mut source).map_err(failed)?;
            draft.map_err(|(_, error)| NodeError::ExecutionFailed { source: error.into() })?
        };
        let edits = state.edits().cloned();
        let state = OverlaidState::new(state, [&draft.output.changes]);
        Ok(PendingBlock { draft, parent, edits, state, block: Mutex::default() })
    }

    /// The gas limit of a block that this node makes on another one.
    pub fn next_gas_limit(&self, parent: &Header) -> u64 {
        match self.dev() {
            Some(_) => parent.gas_limit,
            None if self.chain().spec().is_bft() => parent.gas_limit,
            None => gas_limit_after(self.chain().spec(), parent, TARGET_GAS_LIMIT),
        }
    }
}

/// A header and the state after its block, for reads and calls.
pub struct Site {
    /// The header.
    pub header: Header,
    /// The state after the block.
    pub state: Box<dyn StateReader>,
}
