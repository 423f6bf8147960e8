//! Resolves the blocks and states that requests name, with go-ethereum's distinctions
//! (eth/api_backend.go: BlockByNumberOrHash): an unknown block is `null` for methods that return
//! blocks, and an error for methods that read state.

use crate::{
    BlockNumber, BlockRef, Home, NodeError, chain_error,
    pending::{PendingBlock, Site},
};
use alloy_eips::{BlockNumberOrTag, RpcBlockHash};
use alloy_primitives::{Address, B256};
use hearth_chain::{Finality, FinalityTag, StateAt};
use hearth_ledger::{LedgerError, StoredBlock, StoredReceipts};
use hearth_primitives::{Block, Height, StateReader};
use std::sync::Arc;

impl From<LedgerError> for NodeError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Damaged { what, hash, source } => {
                Self::RecordDamaged { what, hash, source: Arc::new(*source) }
            }
            LedgerError::Index(error) => error.into(),
            LedgerError::NoAddressIndex => Self::Unsupported { message: error.to_string() },
            LedgerError::BlockPruned { height, floor } => Self::Pruned { height, what: "blocks", floor },
            LedgerError::IndexPruned { height, first } => {
                Self::Pruned { height, what: "blocks of the address index", floor: first }
            }
            error @ (LedgerError::Table(_) | LedgerError::Unopenable(_)) => Self::store_failed(error),
            error @ (LedgerError::Undecodable { .. }
            | LedgerError::BadIndexRow(_)
            | LedgerError::MissingBlock(_)) => Self::Store { message: error.to_string() },
        }
    }
}

fn is_pending(reference: Option<BlockRef>) -> bool {
    reference == Some(BlockRef::Number(BlockNumberOrTag::Pending))
}

/// Resolved blocks and their states.
impl Home {
    /// The canonical head.
    pub fn head(&self) -> Result<Arc<StoredBlock>, NodeError> {
        self.stored(&self.chain().head().hash)
    }

    /// A block that an index names: its absence is damage.
    pub fn stored(&self, hash: &B256) -> Result<Arc<StoredBlock>, NodeError> {
        self.chain()
            .reader()
            .block(hash)?
            .ok_or_else(|| NodeError::Store { message: format!("block {hash} is missing from the ledger") })
    }

    /// Receipts and senders of a block that is there.
    pub fn receipts_of(&self, block: &StoredBlock) -> Result<Arc<StoredReceipts>, NodeError> {
        self.check_receipts(block)?;
        self.chain()
            .reader()
            .receipts(&block.hash)?
            .ok_or_else(|| self.missing_record("receipts", &block.hash))
    }

    fn check_receipts(&self, block: &StoredBlock) -> Result<(), NodeError> {
        let (height, (_, floor)) = (block.number(), self.chain().reader().floors());
        if height < floor { Err(NodeError::Pruned { height, what: "receipts", floor }) } else { Ok(()) }
    }

    /// Senders of the transactions of a block that is there.
    pub fn senders_of(&self, block: &StoredBlock) -> Result<Arc<Vec<Address>>, NodeError> {
        self.check_receipts(block)?;
        self.chain()
            .reader()
            .senders(&block.hash)?
            .ok_or_else(|| self.missing_record("receipts", &block.hash))
    }

    /// The height of a number or tag. `pending` is the head, for callers that cannot use the
    /// pending block itself.
    pub fn height(&self, number: BlockNumber) -> Result<Height, NodeError> {
        Ok(match number {
            BlockNumberOrTag::Number(number) => number,
            BlockNumberOrTag::Earliest => self.first_block(),
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => self.head()?.block.header.number,
            BlockNumberOrTag::Safe => self.final_height(FinalityTag::Safe)?,
            BlockNumberOrTag::Finalized => self.final_height(FinalityTag::Finalized)?,
        })
    }

    /// The height of `safe` or `finalized`: the last block that the consensus client named. It is
    /// the head if no consensus client ever drove this home and none may: then nothing else
    /// determines what is final.
    ///
    /// # Errors
    /// [`NodeError::TagNotSet`] if a consensus client drives this node and has not named such a
    /// block so far.
    pub fn final_height(&self, tag: FinalityTag) -> Result<Height, NodeError> {
        let failed = |error| chain_error(&self.config().home, error);
        if let Some(mark) = self.chain().marked(tag).map_err(failed)? {
            return Ok(mark.height);
        }
        if self.final_is_head() {
            return Ok(self.chain().head().height);
        }
        Err(NodeError::TagNotSet { tag: tag.name() })
    }

    /// Whether `safe` and `finalized` mean the head: no consensus client ever drove this home, and
    /// none may; nor does it follow a node that names them.
    pub fn final_is_head(&self) -> bool {
        !self.config().engine && !self.chain().is_follower() && self.chain().finality() == Finality::default()
    }

    /// A canonical block by number or tag. A height below the first block is an error: `None` would
    /// mean that the chain has no such block.
    pub fn block_by_number(&self, number: BlockNumber) -> Result<Option<Arc<StoredBlock>>, NodeError> {
        match number {
            BlockNumberOrTag::Number(_)
            | BlockNumberOrTag::Earliest
            | BlockNumberOrTag::Safe
            | BlockNumberOrTag::Finalized => {
                let height = self.height(number)?;
                let block = self.canonical(height)?;
                let first = self.first_block();
                if (block.is_none() && height < first) || self.is_bare(height) {
                    return Err(NodeError::BeforeFirstBlock { height, first });
                }
                Ok(block)
            }
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => {
                let head = self.head()?;
                let (height, first) = (head.number(), self.first_block());
                if self.is_bare(height) {
                    return Err(NodeError::BeforeFirstBlock { height, first });
                }
                Ok(Some(head))
            }
        }
    }

    /// A canonical block by height. Below the base of a home that began in the middle of a chain,
    /// only hashes may be known.
    pub fn canonical(&self, height: Height) -> Result<Option<Arc<StoredBlock>>, NodeError> {
        let (floor, _) = self.chain().reader().floors();
        if height < floor {
            return Err(NodeError::Pruned { height, what: "blocks", floor });
        }
        Ok(self.chain().reader().canonical_block(height)?)
    }

    /// A block of any branch by hash.
    pub fn block_by_hash(&self, hash: &B256) -> Result<Option<Arc<StoredBlock>>, NodeError> {
        match self.chain().reader().block(hash) {
            // Once its segment is removed nothing says that there was such a block: it counts as
            // unknown from the moment on at which the floor rises.
            Err(error) if error.is_pruned() => Ok(None),
            read => Ok(read?.filter(|block| !self.is_bare(block.number()))),
        }
    }

    /// A block by any reference; `None` where there is none.
    pub fn block_by_ref(&self, reference: BlockRef) -> Result<Option<Arc<StoredBlock>>, NodeError> {
        match reference {
            BlockRef::Number(number) => self.block_by_number(number),
            BlockRef::Hash(hash) => match self.block_by_hash(&hash.block_hash)? {
                Some(block) => self.check_canonical(&hash, &block).map(|()| Some(block)),
                None => Ok(None),
            },
        }
    }

    /// The state after a block, and the block.
    pub fn state_at(&self, reference: Option<BlockRef>) -> Result<(StateAt, Arc<StoredBlock>), NodeError> {
        let block = match reference.unwrap_or_default() {
            BlockRef::Number(number) => self.block_by_number(number)?.ok_or(NodeError::HeaderNotFound)?,
            BlockRef::Hash(hash) => {
                let block = self.block_by_hash(&hash.block_hash)?.ok_or(NodeError::HeaderForHashNotFound)?;
                self.check_canonical(&hash, &block)?;
                block
            }
        };
        let state = self.state_after(block.block.header.number, &block.hash)?;
        Ok((state, block))
    }

    /// The nonce after those of an account's transactions on the chain and in the pool, both read
    /// at one moment: a block made between two separate reads would have its transactions counted
    /// in neither.
    pub fn next_nonce(&self, address: &Address) -> Result<u64, NodeError> {
        loop {
            let waiting = self.pool().version();
            let (state, head) = self.state_at(None)?;
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            let next = self.pool().next_nonce(address, nonce);
            // Each round more is a change that another thread completed.
            if self.pool().version() == waiting || self.chain().head().hash == head.hash {
                return Ok(next);
            }
        }
    }

    /// The pending block, where a number or tag means it and there is one.
    pub fn pending_by_number(&self, number: BlockNumber) -> Result<Option<Arc<PendingBlock>>, NodeError> {
        if number == BlockNumberOrTag::Pending { self.pending() } else { Ok(None) }
    }

    /// What is read at a block: of the pending one, where there is one.
    pub fn reader(&self, reference: Option<BlockRef>) -> Result<Box<dyn StateReader>, NodeError> {
        if is_pending(reference)
            && let Some(pending) = self.pending()?
        {
            return Ok(Box::new(pending.state.clone()));
        }
        Ok(Box::new(self.state_at(reference)?.0))
    }

    /// Where calls on a block are made: on the pending one, where there is one.
    pub fn site(&self, reference: Option<BlockRef>) -> Result<Site, NodeError> {
        if is_pending(reference)
            && let Some(pending) = self.pending()?
        {
            let header = pending.call_header().clone();
            return Ok(Site { header, state: Box::new(pending.state.clone()) });
        }
        let (state, block) = self.state_at(reference)?;
        Ok(Site { header: block.block.header.clone(), state: Box::new(state) })
    }

    /// The state after the block with this height and hash, which must be canonical.
    pub fn state_after(&self, height: Height, hash: &B256) -> Result<StateAt, NodeError> {
        if self.chain().reader().canonical_hash(height)? != Some(*hash) {
            return Err(NodeError::StateNotCanonical { height, hash: *hash });
        }
        Ok(self.chain().state_at(height)?)
    }

    fn check_canonical(&self, hash: &RpcBlockHash, block: &StoredBlock) -> Result<(), NodeError> {
        let must = hash.require_canonical.unwrap_or(false);
        let canonical = || self.chain().reader().canonical_hash(block.block.header.number);
        if must && canonical()? != Some(block.hash) { Err(NodeError::NotCanonical) } else { Ok(()) }
    }

    /// The last blocks that this home refused, from any source.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`] where their file cannot be read.
    pub fn bad_blocks(&self) -> Result<Vec<Block>, NodeError> {
        self.chain().bad_blocks().map_err(|error| chain_error(&self.config().home, error))
    }

    /// A refused block by its hash.
    ///
    /// # Errors
    /// [`NodeError::BadBlockNotFound`] where it is not among those that are kept.
    pub fn bad_block(&self, hash: &B256) -> Result<Block, NodeError> {
        let found = self.bad_blocks()?.into_iter().find(|block| block.header.hash_slow() == *hash);
        found.ok_or(NodeError::BadBlockNotFound { hash: *hash })
    }
}
