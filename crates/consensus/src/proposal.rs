//! PrepareProposal and ProcessProposal: builds a block from the pool, and verifies the block of
//! another validator by executing it.

use crate::{application::App, clock::Moment, exception::ConsensusError, header::Proposed};
use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::{Address, B256};
use bytes::Bytes;
use hearth_abci::pb;
use hearth_chain::{BlockAttributes, Candidate, TransactionSource, fees};
use hearth_cosmos::{chain_id, is_native};
use hearth_evm::{BlockEnvironment, TxError, TxOutcome, recover_senders};
use hearth_ledger::StoredBlock;
use hearth_pool::{BestFirst, decode_transaction, strip_sidecar};
use hearth_primitives::{NativeTransaction, Transaction};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// Executed blocks of one height that are kept until one of them is decided: the node's own
/// proposal and those of two rounds.
const CANDIDATES_MAX: usize = 3;

/// Executed blocks on the head; the oldest one goes first.
#[derive(Debug, Default)]
pub(crate) struct Candidates(VecDeque<Kept>);

/// An executed block.
#[derive(Debug)]
struct Kept {
    /// What its execution depends on ([`Proposed::key`]).
    key: B256,
    /// CometBFT's hash of the block; empty until it is proposed.
    cometbft_hash: Bytes,
    candidate: Candidate,
}

impl Candidates {
    pub fn keep(&mut self, key: B256, cometbft_hash: Bytes, candidate: Candidate) {
        self.0.retain(|other| other.key != key);
        if self.0.len() == CANDIDATES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Kept { key, cometbft_hash, candidate });
    }

    /// Notes CometBFT's hash of a block; whether it is here.
    pub fn proposed(&mut self, key: &B256, cometbft_hash: &Bytes) -> bool {
        let kept = self.0.iter_mut().find(|kept| kept.key == *key);
        kept.map(|kept| kept.cometbft_hash = cometbft_hash.clone()).is_some()
    }

    /// Takes the block with CometBFT's hash out, with its key. The hash covers all that the
    /// execution depends on, and CometBFT checked it before it proposed the block here.
    pub fn take_proposed(&mut self, cometbft_hash: &Bytes) -> Option<(B256, Candidate)> {
        self.take_by(|kept| !cometbft_hash.is_empty() && kept.cometbft_hash == *cometbft_hash)
    }

    pub fn take(&mut self, key: &B256) -> Option<Candidate> {
        self.take_by(|kept| kept.key == *key).map(|(_, candidate)| candidate)
    }

    fn take_by(&mut self, is_it: impl Fn(&Kept) -> bool) -> Option<(B256, Candidate)> {
        let at = self.0.iter().position(is_it)?;
        self.0.remove(at).map(|kept| (kept.key, kept.candidate))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl App {
    pub(crate) fn prepare_proposal(
        &self,
        request: &pb::RequestPrepareProposal,
    ) -> Result<pb::ResponsePrepareProposal, ConsensusError> {
        let method = "PrepareProposal";
        let time = request.time.as_ref();
        let (proposer, misbehavior) = (&request.proposer_address, &request.misbehavior);
        let empty = Proposed::of(method, request.height, time, proposer, &[], misbehavior)?;
        let parent = self.home.head()?;
        let state = self.home.state_after(parent.number(), &parent.hash)?;
        let attributes = empty.attributes(method, &parent, (self.start(), &state))?;
        let mut round = self.round.lock();
        let mut source = self.waiting_transactions(&parent, &attributes, request.max_tx_bytes)?;
        self.metrics.executed();
        let Ok(candidate) = self.home.chain().candidate(&attributes, &mut source)? else {
            // No transaction of the pool makes a proposal fail: those that do not fit are left out.
            return Ok(pb::ResponsePrepareProposal::default());
        };
        let included = &candidate.block().body.transactions;
        let natives = &candidate.output().sidecar.natives;
        let natives = natives.iter().map(|native| Bytes::copy_from_slice(&native.bytes));
        let others = included.iter().map(|transaction| transaction.encoded_2718().into());
        let txs: Vec<Bytes> = natives.chain(others).collect();
        round.candidates.keep(Proposed { txs: &txs, ..empty }.key(), Bytes::new(), candidate);
        Ok(pb::ResponsePrepareProposal { txs })
    }

    /// What waits in the pool, best first, as far as it fits.
    fn waiting_transactions(
        &self,
        parent: &StoredBlock,
        attributes: &BlockAttributes,
        max_tx_bytes: i64,
    ) -> Result<PoolTransactions, ConsensusError> {
        let chain = self.home.chain();
        let header = chain.header_after(&parent.block.header, attributes);
        let state = self.home.state_after(parent.number(), &parent.hash)?;
        let blob_fee = fees::blob_base_fee(chain.spec(), &header).unwrap_or(0);
        let best = self.home.pool().best_first(&state, header.base_fee_per_gas.unwrap_or(0), blob_fee)?;
        let budget = Duration::from_millis(self.config.proposal_budget_ms);
        let bytes_left = usize::try_from(max_tx_bytes).unwrap_or(0);
        let natives = self.natives.in_order().into_iter();
        Ok(PoolTransactions { natives, best, bytes_left, given: 0, until: Moment::in_(budget) })
    }

    pub(crate) fn process_proposal(
        &self,
        request: &pb::RequestProcessProposal,
    ) -> Result<pb::ResponseProcessProposal, ConsensusError> {
        use pb::response_process_proposal::ProposalStatus::{Accept, Reject};
        let method = "ProcessProposal";
        let time = request.time.as_ref();
        let (proposer, misbehavior) = (&request.proposer_address, &request.misbehavior);
        let proposed = Proposed::of(method, request.height, time, proposer, &request.txs, misbehavior)?;
        let answer = |accepted: bool| {
            self.metrics.judged(accepted);
            Ok(pb::ResponseProcessProposal { status: if accepted { Accept } else { Reject } as i32 })
        };
        let mut round = self.round.lock();
        let key = proposed.key();
        if round.candidates.proposed(&key, &request.hash) {
            return answer(true);
        }
        let parent = self.home.head()?;
        let state = self.home.state_after(parent.number(), &parent.hash)?;
        let attributes = match proposed.attributes(method, &parent, (self.start(), &state)) {
            // The time is the proposer's choice; the height is not.
            Err(ConsensusError::Time { .. }) => return answer(false),
            attributes => attributes?,
        };
        let Some(mut source) = self.decode_all(&parent, &attributes, proposed.txs) else {
            return answer(false);
        };
        self.metrics.executed();
        match self.home.chain().candidate(&attributes, &mut source)? {
            Ok(candidate) => {
                round.candidates.keep(key, request.hash.clone(), candidate);
                answer(true)
            }
            Err(_) => answer(false),
        }
    }

    /// The transactions of a proposal with their senders, native ones first; `None` if one cannot
    /// be decoded, has no sender, is in a wrong place, or carries blobs, which no layer of this
    /// chain stores.
    fn decode_all(
        &self,
        parent: &StoredBlock,
        attributes: &BlockAttributes,
        txs: &[Bytes],
    ) -> Option<ProposedTransactions> {
        let chain = self.home.chain();
        let (natives, txs) = txs.split_at(txs.iter().take_while(|tx| is_native(tx)).count());
        let id = chain_id(chain.spec().chain_id());
        let natives = natives.iter().map(|tx| hearth_cosmos::decode(tx, &id).ok());
        let natives: Vec<_> = natives.map(|it| it.map(|it| it.transaction)).collect::<Option<_>>()?;
        // A native transaction behind another one is no Ethereum transaction.
        let decoded: Vec<Transaction> = txs.iter().map(|tx| decode(tx).ok()).collect::<Option<_>>()?;
        let header = chain.header_after(&parent.block.header, attributes);
        let env = BlockEnvironment::from_header(chain.spec(), &header);
        let senders = recover_senders(chain.spec(), &env, &decoded).ok()?;
        let rest: Vec<_> = decoded.into_iter().zip(senders).collect();
        Some(ProposedTransactions { natives: natives.into_iter(), rest: rest.into_iter() })
    }
}

/// A transaction as blocks carry it, or why there is none.
pub(crate) fn decode(tx: &[u8]) -> Result<Transaction, String> {
    let transaction = decode_transaction(tx).map_err(|error| error.to_string())?;
    if transaction.is_eip4844() {
        return Err(hearth_pool::PoolError::BlobsNotKept.to_string());
    }
    Ok(strip_sidecar(transaction))
}

/// Bytes that a transaction takes of `max_tx_bytes`: field number, length and content, as CometBFT
/// counts them (types/tx.go, `ComputeProtoSizeForTxs`).
fn proto_bytes(length: usize) -> usize {
    let bits = usize::BITS - length.leading_zeros();
    1 + (bits.max(1) as usize).div_ceil(7) + length
}

/// Transactions of the pool, until the proposal is full or its time budget is used up.
struct PoolTransactions {
    natives: std::vec::IntoIter<Arc<NativeTransaction>>,
    best: BestFirst,
    bytes_left: usize,
    /// Bytes of the one given last.
    given: usize,
    until: Moment,
}

impl TransactionSource for PoolTransactions {
    fn next_native(&mut self) -> Option<NativeTransaction> {
        while !self.until.is_past() {
            let native = self.natives.next()?;
            self.given = proto_bytes(native.bytes.len());
            if self.given <= self.bytes_left {
                return Some(native.as_ref().clone());
            }
        }
        None
    }

    fn native_taken(&mut self) {
        self.bytes_left -= self.given;
    }

    fn native_refused(&mut self, _: &TxError) -> bool {
        true
    }

    fn next(&mut self) -> Option<(Transaction, Address)> {
        while !self.until.is_past() {
            let (transaction, sender) = self.best.next()?;
            if transaction.is_eip4844() {
                continue;
            }
            self.given = proto_bytes(transaction.encode_2718_len());
            if self.given <= self.bytes_left {
                return Some((transaction, sender));
            }
        }
        None
    }

    fn taken(&mut self, outcome: &TxOutcome) {
        self.bytes_left -= self.given;
        self.best.taken(outcome);
    }

    fn refused(&mut self, reason: &TxError) -> bool {
        self.best.refused(reason)
    }
}

/// The transactions of a proposal: all of them must be in the block.
struct ProposedTransactions {
    natives: std::vec::IntoIter<NativeTransaction>,
    rest: std::vec::IntoIter<(Transaction, Address)>,
}

impl TransactionSource for ProposedTransactions {
    fn next_native(&mut self) -> Option<NativeTransaction> {
        self.natives.next()
    }

    fn next(&mut self) -> Option<(Transaction, Address)> {
        self.rest.next()
    }

    fn refused(&mut self, _: &TxError) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_as_cometbft_counts_them() {
        assert_eq!([0, 1, 127, 128, 16_383, 16_384].map(proto_bytes), [2, 3, 129, 131, 16_386, 16_388]);
    }
}
