//! FinalizeBlock and Commit: the decided block is one of the executed proposals, or is executed
//! now, and is committed with one record of the write-ahead log.

use crate::{
    application::{App, Round},
    clock::Moment,
    exception::ConsensusError,
    header::Proposed,
    proposal::decode,
    results::{Refusal, results},
    snapshots, validators,
};
use alloy_primitives::{Address, B256};
use bytes::Bytes;
use hearth_abci::pb;
use hearth_chain::{BlockAttributes, Branch, Candidate, TransactionSource};
use hearth_cosmos::{chain_id, is_native};
use hearth_evm::{BlockEnvironment, ChainSpec, TxError, recover_senders};
use hearth_home::FsyncPolicy;
use hearth_primitives::{Height, NativeTransaction, StateReader as _, Transaction};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

/// Interval, in blocks, at which CometBFT gets the height below which it may drop blocks.
const RETAIN_EVERY_BLOCKS: Height = 100;

/// A decided block that is not committed yet.
#[derive(Debug)]
pub(crate) struct Finalized {
    key: B256,
    cometbft_hash: Bytes,
    branch: Branch,
    left_out: BTreeMap<usize, Refusal>,
}

impl Finalized {
    /// What CometBFT gets for the transactions of the block.
    fn response(&self, txs: &[Bytes]) -> Result<pb::ResponseFinalizeBlock, ConsensusError> {
        let block = self.branch.blocks.last().ok_or(ConsensusError::NothingFinalized)?;
        Ok(pb::ResponseFinalizeBlock {
            tx_results: results(txs, &block.block.body.transactions, &block.output, &self.left_out),
            validator_updates: validators::updates(&block.output)?,
            app_hash: self.branch.tip().to_vec().into(),
            ..Default::default()
        })
    }
}

impl Round {
    /// Keeps a decided block for Commit; what CometBFT gets for it.
    fn finalize(
        &mut self,
        request: &pb::RequestFinalizeBlock,
        key: B256,
        (candidate, left_out): (Candidate, BTreeMap<usize, Refusal>),
    ) -> Result<pb::ResponseFinalizeBlock, ConsensusError> {
        let branch = candidate.seal(request.hash.to_vec().into());
        let finalized = Finalized { key, cometbft_hash: request.hash.clone(), branch, left_out };
        let response = finalized.response(&request.txs)?;
        self.finalized = Some(finalized);
        Ok(response)
    }
}

impl App {
    pub(crate) fn finalize_block(
        &self,
        request: &pb::RequestFinalizeBlock,
    ) -> Result<pb::ResponseFinalizeBlock, ConsensusError> {
        let mut round = self.round.lock();
        // Neither the transactions are hashed nor the state is read for what was executed.
        if let Some((key, candidate)) = round.candidates.take_proposed(&request.hash) {
            return round.finalize(request, key, (candidate, BTreeMap::new()));
        }
        let method = "FinalizeBlock";
        let time = request.time.as_ref();
        let (proposer, misbehavior) = (&request.proposer_address, &request.misbehavior);
        let proposed = Proposed::of(method, request.height, time, proposer, &request.txs, misbehavior)?;
        let parent = self.home.head()?;
        let state = self.home.state_after(parent.number(), &parent.hash)?;
        let attributes = proposed.attributes(method, &parent, (self.start(), &state))?;
        let key = proposed.key();
        // A CometBFT that died before Commit repeats the request.
        if let Some(last) = &round.finalized
            && last.key == key
            && last.cometbft_hash == request.hash
            && last.branch.fork_hash == parent.hash
        {
            return last.response(&request.txs);
        }
        let executed = match round.candidates.take(&key) {
            Some(candidate) => (candidate, BTreeMap::new()),
            None => self.execute_leniently(&attributes, proposed.txs)?,
        };
        round.finalize(request, key, executed)
    }

    /// Executes a decided block. Two thirds of the validators voted for it, so it is a block:
    /// transactions that cannot be part of it are left out, and all nodes leave out the same ones.
    fn execute_leniently(
        &self,
        attributes: &BlockAttributes,
        txs: &[Bytes],
    ) -> Result<(Candidate, BTreeMap<usize, Refusal>), ConsensusError> {
        let chain = self.home.chain();
        let parent = self.home.head()?;
        let header = chain.header_after(&parent.block.header, attributes);
        let env = BlockEnvironment::from_header(chain.spec(), &header);
        let (natives, others) = (0..txs.len()).partition(|place| is_native(&txs[*place]));
        let mut source = Decided {
            spec: chain.spec(),
            env: &env,
            txs,
            natives,
            others,
            given: 0,
            left_out: BTreeMap::new(),
        };
        self.metrics.executed();
        match chain.candidate(attributes, &mut source)? {
            Ok(candidate) => Ok((candidate, source.left_out)),
            Err((_, error)) => {
                let failed = hearth_home::NodeError::ExecutionFailed { source: error.into() };
                Err(failed.into())
            }
        }
    }

    pub(crate) fn commit(&self) -> Result<pb::ResponseCommit, ConsensusError> {
        let mut round = self.round.lock();
        let Finalized { branch, .. } = round.finalized.take().ok_or(ConsensusError::NothingFinalized)?;
        round.candidates.clear();
        self.home.chain().adopt_branch(&branch)?;
        let height = branch.tip_height();
        self.metrics.committed(height);
        self.outbox_again_at(height);
        let (state, _) = self.home.state_at(None)?;
        self.natives.settle(height, |account| {
            Ok::<_, ConsensusError>(state.account(account)?.unwrap_or_default().nonce)
        })?;
        if self.last_commit.lock().replace(Moment::now()).is_none() && self.config.state_sync {
            snapshots::over(&self.home.config().home);
        }
        if let (Some(maker), Some(interval)) = (&self.maker, self.config.snapshot_interval_blocks)
            && height.is_multiple_of(interval.get())
        {
            maker.want(height);
        }
        Ok(pb::ResponseCommit { retain_height: self.retain_height(height)? })
    }

    /// The oldest block that CometBFT keeps; 0 for all. After a power cut CometBFT replays the
    /// blocks that this node had not written to the disk, so it must not drop any of those.
    fn retain_height(&self, height: Height) -> Result<i64, ConsensusError> {
        let Some(keep) = self.config.retain_blocks.map(NonZeroU64::get) else { return Ok(0) };
        if height <= keep || !height.is_multiple_of(RETAIN_EVERY_BLOCKS) {
            return Ok(0);
        }
        if self.home.config().fsync != FsyncPolicy::Block {
            self.home.chain().flush()?;
        }
        Ok(i64::try_from(height - keep).unwrap_or(0))
    }
}

/// The transactions of a decided block, without those that cannot be in it. Native ones run first,
/// wherever they stand.
struct Decided<'a> {
    spec: &'a ChainSpec,
    env: &'a BlockEnvironment,
    txs: &'a [Bytes],
    /// Places of what is still to be given.
    natives: VecDeque<usize>,
    others: VecDeque<usize>,
    /// Place of the one given last.
    given: usize,
    left_out: BTreeMap<usize, Refusal>,
}

impl Decided<'_> {
    fn read(&self, tx: &[u8]) -> Result<(Transaction, Address), String> {
        let transaction = decode(tx)?;
        let senders = recover_senders(self.spec, self.env, std::slice::from_ref(&transaction));
        let senders = senders.map_err(|error| error.to_string())?;
        senders.first().map(|sender| (transaction, *sender)).ok_or_else(String::new)
    }
}

impl TransactionSource for Decided<'_> {
    fn next_native(&mut self) -> Option<NativeTransaction> {
        let id = chain_id(self.spec.chain_id());
        loop {
            let place = self.natives.pop_front()?;
            self.given = place;
            match hearth_cosmos::decode(self.txs.get(place)?, &id) {
                Ok(decoded) => return Some(decoded.transaction),
                Err(error) => drop(self.left_out.insert(place, error.into())),
            }
        }
    }

    fn native_refused(&mut self, reason: &TxError) -> bool {
        self.left_out.insert(self.given, hearth_cosmos::TxError::of_execution(reason).into());
        true
    }

    fn next(&mut self) -> Option<(Transaction, Address)> {
        loop {
            let place = self.others.pop_front()?;
            self.given = place;
            match self.read(self.txs.get(place)?) {
                Ok(given) => return Some(given),
                Err(reason) => drop(self.left_out.insert(place, Refusal::of_evm(reason))),
            }
        }
    }

    fn refused(&mut self, reason: &TxError) -> bool {
        self.left_out.insert(self.given, Refusal::of_evm(reason.to_string()));
        true
    }
}
