//! `engine_forkchoiceUpdated`: moves the head to an executed block, and starts a payload on it
//! (execution-apis, src/engine/paris.md: engine_forkchoiceUpdatedV1).

use crate::{
    Attributes, ForkchoiceState, engine::Engine, jobs::BuildOrder, new_payload::Connected,
    status::PayloadStatus, versions::check_attributes,
};
use alloy_primitives::{B64, B256};
use hearth_chain::{BRANCH_BLOCKS_MAX, Branch, Finality, Mark};
use hearth_home::{EngineError, NodeError};
use std::time::Instant;

impl Engine {
    pub(crate) fn forkchoice_updated(
        &self,
        version: u8,
        state: &ForkchoiceState,
        attributes: Option<Attributes>,
    ) -> Result<Vec<u8>, NodeError> {
        if let Some(attributes) = &attributes {
            check_attributes(self.home().chain().spec(), version, attributes)?;
        }
        self.note_forkchoice();
        let began = Instant::now();
        let (status, builds) = self.choose(state)?;
        self.metrics.forkchoice(status.name(), began.elapsed());
        let id = match attributes {
            Some(attributes) if builds => Some(self.begin(version, state.head_block_hash, attributes)?),
            _ => None,
        };
        Ok(status.forkchoice_answer(id))
    }

    /// Moves the head. Returns the verdict on it, and whether it is the head now, on which a
    /// payload may be built.
    fn choose(&self, state: &ForkchoiceState) -> Result<(PayloadStatus, bool), NodeError> {
        let (head, chain) = (state.head_block_hash, self.home().chain());
        if head.is_zero() {
            return Ok((PayloadStatus::malformed("headBlockHash is zero".to_owned()), false));
        }
        let payloads = &mut *self.payloads.lock();
        let branch = match self.connect(payloads, head)? {
            Connected::Branch(branch) => branch,
            Connected::Unknown | Connected::OutOfReach => return Ok((PayloadStatus::Syncing, false)),
            Connected::Invalid(invalid) => return Ok((invalid.into(), false)),
        };
        let current = chain.head();
        if branch.blocks.is_empty() && branch.fork_hash != current.hash {
            // An ancestor of the head: nothing is done, as go-ethereum does nothing.
            return Ok((PayloadStatus::Valid(head), false));
        }
        let depth = current.height.saturating_sub(branch.fork_height);
        if depth > BRANCH_BLOCKS_MAX {
            let reason = format!("{depth} blocks would leave the chain, at most {BRANCH_BLOCKS_MAX}");
            return Err(EngineError::TooDeepReorg { reason }.into());
        }
        // A branch that was executed before may leave the chain below what has history by now.
        let oldest = chain.reader().oldest_state().unwrap_or(0);
        if !branch.blocks.is_empty() && branch.fork_height < oldest {
            let reason = format!("{depth} blocks would leave the chain, whose state begins at {oldest}");
            return Err(EngineError::TooDeepReorg { reason }.into());
        }
        let finality = Finality {
            finalized: self.ancestor(&branch, "finalizedBlockHash", state.finalized_block_hash)?,
            safe: self.ancestor(&branch, "safeBlockHash", state.safe_block_hash)?,
        };
        if !branch.blocks.is_empty() {
            chain.adopt_branch(&branch).map_err(|error| self.failed(error))?;
            for block in &branch.blocks {
                payloads.waiting.remove(&block.hash);
            }
        }
        chain.set_finality(finality).map_err(|error| self.failed(error))?;
        self.metrics.kept(payloads.executed.len(), payloads.waiting.len());
        Ok((PayloadStatus::Valid(head), true))
    }

    /// The block of a hash that must be the branch's last block or one of its ancestors; `None` if
    /// the hash is zero.
    fn ancestor(&self, branch: &Branch, name: &str, hash: B256) -> Result<Option<Mark>, NodeError> {
        if hash.is_zero() {
            return Ok(None);
        }
        if let Some(block) = branch.blocks.iter().find(|block| block.hash == hash) {
            return Ok(Some(Mark { height: block.header().number, hash }));
        }
        let chain = self.home().chain();
        let block = self.home().block_by_hash(&hash)?;
        let height = match block {
            Some(block) => block.number(),
            None if hash == chain.base_hash() => chain.base(),
            None => return Err(invalid(format!("{name} {hash} is not known"))),
        };
        let is_ancestor = height <= branch.fork_height
            && chain.is_canonical(height, &hash).map_err(|error| self.failed(error))?;
        if !is_ancestor {
            return Err(invalid(format!("{name} {hash} is no ancestor of the head {}", branch.tip())));
        }
        Ok(Some(Mark { height, hash }))
    }

    fn begin(&self, version: u8, parent: B256, attributes: Attributes) -> Result<B64, NodeError> {
        let head = self.home().stored(&parent)?;
        let (given, after) = (attributes.timestamp.to::<u64>(), head.block.header.timestamp);
        if given <= after {
            let reason = format!("timestamp {given} must be later than {after}, that of the head");
            return Err(EngineError::InvalidAttributes { reason }.into());
        }
        let begun = self.builder.begin(self.home(), BuildOrder { parent, version, attributes });
        begun.map_err(|error| match error {
            // As go-ethereum answers where no payload can be built (eth/catalyst/api.go).
            NodeError::ExecutionFailed { source } => {
                EngineError::InvalidAttributes { reason: source.to_public() }.into()
            }
            other => other,
        })
    }
}

fn invalid(reason: String) -> NodeError {
    EngineError::InvalidForkchoice { reason }.into()
}
