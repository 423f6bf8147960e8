//! `eth_simulateV1`: simulated blocks, built one after the other on top of an existing block, with
//! go-ethereum's rules and texts.

mod block;
mod call;
mod error;
mod header;
mod logs;
mod outcome;
mod plan;
mod transaction;

pub use error::SimulateError;
pub use outcome::{CallFailure, SimulatedBlock, SimulatedCall, SimulatedLog};
pub use plan::MAX_SIMULATED_BLOCKS;
pub(super) use transaction::Unsigned;

use super::{BlockOverrides, CallLimits, CallRequest, CallSite, StateOverrides};
use crate::{overlay::BlockState, spec::Fork};
use block::Builder;
use hearth_primitives::RootTracker;
use serde::Deserialize;

/// Most calls of one simulation, over all blocks.
pub const MAX_SIMULATED_CALLS: usize = 10_000;
/// Most bytes that a simulation keeps of return data, logs and call data: 64 MiB.
pub const MAX_SIMULATED_BYTES: usize = 64 << 20;

/// What `eth_simulateV1` takes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimulateRequest {
    /// The blocks, in order.
    pub block_state_calls: Vec<BlockCalls>,
    /// Transfers of ether appear as logs of ERC-20's form (ERC-7528).
    pub trace_transfers: bool,
    /// Nonces, fees and balances are checked as in a block, and the base fee follows the parent's.
    pub validation: bool,
    /// Whole transactions in the blocks instead of hashes.
    pub return_full_transactions: bool,
}

/// Calls of one simulated block.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockCalls {
    /// Fields of the block's header.
    pub block_overrides: Option<BlockOverrides>,
    /// State to pretend from the block's beginning on.
    pub state_overrides: Option<StateOverrides>,
    /// The calls, in order.
    pub calls: Vec<CallRequest>,
}

impl SimulateRequest {
    /// What is known to be wrong without a look at the chain.
    ///
    /// # Errors
    /// [`SimulateError::Empty`], [`SimulateError::TooManyBlocks`], [`SimulateError::TooManyCalls`].
    pub fn check(&self) -> Result<(), SimulateError> {
        if self.block_state_calls.is_empty() {
            return Err(SimulateError::Empty);
        }
        if self.block_state_calls.len() > MAX_SIMULATED_BLOCKS {
            return Err(SimulateError::TooManyBlocks);
        }
        let count = self.block_state_calls.iter().map(|block| block.calls.len()).sum();
        if count > MAX_SIMULATED_CALLS {
            return Err(SimulateError::TooManyCalls { count });
        }
        Ok(())
    }
}

/// Builds the blocks of a request on top of the block of `site`. `roots` is the state trie after
/// that block; the changes of every simulated block are applied to it. The gas cap holds for the
/// sum of all calls.
///
/// # Errors
/// [`SimulateError`] if a block or a call cannot be part of a chain. A call that fails is part of
/// the result.
pub fn simulate_blocks(
    site: CallSite<'_>,
    roots: &mut dyn RootTracker,
    request: &SimulateRequest,
    limits: &CallLimits<'_>,
) -> Result<Vec<SimulatedBlock>, SimulateError> {
    request.check()?;
    let planned = plan::plan(site.header, &request.block_state_calls)?;
    let mut builder = Builder::new(site, roots, request, limits);
    let mut blocks: Vec<SimulatedBlock> = Vec::with_capacity(planned.len());
    let base_hash = site.header.hash_slow();
    let mut state = None;
    for planned in &planned {
        let (parent, parent_hash) =
            blocks.last().map_or((site.header, base_hash), |block| (&block.block.header, block.hash));
        let header = header::preliminary(
            (site.spec, site.chain_id),
            planned,
            parent,
            parent_hash,
            request.validation,
        )?;
        let mut on = state.take().unwrap_or_else(|| {
            BlockState::new(site.state, site.hashes, site.spec.fork_of(&header) >= Fork::Prague)
        });
        // The chain's own hashes are known up to the block of `site`; later ones are those of
        // simulated blocks.
        on.hide_hashes_from(site.header.number.saturating_add(1));
        on.set_block_hash(parent.number, parent_hash);
        let (block, after) = builder.build(planned, header, on)?;
        state = Some(after);
        blocks.push(block);
    }
    Ok(blocks)
}
