//! `engine_newPayload`: verifies and executes a block, without moving the head (execution-apis,
//! src/engine/paris.md: Payload validation).

use crate::{
    ExecutionPayload,
    engine::{Engine, Invalid, Payloads},
    payload::PayloadSidecar,
    status::PayloadStatus,
    versions::check_payload,
};
use alloy_primitives::B256;
use hearth_chain::{Branch, ChainError, ExecutedBlock, Prepared};
use hearth_evm::BlockError;
use hearth_home::NodeError;
use hearth_primitives::Header;
use std::{sync::Arc, time::Instant};

/// How often an invalid block may be given before it is executed once more: a fault of the machine
/// must not make a node reject a block forever (go-ethereum: `invalidBlockHitEviction`).
const INVALID_HITS_MAX: u32 = 128;

/// State of a block that is known or waits for its parent.
pub(crate) enum Connected {
    /// It and its ancestors are executed.
    Branch(Branch),
    /// One of its ancestors is not known.
    Unknown,
    /// The state that it needs is not kept any more, or lies too far from the canonical chain.
    OutOfReach,
    /// It or an ancestor is invalid.
    Invalid(Invalid),
}

/// What became of a block that was to be executed.
enum Verdict {
    Valid,
    Invalid(Invalid),
    /// The state that it needs is not kept any more, or lies too far from the canonical chain.
    OutOfReach,
}

impl Engine {
    pub(crate) fn new_payload(
        &self,
        version: u8,
        payload: ExecutionPayload,
        beside: PayloadSidecar,
    ) -> Result<Vec<u8>, NodeError> {
        check_payload(self.home().chain().spec(), version, &payload, &beside)?;
        let began = Instant::now();
        let status = match payload.into_block(beside) {
            Ok(block) => self.judge(block.into())?,
            Err(error) => PayloadStatus::malformed(error),
        };
        self.metrics.payload(status.name(), began.elapsed());
        Ok(status.answer())
    }

    /// The verdict on a block whose hash is right.
    fn judge(&self, given: Prepared) -> Result<PayloadStatus, NodeError> {
        let payloads = &mut *self.payloads.lock();
        let hash = given.hash;
        if payloads.executed.get(&hash).is_some() || self.home().chain().reader().has_block(&hash) {
            return Ok(PayloadStatus::Valid(hash));
        }
        if let Some(invalid) = known_invalid(payloads, &hash) {
            return Ok(invalid.into());
        }
        let parent = given.block.header.parent_hash;
        let status = match self.connect(payloads, parent)? {
            Connected::Branch(branch) => match self.execute(payloads, given.clone(), &branch)? {
                Verdict::Valid => PayloadStatus::Valid(hash),
                Verdict::Invalid(invalid) => invalid.into(),
                Verdict::OutOfReach => wait(payloads, given, PayloadStatus::Accepted),
            },
            Connected::Invalid(invalid) => {
                payloads.invalid.insert(hash, invalid.clone(), 0);
                invalid.into()
            }
            Connected::Unknown => wait(payloads, given, PayloadStatus::Syncing),
            Connected::OutOfReach => wait(payloads, given, PayloadStatus::Accepted),
        };
        self.metrics.kept(payloads.executed.len(), payloads.waiting.len());
        Ok(status)
    }

    /// Executes a block on top of its parent and keeps the result in memory.
    fn execute(
        &self,
        payloads: &mut Payloads,
        given: Prepared,
        branch: &Branch,
    ) -> Result<Verdict, NodeError> {
        let (hash, chain) = (given.hash, self.home().chain());
        let parent = self.header_of(branch)?;
        match chain.execute_on(given, branch) {
            Ok(executed) => {
                let executed = Arc::new(executed);
                self.readier.add(executed.clone());
                self.keep(payloads, executed)?;
                Ok(Verdict::Valid)
            }
            Err(ChainError::Refused { source, .. }) if !matches!(source, BlockError::State(_)) => {
                // If the parent is a proof-of-work block, this client does not judge the blocks
                // before it.
                let is_pow = parent.as_ref().is_some_and(|parent| !chain.spec().is_post_merge(parent));
                let latest_valid = if is_pow { B256::ZERO } else { branch.tip() };
                let invalid = Invalid { latest_valid, error: source.to_string(), hits: 0 };
                payloads.invalid.insert(hash, invalid.clone(), 0);
                Ok(Verdict::Invalid(invalid))
            }
            Err(error) if error.is_out_of_reach() => Ok(Verdict::OutOfReach),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Keeps an executed block in memory. Those that go for it stay known, since the consensus
    /// client sends no block twice: they are executed again where they are needed.
    fn keep(&self, payloads: &mut Payloads, executed: Arc<ExecutedBlock>) -> Result<(), NodeError> {
        let (hash, bytes) = (executed.hash, executed.memory_bytes());
        for gone in payloads.executed.push(hash, executed, bytes) {
            self.home().chain().keep_known(&gone).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The header of a branch's last block; `None` at the base of a home that has no block there.
    fn header_of(&self, branch: &Branch) -> Result<Option<Header>, NodeError> {
        if let Some(last) = branch.blocks.last() {
            return Ok(Some(last.header().clone()));
        }
        let block = self.home().block_by_hash(&branch.fork_hash)?;
        Ok(block.map(|block| block.block.header.clone()))
    }

    /// Finds the branch that ends with a block. Ancestors that wait are executed, oldest first.
    pub(crate) fn connect(&self, payloads: &mut Payloads, hash: B256) -> Result<Connected, NodeError> {
        let mut waiting = Vec::new();
        let mut at = hash;
        loop {
            if let Some(invalid) = known_invalid(payloads, &at) {
                waiting.into_iter().for_each(|hash| payloads.invalid.insert(hash, invalid.clone(), 0));
                return Ok(Connected::Invalid(invalid));
            }
            match self.branch_to(payloads, at)? {
                Connected::Unknown => {}
                Connected::Branch(mut branch) => {
                    while let Some(next) = waiting.pop() {
                        match self.execute_waiting(payloads, next, &mut branch)? {
                            Verdict::Valid => {}
                            Verdict::Invalid(invalid) => {
                                waiting
                                    .into_iter()
                                    .for_each(|hash| payloads.invalid.insert(hash, invalid.clone(), 0));
                                return Ok(Connected::Invalid(invalid));
                            }
                            Verdict::OutOfReach => return Ok(Connected::OutOfReach),
                        }
                    }
                    return Ok(Connected::Branch(branch));
                }
                other => return Ok(other),
            }
            match payloads.waiting.get(&at) {
                Some(block) => {
                    waiting.push(at);
                    at = block.block.header.parent_hash;
                }
                None => return Ok(Connected::Unknown),
            }
        }
    }

    /// Executes a block that waited, and adds it to its parent's branch.
    fn execute_waiting(
        &self,
        payloads: &mut Payloads,
        hash: B256,
        branch: &mut Branch,
    ) -> Result<Verdict, NodeError> {
        // Where a store fails, the block stays: the consensus client sends no block twice.
        let Some(block) = payloads.waiting.get(&hash).cloned() else { return Ok(Verdict::Valid) };
        let verdict = self.execute(payloads, block, branch)?;
        match verdict {
            Verdict::OutOfReach => {}
            Verdict::Invalid(_) => {
                payloads.waiting.remove(&hash);
            }
            Verdict::Valid => {
                payloads.waiting.remove(&hash);
                // The newest one is kept however large it is.
                branch.blocks.extend(payloads.executed.get(&hash).cloned());
            }
        }
        Ok(verdict)
    }

    fn branch_to(&self, payloads: &mut Payloads, hash: B256) -> Result<Connected, NodeError> {
        let chain = self.home().chain();
        let branch = chain.branch_to(hash, &|hash| payloads.executed.get(hash).cloned());
        match branch {
            Ok(None) => Ok(Connected::Unknown),
            Ok(Some(branch)) => {
                // Those that were executed again are kept like the others.
                for block in &branch.blocks {
                    if payloads.executed.get(&block.hash).is_none() {
                        self.keep(payloads, block.clone())?;
                    }
                }
                Ok(Connected::Branch(branch))
            }
            Err(ChainError::BranchTooLong { .. }) => Ok(Connected::OutOfReach),
            Err(error) if error.is_out_of_reach() => Ok(Connected::OutOfReach),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// Keeps a block until its ancestors come.
fn wait(payloads: &mut Payloads, block: Prepared, status: PayloadStatus) -> PayloadStatus {
    let bytes = alloy_rlp::Encodable::length(&block.block);
    payloads.waiting.insert(block.hash, block, bytes);
    status
}

/// Why a block is invalid, where that is known; forgotten after [`INVALID_HITS_MAX`] times.
pub(crate) fn known_invalid(payloads: &mut Payloads, hash: &B256) -> Option<Invalid> {
    let invalid = payloads.invalid.get_mut(hash)?;
    invalid.hits += 1;
    if invalid.hits > INVALID_HITS_MAX {
        payloads.invalid.remove(hash);
        return None;
    }
    Some(invalid.clone())
}

impl From<Invalid> for PayloadStatus {
    fn from(Invalid { latest_valid, error, .. }: Invalid) -> Self {
        Self::Invalid { latest_valid: Some(latest_valid), error }
    }
}
