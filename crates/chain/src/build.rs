//! Builds a block: its header from attributes, its transactions one by one, and the fields that
//! execution determines.

use crate::{BuiltOutput, Chain, ChainError, fees};
use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Transaction as _,
    proofs::{calculate_receipt_root, calculate_transaction_root, calculate_withdrawals_root},
};
use alloy_eips::{eip4895::Withdrawal, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_evm::{
    BlockEnvironment, BlockExecutor, ChainSpec, ELASTICITY, EmptyBlock, ExecuteError, Fork, SystemAccounts,
    TxError, TxOutcome, next_difficulty, next_empty_block, next_excess_blob_gas,
};
use hearth_primitives::{
    Block, BlockOutput, Changeset, Header, NativeSidecar, NativeTransaction, StateError, StateReader,
    Transaction,
};
use std::borrow::Cow;

/// The attributes of a block that its requester chooses.
#[derive(Clone, Debug, Default)]
pub struct BlockAttributes {
    /// Its time, in seconds.
    pub timestamp: u64,
    /// Who gets its tips.
    pub beneficiary: Address,
    /// Its randomness (EIP-4399).
    pub prev_randao: B256,
    /// Root of the beacon block before it (EIP-4788).
    pub parent_beacon_block_root: B256,
    /// Its withdrawals (EIP-4895).
    pub withdrawals: Vec<Withdrawal>,
    /// Its extra data, at most 32 bytes.
    pub extra_data: Bytes,
    /// Its gas limit.
    pub gas_limit: u64,
    /// Validators that misbehaved, as the staking contract takes them.
    pub misbehavior: Bytes,
}

/// Where the transactions of a block come from.
pub trait TransactionSource {
    /// The next native transaction that may be in the block: all of them come before the others.
    fn next_native(&mut self) -> Option<NativeTransaction> {
        None
    }

    /// The native one given last is in the block.
    fn native_taken(&mut self) {}

    /// The native one given last cannot be in the block: whether the block is built without it.
    fn native_refused(&mut self, _reason: &TxError) -> bool {
        false
    }

    /// The next transaction that may be in the block, and its sender.
    fn next(&mut self) -> Option<(Transaction, Address)>;

    /// The one given last is in the block, and did this.
    fn taken(&mut self, _outcome: &TxOutcome) {}

    /// The one given last cannot be in the block: whether the block is built without it.
    fn refused(&mut self, reason: &TxError) -> bool;
}

/// Transactions that must all be in the block.
#[derive(Debug)]
pub struct AllOf<'a> {
    rest: std::slice::Iter<'a, (Transaction, Address)>,
}

impl<'a> AllOf<'a> {
    /// These, in this order.
    pub fn new(transactions: &'a [(Transaction, Address)]) -> Self {
        Self { rest: transactions.iter() }
    }
}

impl TransactionSource for AllOf<'_> {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        self.rest.next().cloned()
    }

    fn refused(&mut self, _: &TxError) -> bool {
        false
    }
}

/// A block that was executed and is not on any chain yet: complete but for its state root.
#[derive(Clone, Debug)]
pub struct Draft {
    header: Header,
    transactions: Vec<Transaction>,
    withdrawals: Option<Vec<Withdrawal>>,
    /// What its execution gave.
    pub output: BlockOutput,
    /// What its transactions leave to the beneficiary, in wei.
    pub tips: U256,
}

impl Draft {
    /// The header that it was executed under: without the fields that execution gives.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The whole block.
    pub fn complete(&self, state_root: B256) -> Block {
        let output = &self.output;
        let header = Header {
            state_root,
            transactions_root: calculate_transaction_root(&self.transactions),
            receipts_root: calculate_receipt_root(&output.receipts),
            logs_bloom: output.logs_bloom,
            gas_used: output.gas_used,
            blob_gas_used: self.header.blob_gas_used.map(|_| output.blob_gas_used),
            requests_hash: output.requests.as_ref().map(|requests| requests.requests_hash()),
            // Known once the block has begun, where the staking contract decides on them.
            withdrawals_root: self.withdrawals.as_deref().map(calculate_withdrawals_root),
            ..self.header.clone()
        };
        let body = alloy_consensus::BlockBody {
            transactions: self.transactions.clone(),
            ommers: Vec::new(),
            withdrawals: self.withdrawals.clone().map(Into::into),
        };
        Block::new(header, body)
    }
}

/// A block without transactions that is complete but for its state root.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are computed, without an allocation")]
pub enum EmptyDraft {
    /// The header that it has but for what execution gives, and what its system calls did.
    Computed(Header, EmptyBlock),
    /// One that had to be executed.
    Executed(Box<Draft>),
}

impl EmptyDraft {
    /// What the block changes.
    pub fn changes(&self) -> Cow<'_, Changeset> {
        match self {
            Self::Computed(_, empty) => Cow::Owned(empty.changes()),
            Self::Executed(draft) => Cow::Borrowed(&draft.output.changes),
        }
    }

    /// The whole block.
    pub fn complete(self, state_root: B256) -> (Block, BuiltOutput) {
        match self {
            Self::Computed(header, empty) => {
                let header = Header {
                    state_root,
                    transactions_root: EMPTY_ROOT_HASH,
                    receipts_root: EMPTY_ROOT_HASH,
                    requests_hash: Some(EMPTY_REQUESTS_HASH),
                    withdrawals_root: header.withdrawals_root.map(|_| EMPTY_ROOT_HASH),
                    ..header
                };
                let withdrawals = header.withdrawals_root.map(|_| Vec::new().into());
                let body = alloy_consensus::BlockBody { withdrawals, ..Default::default() };
                (Block::new(header, body), BuiltOutput::Empty(empty))
            }
            Self::Executed(draft) => {
                let block = draft.complete(state_root);
                (block, BuiltOutput::Executed(Box::new(draft.output)))
            }
        }
    }
}

impl Chain {
    /// The header of the block after `parent`, without what execution gives.
    pub fn header_after(&self, parent: &Header, attributes: &BlockAttributes) -> Header {
        self.header_on(parent, parent.hash_slow(), attributes)
    }

    /// As [`Self::header_after`], where the parent's hash is known.
    pub fn header_on(&self, parent: &Header, parent_hash: B256, attributes: &BlockAttributes) -> Header {
        let spec = &self.spec;
        let timestamp = attributes.timestamp;
        let number = parent.number + 1;
        let mut header = Header {
            parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: attributes.beneficiary,
            number,
            timestamp,
            gas_limit: attributes.gas_limit,
            extra_data: attributes.extra_data.clone(),
            mix_hash: attributes.prev_randao,
            base_fee_per_gas: fees::next_base_fee(spec, parent),
            ..Header::default()
        };
        if !spec.is_post_merge(parent) && !self.is_terminal(parent, &parent_hash) {
            header.difficulty = next_difficulty(spec, timestamp, parent);
        }
        let fork = spec.fork_of(&header);
        if fork >= Fork::Shanghai {
            header.withdrawals_root = Some(calculate_withdrawals_root(&attributes.withdrawals));
        }
        if fork >= Fork::Cancun {
            header.blob_gas_used = Some(0);
            header.excess_blob_gas = next_excess_blob_gas(spec, timestamp, parent);
            header.parent_beacon_block_root = Some(attributes.parent_beacon_block_root);
        }
        header
    }

    /// Whether proof of stake follows a block of proof of work, as
    /// [`validate_merge`](hearth_evm::validate_merge) wants it: also a genesis with a difficulty,
    /// as Hoodi's.
    fn is_terminal(&self, block: &Header, hash: &B256) -> bool {
        let Some(terminal) = self.spec.terminal_total_difficulty() else { return false };
        // A block that is not in the ledger has at least its own difficulty.
        let stored = self.ledger.block(hash).ok().flatten();
        stored.map_or(block.difficulty, |stored| stored.total_difficulty) >= terminal
    }

    /// A block without transactions and withdrawals on the state of its parent.
    ///
    /// # Errors
    /// As [`Self::draft`].
    pub fn draft_empty(&self, header: Header, state: &dyn StateReader) -> Result<Draft, ChainError> {
        Ok(match self.draft_next_empty(header, state, &mut SystemAccounts::default())? {
            EmptyDraft::Executed(draft) => *draft,
            EmptyDraft::Computed(header, empty) => {
                let withdrawals = header.withdrawals_root.map(|_| Vec::new());
                let (output, tips) = (empty.output(), U256::ZERO);
                Draft { header, transactions: Vec::new(), withdrawals, output, tips }
            }
        })
    }

    /// As [`Self::draft_empty`], for a block on those that were drafted with `known` before.
    ///
    /// # Errors
    /// As [`Self::draft`].
    pub fn draft_next_empty(
        &self,
        header: Header,
        state: &dyn StateReader,
        known: &mut SystemAccounts,
    ) -> Result<EmptyDraft, ChainError> {
        let env = BlockEnvironment::from_header(&self.spec, &header);
        if let Some(empty) = next_empty_block(&self.spec, &env, state, known)? {
            return Ok(EmptyDraft::Computed(header, empty));
        }
        let number = header.number;
        let draft = self.draft(header, &[], state, &mut AllOf::new(&[]))?;
        let draft = draft.map_err(|(hash, error)| {
            StateError::Store(format!("block {number}: transaction {hash}: {error}"))
        })?;
        Ok(EmptyDraft::Executed(Box::new(draft)))
    }

    /// Executes a block on the state of its parent. The inner error is an invalid transaction, with
    /// its hash.
    ///
    /// # Errors
    /// Those of the store; [`ChainError::Refused`] if the block fails outside of its transactions.
    pub fn draft(
        &self,
        header: Header,
        withdrawals: &[Withdrawal],
        state: &dyn StateReader,
        source: &mut dyn TransactionSource,
    ) -> Result<Result<Draft, (B256, TxError)>, ChainError> {
        self.draft_with_evidence(header, withdrawals, Bytes::new(), state, source)
    }

    /// As [`Self::draft`], with evidence of misbehavior for the staking contract.
    pub(crate) fn draft_with_evidence(
        &self,
        header: Header,
        withdrawals: &[Withdrawal],
        misbehavior: Bytes,
        state: &dyn StateReader,
        source: &mut dyn TransactionSource,
    ) -> Result<Result<Draft, (B256, TxError)>, ChainError> {
        let refused = |source| ChainError::Refused { number: header.number, hash: B256::ZERO, source };
        let env = BlockEnvironment::from_header(&self.spec, &header);
        let sidecar = NativeSidecar { natives: Vec::new(), misbehavior };
        let mut executor = BlockExecutor::new(&self.spec, env, state, self.ledger.as_ref()).capturing();
        executor = executor.with_sidecar(sidecar);
        executor.begin().map_err(refused)?;
        while let Some(native) = source.next_native() {
            match executor.transact_native(&native) {
                Ok(_) => source.native_taken(),
                Err(ExecuteError::Invalid(error)) if source.native_refused(&error) => {}
                Err(ExecuteError::Invalid(error)) => return Ok(Err((native.hash, error))),
                Err(ExecuteError::State(error)) => return Err(error.into()),
            }
        }
        let base_fee = header.base_fee_per_gas.unwrap_or(0);
        let (mut transactions, mut tips) = (Vec::new(), U256::ZERO);
        while let Some((transaction, sender)) = source.next() {
            let before = executor.gas_used();
            match executor.transact(&transaction, sender) {
                Ok(outcome) => {
                    let tip = transaction.effective_tip_per_gas(base_fee).unwrap_or_default();
                    let gas = executor.gas_used() - before;
                    tips = tips.saturating_add(U256::from(tip).saturating_mul(U256::from(gas)));
                    transactions.push(transaction);
                    source.taken(&outcome);
                }
                Err(ExecuteError::Invalid(error)) if source.refused(&error) => {}
                Err(ExecuteError::Invalid(error)) => return Ok(Err((*transaction.tx_hash(), error))),
                Err(ExecuteError::State(error)) => return Err(error.into()),
            }
        }
        let withdrawals = header.withdrawals_root.map(|_| withdrawals.to_vec());
        let output = executor.finish(&[], withdrawals.as_deref()).map_err(refused)?;
        let withdrawals = withdrawals.map(|given| output.withdrawals.clone().unwrap_or(given));
        Ok(Ok(Draft { header, transactions, withdrawals, output, tips }))
    }
}

/// The gas limit of the block after `parent`, one step closer to a target. London doubles the limit
/// once, before the step (go-ethereum, miner/worker.go: prepareWork).
pub fn gas_limit_after(spec: &ChainSpec, parent: &Header, target: u64) -> u64 {
    let first = spec.is_london(parent.number.saturating_add(1)) && !spec.is_london(parent.number);
    let limit = if first { parent.gas_limit.saturating_mul(ELASTICITY) } else { parent.gas_limit };
    next_gas_limit(limit, target)
}

/// The gas limit of the block after one with this limit, one step closer to a target (go-ethereum's
/// step).
fn next_gas_limit(parent: u64, target: u64) -> u64 {
    /// A limit moves by less than its 1024th part.
    const BOUND_DIVISOR: u64 = 1024;
    let step = (parent / BOUND_DIVISOR).saturating_sub(1);
    if parent < target {
        parent.saturating_add(step).min(target)
    } else {
        parent.saturating_sub(step).max(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gas_limit_moves_by_less_than_a_1024th_to_its_target() {
        assert_eq!(next_gas_limit(200_000_000, 60_000_000), 199_804_689);
        assert_eq!(next_gas_limit(30_000_000, 60_000_000), 30_029_295);
        assert_eq!(next_gas_limit(60_000_000, 60_000_000), 60_000_000);
        assert_eq!(next_gas_limit(60_001_000, 60_000_000), 60_000_000);
    }

    #[test]
    fn london_doubles_the_gas_limit_once() {
        let spec = ChainSpec::from_config_json(r#"{"chainId": 1, "londonBlock": 5}"#).unwrap();
        let after = |number: u64| {
            let parent = Header { number, gas_limit: 20_000_000, ..Header::default() };
            gas_limit_after(&spec, &parent, 60_000_000)
        };
        assert_eq!([after(3), after(4), after(5)], [20_019_530, 40_039_061, 20_019_530]);
    }
}
