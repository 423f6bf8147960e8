//! Homes that follow another node: they hold blocks, receipts and trace capsules, but no state.
//!
//! [`Chain::follow_block`] executes a block on the state that its witness proves, checks every
//! field of its header, and makes it the head. The state of such a home is elsewhere: every read of
//! it is an error, never a default. Blocks that cannot be executed, because no source has what they
//! read, are *holes*: their header is linked and their body kept, and they have neither receipts
//! nor a capsule. They break nothing after them, since no state is carried from block to block.

mod answer;
mod elsewhere;
mod execute;
mod home;
mod marks;
mod store;

pub use answer::{
    FollowAnswer, FollowMeta, FollowSource, FollowedBlock, FollowedState, FollowedTo, Verified,
};
pub(crate) use elsewhere::Elsewhere;
pub use home::FollowedRules;
pub(crate) use marks::{Marks, is_hole};

use crate::working::Working;
use crate::{Chain, ChainError, FinalityTag};
use answer::refused_by;
use hearth_evm::{BlockEnvironment, BlockError, Field, recover_senders, validate_header, validate_merge};
use hearth_ledger::StoredBlock;
use hearth_primitives::Block;
use hearth_witness::{Material, Supplement, Witness, WitnessError, received_block};
use std::sync::Arc;

/// What another node gave for a block: JSON texts, as they came.
#[derive(Clone, Copy, Debug)]
pub struct GivenBlock<'a> {
    /// What is said of it.
    pub meta: FollowMeta,
    /// The block.
    pub block: &'a [u8],
    /// The answer of `debug_executionWitness`.
    pub witness: Option<&'a [u8]>,
    /// What was fetched because earlier calls wanted it.
    pub extra: Option<&'a [u8]>,
}

/// A block whose place in the chain and whose form are right.
pub(crate) struct Linked {
    pub block: FollowedBlock,
    pub parent: Arc<StoredBlock>,
}

impl Chain {
    /// Whether this home follows another node.
    pub fn is_follower(&self) -> bool {
        self.file.is_follower()
    }

    /// Checks a block by executing it on what was given, and makes it the head; blocks of another
    /// branch above its parent leave the chain. Nothing of a refused block is stored.
    ///
    /// # Errors
    /// [`ChainError::NoFollower`]; errors of the stores.
    pub fn follow_block(&self, given: GivenBlock<'_>) -> Result<FollowAnswer, ChainError> {
        if !self.is_follower() {
            return Err(ChainError::NoFollower { home: self.paths.home.clone() });
        }
        let block = match received_block(given.meta.form, given.block) {
            Ok(received) => FollowedBlock { block: received.block, hash: received.hash, senders: Vec::new() },
            Err(error) => return Ok(FollowAnswer::unreadable(&error)),
        };
        if block.hash != given.meta.hash {
            let (got, expected) = (block.hash, given.meta.hash);
            return Ok(FollowAnswer::refused("hash", format!("requested {expected}, got the block {got}")));
        }
        // What takes long and reads no chain comes before the lock.
        let received = match given.meta.source {
            FollowSource::None => Ok(None),
            _ => material(&given).map(Some),
        };
        let working = &mut *self.working.lock();
        let linked = match self.link(block, given.meta.reorg_blocks)? {
            Ok(linked) => linked,
            Err(answer) => return Ok(answer),
        };
        match received {
            Ok(None) => self.store_hole(working, &linked, "no source has what its execution reads".into()),
            Ok(Some((material, supplement))) => {
                self.follow_linked(working, &linked, given.meta.source, &material, &supplement)
            }
            Err(error) => Ok(FollowAnswer::unreadable(&error)),
        }
    }

    fn follow_linked(
        &self,
        working: &mut Working,
        linked: &Linked,
        source: FollowSource,
        material: &Material,
        supplement: &Supplement,
    ) -> Result<FollowAnswer, ChainError> {
        // Where the first block was pruned, headers that are linked to the parent give the hashes.
        let base = self.ledger.block(&self.base_hash()).ok().flatten();
        let base = base.as_ref().unwrap_or(&linked.parent);
        match self.execute_followed(linked, source, material, supplement, &base.block.header)? {
            Ok(executed) => self.store_followed(working, linked, executed),
            Err(execute::Stopped::Answer(answer)) => Ok(answer),
            Err(execute::Stopped::Hole(reason)) => self.store_hole(working, linked, reason),
        }
    }

    /// Checks a block against its parent, and its body against its header.
    fn link(
        &self,
        mut block: FollowedBlock,
        reorg_blocks: u64,
    ) -> Result<Result<Linked, FollowAnswer>, ChainError> {
        let header = &block.block.header;
        if self.is_canonical(header.number, &block.hash)? {
            return Ok(Err(FollowAnswer::Known));
        }
        let unknown = || Ok(Err(FollowAnswer::UnknownParent { parent: header.parent_hash }));
        let Some(parent) = self.ledger.block(&header.parent_hash)? else { return unknown() };
        // A block of a branch that has left has no state to execute on either.
        if !self.is_canonical(parent.number(), &parent.hash)? {
            return unknown();
        }
        if let Some(refused) = self.check_reorg(parent.number(), reorg_blocks)? {
            return Ok(Err(refused));
        }
        match self.check_linked(&block.block, &parent) {
            Ok(senders) => block.senders = senders,
            Err(BlockError::State(error)) => return Err(error.into()),
            Err(error) => return Ok(Err(refused_by(&error))),
        }
        Ok(Ok(Linked { block, parent }))
    }

    /// The answer for a block on a parent that the head may not go back to.
    fn check_reorg(&self, to: u64, reorg_blocks: u64) -> Result<Option<FollowAnswer>, ChainError> {
        let removed = self.head().height.saturating_sub(to);
        if removed > reorg_blocks {
            let why = format!("{removed} blocks would leave the chain, at most {reorg_blocks} may");
            return Ok(Some(FollowAnswer::refused("reorg", why)));
        }
        let finalized = self.marked(FinalityTag::Finalized)?;
        Ok(finalized.filter(|mark| mark.height > to).map(|mark| {
            FollowAnswer::refused(
                "reorg",
                format!("the finalized block {} would leave the chain", mark.height),
            )
        }))
    }

    fn check_linked(
        &self,
        block: &Block,
        parent: &StoredBlock,
    ) -> Result<Vec<alloy_primitives::Address>, BlockError> {
        let header = &block.header;
        if header.number != parent.number() + 1 {
            let (expected, got) = ((parent.number() + 1).to_string(), header.number.to_string());
            return Err(BlockError::Mismatch { field: Field::Number, expected, got });
        }
        // In the middle of a chain the total difficulty is not known.
        if self.base() == 0 && !self.spec.is_post_merge(&parent.block.header) {
            validate_merge(&self.spec, header, parent.total_difficulty)?;
        }
        validate_header(&self.spec, header, &parent.block.header)?;
        self.validate_body(block)?;
        let env = BlockEnvironment::from_header(&self.spec, header);
        recover_senders(&self.spec, &env, &block.body.transactions)
    }
}

fn material(given: &GivenBlock<'_>) -> Result<(Material, Supplement), WitnessError> {
    let witness = given.witness.map(Witness::parse).transpose()?.unwrap_or_default();
    let supplement = given.extra.map(Supplement::parse).transpose()?.unwrap_or_default();
    Ok((Material::new(witness, &supplement), supplement))
}
