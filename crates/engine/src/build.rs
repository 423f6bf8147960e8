//! Builds a block on a state from attributes and transactions; nothing of it is kept.

use alloy_eips::eip7594::BlobTransactionSidecarVariant;
use alloy_primitives::{Address, Bytes, U256, map::B256Map};
use hearth_chain::{AllOf, BlockAttributes, TransactionSource, fees};
use hearth_evm::{Fork, TxError, TxOutcome};
use hearth_home::{Home, NodeError, chain_error};
use hearth_ledger::StoredBlock;
use hearth_pool::{BestFirst, TransactionPool};
use hearth_primitives::{Block, PooledTransaction, RootTracker as _, Transaction};

/// Blobs by the hash of their transaction.
pub type Sidecars = B256Map<BlobTransactionSidecarVariant>;

/// The source of the transactions of a block.
#[derive(Debug)]
pub enum Contents<'a> {
    /// Nothing.
    Empty,
    /// What waits in the pool, best first.
    Pool,
    /// Exactly these, with their senders.
    Exactly(&'a [(Transaction, Address)]),
}

/// A block that was built.
#[derive(Debug)]
pub struct BuiltPayload {
    /// The block.
    pub block: Block,
    /// What its transactions leave to the beneficiary, in wei.
    pub value: U256,
    /// The execution requests for the consensus layer (EIP-7685), from Prague on.
    pub requests: Option<Vec<Bytes>>,
    /// Blobs of its transactions.
    pub sidecars: Sidecars,
}

/// The blobs that a transaction came with.
pub fn sidecar_of(transaction: &PooledTransaction) -> Option<&BlobTransactionSidecarVariant> {
    match transaction {
        PooledTransaction::Eip4844(signed) => signed.tx().sidecar(),
        _ => None,
    }
}

/// Pending transactions, without those whose blobs have proofs of a kind that the block's fork does
/// not accept (EIP-7594).
struct PoolTransactions<'a> {
    best: BestFirst,
    pool: &'a TransactionPool,
    has_cell_proofs: bool,
}

impl PoolTransactions<'_> {
    fn is_usable(&self, transaction: &Transaction) -> bool {
        if !transaction.is_eip4844() {
            return true;
        }
        let entry = self.pool.get(transaction.tx_hash());
        let sidecar = entry.as_ref().and_then(|entry| entry.with_sidecar.as_ref()).and_then(sidecar_of);
        sidecar.is_some_and(|sidecar| sidecar.is_eip7594() == self.has_cell_proofs)
    }
}

impl TransactionSource for PoolTransactions<'_> {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        loop {
            // A skipped transaction excludes the later ones of its account, as a rejected one does.
            let (transaction, sender) = self.best.next()?;
            if self.is_usable(&transaction) {
                return Some((transaction, sender));
            }
        }
    }

    fn taken(&mut self, outcome: &TxOutcome) {
        self.best.taken(outcome);
    }

    fn refused(&mut self, reason: &TxError) -> bool {
        self.best.refused(reason)
    }
}

/// Builds the block after a canonical one.
///
/// # Errors
/// [`NodeError::ExecutionFailed`] if a transaction of [`Contents::Exactly`] cannot be in it; errors
/// of the stores.
pub fn build_payload(
    home: &Home,
    parent: &StoredBlock,
    attributes: &BlockAttributes,
    contents: Contents<'_>,
) -> Result<BuiltPayload, NodeError> {
    let chain = home.chain();
    let header = chain.header_after(&parent.block.header, attributes);
    let has_cell_proofs = chain.spec().fork_of(&header) >= Fork::Osaka;
    let state = home.state_after(parent.number(), &parent.hash)?;
    let mut source: Box<dyn TransactionSource + '_> = match contents {
        Contents::Empty => Box::new(AllOf::new(&[])),
        Contents::Exactly(list) => Box::new(AllOf::new(list)),
        Contents::Pool => {
            let blob_fee = fees::blob_base_fee(chain.spec(), &header).unwrap_or(0);
            let base_fee = header.base_fee_per_gas.unwrap_or(0);
            let best = home.pool().best_first(&state, base_fee, blob_fee)?;
            Box::new(PoolTransactions { best, pool: home.pool(), has_cell_proofs })
        }
    };
    let draft = chain.draft(header, &attributes.withdrawals, &state, &mut *source);
    let failed = |error| chain_error(&home.config().home, error);
    let draft = draft.map_err(failed)?;
    let draft = draft.map_err(|(_, error)| NodeError::ExecutionFailed { source: error.into() })?;
    // Another block may have taken the parent's place meanwhile.
    let (height, hash) = (parent.number(), parent.hash);
    let roots = chain.roots_on(height, &hash).map_err(failed)?;
    let mut roots = roots.ok_or(NodeError::StateNotCanonical { height, hash })?;
    roots.apply(&draft.output.changes)?;
    let block = draft.complete(roots.root()?);
    let mut sidecars = Sidecars::default();
    for transaction in block.body.transactions.iter().filter(|transaction| transaction.is_eip4844()) {
        let entry = home.pool().get(transaction.tx_hash());
        let waiting = entry.as_ref().and_then(|entry| entry.with_sidecar.as_ref());
        if let Some(sidecar) = waiting.and_then(sidecar_of) {
            sidecars.insert(*transaction.tx_hash(), sidecar.clone());
        }
    }
    let requests = draft.output.requests.as_ref().map(|requests| requests.iter().cloned().collect());
    Ok(BuiltPayload { block, value: draft.tips, requests, sidecars })
}
